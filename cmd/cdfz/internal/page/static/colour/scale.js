// The colours of values: one function for maps, legends and histograms.
import { number, round, ticks as labels } from "../panels/format.js";
import { circle, flags } from "./kinds.js";
import * as stats from "./stats.js";
import * as tables from "./tables.js";

// kinds are the names of scales.
export const kinds = ["linear", "log", "symlog"];

// packed returns the colour at a place of a list as red, green, blue and full opacity.
export function packed(list, at) {
  return ((list[at] << 24) | (list[at + 1] << 16) | (list[at + 2] << 8) | 255) >>> 0;
}

// rgb writes a packed colour as style sheets do.
export const rgb = (pixel) => `rgb(${pixel >>> 24}, ${(pixel >>> 16) & 255}, ${(pixel >>> 8) & 255})`;

const clamp = (i) => (i > 0 ? (i < 255 ? i : 255) : 0); // also of NaN

// transform returns the function of a scale, and its inverse. symlog is nearly linear between -linear and linear.
function transform(kind, linear) {
  if (kind === "log") return [(v) => (v > 0 ? Math.log10(v) : -Infinity), (t) => 10 ** t];
  if (kind === "symlog") return [(v) => Math.sign(v) * Math.log10(1 + Math.abs(v) / linear), (t) => Math.sign(t) * linear * (10 ** Math.abs(t) - 1)];
  return [(v) => v, (t) => t];
}

// make returns the colours of values from low to high. pixels has them, packed, and place returns the number of the one of a
// value. Values outside of the range have the first or the last one. Where at is 0 is low, where it is 1 is high, and
// value is the inverse of at. A diverging palette has its middle at 0, if that is in the range; a cyclic one goes round with wrap.
export function make({ palette, low, high, kind = "linear", wrap = false }) {
  if (kind === "log" && !(low > 0 && high > low)) kind = "linear";
  const linear = 10 ** (Math.floor(Math.log10(Math.max(Math.abs(low), Math.abs(high)) || 1)) - 2);
  const [f, inverse] = transform(kind, linear);
  const [from, to] = [f(low), f(high)];
  const some = to > from;
  const at = (v) => (some ? (f(v) - from) / (to - from) : 0.5);
  const table = tables.table(palette);
  const around = tables.kindOf(palette) === "diverging" && kind !== "log" && low < 0 && high > 0;
  const most = Math.max(-from, to);
  const place = !some ? () => 127 : around ? (v) => clamp(Math.floor(128 + (f(v) / most) * 128)) :
    wrap ? (v) => { const t = (v - low) / (high - low); return clamp(Math.floor((t - Math.floor(t)) * 256)); } : (v) => clamp(Math.floor(((f(v) - from) / (to - from)) * 256));
  return {
    palette, low, high, kind, linear, around, wrap, at, place, pixels: Uint32Array.from({ length: 256 }, (_, i) => packed(table, 3 * i)),
    value: (t) => (some ? inverse(from + t * (to - from)) : low), ticks: (count) => ticks({ low, high, kind, linear, wrap, at }, count), word: () => null,
  };
}

// ticks returns about count round values of a scale, with where they are and a text.
function ticks({ low, high, kind, linear, wrap, at }, count) {
  let values = [low];
  if (wrap) values = [0, 1, 2, 3, 4].map((k) => low + (k / 4) * (high - low));
  else if (high > low && kind === "linear") values = round(low, high, Math.max(2, count));
  else if (high > low) values = decades(low, high, kind, linear, Math.max(2, count));
  if (values.length === 0) values = [low, high];
  const texts = kind === "linear" ? labels(values) : values.map(power);
  return values.map((value, k) => ({ value, at: at(value), text: texts[k] }));
}

// power writes a value of a logarithmic axis.
const power = (v) => (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? v.toExponential().replace("e+", "e") : number(v));

