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
    for (const m of ["projection", "raster", "cells", "find", "geometry", "coast", "mappings", "radar"]) modules.set(m, await import(`${dir}/map/${m}.js`));
    for (const m of ["attributes", "ragged"]) modules.set(m, await import(`${dir}/data/${m}.js`));
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

test("triangles, lines and discs", async (t) => {
  const { triangles, discs, segments } = await page(t, "raster");
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
  // Lines, one of which leaves the box, one crosses the edge of a map, and one has no end.
  segments(out, box, [10.5, 17.5, 14.5, 1e6, NaN], [20.5, 20.5, 20, 1e6, 0], [0, 1, 2, 3, 0, 4], 0, 0);
  assert.deepEqual([[...out.subarray(0, 8)], out[1 * 8 + 5], out[3 * 8 + 7], out[3 * 8]], [[0, 0, 0, 0, 0, 0, 0, 0], 1, 1, -1]);
  segments(out, box, [17, 11], [22.5, 22.5], [0, 1], 0, 8);
  assert.deepEqual([0, 1, 4, 7].map((i) => out[2 * 8 + i]), [0, 0, -1, 0]);
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
  // Areas: a quarter of a hemisphere, whatever the order of its corners, and none of nodes and planes.
  const eighth = cells.faces({ lon: Float64Array.of(0, 90, 0), lat: Float64Array.of(0, 0, 90), corners: [2, 1, 0], starts: [0, 3] });
  near([...eighth.areas()], [Math.PI / 2], 1e-12);
  assert.deepEqual([cells.faces({ lon, lat, corners: [0, 1, 2], starts: [0, 3], nodal: true }).areas, cells.faces({ lon, lat, corners: [0, 1, 2], starts: [0, 3], planar: true }).areas], [null, null]);
  // A curved grid: cells meet at the middle between their places, also across the date line.
  const curved = cells.curved([170, 180, -170, 170, 180, -170], [0, 0, 0, 10, 10, 10], 2, 3);
  const c = raster(curved);
  assert.deepEqual([[172, 2], [178, 2], [-178, 2], [-172, 8], [172, 8], [150, 2]].map(([a, b]) => at(c, a, b)), [0, 1, 1, 5, 3, -1]);
  near(curved.bounds.slice(0, 2), [169, 0], 1.5);
  // Cells with corners of their own, of which some are repeated.
  const own = cells.bounded([0, 10, 10, 10, 20, 30, 30, 20], [0, 0, 10, 10, 0, 0, 10, 10], 2, 4);
  const o = raster(own);
  assert.deepEqual([[8, 4], [2, 8], [25, 5]].map(([a, b]) => at(o, a, b)), [0, -1, 1]);
  // Cells of a mapping: rows fall, and x is along the first axis.
  const mapped = cells.mapped((x, y, out) => ([out[0], out[1]] = [x / 10, y / 10], x < 250), [{ values: [50, 150, 250] }, { values: [150, 50] }], 0);
  const q = raster(mapped);
  assert.deepEqual([[2, 12], [12, 8], [12, 12], [22, 5]].map(([a, b]) => at(q, a, b)), [0, 3, 2, -1]);
  assert.deepEqual([mapped.middle(3, middle), ...middle, mapped.middle(5, middle)], [true, 15, 5, false]);
  assert.equal(cells.mapped(() => true, [{ values: [1, 1] }, { values: [0, 1] }], 1), null);
  // Triangles with a corner at the pole reach it at all their longitudes, and nodes there have their own values.
  const tips = { lon: Float64Array.of(0, 10, 100, -170), lat: Float64Array.of(90, 60, 60, 60), corners: [0, 1, 2, 2, 3, 0], starts: [0, 3, 6] };
  const top = raster(cells.faces(tips));
  assert.deepEqual([[12, 88], [98, 88], [150, 88], [-175, 88], [5, 88]].map(([a, b]) => at(top, a, b)), [0, 0, 1, 1, -1]);
  assert.deepEqual([[15, 88], [99, 62]].map(([a, b]) => at(raster(cells.faces({ ...tips, nodal: true })), a, b)), [0, 2]);
  const points = cells.points([10, NaN, 1e36], [20, 3, 4]);
  assert.equal(points.middle(1, middle), false);
  assert.deepEqual(points.bounds, [10, 20, 10, 20]);
  // An axis that is not monotonic is no grid.
  assert.equal(cells.grid([{ values: [0, 1] }, { values: [0, 2, 1] }], 1), null);
});

