// Series and histograms, drawn by uPlot.
import { title } from "./axes.js";
import { $, table } from "./dom.js";
import { coordinate, css, exact, indexOf, isDegrees, number, ticks, times } from "./format.js";

let series = null;
let hist = null;

const width = (id) => Math.max(200, $(id).clientWidth);

function axisStyle(more) {
  return { stroke: css("--ink"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, font: "12px system-ui, sans-serif", ...more };
}

// column is how wide the labels of a vertical axis are.
const column = (_, values) => Math.max(60, 20 + 7 * Math.max(0, ...(values ?? []).map((v) => v.length)));

// whole are the distances of ticks on an axis of whole numbers.
const whole = [1, 2, 5].flatMap((k) => Array.from({ length: 16 }, (_, e) => k * 10 ** e)).sort((a, b) => a - b);

// line draws a series of a variable: an answer of api.values with one axis. Points are not
// connected, and have a vertical coordinate upwards.
export function line(s, { name, units }, points) {
  const axis = s.axes[0];
  const ordered = points || axis.values.every((v) => v !== null);
  const place = (i) => (ordered ? axis.values[i] : indexOf(axis, i));
  const value = (i) => (Number.isFinite(s.data[i]) ? s.data[i] : null);
  const upright = points && axis.axis === "Z";
  const [x, y] = upright ? [value, place] : [place, value];
  let order = Array.from({ length: s.shape[0] }, (_, i) => i);
  if (points) order = order.filter((i) => place(i) !== null && value(i) !== null);
  order.sort((a, b) => x(a) - x(b));
  const n = order.length;
  const xs = order.map(x);
  const text = (k) => `${exact(s.data[order[k]], s.type)}${units ? " " + units : ""} at ${coordinate(axis, order[k])}`;
  const none = order.some((i) => value(i) !== null) ? "" : "no values";
  const values = { values: (_, splits) => ticks(splits) };
  const places = { space: upright ? 30 : 80, values: (_, splits) => ticks(splits, axis.units) };
  if (axis.values.every(Number.isInteger)) places.incrs = whole;
  if (axis.dates) {
    const date = (split) => axis.dates[order[xs.indexOf(split)]] ?? "";
    Object.assign(places, { splits: () => dated(xs, Math.max(2, Math.floor(width("series") / 110))), values: (_, splits) => times(splits.map(date)).texts });
  }
  series?.destroy();
  const [up, across] = [units ? `${name} (${units})` : name, title(axis)];
  $("series-y").textContent = upright ? `${axis.down ? "↓" : "↑"} ${across}` : `↑ ${up}`;
  $("series-x").textContent = `${upright ? up : across} →`;
  $("series").dataset.drawn = points ? "points" : "line";
  series = new uPlot({
    width: width("series"), height: upright ? 320 : 220,
    scales: { x: { time: false }, y: { dir: upright && axis.down ? -1 : 1 } },
    axes: [axisStyle(upright ? { space: 80, ...values } : places), axisStyle({ size: column, ...(upright ? places : values) })],
    series: [{}, { stroke: css("--mark"), width: 2, points: { show: points || n < 100, size: points && n > 500 ? 4 : 6 }, ...(points && { paths: () => null }) }],
    cursor: { drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(u) => { $("series-readout").textContent = u.cursor.idx === null || u.cursor.idx === undefined || none ? none : text(u.cursor.idx); }] },
  }, [xs, order.map(y)], $("series"));
  $("series-readout").textContent = none;
  rows(s, axis);
}

// dated returns about count of some ascending numbers, as far from each other as possible.
export function dated(xs, count) {
  const apart = (xs.at(-1) - xs[0]) / count;
  const out = [];
  for (const x of xs) if (out.length === 0 || (x > out.at(-1) && x - out.at(-1) >= apart)) out.push(x);
  return out;
}