// decades returns powers of ten, fewer if there are many, or with 2 and 5 between them if there are few.
function decades(low, high, kind, linear, count) {
  const one = (from, to) => {
    const [a, b] = [Math.ceil(Math.log10(from) - 1e-9), Math.floor(Math.log10(to) + 1e-9)];
    if (b - a >= 2) {
      const step = Math.max(1, Math.ceil((b - a + 1) / count)), out = [];
      for (let e = b; e >= a; e -= step) out.unshift(Number(`1e${e}`));
      return out;
    }
    const out = [];
    for (let e = a - 1; e <= b; e++) for (const k of [1, 2, 5]) out.push(Number(`${k}e${e}`));
    const inside = out.filter((v) => v >= from * (1 - 1e-9) && v <= to * (1 + 1e-9));
    return inside.length > 1 ? inside : round(from, to, count);
  };
  if (kind === "log") return one(low, high);
  count = Math.max(1, Math.floor(count / 2));
  const side = (end) => (end >= linear ? one(linear, end).filter((v) => v >= linear) : []);
  return [...side(-low).map((v) => -v).reverse(), ...(low <= 0 && high >= 0 ? [0] : []), ...side(high)].filter((v) => v >= low && v <= high);
}

const seen = new WeakMap(); // by variable, the colours of values of masks that it has had, as their numbers

// numbered returns the number of the colour of each value, which stays in all slices of a variable: values that only some of
// them have do not change those of others.
function numbered(variable, { values, common }, list) {
  if (values.length > 0) return new Map(list.map((v, i) => [v, i]));
  const numbers = seen.get(variable) ?? new Map(common.map((v, i) => [v, i]));
  for (const v of list) if (!numbers.has(v)) numbers.set(v, numbers.size);
  seen.set(variable, numbers);
  return numbers;
}

// categories returns the colours of values with names. Those without one are grey.
function categories(variable, flags, data) {
  const { values, name } = flags;
  const there = new Set();
  for (let i = 0; i < data.length && there.size < 500; i++) if (data[i] === data[i]) there.add(data[i]);
  const found = [...there].sort((a, b) => a - b);
  const list = values.length > 0 ? values : found.filter((v) => name(v) !== null);
  const numbers = numbered(variable, flags, list), other = numbers.size;
  const table = tables.distinct(other), order = new Map(list.map((v, i) => [v, i])), places = new Map(list.map((v) => [v, numbers.get(v)]));
  const n = Math.max(1, list.length);
  return {
    palette: "categories", low: Math.min(...list), high: Math.max(...list), kind: "categories", around: false, wrap: false,
    pixels: Uint32Array.from({ length: other + 1 }, (_, i) => (i < other ? packed(table, 3 * i) : 0x5a5a5aff)),
    place: (v) => places.get(v) ?? other, at: (v) => ((order.get(v) ?? NaN) + 0.5) / n, value: (t) => list[Math.min(list.length - 1, Math.floor(t * n))],
    ticks: () => list.map((value, i) => ({ value, at: (i + 0.5) / n, text: number(value) })), word: name,
    names: list.map((value) => ({ value, text: name(value), there: there.has(value) })), others: found.filter((v) => !order.has(v)).length,
  };
}

// titles are what a palette is called in a sentence.
const titles = { bluered: "blue to red", purpleorange: "purple to orange" };

// straddle reports whether values are on both sides of 0, with at least a sixth of the range on each: temperatures of the sea in
// degrees Celsius, which begin below 0, are no differences.
const straddle = (low, high) => low < 0 && high > 0 && Math.min(-low, high) >= 0.2 * Math.max(-low, high);

const times = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// wider returns a slice with the range that it has together with its values in finer steps. It stays as it is itself, because others
// share it.
export function wider(slice, finer) {
  const both = (name, f) => (finer[name] === null || slice[name] === null ? slice[name] ?? finer[name] : f(slice[name], finer[name]));
  return finer === slice ? slice : { ...slice, min: both("min", Math.min), max: both("max", Math.max) };
}

