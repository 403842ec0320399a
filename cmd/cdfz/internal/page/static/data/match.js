// Two slices side by side: which part of the second variable goes with the first one, and their difference.
import { cellOf } from "../map/axes.js";
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

const places = (axis) => (axis.dates?.some(Boolean) ? axis.dates.map(instant) : axis.values);

// nearest returns the index on axis b that goes with index i of axis a: the nearest coordinate, or the same index if the
// coordinates have nothing in common.
export function nearest(a, b, i) {
  const last = b.values.length - 1, same = Math.min(i, last);
  const [from, to] = [places(a), places(b)];
  const known = to.filter((v) => Number.isFinite(v));
  const at = from[i];
  const comparable = Boolean(a.dates?.some(Boolean)) === Boolean(b.dates?.some(Boolean)) && (a.dates || (a.units ?? "") === (b.units ?? ""));
  if (!comparable || !Number.isFinite(at) || known.length === 0) return same;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const own = from.filter((v) => Number.isFinite(v));
  if (Math.max(...own) < low || Math.min(...own) > high) return same;
  let best = same, gap = Infinity;
  to.forEach((v, k) => {
    if (Number.isFinite(v) && Math.abs(v - at) < gap) [best, gap] = [k, Math.abs(v - at)];
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
  const round = isDegrees(a.units, "e") && isDegrees(b.units, "e");
  const apart = (p, q) => (round ? Math.abs(((((p - q) % 360) + 540) % 360) - 180) : Math.abs(p - q));
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
  const data = moved ? b.data.map((_, i) => b.data[rows[Math.floor(i / columns.length)] * columns.length + columns[i % columns.length]]) : b.data;
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
// the same units, or else as a share of its length.
export function partOf(part, a, b) {
  if (!part) return null;
  const side = (first, n, x, y, all) => {
    const share = [first / all[0], (first + n) / all[0]];
    let from = Math.floor(share[0] * all[1]), to = Math.ceil(share[1] * all[1]);
    const [p, q] = [x.values[cellOf(x, first)], x.values[cellOf(x, first + n - 1)]];
    if ((x.units ?? "") === (y.units ?? "") && x.units && [p, q].every(Number.isFinite)) {
      const inside = y.values.map((v, k) => [v, k]).filter(([v]) => v >= Math.min(p, q) && v <= Math.max(p, q)).map(([, k]) => k);
      if (inside.length > 0) [from, to] = [y.start + Math.min(...inside) * y.step, Math.min(all[1], y.start + (Math.max(...inside) + 1) * y.step)];
    }
    return [from, Math.max(1, to - from)];
  };
  const [row, rows] = side(part.row, part.rows, a.axes[0], b.axes[0], [a.all[0], b.all[0]]);
  const [column, columns] = side(part.column, part.columns, a.axes[1], b.axes[1], [a.all[1], b.all[1]]);
  return { row, column, rows, columns };
}
