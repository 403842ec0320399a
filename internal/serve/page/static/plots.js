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

// line draws a series of a variable: an answer of api.values with one axis.
export function line(s, { name, units }) {
  const axis = s.axes[0];
  const n = s.shape[0];
  const order = Array.from({ length: n }, (_, i) => i);
  const ordered = axis.values.every((v) => v !== null);
  const xs = ordered ? axis.values : order.map((i) => indexOf(axis, i));
  order.sort((a, b) => xs[a] - xs[b]);
  const data = [order.map((i) => xs[i]), order.map((i) => (Number.isFinite(s.data[i]) ? s.data[i] : null))];
  const text = (k) => `${exact(s.data[order[k]], s.type)}${units ? " " + units : ""} at ${coordinate(axis, order[k])}`;
  const count = Math.max(2, Math.floor(width("series") / 100));
  const dated = axis.dates && {
    splits: () => order.filter((_, k) => k % Math.ceil(n / count) === 0).map((i) => xs[i]),
    values: (_, splits) => times(splits.map((x) => axis.dates[xs.indexOf(x)] ?? "")).texts,
  };
  series?.destroy();
  $("series-y").textContent = `↑ ${units ? `${name} (${units})` : name}`;
  $("series-x").textContent = `${title(axis)} →`;
  series = new uPlot({
    width: width("series"), height: 220,
    scales: { x: { time: false } },
    axes: [axisStyle(dated || { ...(xs.every(Number.isInteger) && { incrs: whole }), space: 80, values: (_, splits) => ticks(splits, axis.units) }), axisStyle({ size: column, values: (_, splits) => ticks(splits) })],
    series: [{}, { stroke: css("--mark"), width: 2, points: { show: n < 100 } }],
    cursor: { drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(u) => { $("series-readout").textContent = u.cursor.idx === null || u.cursor.idx === undefined ? "" : text(u.cursor.idx); }] },
  }, data, $("series"));
  rows(s, axis);
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
    series?.setSize({ width: width("series"), height: 220 });
    hist?.setSize({ width: width("hist"), height: 220 });
  }).observe(document.querySelector(".pair"));
}