// of returns the colours of a slice. Of options, palette is the name of one or "auto", low and high are numbers or undefined,
// kind is one of kinds, range is "auto" or "all", held are the stats of what the range is held for, or undefined, and variable
// has the attributes. The result also has notes, which are sentences about it, robust if outliers are left out or could be
// (then range tells which), and whether values are below and above it.
export function of(slice, { palette, low, high, kind = "linear", range = "auto", held, variable }) {
  const here = stats.of(slice.data);
  const s = held ?? here;
  const notes = [];
  const reversed = palette.endsWith("_r"), auto = palette.replace(/_r$/, "") === "auto";
  const named = auto && flags(variable);
  if (named) {
    const c = categories(variable, named, slice.data);
    if (c.names.length > 0) return { ...c, notes: c.others > 0 ? [`${times(c.others, "other value is", "other values are")} dark grey`] : [], robust: false, below: false, above: false };
  }
  // The server may know values that the slice has not.
  const whole = held ? [s.min, s.max] : [slice.min, slice.max];
  const some = whole[0] !== null && whole[0] !== undefined;
  let [first, last] = some ? whole : [0, 0];
  const turn = auto && kind === "linear" && some ? circle(variable, first) : null;
  const better = turn || (low !== undefined && high !== undefined) ? null : stats.robust(s);
  if (turn && first >= turn[0] - 1e-6 && last <= turn[1] * (1 + 1e-6)) [first, last] = turn;
  else if (better && range === "auto") [first, last] = [better.low, better.high];
  if (kind === "log" && low === undefined && some) {
    const positive = s.positive2 !== null && Math.log10(last / s.positive) > 8 ? s.positive2 : s.positive;
    if (!(last > 0)) notes.push("no value has a logarithm: the scale is linear");
    else if (!(first > 0)) first = positive;
  }
  if (kind === "log" && here.notPositive > 0 && last > 0) notes.push(`${times(here.notPositive, "value", "values")} of 0 or less ${here.notPositive === 1 ? "has" : "have"} no logarithm and the first colour`);
  [first, last] = [low ?? first, high ?? last];
  if (kind === "log" && low !== undefined && !(low > 0)) notes.push(`a logarithmic scale begins above 0, not at ${low}: the scale is linear`);
  let name = palette, wrap = false;
  if (auto) {
    name = "viridis";
    if (turn && low === undefined && high === undefined) {
      [name, wrap] = ["twilight", true];
      notes.push("colours go round, as directions do");
    } else if (kind !== "log" && straddle(first, last)) name = "bluered";
    if (reversed) name += "_r";
  }
  const out = make({ palette: name, low: first, high: last, kind, wrap });
  if (out.around) notes.push(`${name.endsWith("_r") ? titles[name.slice(0, -2)].split(" to ").reverse().join(" to ") : titles[name]}, with the middle at 0${auto ? ", because values are on both sides" : ""}`);
  if (out.kind === "symlog") notes.push(`nearly linear within ±${number(out.linear)}, logarithmic beyond`);
  const [below, above] = [some && !wrap && slice.min < first, some && !wrap && slice.max > last];
  if (held && low === undefined && high === undefined) notes.push(`range ${held.text}`);
  if (better && range === "auto") {
    if (better.percentiles && (low ?? high) === undefined) notes.push("colours from the 2nd to the 98th percentile");
    for (const f of here.fills) if (f.value < first || f.value > last) notes.push(`${times(f.count, "value", "values")} of ${number(f.value)} ${f.count === 1 ? "is" : "are"} outside`);
    if (better.percentiles && here.low !== null && (here.low < first || here.high > last)) notes.push(`${here.fills.length > 0 ? "others" : "values"} go from ${number(here.low)} to ${number(here.high)}`);
  } else if (better) notes.push("all values, with outliers");
  return { ...out, notes, robust: better !== null, range, below, above };
}
