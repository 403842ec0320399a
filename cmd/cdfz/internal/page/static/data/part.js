// The part of a variable that is shown, for downloads, for lines to paste and for the histogram.
import { cellOf } from "../map/axes.js";
import { extent } from "./match.js";

// ranges returns an index, a range [from, to] or null, for all, for each dimension. part is that of the map, or null.
export function ranges(variable, words, part) {
  const of = { y: part && [part.row, part.row + part.rows], x: part && [part.column, part.column + part.columns] };
  return words.map((w, i) => {
    if (typeof w === "number") return w;
    const [, from, to] = /^[xy](\d+):(\d+)$/.exec(w) ?? [];
    if (to !== undefined) return [Number(from), Number(to)];
    const r = of[w];
    return r && (r[0] > 0 || r[1] < variable.shape[i]) ? r : null;
  });
}

// selection writes a part in the words of cdfz get.
export function selection(variable, list) {
  if (list.every((r) => r === null)) return variable.quoted;
  return `${variable.quoted}[${list.map((r) => (r === null ? ":" : typeof r === "number" ? r : r.join(":"))).join(", ")}]`;
}

// crop returns the part of a slice of two dimensions, with its smallest and its largest value. null is all of it.
export function crop(s, part) {
  if (part === null) return s;
  const of = (axis, first, n) => [Math.max(0, cellOf(axis, first)), Math.min(axis.values.length, cellOf(axis, first + n - 1) + 1)];
  const [rows, columns] = [of(s.axes[0], part.row, part.rows), of(s.axes[1], part.column, part.columns)];
  const shape = [rows[1] - rows[0], columns[1] - columns[0]];
  const data = new s.data.constructor(shape[0] * shape[1]);
  for (let r = 0; r < shape[0]; r++) {
    const from = (rows[0] + r) * s.shape[1] + columns[0];
    data.set(s.data.subarray(from, from + shape[1]), r * shape[1]);
  }
  const cut = (axis, [from, to]) => ({ ...axis, start: axis.start + from * axis.step, values: axis.values.slice(from, to), ...(axis.dates && { dates: axis.dates.slice(from, to) }) });
  return { ...s, shape, data, ...extent(data), axes: [cut(s.axes[0], rows), cut(s.axes[1], columns)] };
}