test("what is known of where cells are", async (t) => {
  const [{ find, along }, { angle }, { connected, request }, { unrotate }] = await Promise.all(["find", "attributes", "geometry", "mappings"].map((m) => page(t, m)));
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
  const { kind: bent, across, place } = find(pole, last(pole), ["y", "x"]), there = [0, 0];
  assert.deepEqual([bent, across, place(0, 0, there)], ["mapped", 1, true]);
  near(there, [18, 50.75]);
  const lambert = (units, ...more) => meta({ y: 3, x: 4 }, `y(y) standard_name=projection_y_coordinate; units=${units}`, `x(x) standard_name=projection_x_coordinate; units=${units}`,
    "other(x,y) grid_mapping_name=latitude_longitude", "crs grid_mapping_name=lambert_conformal_conic; standard_parallel=33, 45; longitude_of_central_meridian=-97; latitude_of_projection_origin=39", ...more);
  for (const [units, mapping, want] of [["km", "crs", "mapped"], ["m", "other: lat lon crs: x y", "mapped"], ["1", "crs", undefined], ["m", "other", undefined], ["m", "none", undefined]]) {
    const m = lambert(units, `t(y,x) grid_mapping=${mapping}`);
    assert.equal(kind(m, ["y", "x"]), want, `${units} ${mapping}`);
    assert.equal(find(m, last(m), ["x", "y"])?.across, want && 0);
  }
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

  // Edges of meshes, networks without faces, and those of MPAS.
  const edges = meta({ e: 5, two: 2, n: 9 }, "m cf_role=mesh_topology; node_coordinates=x y; edge_node_connectivity=en", "x(n) units=degrees_east", "y(n) units=degrees_north", "en(two,e) start_index=1", "w(n) mesh=m; location=node", "t(e) mesh=m; location=edge");
  assert.deepEqual([kind(edges, ["x"]), find(edges, last(edges), ["x"]).along, find(edges, last(edges), ["x"]).linked, find(edges, edges.variables[4], ["x"]).kind, find(edges, edges.variables[3], [0, "x"])], ["edges", 1, 1, "points", null]);
  const flux = meta({ nEdges: 5, nVertices: 9, two: 2 }, "lonVertex(nVertices) units=rad", "latVertex(nVertices) units=rad", "verticesOnEdge(nEdges,two)", "u(nEdges)");
  assert.deepEqual([kind(flux, ["x"]), find(flux, last(flux), ["x"]).along], ["edges", 0]);

  // Observations of stations, with their numbers or with the station of each, and of profiles of stations.
  const ragged = meta({ station: 3, obs: 9 }, "lo(station) units=degrees_east", "la(station) units=degrees_north", "n(station) sample_dimension=obs", "time(obs) units=days since 2000-01-01", "t(obs) coordinates=time la lo");
  assert.deepEqual([kind(ragged, ["x"]), find(ragged, last(ragged), ["x"]).apart, along(ragged, last(ragged))], ["points", 1, 0]);
  const indexed = meta({ station: 3, profile: 4, obs: 9 }, "lo(station) units=degrees_east", "la(station) units=degrees_north", "s(profile) instance_dimension=station", "p(obs) instance_dimension=profile", "t(obs) coordinates=la lo");
  assert.deepEqual([find(indexed, last(indexed), ["x"]).apart, find(indexed, last(indexed), ["x"]).levels.map((l) => [l.v.name, l.counts])], [2, [["p", false], ["s", false]]]);
  const paths = meta({ path: 3, obs: 9 }, "lo(obs) units=degrees_east", "la(obs) units=degrees_north", "n(path) sample_dimension=obs", "t(obs)");
  assert.deepEqual([find(paths, last(paths), ["x"]).apart, find(paths, last(paths), ["x"]).levels.length], [0, 1]);
  const ring = meta({ a: 3, b: 3 }, "p(a) instance_dimension=b", "q(b) instance_dimension=a", "t(a)");
  assert.equal(kind(ring, ["x"]), undefined);

  // What is read is bounded, whatever a file claims: the parts of a mesh together, counts and places of instances.
  const many = 2 ** 24, read = (m) => request("x.nc", m, last(m), ["x"]) !== null;
  const blocks = (n, e) => meta({ num_nodes: 9, e, k: 4 }, "coordx(num_nodes)", "coordy(num_nodes)", ...Array.from({ length: n }, (_, i) => `connect${i + 1}(e,k)`), "t(num_nodes)");
  assert.deepEqual([read(blocks(2, 2 ** 20)), read(blocks(3, 2 ** 20)), read(blocks(1000, 2 ** 20))], [true, false, false]);
  const counted = (station) => meta({ station, obs: 9 }, "lo(station) units=degrees_east", "la(station) units=degrees_north", "n(station) sample_dimension=obs", "t(obs) coordinates=la lo");
  const told = (path) => meta({ path, obs: 9 }, "lo(obs) units=degrees_east", "la(obs) units=degrees_north", "n(path) sample_dimension=obs", "t(obs)");
  const claimed = (station) => meta({ station, profile: 4, obs: 9 }, "lo(obs) units=degrees_east", "la(obs) units=degrees_north", "s(obs) instance_dimension=station", "t(obs)");
  const longer = (k) => meta({ n: 9, m: k, f: 4, c: 3 }, "m cf_role=mesh_topology; node_coordinates=x y; face_node_connectivity=fn", "x(n) units=degrees_east", "y(m) units=degrees_north", "fn(f,c)", "t(n) mesh=m; location=node");
  for (const f of [counted, told, claimed, longer]) assert.deepEqual([read(f(9)), read(f(many))], [true, false]);

  const radar = (...more) => meta({ time: 6, range: 4 }, "range(range) units=meters", "azimuth(time) units=degrees", "elevation(time) units=degrees", ...more, "t(time,range) coordinates=elevation azimuth range");
  const sweep = radar("latitude units=degrees_north", "longitude units=degrees_east");
  assert.deepEqual([kind(sweep, ["y", "x"]), find(sweep, last(sweep), ["x", "y"]).ray, kind(radar(), ["y", "x"])], ["radar", 1, undefined]);

  // Connectivity in both orders, with faces of several lengths, missing and wrong nodes.
  const rows = connected([1, 2, 3, NaN, 2, 3, 4, 5, 9, 9, 0, 1], 3, 4, 1, 5);
  assert.deepEqual([[...rows.corners], [...rows.starts]], [[0, 1, 2, 1, 2, 3, 4, 0], [0, 3, 7, 8]]);
  const columns = connected([1, 2, 2, 3, 3, 4], 2, 3, 1, 5, { transposed: true });
  assert.deepEqual([...columns.corners], [0, 1, 2, 1, 2, 3]);
  assert.deepEqual([...connected([0, 1, 2, 3, 4, 4, 4, 4], 2, 4, 0, 5, { counts: [3, 0] }).starts], [0, 3, 3]);
});