// rows fills the table of a series when it is opened.
function rows(s, axis) {
  const details = $("series-table");
  const most = 1000;
  const fill = () => {
    if (!details.open) return;
    const all = Array.from(s.data.subarray(0, most), (v, i) => [String(indexOf(axis, i)), coordinate(axis, i), exact(v, s.type)]);
    details.querySelector("div").replaceChildren(table(["#index", axis.name, "#value"], all));
  };
  details.ontoggle = fill;
  fill();
}

// clearLine removes the series.
export function clearLine() {
  series?.destroy();
  series = null;
  for (const id of ["series-readout", "series-y", "series-x"]) $(id).textContent = "";
  $("series-table").querySelector("div").replaceChildren();
}

// mean writes the mean of a slice: each value counts alike, and on a map of longitude and
// latitude also by the area of its cell.
function mean(s, plain) {
  const text = `mean ${number(plain)} (not weighted)`;
  const lat = s.axes.findIndex((a) => isDegrees(a.units, "n"));
  if (s.axes.length !== 2 || lat < 0 || !isDegrees(s.axes[1 - lat].units, "e")) return text;
  let sum = 0, weights = 0;
  s.data.forEach((v, i) => {
    const at = s.axes[lat].values[lat === 0 ? Math.floor(i / s.shape[1]) : i % s.shape[1]];
    if (!Number.isFinite(v) || at === null) return;
    const weight = Math.max(0, Math.cos((at * Math.PI) / 180));
    weights += weight;
    sum += weight * v;
  });
  return weights > 0 ? `${text}, ${number(sum / weights)} weighted by the cosine of latitude` : text;
}

// histogram draws how often the values of a slice lie in each of some equal ranges.
export function histogram(s, { name, units }) {
  const { min, max } = s;
  hist?.destroy();
  hist = null;
  let count = 0, sum = 0;
  for (const v of s.data) {
    if (!Number.isFinite(v)) continue;
    count++;
    sum += v;
  }
  const middle = sum / count;
  let squares = 0;
  const bins = max > min ? 40 : 1;
  const heights = new Array(bins).fill(0);
  for (const v of s.data) {
    if (!Number.isFinite(v)) continue;
    squares += (v - middle) ** 2;
    heights[bins === 1 ? 0 : Math.min(bins - 1, Math.floor(((v - min) / (max - min)) * bins))]++;
  }
  const unit = units ? " " + units : "";
  const stats = count === 0 ? "no values" :
    `${count} values from ${number(min)} to ${number(max)}${unit}, ${mean(s, middle)}, standard deviation ${number(Math.sqrt(squares / count))}; ${s.missing} missing`;
  $("stats").textContent = stats;
  $("hist-x").textContent = `${name}${units ? ` (${units})` : ""} →`;
  $("hist").setAttribute("aria-label", `Histogram: ${stats}`);
  $("hist-y").hidden = $("hist-x").hidden = count === 0;
  if (count === 0) return;
  const step = bins === 1 ? 1 : (max - min) / bins;
  const from = bins === 1 ? min - 0.5 : min;
  hist = new uPlot({
    width: width("hist"), height: 220,
    scales: { x: { time: false, range: () => [from, from + bins * step] }, y: { range: (_, low, high) => [0, high * 1.05] } },
    axes: [axisStyle({ space: 80, values: (_, splits) => ticks(splits) }), axisStyle({ size: column, incrs: whole, values: (_, splits) => ticks(splits) })],
    series: [{}, { fill: css("--bar"), stroke: css("--bar"), width: 0, paths: uPlot.paths.bars({ size: [0.9, Infinity], align: 0 }), points: { show: false } }],
    cursor: { show: false }, legend: { show: false },
  }, [heights.map((_, i) => from + (i + 0.5) * step), heights], $("hist"));
}

// start keeps the plots as wide as the page.
export function start() {
  new ResizeObserver(() => {
    series?.setSize({ width: width("series"), height: series.height });
    hist?.setSize({ width: width("hist"), height: 220 });
  }).observe(document.querySelector(".pair"));
}
