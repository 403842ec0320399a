// Where the cells of a slice are: on longitudes and latitudes, on a curved grid, on a mesh, or at points, by the attributes
// of the conventions CF and UGRID, and for MPAS and Exodus, which have none, by their names.
import * as api from "../data/api.js";
import * as cells from "./cells.js";
import { coordinate } from "../panels/format.js";
import { wrap } from "./projection.js";
import * as slices from "../data/slices.js";

const attr = (v, name) => v.attributes.find((a) => a.name === name)?.value ?? "";
const letter = (w) => (typeof w === "string" ? w[0] : "");
const inRadians = (v) => /^rad(ian)?s?$/i.test(v.units ?? "");

// angle returns "lon" or "lat" for a variable with longitudes or latitudes, or "".
export function angle(v) {
  if (v.type === "char") return "";
  const units = (v.units ?? "").trim().toLowerCase().replaceAll(" ", "_"), name = attr(v, "standard_name");
  if (/^grid_(longitude|latitude)$/.test(name)) return "";
  if (/^degrees?_?e(ast)?$/.test(units)) return "lon";
  if (/^degrees?_?n(orth)?$/.test(units)) return "lat";
  const plain = units === "" || units.startsWith("deg") || inRadians(v);
  if (plain && name === "longitude") return "lon";
  if (plain && name === "latitude") return "lat";
  if (!plain || name) return "";
  return /^(nav_)?lon(gitudes?|[cCuv]|Cell|Vertex|Edge)?$|^x?long$|^clon$/i.test(v.name) ? "lon" : /^(nav_)?lat(itudes?|[cCuv]|Cell|Vertex|Edge)?$|^x?lat$|^clat$/i.test(v.name) ? "lat" : "";
}

// pairOf returns the longitudes and the latitudes of a variable for some of its dimensions: those that the attribute coordinates names
// before others. Their other dimensions have an index.
function pairOf(meta, v, spanned) {
  const named = attr(v, "coordinates").split(/\s+/);
  const fits = (o) => o !== v && o.size > 0 && spanned.every((d) => o.dims.includes(d)) && o.dims.every((d) => v.dims.includes(d)) && new Set(o.dims).size === o.dims.length;
  const list = meta.variables.filter(fits).map((o) => [angle(o), o]).filter(([a]) => a !== "");
  list.sort((a, b) => named.includes(b[1].name) - named.includes(a[1].name));
  const lon = list.find(([a]) => a === "lon")?.[1];
  const lat = list.find(([a, o]) => a === "lat" && lon && o.dims.join() === lon.dims.join())?.[1];
  return lat ? { lon, lat } : null;
}

const named = (meta, name) => meta.variables.find((v) => v.name === name);
const lengthOf = (meta, d) => meta.dimensions[d]?.length ?? 0;

// boundsOf returns the variable with the corners of the cells of a coordinate, or null.
function cornersOf(meta, v) {
  const b = named(meta, attr(v, "bounds"));
  return b && b.dims.length === v.dims.length + 1 && v.dims.every((d, i) => b.dims[i] === d) ? b : null;
}