// The expected numbers are those of invproj -f %.9f, of PROJ 9.1.1, with the parameters at the beginning of each line, whose units are
// metres: echo 1000000 500000 | invproj -f %.9f +proj=lcc +lat_1=33 +lat_2=45 +lat_0=39 +lon_0=-97 +R=6371229
test("grid mappings", async (t) => {
  const { inverse, home } = await page(t, "mappings");
  const { wrap } = await page(t, "projection");
  const list = (attributes) => Object.entries(attributes).map(([name, value]) => ({ name, value: String(value) }));
  const at = [0, 0];
  for (const [proj, units, attributes, places] of [
    ["+proj=lcc +lat_1=33 +lat_2=45 +lat_0=39 +lon_0=-97 +R=6371229", "m", { grid_mapping_name: "lambert_conformal_conic", standard_parallel: "33, 45", latitude_of_projection_origin: 39, longitude_of_central_meridian: -97, earth_radius: 6371229 }, [[1000000, 500000, -84.645385899, 42.902761059], [-2500000, -1500000, -120.839803570, 22.671139886]]],
    ["+proj=lcc +lat_1=25 +lat_2=25 +lat_0=25 +lon_0=-95 +x_0=10000 +y_0=20000 +ellps=GRS80", "m", { grid_mapping_name: "lambert_conformal_conic", standard_parallel: "25", latitude_of_projection_origin: 25, longitude_of_central_meridian: -95, false_easting: 10000, false_northing: 20000, semi_major_axis: 6378137, inverse_flattening: 298.257222101 }, [[1000000, 500000, -84.855702202, 28.994307494], [-4000000, 4000000, -148.115303748, 52.485641451]]],
    ["+proj=lcc +lat_1=-30 +lat_2=-60 +lat_0=-45 +lon_0=150 +ellps=WGS84", "km", { grid_mapping_name: "lambert_conformal_conic", standard_parallel: "-30, -60", latitude_of_projection_origin: -45, longitude_of_central_meridian: 150, reference_ellipsoid_name: "WGS 84" }, [[1000, 500, 162.044456427, -39.647557645], [-2500, -1500, 110.120961258, -53.025138775]]],
    ["+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +a=6378273 +b=6356889.449", "m", { grid_mapping_name: "polar_stereographic", standard_parallel: 70, latitude_of_projection_origin: 90, straight_vertical_longitude_from_pole: -45, semi_major_axis: 6378273, semi_minor_axis: 6356889.449 }, [[1000000, 500000, 71.565051177, 79.705991414], [-3850000, 5850000, 168.349700562, 30.980564051], [0, 0, -45, 90]]],
    ["+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +ellps=WGS84", "m", { grid_mapping_name: "polar_stereographic", standard_parallel: -71, latitude_of_projection_origin: -90, straight_vertical_longitude_from_pole: 0, reference_ellipsoid_name: "WGS 84" }, [[1000000, 500000, 63.434948823, -79.736420851], [-2500000, -1500000, -120.963756532, -63.624021796]]],
    ["+proj=stere +lat_0=90 +k_0=0.994 +lon_0=10 +R=6371000", "m", { grid_mapping_name: "polar_stereographic", scale_factor_at_projection_origin: 0.994, latitude_of_projection_origin: 90, straight_vertical_longitude_from_pole: 10, earth_radius: 6371000 }, [[1000000, 500000, 126.565051177, 79.910738029], [-2500000, -1500000, -49.036243468, 64.073849579]]],
    ["+proj=stere +lat_0=52 +lon_0=5 +k_0=0.9999 +ellps=bessel", "m", { grid_mapping_name: "stereographic", latitude_of_projection_origin: 52, longitude_of_projection_origin: 5, scale_factor_at_projection_origin: 0.9999, reference_ellipsoid_name: "Bessel 1841" }, [[1000000, 500000, 20.899155139, 55.481902745], [-2500000, -1500000, -21.999403049, 34.871981930]]],
    ["+proj=tmerc +lat_0=49 +lon_0=-2 +k_0=0.9996012717 +x_0=400000 +y_0=-100000 +ellps=airy", "m", { grid_mapping_name: "transverse_mercator", latitude_of_projection_origin: 49, longitude_of_central_meridian: -2, scale_factor_at_central_meridian: 0.9996012717, false_easting: 400000, false_northing: -100000, reference_ellipsoid_name: "Airy 1830" }, [[651409.903, 313177.27, 1.717921584, 52.657570303], [100000, 1000000, -7.192941500, 58.783209583]]],
    ["+proj=tmerc +lat_0=0 +lon_0=9 +k_0=0.9996 +x_0=500000 +ellps=GRS80", "m", { grid_mapping_name: "transverse_mercator", longitude_of_central_meridian: 9, scale_factor_at_central_meridian: 0.9996, false_easting: 500000, semi_major_axis: 6378137, inverse_flattening: 298.257222101 }, [[300000, 5500000, 6.230942253, 49.619417193], [1500000, 9000000, 54.291232822, 77.395594002]]],
    ["+proj=merc +lat_ts=20 +lon_0=135 +ellps=WGS84", "m", { grid_mapping_name: "mercator", standard_parallel: 20, longitude_of_projection_origin: 135, reference_ellipsoid_name: "WGS 84" }, [[1000000, 500000, 144.555927788, 4.804449274], [-2500000, -6500000, 111.110180530, -52.813153036]]],
    ["+proj=merc +k_0=1 +lon_0=0 +R=6371229", "m", { grid_mapping_name: "mercator", scale_factor_at_projection_origin: 1, longitude_of_projection_origin: 0, earth_radius: 6371229 }, [[1000000, 500000, 8.992892818, 4.491838077], [-2500000, -1500000, -22.482232044, -13.366422248]]],
    ["+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +ellps=GRS80", "m", { grid_mapping_name: "albers_conical_equal_area", standard_parallel: "29.5, 45.5", latitude_of_projection_origin: 23, longitude_of_central_meridian: -96, semi_major_axis: 6378137, inverse_flattening: 298.257222101 }, [[1000000, 500000, -85.958648033, 27.085643566], [-2500000, -1500000, -116.465496782, 6.048345414]]],
    ["+proj=aea +lat_1=-18 +lat_2=-36 +lat_0=0 +lon_0=132 +R=6371000", "m", { grid_mapping_name: "albers_conical_equal_area", standard_parallel: "-18, -36", latitude_of_projection_origin: 0, longitude_of_central_meridian: 132, earth_radius: 6371000 }, [[1000000, -2500000, 141.851410414, -22.737399313], [-2500000, -1500000, 109.333006424, -12.062700467]]],
    ["+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80", "m", { grid_mapping_name: "lambert_azimuthal_equal_area", latitude_of_projection_origin: 52, longitude_of_projection_origin: 10, false_easting: 4321000, false_northing: 3210000, semi_major_axis: 6378137, inverse_flattening: 298.257222101 }, [[4000000, 3500000, 5.041386951, 54.507034214], [7000000, 1000000, 37.157652044, 27.729951190]]],
    ["+proj=laea +lat_0=90 +lon_0=0 +ellps=WGS84", "m", { grid_mapping_name: "lambert_azimuthal_equal_area", latitude_of_projection_origin: 90, longitude_of_projection_origin: 0, reference_ellipsoid_name: "WGS 84" }, [[1000000, 500000, 116.565051177, 79.976401657], [-2500000, -8500000, -16.389540334, 1.899973798]]],
    ["+proj=laea +lat_0=-90 +lon_0=0 +R=6371228", "m", { grid_mapping_name: "lambert_azimuthal_equal_area", latitude_of_projection_origin: -90, longitude_of_projection_origin: 0, earth_radius: 6371228 }, [[1000000, 500000, 63.434948823, -79.932693185], [-2500000, -1500000, -120.963756532, -63.547115329]]],
    ["+proj=geos +h=35786023 +lon_0=-75 +sweep=x +ellps=GRS80", "m", { grid_mapping_name: "geostationary", perspective_point_height: 35786023, longitude_of_projection_origin: -75, sweep_angle_axis: "x", semi_major_axis: 6378137, inverse_flattening: 298.257222101 }, [[1000000, 500000, -65.922550626, 4.539367978], [-2500000, 4500000, -119.205006326, 51.520373772]]],
    ["+proj=geos +h=35785831 +lon_0=0 +sweep=y +a=6378169 +b=6356583.8", "rad", { grid_mapping_name: "geostationary", perspective_point_height: 35785831, longitude_of_projection_origin: 0, fixed_angle_axis: "x", semi_major_axis: 6378169, semi_minor_axis: 6356583.8 }, [[1000000 / 35785831, 500000 / 35785831, 9.076534247, 4.541407917], [-2500000 / 35785831, -4500000 / 35785831, -43.983578727, -51.700077275]]],
    ["+proj=cea +lat_ts=30 +lon_0=0 +ellps=WGS84", "m", { grid_mapping_name: "lambert_cylindrical_equal_area", standard_parallel: 30, longitude_of_central_meridian: 0, reference_ellipsoid_name: "WGS 84" }, [[1000000, 500000, 10.364167811, 3.922296737], [-2500000, -5500000, -25.910419528, -48.639010376]]],
    ["+proj=sinu +lon_0=0 +R=6371007.181", "m", { grid_mapping_name: "sinusoidal", longitude_of_projection_origin: 0, earth_radius: 6371007.181 }, [[1000000, 500000, 9.020972623, 4.496602961], [-2500000, -5500000, -34.592242571, -49.462632574]]],
    ["+proj=sinu +lon_0=20 +ellps=WGS84", "m", { grid_mapping_name: "sinusoidal", longitude_of_projection_origin: 20, reference_ellipsoid_name: "WGS 84" }, [[1000000, 500000, 29.011012969, 4.521753234], [-2500000, 5500000, -14.606671443, 49.632754778]]],
  ]) {
    const place = inverse(list(attributes), [units, units]);
    for (const [x, y, lon, lat] of places) {
      assert.ok(place(x, y, at), proj);
      near([lat > 89.999 ? 0 : wrap(at[0] - lon), at[1]], [0, lat], 2e-8);
    }
  }
  const satellite = { grid_mapping_name: "geostationary", perspective_point_height: 35786023, longitude_of_projection_origin: -75, sweep_angle_axis: "x" };
  assert.equal(inverse(list(satellite), ["rad", "rad"])(0.16, 0, at), false, "beside the earth");
  assert.equal(inverse(list({ ...satellite, sweep_angle_axis: "", fixed_angle_axis: "constructor" }), ["rad", "rad"])(0, 0, at), true);
  // Mappings that are not known, and units that are none of lengths.
  for (const [name, units] of [["oblique_mercator", "m"], ["latitude_longitude", "degrees"], ["toString", "m"], ["mercator", "degrees"], ["geostationary", "m"], ["lambert_conformal_conic", "m"]]) assert.equal(inverse(list({ grid_mapping_name: name }), [units, units]), null, name);
  assert.deepEqual([satellite, { grid_mapping_name: "polar_stereographic" }, { grid_mapping_name: "lambert_azimuthal_equal_area", latitude_of_projection_origin: -90 }, { grid_mapping_name: "mercator" }].map((a) => home(list(a))), ["globe", "north", "south", ""]);
});

