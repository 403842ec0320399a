// Two slices side by side: which part of the second variable goes with the first one, and their difference.
import { cellOf } from "../map/axes.js";
import { unwound } from "../map/raster.js";
import { isDegrees } from "../panels/format.js";

// dimsOf returns the dimensions of a variable.
export const dimsOf = (meta, v) => v.dims.map((d) => ({ id: d, ...meta.dimensions[d] }));

// pairDims returns for each dimension of the second variable the number of that of the first one that goes with it: of the
// same name, or else for the same axis, or else at the same place with the same length; or -1.
export function pairDims(a, b) {
  const free = new Set(a.keys());
  const out = b.map(() => -1);
  const pair = (test) => b.forEach((d, i) => {
    const k = out[i] < 0 ? [...free].find((k) => test(a[k], d, k, i)) : undefined;
    if (k === undefined) return;
    out[i] = k;
    free.delete(k);
  });
  pair((x, y) => x.name === y.name);
  pair((x, y) => Boolean(x.axis) && x.axis === y.axis);
  pair((x, y, k, i) => a.length - k === b.length - i && x.length === y.length);
  return out;
}

// instant orders dates, also those of calendars with other months.
function instant(date) {
  const m = /^(-?\d+)-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):([\d.]+))?/.exec(date ?? "");
  if (!m) return NaN;
  const [year, month, day, hour = 0, minute = 0, second = 0] = m.slice(1).map((w) => Number(w ?? 0));
  return ((year * 12 + month) * 31 + day) * 86400 + hour * 3600 + minute * 60 + second;
}

// days counts the days of dates in two lists, for their distances. If one has a 30th of February, 30 days fill each month.
function days(...lists) {
  const all = lists.map((dates) => dates.map((date) => /^(-?\d+)-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):([\d.]+))?/.exec(date ?? "")?.slice(1).map((w) => Number(w ?? 0))));
  const first = (year, month) => new Date(0).setUTCFullYear(year, month, 1) / 86400e3;
  const lengthOf = ([year, month]) => first(year, month) - first(year, month - 1);
  const odd = all.flat().some((p) => p && p[2] > lengthOf(p));
  return all.map((parts) => parts.map((p) => {
    if (!p) return NaN;
    const [year, month, day, hour, minute, second] = p;
    return first(year, month - 1) + (day - 1 + (hour * 3600 + minute * 60 + second) / 86400) * (odd ? lengthOf(p) / 30 : 1);
  }));
}

const places = (axis) => (axis.dates?.some(Boolean) ? axis.dates.map(instant) : axis.values);

// round reports whether two axes are longitudes, which are the same after 360 degrees.
const round = (a, b) => isDegrees(a.units, "e") && isDegrees(b.units, "e");

// next returns the longitude that is next to another one.
const next = (v, to) => v - 360 * Math.round((v - to) / 360);

// range returns the smallest and the largest of values, or null.
function range(values) {
  let out = null;
  for (const v of values) if (v !== null && Number.isFinite(v)) out = out ? [Math.min(out[0], v), Math.max(out[1], v)] : [v, v];
  return out;
}

// line returns the values of longitudes without jumps by 360 degrees.
const line = (values) => (values.includes(null) ? values : unwound(values));

// onto moves longitudes of an axis by multiples of 360 degrees next to the middle of a range.
const onto = (values, [low, high]) => Array.from(values, (v) => (v === null ? v : next(v, (low + high) / 2)));