// topologies returns the meshes of a file: their nodes, the connectivity of their faces and its first number.
function topologies(meta) {
  const out = [];
  for (const m of meta.variables) {
    if (attr(m, "cf_role") !== "mesh_topology") continue;
    const pair = (names) => {
      const list = names.split(/\s+/).map((n) => named(meta, n)).filter(Boolean);
      const lon = list.find((v) => angle(v) === "lon"), lat = list.find((v) => angle(v) === "lat");
      if (lon && lat) return { lon, lat, planar: false };
      return list.length >= 2 ? { lon: list[0], lat: list[1], planar: true } : null;
    };
    const faces = named(meta, attr(m, "face_node_connectivity"));
    const nodes = pair(attr(m, "node_coordinates"));
    // Faces are along the first dimension of their connectivity, unless the mesh names the other one.
    const turned = faces?.dims.length === 2 && meta.dimensions[faces.dims[1]].name === attr(m, "face_dimension");
    out.push({ name: m.name, faces, nodes, turned, edges: pair(attr(m, "edge_coordinates")), first: Number(attr(faces ?? m, "start_index") || 0) });
  }
  // FVCOM without the conventions: nv has the three nodes of an element, from 1 on.
  const nv = named(meta, "nv");
  if (nv && nv.dims.length === 2 && nv.shape.includes(3)) {
    const nodes = ["lon", "lat"].map((n) => named(meta, n));
    if (nodes.every((v) => v && v.dims.length === 1)) out.push({ name: "", faces: nv, nodes: { lon: nodes[0], lat: nodes[1], planar: false }, first: 1, turned: nv.shape[0] === 3 });
  }
  // MPAS: the corners of a cell are vertices, from 1 on, and those of the dual mesh are cells.
  for (const [faces, lon, lat, count] of [["verticesOnCell", "lonVertex", "latVertex", "nEdgesOnCell"], ["cellsOnVertex", "lonCell", "latCell", ""]]) {
    const [f, x, y] = [faces, lon, lat].map((n) => named(meta, n));
    if (f && x && y && f.dims.length === 2 && x.dims.length === 1) out.push({ name: "", faces: f, nodes: { lon: x, lat: y, planar: false }, first: 1, counts: named(meta, count) });
  }
  // Exodus: blocks of elements with their nodes, from 1 on, on a plane. Those with a volume are seen from below.
  const coord = named(meta, "coord");
  const row = (k) => coord?.dims.length === 2 && { ...coord, dims: coord.dims.slice(1), shape: coord.shape.slice(1), of: { shape: coord.shape, words: [k, "x"] } };
  const [x, y] = ["coordx", "coordy"].map((n, k) => named(meta, n) ?? row(k));
  if (x && y) {
    for (const f of meta.variables) {
      if (!/^connect\d+$/.test(f.name) || f.dims.length !== 2) continue;
      const sides = [[/^(quad|she?ll|hex)/i, 4], [/^(tri|tet|wedge)/i, 3]].find(([kind]) => kind.test(attr(f, "elem_type")))?.[1];
      out.push({ name: "", faces: f, nodes: { lon: x, lat: y, planar: true }, first: 1, exodus: true, sides });
    }
  }
  return out.filter((t) => t.nodes && t.nodes.lon.dims.length === 1);
}

// find describes where the cells are of a slice of a variable, or returns null. Words have x, and y for two dimensions.
export function find(meta, v, words) {
  const at = (l) => v.dims[words.findIndex((w) => letter(w) === l)];
  const [x, y] = [at("x"), at("y")];
  if (x === undefined || v.size === 0 || v.type === "char") return null;
  if (y !== undefined) {
    const ofDim = (d) => meta.variables[meta.dimensions[d]?.coordinate];
    const kinds = [y, x].map((d) => (ofDim(d) ? angle(ofDim(d)) : ""));
    if (kinds.includes("lon") && kinds.includes("lat")) return { kind: "grid", across: kinds.indexOf("lon") };
    const pair = pairOf(meta, v, [x, y]);
    if (pair && feature(meta)) return pair.lon.dims.length === 2 ? { kind: "points", ...pair } : null;
    if (pair) return { kind: "curved", ...pair, bounds: [cornersOf(meta, pair.lon), cornersOf(meta, pair.lat)] };
    return rotated(meta, v, ofDim(y), ofDim(x));
  }
  const wanted = attr(v, "mesh");
  const meshes = topologies(meta).sort((a, b) => (b.name === wanted && wanted !== "") - (a.name === wanted && wanted !== ""));
  for (const t of meshes) {
    // Faces are along the dimension of the connectivity that is not that of corners.
    const along = t.faces?.dims.indexOf(x) ?? -1;
    if (along >= 0 && v !== t.faces && t.faces.dims.length === 2 && t.nodes.lon.dims[0] !== x && attr(v, "location") !== "edge") return { kind: "faces", ...t, along };
    if (t.faces && t.nodes.lon.dims[0] === x) {
      const parts = t.exodus ? meshes.filter((o) => o.exodus) : [t];
      return { kind: "faces", nodal: true, ...t, parts };
    }
    if (t.edges?.lon.dims.join() === String(x)) return { kind: "points", ...t.edges };
  }
  const pair = pairOf(meta, v, [x]);
  if (!pair || pair.lon.dims.length > 1 || meta.dimensions[x].coordinate === pair.lon.num || meta.dimensions[x].coordinate === pair.lat.num) return null;
  const bounds = [cornersOf(meta, pair.lon), cornersOf(meta, pair.lat)];
  if (bounds.every(Boolean) && lengthOf(meta, bounds[0].dims[1]) >= 3) return { kind: "bounded", ...pair, bounds };
  return { kind: "points", ...pair };
}

