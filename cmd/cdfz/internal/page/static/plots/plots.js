// Series and histograms, drawn by uPlot.
import { title } from "../map/axes.js";
import { $, table } from "../panels/dom.js";
import { coordinate, css, exact, indexOf, number, ticks, times } from "../panels/format.js";
import * as means from "../data/means.js";
import { make, rgb } from "../colour/scale.js";

const lines = new Map(); // plots of series, by id
const slices = new Map(); // what they show
let hist = null;

const width = (id) => Math.max(200, $(id).clientWidth);

function axisStyle(more) {
  return { stroke: () => css("--ink"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line") }, font: "12px system-ui, sans-serif", ...more };
}

// column is how wide the labels of a vertical axis are.
const column = (_, values) => Math.max(60, 20 + 7 * Math.max(0, ...(values ?? []).map((v) => v.length)));

// whole are the distances of ticks on an axis of whole numbers.
const whole = [1, 2, 5].flatMap((k) => Array.from({ length: 16 }, (_, e) => k * 10 ** e)).sort((a, b) => a - b);

// line draws a series of a variable: an answer of api.values with one axis. points: they are not connected. id is
// that of the element to draw in, and upright tells whether the coordinate is upright, as heights and depths are. note
// is added to the text of a value.
export function line(s, { name, units }, { points = false, id = "series", upright = s.axes[0].axis === "Z", note = () => "" } = {}) {
  const axis = s.axes[0];
  const ordered = points || axis.values.every((v) => v !== null);
  const place = (i) => (ordered ? axis.values[i] : indexOf(axis, i));
  const value = (i) => (Number.isFinite(s.data[i]) ? s.data[i] : null);
  let order = Array.from({ length: s.shape[0] }, (_, i) => i);
  if (points) order = order.filter((i) => place(i) !== null && value(i) !== null);
  order.sort((a, b) => place(a) - place(b));
  const n = order.length;
  const xs = order.map(place);
  const text = (k) => `${exact(s.data[order[k]], s.type)}${units ? " " + units : ""} at ${coordinate(axis, order[k])}${note(order[k])}`;
  const none = order.some((i) => value(i) !== null) ? "" : "no values";
  const values = { scale: "y", space: upright ? 80 : undefined, size: upright ? undefined : column, values: (_, splits) => ticks(splits) };
  const places = { scale: "x", space: upright ? 30 : 80, size: upright ? column : undefined, values: (_, splits) => ticks(splits, axis.units) };
  if (axis.values.every(Number.isInteger)) places.incrs = whole;
  if (axis.dates) {
    const date = (split) => axis.dates[order[xs.indexOf(split)]] ?? "";
    Object.assign(places, { splits: () => dated(xs, Math.max(2, Math.floor(width(id) / 110))), values: (_, splits) => times(splits.map(date)).texts });
  }
  lines.get(id)?.destroy();
  slices.set(id, s);
  const [up, across] = [units ? `${name} (${units})` : name, title(axis)];
  $(`${id}-y`).textContent = upright ? `${axis.down ? "↓" : "↑"} ${across}` : `↑ ${up}`;
  $(`${id}-x`).textContent = `${upright ? up : across} →`;
  $(id).dataset.drawn = points ? "points" : "line";
  const scale = upright ? { x: { ori: 1, dir: axis.down ? -1 : 1 }, y: { ori: 0 } } : { x: {}, y: {} };
  const style = (more) => axisStyle(Object.fromEntries(Object.entries(more).filter(([, v]) => v !== undefined)));
  lines.set(id, new uPlot({
    width: width(id), height: upright ? 320 : 220, padding: [null, 34, null, null],
    scales: { x: { time: false, ...scale.x }, y: scale.y },
    axes: [style({ side: upright ? 3 : 2, ...places }), style({ side: upright ? 2 : 3, ...values })],
    series: [{}, { stroke: () => css("--mark"), width: 2, points: { show: points || n < 100, size: points && n > 500 ? 4 : 6 }, ...(points && { paths: () => null }) }],
    cursor: { drag: { x: false, y: false } },
    legend: { show: false },
    hooks: { setCursor: [(u) => { $(`${id}-readout`).textContent = u.cursor.idx === null || u.cursor.idx === undefined || none ? none : text(u.cursor.idx); }] },
  }, [xs, order.map(value)], $(id)));
  $(`${id}-readout`).textContent = none;
  if ($(`${id}-table`)) rows(s, axis, id);
}

// dated returns about count of some ascending numbers, as far from each other as possible.
export function dated(xs, count) {
  const apart = (xs.at(-1) - xs[0]) / count;
  const out = [];
  for (const x of xs) if (out.length === 0 || (x > out.at(-1) && x - out.at(-1) >= apart)) out.push(x);
  return out;
}

// rows fills the table of a series when it is opened.
function rows(s, axis, id) {
  const details = $(`${id}-table`);
  const most = 1000;
  const fill = () => {
    if (!details.open) return;
    const all = Array.from(s.data.subarray(0, most), (v, i) => [String(indexOf(axis, i)), coordinate(axis, i), exact(v, s.type)]);
    details.querySelector("div").replaceChildren(table(["#index", axis.name, "#value"], all));
  };
  details.ontoggle = fill;
  fill();
}

// plot returns what uPlot shows of a series, or undefined, and shown the series.
export const plot = (id) => lines.get(id);
export const shown = (id) => slices.get(id);

// clearLine removes a series.
export function clearLine(id = "series") {
  lines.get(id)?.destroy();
  lines.delete(id);
  slices.delete(id);
  for (const part of ["readout", "y", "x"]) $(`${id}-${part}`).textContent = "";
  $(`${id}-table`)?.querySelector("div").replaceChildren();
}

// mean writes the mean of a slice: each value counts alike, and on a map of longitude and
// latitude also by the area of its cell.
function mean(s, plain) {
  const text = `mean ${number(plain)} (not weighted)`;
  if (s.axes.length !== 2 || s.axes.map(means.kindOf).sort().join("") !== "en") return text;
  const weighted = means.area(s, null, means.weights(s)).mean;
  return `${text}, ${number(weighted)} weighted by the areas of cells`;
}

// histogram draws how often the values of a slice lie in each of some parts of a scale of scale.js, in its colours. Without
// colours it is linear.
export function histogram(s, { name, units }, colours) {
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
  const { at, value, ticks: marks, names, ...scale } = colours ?? make({ palette: "greys", low: min ?? 0, high: max ?? 0 });
  const some = names ? names.length > 0 : scale.high > scale.low;
  const inside = (v) => Math.max(0, Math.min(1, at(v)));
  const [from, to] = names || !some ? [0, 1] : [inside(min), inside(max)];
  const bins = names ? names.length : to > from && some ? 40 : 1;
  const heights = new Array(bins).fill(0);
  let squares = 0, outside = 0;
  for (const v of s.data) {
    if (!Number.isFinite(v)) continue;
    squares += (v - middle) ** 2;
    const t = some ? at(v) : 0.5;
    if (!(t >= -1e-9 && t <= 1 + 1e-9)) outside++;
    else heights[bins === 1 ? 0 : Math.max(0, Math.min(bins - 1, Math.floor(((t - from) / (to - from)) * bins)))]++;
  }
  const unit = units ? " " + units : "";
  const about = names ? "" : `, ${mean(s, middle)}, standard deviation ${number(Math.sqrt(squares / count))}`;
  const stats = count === 0 ? "no values" :
    `${count} values from ${number(min)} to ${number(max)}${unit}${about}; ${s.missing} missing${outside > 0 ? `; ${outside} outside of the ${names ? "categories" : "range of the colours"}` : ""}`;
  $("stats").textContent = stats;
  $("hist-x").textContent = `${name}${units ? ` (${units})` : ""} →`;
  $("hist").setAttribute("aria-label", `Histogram: ${stats}`);
  $("hist-y").hidden = $("hist-x").hidden = count === 0;
  if (count === 0) return;
  const step = (to - from || 1) / bins, first = to > from ? from : from - 0.5;
  const most = Math.max(2, Math.floor(width("hist") / 90));
  const labels = some ? marks(most).filter((m) => m.at >= first - 1e-9 && m.at <= first + bins * step + 1e-9) : [{ at: 0.5, text: number(min) }];
  const near = labels.length > 1 ? labels : [0, 0.5, 1].map((t) => from + t * (to - from)).map((t) => ({ at: t, text: number(value(t)) }));
  const shown = some && !names ? near : labels.filter((_, k) => k % Math.ceil(labels.length / (2 * most)) === 0);
  const text = (split) => shown.find((m) => m.at === split)?.text ?? "";
  const middles = heights.map((_, i) => first + (i + 0.5) * step);
  const fills = () => middles.map((t) => (colours ? rgb(colours.pixels[colours.place(value(t))]) : css("--bar")));
  hist = new uPlot({
    width: width("hist"), height: 220,
    scales: { x: { time: false, range: () => [first, first + bins * step] }, y: { range: (_, low, high) => [0, high * 1.05] } },
    axes: [axisStyle({ splits: () => shown.map((m) => m.at), values: (_, splits) => splits.map(text) }), axisStyle({ size: column, incrs: whole, values: (_, splits) => ticks(splits) })],
    series: [{}, { width: 1, paths: uPlot.paths.bars({ size: [0.9, Infinity], align: 0, disp: { fill: { unit: 3, values: fills }, stroke: { unit: 3, values: () => middles.map(() => css("--soft")) } } }), points: { show: false } }],
    cursor: { show: false }, legend: { show: false },
  }, [middles, heights], $("hist"));
}

// start keeps the plots as wide as the page.
export function start() {
  new ResizeObserver(() => {
    for (const [id, plot] of lines) if ($(id).clientWidth > 0) plot.setSize({ width: width(id), height: plot.height });
    hist?.setSize({ width: width("hist"), height: 220 });
  }).observe(document.querySelector(".pair"));
}

// redraw draws in other colours.
export function redraw() {
  for (const plot of lines.values()) plot.redraw(false);
  hist?.redraw(false);
}
