// Axes to scale: cells as long as what their coordinates span. Indices are those of the variable,
// with fractions.
import { cellOf, ticks } from "./axes.js";
import { round, ticks as labels } from "../panels/format.js";

// edgesOf returns the edges between the cells of coordinates, half way between these, or null if they
// are not monotonic. Cells do not cross zero if no coordinate does: nothing is above the surface.
export function edgesOf(values) {
  const n = values.length;
  const sign = Math.sign(values[n - 1] - values[0]);
  if (n < 2 || sign === 0 || !values.every((v, i) => v !== null && Number.isFinite(v) && (i === 0 || Math.sign(v - values[i - 1]) === sign))) return null;
  const out = new Float64Array(n + 1);
  for (let i = 1; i < n; i++) out[i] = (values[i - 1] + values[i]) / 2;
  out[0] = values[0] - (values[1] - values[0]) / 2;
  out[n] = values[n - 1] + (values[n - 1] - values[n - 2]) / 2;
  const [low, high] = [Math.min(values[0], values[n - 1]), Math.max(values[0], values[n - 1])];
  for (const i of [0, n]) out[i] = low >= 0 ? Math.max(0, out[i]) : high <= 0 ? Math.min(0, out[i]) : out[i];
  return out;
}

// isUneven reports whether the distances of coordinates differ so much that a scale shows it.
export function isUneven(axis) {
  if (!edgesOf(axis.values)) return false;
  const gaps = axis.values.slice(1).map((v, i) => Math.abs(v - axis.values[i]));
  return Math.max(...gaps) > 1.05 * Math.min(...gaps);
}

// choose returns which axes of a slice are to scale: those with uneven coordinates, if wanted is
// "scale", or if it is null and one of them is a height, depth or pressure.
export function choose(axes, wanted) {
  const uneven = axes.map(isUneven);
  const on = wanted === null ? axes.some((a, k) => uneven[k] && a.axis === "Z") : wanted === "scale";
  return { possible: uneven.includes(true), scaled: uneven.map((u) => u && on) };
}

// along returns the scale of n indices from the first on: place is from 0 to 1 at an index, index is its
// inverse, and ticks are as those of axes.js.
export function along(axis, first, n) {
  const edges = edgesOf(axis.values);
  const count = axis.values.length;
  const value = (index) => {
    const at = Math.max(0, Math.min(count, (index - axis.start) / axis.step));
    const k = Math.min(count - 1, Math.floor(at));
    return edges[k] + (at - k) * (edges[k + 1] - edges[k]);
  };
  const [from, to] = [value(first), value(first + n)];
  const place = (index) => (value(index) - from) / (to - from);
  const index = (at) => {
    const v = from + at * (to - from);
    let [low, high] = [cellOf(axis, first), cellOf(axis, first + n - 1)];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((edges[middle + 1] - v) * (to - from) > 0) high = middle;
      else low = middle + 1;
    }
    const inside = (v - edges[low]) / (edges[low + 1] - edges[low]);
    return Math.max(first, Math.min(first + n, axis.start + (low + inside) * axis.step));
  };
  return {
    place, index,
    ticks(most) {
      if (axis.dates) return ticks(axis, first, n, most).map(([at, text]) => [place(first + at * n), text]);
      const marks = round(Math.min(from, to), Math.max(from, to), Math.max(2, Math.min(9, Math.floor(most))));
      const texts = labels(marks, axis.units);
      return marks.map((v, k) => [(v - from) / (to - from), texts[k]]).filter(([at]) => at >= 0 && at <= 1).sort((a, b) => a[0] - b[0]);
    },
  };
}
