// The places and texts of ticks along an axis of the map.
import { dateTicks, isDegrees, round, ticks as labels, times } from "../panels/format.js";

// cellOf returns the number of the value of an axis that stands for an index.
export function cellOf(axis, index) {
  return Math.max(0, Math.min(axis.values.length - 1, Math.floor((index - axis.start) / axis.step)));
}

// title names an axis: its units unless the ticks have them, and the day that all of its n
// values from the first on have.
export function title(axis, first = axis.start, n = Infinity) {
  if (axis.dates) {
    const { day } = times(axis.dates.filter((_, k) => axis.start + k * axis.step >= first && axis.start + k * axis.step < first + n));
    return day ? `${axis.name}, ${day}` : axis.name;
  }
  if (isDegrees(axis.units, "n") || isDegrees(axis.units, "e")) return axis.name;
  const units = axis.units ?? (axis.index ? "index" : "");
  return units ? `${axis.name} (${units})` : axis.name;
}

// ticks returns ticks for n indices from the first on: their places from 0 to 1 with their
// text, in order of the places. They are at round values of the coordinates if these are monotonic, else at some indices.
export function ticks(axis, first, n, count) {
  count = Math.max(2, Math.min(9, Math.floor(count)));
  const cells = [];
  for (let k = cellOf(axis, first); k < axis.values.length && axis.start + k * axis.step < first + n; k++) cells.push(k);
  const values = cells.map((k) => axis.values[k]);
  // A value in steps belongs to the first index of its cell.
  const index = (i) => axis.start + cells[i] * axis.step;
  const place = (at) => (at - first + 0.5) / n;
  const sign = Math.sign(values.at(-1) - values[0]);
  const ordered = cells.length > 1 && sign !== 0 && values.every((v, i) => v !== null && (i === 0 || Math.sign(v - values[i - 1]) === sign));
  if (axis.dates || !ordered) {
    const step = Math.max(1, Math.ceil(cells.length / count));
    const marked = cells.map((_, i) => i).filter((i) => i % step === 0 && index(i) >= first);
    const texts = axis.dates ? dateTicks(marked.map((i) => axis.dates[cells[i]]), cells.map((k) => axis.dates[k])) : labels(values, axis.units).filter((_, i) => marked.includes(i));
    return marked.map((i, k) => [place(index(i)), !axis.dates && values[i] === null ? String(index(i)) : texts[k]]);
  }
  const [low, high] = sign > 0 ? [values[0], values.at(-1)] : [values.at(-1), values[0]];
  let marks = round(low, high, count, values.every(Number.isInteger));
  if (/^degree/.test(axis.units ?? "") && high - low > 60 && high - low < 3600) {
    const step = [15, 30, 45, 60, 90].find((s) => (high - low) / s <= count) ?? 90;
    marks = [];
    for (let v = Math.ceil(low / step) * step; v <= high; v += step) marks.push(v);
  }
  const texts = labels(marks, axis.units);
  return marks.map((v, k) => {
    let i = 0;
    while (i < cells.length - 2 && (values[i + 1] - v) * sign < 0) i++;
    const at = (v - values[i]) / (values[i + 1] - values[i]);
    return [place(index(i) + at * axis.step), texts[k]];
  }).filter(([at]) => at >= 0 && at <= 1).sort((a, b) => a[0] - b[0]);
}