// nearest returns the index on axis b that goes with index i of axis a: the nearest coordinate, or the same index if the
// coordinates have nothing in common.
export function nearest(a, b, i) {
  const last = b.values.length - 1, same = Math.min(i, last);
  const dated = [a, b].map((x) => Boolean(x.dates?.some(Boolean)));
  if (dated[0] !== dated[1] || !(dated[0] || round(a, b) || (a.units ?? "") === (b.units ?? ""))) return same;
  let [from, to] = dated[0] ? days(a.dates, b.dates) : [a.values, b.values];
  const spans = range(round(a, b) ? (to = line(to)) : to);
  if (!spans) return same;
  if (round(a, b)) from = onto(from, spans);
  const at = from[i], own = range(from);
  if (!Number.isFinite(at) || at === null || own[1] < spans[0] || own[0] > spans[1]) return same;
  let best = same, gap = Infinity;
  to.forEach((v, k) => {
    const d = Math.abs((round(a, b) ? next(v, at) : v) - at);
    if (v !== null && d < gap) [best, gap] = [k, d];
  });
  return best;
}

// order returns for each value of axis a the number of the value of axis b with the same coordinate, or null if they differ.
// An axis may be turned round, and longitudes may begin elsewhere.
function order(a, b) {
  const n = a.values.length;
  const x = places(a), y = places(b);
  let gap = Infinity;
  for (let i = 1; i < n; i++) if (x[i] !== x[i - 1]) gap = Math.min(gap, Math.abs(x[i] - x[i - 1]));
  const near = (Number.isFinite(gap) ? gap : Math.max(1e-6, Math.abs(x[0]))) * 1e-2;
  const apart = (p, q) => (round(a, b) ? Math.abs(((((p - q) % 360) + 540) % 360) - 180) : Math.abs(p - q));
  if (x.every((v, i) => v === y[i] || apart(v, y[i]) <= near)) return Int32Array.from(x, (_, i) => i);
  // Try the shift or the turn that fits the first value.
  const start = y.findIndex((v) => apart(x[0], v) <= near);
  if (start < 0) return null;
  for (const by of [1, -1]) {
    const out = Int32Array.from(x, (_, i) => (((start + by * i) % n) + n) % n);
    if (x.every((v, i) => apart(v, y[out[i]]) <= near)) return out;
  }
  return null;
}

// samePlaces reports whether the cells of two slices are at the same places, after those of the second one were put into an order.
// Coordinates tell that of a grid, and of others whose places one of the files does not have.
function samePlaces(a, b, order) {
  const [p, q] = [a.geo, b.geo];
  if (p === q || ((p ?? q).kind === "grid" && (q ?? p).kind === "grid")) return true;
  if (!p || !q) return !a.axes.some((x) => x.index);
  if (p.n !== q.n || Boolean(p.planar) !== Boolean(q.planar)) return false;
  const [west, south, east, north] = p.bounds;
  const near = Math.max(p.planar ? 1e-6 * Math.max(...p.bounds.map(Math.abs)) : 2e-5, 1e-3 * Math.sqrt(((east - west) * (north - south)) / p.n)); // a float has no more digits
  const [x, y] = [[0, 0], [0, 0]];
  for (let i = 0; i < p.n; i++) {
    const has = p.middle(i, x);
    if (has !== q.middle(order(i), y)) return false;
    if (!has) continue;
    const across = p.planar ? y[0] - x[0] : (next(y[0], x[0]) - x[0]) * Math.cos((x[1] * Math.PI) / 180);
    if (Math.abs(across) > near || Math.abs(y[1] - x[1]) > near) return false;
  }
  return true;
}

const shapeOf = (s) => s.axes.map((a) => `${a.name}=${a.values.length}`).join(", ");

