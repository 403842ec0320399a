// The pure modules of the page's maps: projections, rasters of cells, and what is known of where cells are.
import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { folder } from "./helpers.js";

const here = fileURLToPath(new URL("../../cmd/cdfz/internal/page/static", import.meta.url));
const modules = new Map();

// page loads a module of the page, which has no package.json.
async function page(t, name) {
  if (modules.size === 0) {
    const dir = folder(t);
    cpSync(here, dir, { recursive: true });
    writeFileSync(`${dir}/package.json`, '{ "type": "module" }');
    globalThis.document ??= { baseURI: "http://127.0.0.1/page/" };
    for (const m of ["projection", "raster", "cells", "find", "geometry", "coast"]) modules.set(m, await import(`${dir}/map/${m}.js`));
    modules.set("attributes", await import(`${dir}/data/attributes.js`));
  }
  return modules.get(name);
}

const near = (a, b, e = 1e-6) => a.forEach((v, i) => assert.ok(Math.abs(v - b[i]) < e, `${a} is not ${b}`));

// Pixels that d3-geo 3.1.2 and d3-geo-projection 4.0.0 return for a scale of 100 pixels for a radian.
test("projections", async (t) => {
  const projection = await page(t, "projection");
  const at = new Float64Array(2);
  for (const [name, view, places] of [
    ["plate", { lon: 20, lat: 0 }, [[-100, 33, [-209.43951, -57.595865]], [19, 80, [-1.745329, -139.62634]], [170, 5, [261.799388, -8.726646]]]],
    ["mollweide", { lon: -50, lat: 0 }, [[-100, 33, [-70.450034, -62.603583]], [19, 80, [35.338747, -133.698697]], [170, 5, [-219.471964, -9.688152]]]],
    ["globe", { lon: -30, lat: 40 }, [[-60, 33, [-41.933528, 4.964537]], [19, 80, [13.105394, -68.117792]], [10, -5, [64.034161, 55.72953]]]],
    ["north", { lon: 0, lat: 90 }, [[-100, 33, [-106.941397, -18.856654]], [19, 80, [5.696705, 16.544431]], [170, 5, [31.823848, -180.482009]]]],
    ["south", { lon: 0, lat: -90 }, [[-100, -33, [-106.941397, 18.856654]], [19, -80, [5.696705, -16.544431]], [170, -5, [31.823848, 180.482009]]]],
  ]) {
    const half = { plate: [Math.PI, Math.PI / 2], mollweide: [2 * Math.SQRT2, Math.SQRT2], globe: [1, 1] }[name] ?? [2, 2];
    const box = { x: -100 * half[0], y: -100 * half[1], w: 200 * half[0], h: 200 * half[1] };
    const p = projection.make(name, { ...view, zoom: 1 }, box);
    for (const [lon, lat, pixel] of places) {
      assert.ok(p.forward(lon, lat, at), name);
      near([...at], pixel, 1e-5);
      assert.ok(p.inverse(at[0], at[1], at), name);
      near([projection.wrap(at[0] - lon), at[1]], [0, lat]);
    }
  }
  const globe = projection.make("globe", { lon: 0, lat: 0, zoom: 1 }, { x: 0, y: 0, w: 100, h: 100 });
  assert.equal(globe.forward(120, 0, at), false);
  assert.equal(globe.inverse(1, 1, at), false);
  // What is at a pixel stays there when the map grows.
  const box = { x: 0, y: 0, w: 600, h: 300 };
  for (const name of ["plate", "mollweide", "globe", "north"]) {
    const view = { ...projection.whole(name, 10), zoom: 2 };
    const before = new Float64Array(2), after = new Float64Array(2);
    assert.ok(projection.make(name, view, box).inverse(330, 130, before));
    const next = projection.zoom(name, view, box, 2, 330, 130);
    assert.equal(next.zoom, 4);
    projection.make(name, next, box).inverse(330, 130, after);
    near([projection.wrap(after[0] - before[0]), after[1]], [0, before[1]], name === "plate" ? 1e-6 : 2);
  }
});

