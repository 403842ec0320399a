// What the values of a slice tell about its colours.
import { number } from "../panels/format.js";

// fills are values that files have for missing ones, often without saying so.
const fills = [-9999, -999, -99, -99999, -99900, -999900, -9999999, -32768, -32767, -2147483648, -2147483647, -1e20, -1e30, -1e34, -9e33, -9.99e8, 999, 9999, 99999, 999999, 32767, 65535, 2147483647, 1e10, 1e15, 1e20, 1e30, 1e34, 1e35, 1e36, 9.96921e36, 9.969209968386869e36, 3.4028234663852886e38, -3.4028234663852886e38, -999.9, -99.9, -9999.9, -9.96921e36];

const same = (a, b) => Math.abs(a - b) <= 1e-6 * Math.abs(b);
const isFill = (v) => fills.some((f) => same(v, f));

// sampled is how many values percentiles are taken from.
const sampled = 20000;

// percentiles returns those at some parts of a sample of values that are within a range.
function percentiles(data, low, high, parts) {
  const step = Math.floor(data.length / sampled) | 1; // odd, so that it takes all columns of most grids
  const some = new Float64Array(Math.ceil(data.length / step));
  let n = 0;
  for (let i = 0; i < data.length; i += step) if (data[i] >= low && data[i] <= high) some[n++] = data[i];
  const sorted = some.subarray(0, n).sort();
  return parts.map((p) => (n === 0 ? null : sorted[Math.min(n - 1, Math.floor(p * n))]));
}

function look(data) {
  let min = Infinity, max = -Infinity, positive = Infinity, notPositive = 0;
  for (let i = 0; i < data.length; i++) {
    const v = data[i];
    if (!Number.isFinite(v)) continue;
    if (v < min) min = v;
    if (v > max) max = v;
    if (v > 0) {
      if (v < positive) positive = v;
    } else notPositive++;
  }
  const out = { min, max, low: min, high: max, positive: positive === Infinity ? null : positive, notPositive, fills: [] };
  if (!(min <= max)) return { ...out, min: null, max: null, low: null, high: null, p2: null, p98: null };
  // Fill values are far from all others: further than these are from each other.
  for (let k = 0; k < 4; k++) {
    let found = null;
    for (const end of ["low", "high"]) {
      const v = out[end];
      if (!isFill(v) || out.low === out.high) continue;
      let count = 0, a = Infinity, b = -Infinity;
      for (let i = 0; i < data.length; i++) {
        const w = data[i];
        if (w === v) count++;
        else if (w >= out.low && w <= out.high) {
          if (w < a) a = w;
          if (w > b) b = w;
        }
      }
      const gap = end === "low" ? a - v : v - b;
      // Several are left for a fill at the other end.
      const other = [a, b].some((w) => isFill(w));
      if (gap > Math.max(b - a, 0.5 * Math.abs(v)) || (other && gap > 0.5 * Math.abs(v))) found = { end, value: v, count, rest: [a, b] };
      if (found) break;
    }
    if (!found) break;
    out.fills.push({ value: found.value, count: found.count });
    [out.low, out.high] = found.rest;
  }
  [out.p2, out.p98] = percentiles(data, out.low, out.high, [0.02, 0.98]);
  [out.positive2] = percentiles(data, Math.max(out.low, Number.MIN_VALUE), out.high, [0.02]);
  return out;
}

const known = new WeakMap();

// look returns of values: min and max, low and high without values that seem to stand for missing ones (fills, with the
// number of each), the percentiles p2 and p98 of these, and the smallest positive value, with that below which are 2 % of the
// positive ones, and the number of those that are not positive.
export function of(data) {
  let s = known.get(data);
  if (!s) known.set(data, (s = look(data)));
  return s;
}

// useless is how much longer than from p2 to p98 a range is, for its colours to show nothing.
const useless = 8;

// robust returns the range of the most of values, or null if that of all is as good.
export function robust(s) {
  if (s.low === null) return null;
  if (s.p98 > s.p2 && s.high - s.low > useless * (s.p98 - s.p2)) return { low: s.p2, high: s.p98, percentiles: true };
  return s.fills.length > 0 ? { low: s.low, high: s.high, percentiles: false } : null;
}

const cleaned = new WeakMap(); // by data

/**
 * clean returns a slice or a series without the values that seem to stand for missing ones, which would make its mean and its plots
 * useless. without tells of them, and is "" if there are none. missing stays that of the file.
 */
export function clean(s) {
  const { fills, low, high } = of(s.data);
  if (fills.length === 0) return { ...s, without: "" };
  if (!cleaned.has(s.data)) {
    const values = new Set(fills.map((f) => f.value));
    cleaned.set(s.data, s.data.map((v) => (values.has(v) ? NaN : v)));
  }
  const without = `without ${fills.map(({ value, count }) => `${count.toLocaleString("en")} ${count === 1 ? "value" : "values"} of ${number(value)}`).join(" and ")}`;
  return { ...s, data: cleaned.get(s.data), min: low, max: high, without };
}