test("ragged arrays", async (t) => {
  const { instancesOf, group, pick } = await page(t, "ragged");
  const counted = instancesOf({ counts: true }, [2, 0, NaN, 3, 9], 7, 5);
  assert.deepEqual([...counted], [0, 0, 3, 3, 3, 4, 4]);
  assert.deepEqual(group(counted, 3), { from: 2, to: 5, instance: 3, places: null });
  const mixed = instancesOf({ counts: false }, [1, 0, NaN, 1, 5], 5, 2);
  assert.deepEqual([...mixed], [1, 0, -1, 1, -1]);
  const { from, places } = group(mixed, 0);
  const s = pick({ type: "float32", data: Float32Array.of(5, 6, 7, NaN), shape: [4], axes: [{ start: from, step: 1, values: [10, 20, 30, 40], dates: ["a", "b", "c", "d"] }], missing: 1 }, places);
  assert.deepEqual([[...s.data], s.shape, s.axes[0].values, s.axes[0].dates, s.axes[0].at, s.min, s.max, s.missing], [[5, NaN], [2], [10, 40], ["a", "d"], [0, 3], 5, 5, 1]);
});

test("rays of a radar", async (t) => {
  const { ground, sides, sweep } = await page(t, "radar");
  const projection = await page(t, "projection");
  near([(ground(111194.93, 0) * 180) / Math.PI, ground(100000, 60) * 6371000], [1, 49490], 30);
  assert.deepEqual(sides([358, 0, 2, 10, 12]), [[357, 359], [-1, 1], [1, 3], [9, 11], [11, 13]], "rays are missing between");
  assert.deepEqual(sides([90, 89, 88]), [[90.5, 89.5], [89.5, 88.5], [88.5, 87.5]]);
  const geo = sweep([10, 50], [0, 90, 180, 270, null], [0.5, 0.5, 0.5, 0.5, 9], [50000, 150000], 0), at = [0, 0];
  assert.deepEqual([geo.n, geo.middle(8, at), geo.middle(1, at)], [10, false, true]);
  near(at, [10, 51.349], 1e-3);
  const box = { x: 0, y: 0, w: 360, h: 360 };
  const p = projection.make("plate", projection.fit("plate", geo.bounds, box), box), r = geo.raster(new Int32Array(box.w * box.h), box, p);
  for (const [lon, lat, cell] of [[10, 50.5, 0], [10, 51.2, 1], [10.7, 50, 2], [11.7, 50, 3], [10, 48.9, 5], [8.3, 50, 7], [10, 53, -1]]) {
    p.forward(lon, lat, at);
    assert.equal(r[Math.floor(at[1]) * 360 + Math.floor(at[0])] ?? -1, cell, `${lon} ${lat}`);
  }
  const turned = sweep([10, 50], [0, 90], [0, 0], [1, 2, 3], 1);
  assert.ok(turned.middle(1, at) && at[0] > 10, "the axis of rays may be the second one");
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