test("cells of axes", async (t) => {
  const { edgesOf, finder } = await page(t, "raster");
  const find = (values, lon) => finder(edgesOf(values, lon), lon ? 360 : 0);
  const world = find([5, 15, 25, 355].concat(Array.from({ length: 32 }, (_, i) => 35 + 10 * i)).sort((a, b) => a - b), true);
  for (const [lon, i] of [[0, 0], [359, 35], [-1, 35], [-180, 18], [365, 0], [9.99, 0], [10.01, 1]]) assert.equal(world(lon), i, `${lon}`);
  // Longitudes that jump by 360 degrees, that fall, and those of a part.
  assert.deepEqual([170, -170, 0].map(find([160, 170, 180, -170, -160], true)), [1, 3, -1]);
  assert.deepEqual([12, 8, 100].map(find([15, 10, 5], true)), [1, 1, -1]);
  assert.deepEqual([-90, 90, 44, 46].map(find([90, 45, 0, -45, -90])), [4, 0, 1, 1]);
  assert.deepEqual([0.4, 5, 25, 70].map(find([0, 1, 10, 30, 80])), [0, 1, 3, 4]);
  for (const wrong of [[1, 2, 2], [1, 3, 2], [1, null, 3], [1]]) assert.equal(edgesOf(wrong, true), null, `${wrong}`);
});

test("triangles and discs", async (t) => {
  const { triangles, discs } = await page(t, "raster");
  const box = { x: 10, y: 20, w: 8, h: 4 };
  const out = new Int32Array(32);
  // Two triangles fill the box, and each pixel belongs to one.
  const x = [10, 18, 18, 10], y = [20, 20, 24, 24];
  triangles(out, box, x, y, [0, 1, 2, 0, 2, 3], [7, 9], 0);
  assert.deepEqual([out[1], out[7], out[24], out.includes(-1)], [7, 7, 9, false]);
  triangles(out, box, x, y, [0, 1, 2, 0, 2, 3], null, 0);
  assert.deepEqual([out[0], out[7], out[31], out[24]], [0, 1, 2, 3], "the nearest node");
  // One that crosses the edge of a map is at both.
  triangles(out, box, [17, 11, 17], [20, 20, 24], [0, 1, 2], [3], 8);
  assert.ok(out[7] === 3 && out[4] === -1 && out[0] === 3);
  discs(out, box, [12, NaN], [22, 3], 1.2);
  assert.deepEqual([out[2 * 8 + 2], out[2 * 8 + 1], out[5]], [0, 0, -1]);
});

test("cells of meshes", async (t) => {
  const cells = await page(t, "cells");
  const projection = await page(t, "projection");
  const box = { x: 0, y: 0, w: 360, h: 180 };
  const plate = projection.make("plate", { lon: 0, lat: 0, zoom: 1 }, box);
  const raster = (geo, p = plate) => geo.raster(new Int32Array(box.w * box.h), box, p);
  const at = (r, lon, lat) => r[Math.floor(90 - lat) * 360 + Math.floor(lon + 180)];
  // A cap around the pole, a face across the date line, and one that is neither.
  const lon = Float64Array.of(0, 90, 180, -90, 170, -170, -170, 170, 10, 20, 20), lat = Float64Array.of(80, 80, 80, 80, 0, 0, 10, 10, 0, 0, 10);
  const geo = cells.faces({ lon, lat, corners: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], starts: [0, 4, 8, 11] });
  const r = raster(geo);
  assert.deepEqual([[0, 89], [100, 85], [-179, 85], [179, 5], [-179, 5], [18, 4], [12, 8], [0, 0]].map(([a, b]) => at(r, a, b)), [0, 0, 0, 1, 1, 2, -1, -1]);
  const middle = [0, 0];
  assert.ok(geo.middle(1, middle));
  near([Math.abs(middle[0]), middle[1]], [180, 5]);
  const south = raster(geo, projection.make("north", { lon: 0, lat: 90, zoom: 1 }, box));
  assert.equal(south[90 * 360 + 180], 0, "the pole");
  // A curved grid: cells meet at the middle between their places, also across the date line.
  const curved = cells.curved([170, 180, -170, 170, 180, -170], [0, 0, 0, 10, 10, 10], 2, 3);
  const c = raster(curved);
  assert.deepEqual([[172, 2], [178, 2], [-178, 2], [-172, 8], [172, 8], [150, 2]].map(([a, b]) => at(c, a, b)), [0, 1, 1, 5, 3, -1]);
  near(curved.bounds.slice(0, 2), [169, 0], 1.5);
  // Cells with corners of their own, of which some are repeated.
  const own = cells.bounded([0, 10, 10, 10, 20, 30, 30, 20], [0, 0, 10, 10, 0, 0, 10, 10], 2, 4);
  const o = raster(own);
  assert.deepEqual([[8, 4], [2, 8], [25, 5]].map(([a, b]) => at(o, a, b)), [0, -1, 1]);
  const points = cells.points([10, NaN, 1e36], [20, 3, 4]);
  assert.equal(points.middle(1, middle), false);
  assert.deepEqual(points.bounds, [10, 20, 10, 20]);
  // An axis that is not monotonic is no grid.
  assert.equal(cells.grid([{ values: [0, 1] }, { values: [0, 2, 1] }], 1), null);
});

