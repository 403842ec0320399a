// The cells of a slice, read where find.js says that they are.
import * as api from "../data/api.js";
import { inRadians } from "../data/attributes.js";
import * as cells from "./cells.js";
import { find, lengthOf, letter, mappingOf } from "./find.js";
import { coordinate } from "../panels/format.js";
import * as mappings from "./mappings.js";
import * as radar from "./radar.js";
import * as ragged from "../data/ragged.js";
import * as slices from "../data/slices.js";

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
  const row = isRow(meta, find(meta, v, words), v, words);
  return row ? [file, v.num, words, chunk, bare] : null;
}

function isRow(meta, found, v, words) {
  const at = words.findIndex((w) => letter(w) === "x");
  return Boolean(found) && !words.some((w) => letter(w) === "y") && !tooLong(meta, found, v.shape[at]);
}

// row reads a slice along one dimension as a row of cells, all of them, with its geometry. It returns null if that is not
// what has been found.
export async function row(file, meta, v, words, found, signal) {
  if (!isRow(meta, found, v, words)) return null;
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

const kept = new Map(); // the last geometries as {geo, a promise, and bytes}, by what was read for them
const keep = 4;
const budget = 128 << 20; // bytes of all but the last one

// remember returns what make returns, from the last time if the key is the same. No signal aborts it: the next slice needs it, too.
function remember(key, make) {
  if (kept.has(key)) return kept.get(key).geo;
  const one = { geo: make(), bytes: 0 };
  kept.set(key, one);
  one.geo.then((geo) => {
    one.bytes = geo?.bytes ?? 0;
    shrink();
  }, () => kept.get(key) === one && kept.delete(key));
  shrink();
  return one.geo;
}

// shrink drops the oldest geometries while there are too many.
function shrink() {
  const bytes = () => [...kept.values()].reduce((n, one) => n + one.bytes, 0);
  while (kept.size > keep || (kept.size > 1 && bytes() > budget)) kept.delete(kept.keys().next().value);
}

// tooLong reports whether a mesh, or points, have more than is read. The faces of all parts are read at once.
function tooLong(meta, found, n) {
  const size = (v) => (v ? v.shape.reduce((k, length) => k * length, 1) : 0);
  const { kind, nodes, lon, lat, links, bounds, parts = [found], levels = [] } = found;
  const inAll = ["faces", "counts"].map((name) => parts.reduce((k, t) => k + size(t[name]), 0));
  const sizes = [n, ...inAll, ...[nodes?.lon, nodes?.lat, lon, lat, links, ...(kind === "bounded" ? bounds : [])].map(size), ...levels.flatMap((l) => [size(l.v), lengthOf(meta, l.dim)])];
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

// connectivity returns a function that makes the faces for a number of nodes, which may be read at the same time.
async function connectivity(file, t, along) {
  const all = [readAll(file, t.faces.num, t.faces.shape, ["y", "x"]), t.counts && readAll(file, t.counts.num, t.counts.shape, ["x"])];
  const [{ data }, counts] = await Promise.all(all);
  const [count, each] = along === 0 ? t.faces.shape : [t.faces.shape[1], t.faces.shape[0]];
  return (nodes) => connected(data, count, each, t.first, nodes, { transposed: along === 1, counts: counts?.data, sides: t.sides });
}

// ofSlice returns the cells of a slice with two dimensions, or null if they have no places.
export async function ofSlice(file, meta, v, words, s, found) {
  const geo = await read(file, meta, v, words, s, found);
  if (!geo || !placed(geo)) return null;
  return Object.assign(geo, { home: mappings.home(mappingOf(meta, v)?.attributes ?? []) });
}

// read returns the cells of a slice, of cells.js, or null.
async function read(file, meta, v, words, s, found) {
  if (!found) return null;
  const { kind } = found;
  if (kind === "grid") return cells.grid(s.axes, found.across);
  if (kind === "mapped") {
    const key = JSON.stringify([file, found.num, s.axes.map((a) => [a.dim, a.start, a.step, a.values.length])]);
    return remember(key, async () => cells.mapped(found.place, s.axes, found.across));
  }
  if (kind === "curved" || (kind === "points" && s)) {
    const key = JSON.stringify([file, found.lon.num, found.lat.num, s.axes.map((a) => [a.start, a.step, a.values.length]), words.map((w, i) => (found.lon.dims.includes(v.dims[i]) ? w : null))]);
    return remember(key, () => curved(file, meta, v, words, s, found));
  }
  if (kind === "radar") {
    const { azimuth } = found;
    const key = JSON.stringify([file, azimuth.num, found.range.num, s.axes.map((a) => [a.start, a.step, a.values.length]), words.map((w, i) => (azimuth.dims.includes(v.dims[i]) ? w : null))]);
    return remember(key, () => swept(file, v, words, s, found));
  }
  const key = JSON.stringify([file, kind, found.nodal, found.lon?.num, found.nodes?.lon.num, found.faces?.num, found.levels?.map((l) => l.v.num)]);
  return remember(key, async () => {
    if (kind === "points") return observed(file, meta, v.shape[words.findIndex((w) => letter(w) === "x")], found);
    if (kind === "edges") {
      const [[lon, lat], { data }] = await Promise.all([places(file, found.nodes), readAll(file, found.links.num, found.links.shape, ["y", "x"])]);
      const n = found.links.shape[found.along], ends = new Int32Array(2 * n);
      for (let i = 0; i < 2 * n; i++) {
        const node = data[found.along === 0 ? i : (i % 2) * n + (i >> 1)] - found.linked;
        ends[i] = node >= 0 && node < lon.length ? node : -1;
      }
      return cells.edges({ lon, lat, ends, planar: found.nodes.planar });
    }
    if (kind === "bounded") {
      const [lon, lat] = await Promise.all(found.bounds.map(async (b, i) => degrees([found.lon, found.lat][i], (await readAll(file, b.num, b.shape, ["y", "x"])).data)));
      return cells.bounded(lon, lat, ...found.bounds[0].shape);
    }
    const { nodal = false, nodes: { planar } } = found, parts = nodal ? found.parts : [found];
    const [[lon, lat], ...all] = await Promise.all([places(file, found.nodes), ...parts.map((t) => connectivity(file, t, nodal ? (t.turned ? 1 : 0) : found.along))]);
    return cells.faces({ lon, lat, ...joined(all.map((faces) => faces(lon.length))), nodal, planar });
  });
}

// observed returns points. Those of ragged arrays have the instance of each, and the name of that.
async function observed(file, meta, n, found) {
  const { levels = [], apart, planar } = found;
  const of = [];
  for (const [k, l] of levels.slice(0, Math.max(1, apart)).entries()) {
    const { data } = await readAll(file, l.v.num, l.v.shape, ["x"]);
    of.push(ragged.instancesOf(l, data, k === 0 ? n : lengthOf(meta, levels[k - 1].dim), lengthOf(meta, l.dim)));
  }
  let [lon, lat] = await places(file, found);
  if (apart > 0) {
    const at = of[0].map((i) => of.slice(1).reduce((k, level) => level[k] ?? -1, i));
    [lon, lat] = [lon, lat].map((list) => Float64Array.from(at, (i) => list[i] ?? NaN));
  }
  const geo = cells.points(lon, lat, planar);
  return of.length > 0 ? { ...geo, instances: of[0], instance: meta.dimensions[levels[0].dim].name, shared: apart > 0 } : geo;
}

// swept returns the rays of a radar.
async function swept(file, v, words, s, { ray, azimuth, elevation, range, end, site, fixed, scale }) {
  const wordOf = (o) => o.dims.map((d) => words[v.dims.indexOf(d)].toString().replace(/^y/, "x"));
  const first = async (o) => (await api.values(file, o.num, o.dims.map(() => "0"), 1)).data[0];
  const of = (o) => api.values(file, o.num, wordOf(o), slices.maxCells);
  const [a, e, r, last, place] = await Promise.all([of(azimuth), elevation ? of(elevation) : null, of(range), end ? first(end) : Infinity, site ? Promise.all(site.map(first)) : fixed]);
  if (a.data.length !== s.shape[ray] || r.data.length !== s.shape[1 - ray]) return null;
  // The rays of other sweeps, which are behind those of the first one, are not drawn.
  const axis = s.axes[ray];
  const azimuths = Array.from(a.data, (v, k) => (axis.start + k * axis.step > last ? null : v));
  return radar.sweep(place, azimuths, azimuths.map((_, k) => e?.data[k] || 0), Array.from(r.data, (d) => d * scale), ray);
}

// joined puts lists of faces after one another.
function joined(all) {
  if (all.length === 1) return all[0];
  const sum = (of) => all.reduce((n, f) => n + of(f), 0);
  const corners = new Int32Array(sum((f) => f.corners.length)), starts = new Int32Array(sum((f) => f.starts.length - 1) + 1);
  let from = 0, face = 0;
  for (const f of all) {
    corners.set(f.corners, from);
    for (let i = 1; i < f.starts.length; i++) starts[++face] = from + f.starts[i];
    from += f.corners.length;
  }
  return { corners, starts };
}

async function curved(file, meta, v, words, s, found) {
  const wordOf = (o) => o.dims.map((d) => words[v.dims.indexOf(d)]);
  const [lon, lat] = await Promise.all([found.lon, found.lat].map(async (o) => {
    const a = await api.values(file, o.num, wordOf(o), slices.maxCells, undefined, bare);
    return { shape: a.shape, data: degrees(o, a.data) };
  }));
  if (lon.shape.join() !== s.shape.join() || lat.shape.join() !== s.shape.join()) return null;
  const exact = s.axes.every((a) => a.step === 1) && found.bounds?.every((b) => b && lengthOf(meta, b.dims.at(-1)) === 4 && found.lon.dims.length === 2);
  if (found.kind === "points") return cells.points(lon.data, lat.data);
  if (!exact) return cells.curved(lon.data, lat.data, ...s.shape);
  const corners = await Promise.all(found.bounds.map(async (b, i) => {
    const [o, n] = [[found.lon, found.lat][i], lon.data.length];
    const out = new Float64Array(4 * n);
    await Promise.all([0, 1, 2, 3].map(async (k) => {
      const { data } = await api.values(file, b.num, [...wordOf(o), k], slices.maxCells, undefined, bare);
      for (let j = 0; j < n; j++) out[4 * j + k] = data[j];
    }));
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
  const of = geo.instances ? [{ text: (row, column) => `${geo.instance} ${geo.instances[column]}` }] : [];
  return geo.planar ? [{ text: text(0) }, { text: text(1) }, ...of] : [{ text: text(1) }, { text: text(0) }, ...of];
}