// rotated describes a grid whose pole is elsewhere, if it has no longitudes and latitudes.
function rotated(meta, v, y, x) {
  const mapping = named(meta, attr(v, "grid_mapping").split(/[\s:]/)[0]);
  if (!mapping || !x || !y || attr(mapping, "grid_mapping_name") !== "rotated_latitude_longitude") return null;
  const kinds = [y, x].map((o) => attr(o, "standard_name"));
  const across = kinds.indexOf("grid_longitude");
  const number = (name) => Number(attr(mapping, name) || 0);
  if (across < 0 || !kinds.includes("grid_latitude")) return null;
  return { kind: "rotated", across, pole: { lat: number("grid_north_pole_latitude"), lon: number("grid_north_pole_longitude"), turn: number("north_pole_grid_longitude") } };
}

// feature returns the kind of observations of a file, by chapter 9 of the CF conventions, or "".
const feature = (meta) => meta.attributes.find((a) => a.name.toLowerCase() === "featuretype")?.value ?? "";

// unrotate returns the longitude and the latitude of a place of a rotated grid.
export function unrotate(pole, rlon, rlat) {
  const rad = Math.PI / 180;
  const [l, f, p] = [(rlon - pole.turn) * rad, rlat * rad, pole.lat * rad];
  const s = Math.sin(f) * Math.sin(p) + Math.cos(f) * Math.cos(p) * Math.cos(l);
  const dl = Math.atan2(-Math.cos(f) * Math.sin(l), Math.sin(f) * Math.cos(p) - Math.cos(f) * Math.sin(p) * Math.cos(l));
  return [wrap(pole.lon + dl / rad), Math.asin(Math.max(-1, Math.min(1, s))) / rad];
}

// along returns the number of the dimension of a variable along which its values are the cells of a mesh or points, or -1.
export function along(meta, v) {
  const free = v.dims.map((_, i) => i).filter((i) => v.shape[i] > 1);
  const meshed = (i) => find(meta, v, v.dims.map((_, k) => (k === i ? "x" : 0)));
  return free.findLast((i) => {
    const found = meshed(i);
    // Places along a time are those of something that moves, which is better seen as a map if there is nothing else.
    return found && (found.kind !== "points" || free.length === 1 || meta.dimensions[v.dims[i]].coordinate < 0);
  }) ?? -1;
}

// placed reports whether there is a place on the earth, or on a plane, at all.
const placed = (geo) => geo.bounds.every(Number.isFinite);

// most is the number of cells, nodes or corners of a mesh that are read: others are shown as series.
const most = 1 << 23;

const chunk = 1 << 20; // values of an answer
const bare = { bare: true };

// readAll reads a variable with one or two dimensions, or those of them that have a letter in words.
async function readAll(file, num, shape, words, signal, values = api.values) {
  const at = words.findIndex((w) => letter(w) !== "");
  const n = shape[at], rest = words.reduce((k, w, i) => (i !== at && letter(w) ? k * shape[i] : k), 1);
  if (rest > chunk) throw new RangeError("too many corners"); // the answer would be in steps
  const step = Math.floor(chunk / rest);
  if (n <= step) return values(file, num, words, chunk, signal, bare);
  const parts = [];
  for (let from = 0; from < n; from += step) {
    const range = words.map((w, i) => (i === at ? `${w}${from}:${Math.min(n, from + step)}` : w));
    parts.push(await api.values(file, num, range, chunk, signal, bare));
  }
  const data = new parts[0].data.constructor(parts.reduce((k, p) => k + p.data.length, 0));
  let to = 0;
  for (const p of parts) {
    data.set(p.data, to);
    to += p.data.length;
  }
  const of = (name, f) => parts.reduce((m, p) => (p[name] === null ? m : m === null ? p[name] : f(m, p[name])), null);
  return { ...parts[0], data, min: of("min", Math.min), max: of("max", Math.max), missing: parts.reduce((k, p) => k + p.missing, 0) };
}

let indices = []; // from 0 on, for the axes of rows