test("what is known of where cells are", async (t) => {
  const [{ find, along }, { angle }, { unrotate, connected }] = [await page(t, "find"), await page(t, "attributes"), await page(t, "geometry")];
  const attributes = (list) => Object.entries(list).map(([name, value]) => ({ name, type: "char", value }));
  // meta makes the description of a file from lines as "name(dims) key=value; key=value".
  const meta = (lengths, ...lines) => {
    const names = Object.keys(lengths);
    const variables = lines.map((line, num) => {
      const [, name, dims, rest] = /^(\w+)(?:\(([^)]*)\))? ?(.*)$/.exec(line);
      const ids = dims ? dims.split(",").map((d) => names.indexOf(d)) : [];
      const list = Object.fromEntries(rest.split(";").filter(Boolean).map((p) => p.trim().split("=")));
      return { num, name, type: "float", dims: ids, shape: ids.map((d) => lengths[names[d]]), size: 8, units: list.units, attributes: attributes(list) };
    });
    return { attributes: [], variables, dimensions: names.map((n) => ({ name: n, length: lengths[n], coordinate: variables.findIndex((v) => v.name === n && v.dims.length === 1) })) };
  };
  const last = (m) => m.variables.at(-1);
  const kind = (m, words) => find(m, last(m), words)?.kind;

  const grid = meta({ lat: 3, lon: 4 }, "lat(lat) units=degrees_north", "lon(lon) units=degrees_east", "t(lat,lon)");
  assert.deepEqual([find(grid, last(grid), ["y", "x"]), find(grid, last(grid), ["x0:2", "y"]), along(grid, last(grid))], [{ kind: "grid", across: 1 }, { kind: "grid", across: 0 }, -1]);
  const curved = meta({ time: 2, j: 3, i: 4 }, "a(j,i) standard_name=latitude; units=degrees", "b(j,i) standard_name=longitude; units=degrees", "t(time,j,i) coordinates=b a");
  assert.deepEqual([kind(curved, [0, "y", "x"]), kind(curved, ["y", 0, "x"]), along(curved, last(curved))], ["curved", undefined, -1]);
  const pole = meta({ rlat: 3, rlon: 4 }, "rlat(rlat) standard_name=grid_latitude; units=degrees", "rlon(rlon) standard_name=grid_longitude; units=degrees",
    "p grid_mapping_name=rotated_latitude_longitude; grid_north_pole_latitude=39.25; grid_north_pole_longitude=-162", "t(rlat,rlon) grid_mapping=p");
  assert.deepEqual(find(pole, last(pole), ["y", "x"]), { kind: "rotated", across: 1, pole: { lat: 39.25, lon: -162, turn: 0 } });
  near(unrotate({ lat: 39.25, lon: -162, turn: 0 }, 0, 0), [18, 50.75]); // the middle of EURO-CORDEX
  near(unrotate({ lat: 90, lon: 180, turn: 0 }, 30, 40), [30, 40]);

  const ugrid = (location, dim) => meta({ time: 2, n: 9, f: 4, c: 3 }, "m cf_role=mesh_topology; node_coordinates=x y; face_node_connectivity=fn", "x(n) units=degrees_east", "y(n) units=degrees_north", "fn(f,c) start_index=1",
    `t(time,${dim}) mesh=m; location=${location}`);
  const faces = ugrid("face", "f"), nodes = ugrid("node", "n");
  assert.deepEqual([along(faces, last(faces)), find(faces, last(faces), [0, "x"]).along, find(faces, last(faces), [0, "x"]).first], [1, 0, 1]);
  assert.deepEqual([along(nodes, last(nodes)), find(nodes, last(nodes), [1, "x"]).nodal], [1, true]);
  const icon = meta({ cell: 8, nv: 3 }, "clon(cell) standard_name=longitude; units=radian; bounds=cv", "clat(cell) standard_name=latitude; units=radian; bounds=dv", "cv(cell,nv)", "dv(cell,nv)", "t(cell) coordinates=clat clon");
  assert.equal(kind(icon, ["x"]), "bounded");
  const mpas = meta({ nCells: 5, nVertices: 9, k: 6, three: 3 }, "lonCell(nCells) units=rad", "latCell(nCells) units=rad", "lonVertex(nVertices) units=rad", "latVertex(nVertices) units=rad", "nEdgesOnCell(nCells)",
    "verticesOnCell(nCells,k)", "t(nCells)");
  assert.deepEqual([kind(mpas, ["x"]), find(mpas, last(mpas), ["x"]).counts.name], ["faces", "nEdgesOnCell"]);
  const exodus = meta({ num_nodes: 9, e: 4, k: 4 }, "coordx(num_nodes)", "coordy(num_nodes)", "connect1(e,k) elem_type=QUAD9", "t(num_nodes)");
  assert.deepEqual([find(exodus, last(exodus), ["x"]).nodal, find(exodus, last(exodus), ["x"]).sides, find(exodus, last(exodus), ["x"]).nodes.planar], [true, 4, true]);
  assert.equal(find(exodus, exodus.variables[2], [0, "x"]), null, "the connectivity itself");
  const stations = meta({ station: 5, time: 9 }, "lo(station) units=degrees_east", "la(station) units=degrees_north", "t(time,station) coordinates=la lo");
  assert.deepEqual([kind(stations, [0, "x"]), along(stations, last(stations))], ["points", 1]);
  const moving = meta({ time: 9, z: 2 }, "time(time)", "lo(time) units=degrees_east", "la(time) units=degrees_north", "t(time,z)");
  assert.deepEqual([kind(moving, ["x", 0]), along(moving, last(moving))], ["points", -1]);
  assert.equal(angle({ type: "float", name: "lon", attributes: [], units: "m" }), "", "a name does not count against units");

  // Connectivity in both orders, with faces of several lengths, missing and wrong nodes.
  const rows = connected([1, 2, 3, NaN, 2, 3, 4, 5, 9, 9, 0, 1], 3, 4, 1, 5);
  assert.deepEqual([[...rows.corners], [...rows.starts]], [[0, 1, 2, 1, 2, 3, 4, 0], [0, 3, 7, 8]]);
  const columns = connected([1, 2, 2, 3, 3, 4], 2, 3, 1, 5, { transposed: true });
  assert.deepEqual([...columns.corners], [0, 1, 2, 1, 2, 3]);
  assert.deepEqual([...connected([0, 1, 2, 3, 4, 4, 4, 4], 2, 4, 0, 5, { counts: [3, 0] }).starts], [0, 3, 3]);
});

test("coastlines", async (t) => {
  const { decode, unwound } = await page(t, "coast");
  const { readFileSync } = await import("node:fs");
  for (const [name, points] of [["land-110m", 5129], ["land-50m", 60378]]) {
    const coast = decode(JSON.parse(readFileSync(`${here}/vendor/${name}.json`)));
    assert.equal(coast.lines.reduce((n, l) => n + l.length / 2, 0), points);
    for (const line of coast.lines) for (let i = 0; i < line.length; i += 2) assert.ok(Math.abs(line[i]) <= 180.001 && Math.abs(line[i + 1]) <= 90);
    // Antarctica goes around the pole, and ends there.
    const rings = coast.rings.map((r) => unwound(coast, r));
    assert.equal(rings.filter((r) => r.some(([, lat]) => lat === -90)).length, 1);
    for (const r of rings) for (let i = 1; i < r.length; i++) assert.ok(Math.abs(r[i][0] - r[i - 1][0]) <= 180 || r[i][1] === -90);
  }
});