// align puts a slice on the cells of another one: its data in their order, and alike, whether the coordinates are the same.
// why tells what differs; without data they cannot be compared cell by cell.
export function align(a, b) {
  if (a.shape.join() !== b.shape.join() || a.axes.some((x, k) => x.step !== b.axes[k].step)) {
    return { data: null, alike: false, why: `The grids differ: ${shapeOf(a)} here and ${shapeOf(b)} there, so there is no difference of them.` };
  }
  const orders = a.axes.map((x, k) => order(x, b.axes[k]));
  if (orders.includes(null)) {
    const k = orders.indexOf(null);
    return { data: b.data, alike: false, why: `The shapes are the same, but the coordinates of ${a.axes[k].name} differ: the difference is of cells with the same index.` };
  }
  const [rows, columns] = orders;
  const moved = orders.some((o) => o.some((to, i) => to !== i));
  const from = (i) => (moved ? rows[Math.floor(i / columns.length)] * columns.length + columns[i % columns.length] : i);
  if (!samePlaces(a, b, from)) return { data: b.data, alike: false, why: "The shapes are the same, but the places of the cells differ: the difference is of cells with the same number." };
  const data = moved ? b.data.map((_, i) => b.data[from(i)]) : b.data;
  return { data, alike: true, why: moved ? "The second grid has another order of rows or columns, and was put into that of the first." : "" };
}

// extent returns the smallest and the largest value and the number of missing ones.
export function extent(data) {
  let min = null, max = null, missing = 0;
  for (const v of data) {
    if (v !== v) missing++;
    else if (Number.isFinite(v)) {
      if (min === null || v < min) min = v;
      if (max === null || v > max) max = v;
    }
  }
  return { min, max, missing };
}

// difference returns the first slice minus data on its cells.
export function difference(a, data) {
  const out = Float64Array.from(a.data, (v, i) => v - data[i]);
  return { ...a, type: "float64", data: out, ...extent(out) };
}

// plain writes units so that spellings of degrees Celsius are the same.
const plain = (units) => (units ?? "").trim().replace(/^deg(ree)?s?[ _]?c(elsius)?$/i, "degC");

// sameUnits reports whether two units are the same.
export const sameUnits = (a, b) => plain(a) === plain(b);

// unitsText tells which units two variables have if they differ.
export const unitsText = (a, b) => (sameUnits(a, b) ? "" : `The units differ: ${a || "none"} here and ${b || "none"} there; values are not converted.`);

// partOf returns the part of a slice b that shows the places of a part of slice a, by its coordinates where these are of
// the same units, or else as a share of its length. null means that b has none of these places, or that there is no part.
export function partOf(part, a, b) {
  if (!part) return null;
  const side = (first, n, x, y, all) => {
    const share = [first / all[0], (first + n) / all[0]];
    let from = Math.floor(share[0] * all[1]), to = Math.ceil(share[1] * all[1]);
    const own = round(x, y) ? line(x.values) : x.values, [p, q] = [own[cellOf(x, first)], own[cellOf(x, first + n - 1)]];
    if ((round(x, y) || (x.units && x.units === y.units)) && p !== null && q !== null && Number.isFinite(p + q)) {
      const [low, high] = [Math.min(p, q), Math.max(p, q)], middle = (low + high) / 2;
      const values = round(x, y) ? onto(y.values, [low, high]) : y.values;
      let inside = range(values.map((v, k) => (v !== null && v >= low && v <= high ? k : null)));
      if (!inside) {
        // Between two coordinates of a coarse axis, or beside its last one, the nearest cell has the part.
        const away = values.map((v) => (v === null ? Infinity : Math.abs(v - middle))), k = away.indexOf(Math.min(...away));
        const flat = round(x, y) ? line(y.values) : y.values;
        const wide = Math.max(...[k, k + 1].map((i) => Math.abs(flat[i] - flat[i - 1])).filter(Number.isFinite));
        if (!(away[k] <= wide)) return null;
        inside = [k, k];
      }
      [from, to] = [y.start + inside[0] * y.step, Math.min(all[1], y.start + (inside[1] + 1) * y.step)];
    }
    return [from, Math.max(1, to - from)];
  };
  const [down, across] = [side(part.row, part.rows, a.axes[0], b.axes[0], [a.all[0], b.all[0]]), side(part.column, part.columns, a.axes[1], b.axes[1], [a.all[1], b.all[1]])];
  return down && across && { row: down[0], column: across[0], rows: down[1], columns: across[1] };
}