// request returns the parameters of slices.holds for a slice that row reads, or null for others.
export function request(file, meta, v, words) {
  const row = isRow(find(meta, v, words), v, words);
  return row ? [file, v.num, words, chunk, bare] : null;
}

function isRow(found, v, words) {
  const at = words.findIndex((w) => letter(w) === "x");
  return Boolean(found) && !words.some((w) => letter(w) === "y") && !tooLong(found, v.shape[at]);
}

// row reads a slice along one dimension as a row of cells, all of them, with its geometry. It returns null if that is not
// what has been found.
export async function row(file, meta, v, words, found, signal) {
  if (!isRow(found, v, words)) return null;
  const [s, geo] = await Promise.all([readAll(file, v.num, v.shape, words, signal, slices.values), read(file, meta, v, words, null, found)]);
  const n = s.data.length;
  if (geo?.n !== n || !placed(geo)) return null;
  if (indices.length !== n) indices = Int32Array.from({ length: n }, (_, i) => i);
  const axis = { ...s.axes[0], start: 0, step: 1, values: indices, index: true };
  return { ...s, units: v.units, geo, shape: [1, n], all: [1, n], places: texts(geo, n), axes: [{ dim: -1, name: "", word: "y", start: 0, step: 1, values: [0] }, axis] };
}

const degrees = (v, data) => (inRadians(v) ? Float64Array.from(data, (a) => (a * 180) / Math.PI) : data);

async function places(file, { lon, lat }) {
  return Promise.all([lon, lat].map(async (v) => degrees(v, (await readAll(file, v.num, v.of?.shape ?? v.shape, v.of?.words ?? ["x"])).data)));
}

// clear forgets all, because a file that is opened again may have changed.
export const clear = () => kept.clear();

const kept = new Map(); // the last geometries, by what was read for them
const keep = 4;

// remember returns what make returns, from the last time if the key is the same. No signal aborts it: the next slice needs it, too.
function remember(key, make) {
  if (kept.has(key)) return kept.get(key);
  const made = make();
  kept.set(key, made);
  made.catch(() => kept.delete(key));
  if (kept.size > keep) kept.delete(kept.keys().next().value);
  return made;
}

// tooLong reports whether a mesh has more than is read.
function tooLong(found, n) {
  const sizes = [n, found.nodes?.lon.shape[0] ?? 0, ...(found.parts ?? [found]).map((t) => (t.faces ? t.faces.shape[0] * t.faces.shape[1] : 0)), found.kind === "bounded" ? found.bounds[0].shape[0] * found.bounds[0].shape[1] : 0];
  return sizes.some((k) => k > most);
}

// connected returns the faces of a connectivity: their corners one after another, and where each begins. Those that are missing,
// or no node, end a face.
export function connected(data, count, each, first, nodes, { transposed, counts, sides = each } = {}) {
  const corners = new Int32Array(count * each), starts = new Int32Array(count + 1);
  let to = 0;
  for (let i = 0; i < count; i++) {
    const n = Math.min(sides, each, counts?.[i] ?? each);
    const from = to;
    for (let k = 0; k < n; k++) {
      const node = data[transposed ? k * count + i : i * each + k] - first;
      if (!(node >= 0 && node < nodes)) continue;
      if (to > from && corners[to - 1] === node) continue; // a triangle among quadrilaterals may repeat its last node
      corners[to++] = node;
    }
    starts[i + 1] = to;
  }
  return { corners: corners.subarray(0, to), starts };
}

async function connectivity(file, t, nodes, along) {
  const { data } = await readAll(file, t.faces.num, t.faces.shape, ["y", "x"]);
  const counts = t.counts ? (await readAll(file, t.counts.num, t.counts.shape, ["x"])).data : null;
  const [count, each] = along === 0 ? t.faces.shape : [t.faces.shape[1], t.faces.shape[0]];
  return connected(data, count, each, t.first, nodes, { transposed: along === 1, counts, sides: t.sides });
}

// ofSlice returns the cells of a slice with two dimensions, or null if they have no places.
export async function ofSlice(...all) {
  const geo = await read(...all);
  return geo && placed(geo) ? geo : null;
}

// read returns the cells of a slice, of cells.js, or null.
async function read(file, meta, v, words, s, found) {
  if (!found) return null;
  const { kind } = found;
  if (kind === "grid") return cells.grid(s.axes, found.across);
  if (kind === "rotated") {
    const [r, c] = s.axes.map((a) => a.values);
    const lon = new Float64Array(r.length * c.length), lat = new Float64Array(lon.length);
    for (let i = 0; i < lon.length; i++) {
      const at = [r[Math.floor(i / c.length)], c[i % c.length]];
      [lon[i], lat[i]] = unrotate(found.pole, at[found.across], at[1 - found.across]);
    }
    return cells.curved(lon, lat, r.length, c.length);
  }
  if (kind === "curved" || (kind === "points" && s)) {
    const key = JSON.stringify([file, found.lon.num, found.lat.num, s.axes.map((a) => [a.start, a.step, a.values.length]), words.map((w, i) => (found.lon.dims.includes(v.dims[i]) ? w : null))]);
    return remember(key, () => curved(file, meta, v, words, s, found));
  }
  const key = JSON.stringify([file, kind, found.nodal, found.lon?.num, found.nodes?.lon.num, found.faces?.num]);
  return remember(key, async () => {
    if (kind === "points") {
      const [lon, lat] = await places(file, found);
      return cells.points(lon, lat, found.planar);
    }
    if (kind === "bounded") {
      const [lon, lat] = await Promise.all(found.bounds.map(async (b, i) => degrees([found.lon, found.lat][i], (await readAll(file, b.num, b.shape, ["y", "x"])).data)));
      return cells.bounded(lon, lat, ...found.bounds[0].shape);
    }
    const [lon, lat] = await places(file, found.nodes);
    const { planar } = found.nodes;
    if (!found.nodal) return cells.faces({ lon, lat, ...(await connectivity(file, found, lon.length, found.along)), planar });
    const all = await Promise.all(found.parts.map((t) => connectivity(file, t, lon.length, t.turned ? 1 : 0)));
    return cells.faces({ lon, lat, ...joined(all), nodal: true, planar });
  });
}

// joined puts lists of faces after one another.
function joined(all) {
  if (all.length === 1) return all[0];
  const corners = Int32Array.from(all.flatMap((f) => Array.from(f.corners)));
  const starts = [0];
  for (const f of all) {
    const from = starts.at(-1);
    for (let i = 1; i < f.starts.length; i++) starts.push(from + f.starts[i]);
  }
  return { corners, starts: Int32Array.from(starts) };
}

async function curved(file, meta, v, words, s, found) {
  const wordOf = (o) => o.dims.map((d) => words[v.dims.indexOf(d)]);
  const [lon, lat] = await Promise.all([found.lon, found.lat].map(async (o) => {
    const a = await api.values(file, o.num, wordOf(o), 1024);
    return { shape: a.shape, data: degrees(o, a.data) };
  }));
  if (lon.shape.join() !== s.shape.join() || lat.shape.join() !== s.shape.join()) return null;
  const exact = s.axes.every((a) => a.step === 1) && found.bounds?.every((b) => b && lengthOf(meta, b.dims.at(-1)) === 4 && found.lon.dims.length === 2);
  if (found.kind === "points") return cells.points(lon.data, lat.data);
  if (!exact) return cells.curved(lon.data, lat.data, ...s.shape);
  const corners = await Promise.all(found.bounds.map(async (b, i) => {
    const [o, n] = [[found.lon, found.lat][i], lon.data.length];
    const out = new Float64Array(4 * n);
    for (let k = 0; k < 4; k++) {
      const { data } = await api.values(file, b.num, [...wordOf(o), k], 1024, undefined, bare);
      for (let j = 0; j < n; j++) out[4 * j + k] = data[j];
    }
    return degrees(o, out);
  }));
  return cells.bounded(...corners, lon.data.length, 4);
}

// texts returns functions that write the place of a cell, by its row and its column in a slice.
export function texts(geo, columns) {
  const at = [0, 0];
  const text = (k) => (row, column) => {
    if (!geo.middle(row * columns + column, at)) return k === 0 ? "no place" : "";
    const value = Number(at[k].toPrecision(7));
    return geo.planar ? `${"xy"[k]} ${value}` : coordinate({ units: ["degrees_east", "degrees_north"][k], values: [Number(value.toFixed(5))] }, 0);
  };
  return geo.planar ? [{ text: text(0) }, { text: text(1) }] : [{ text: text(1) }, { text: text(0) }];
}
