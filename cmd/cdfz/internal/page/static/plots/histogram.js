// The histogram, drawn by uPlot, and the numbers below it.
import { $ } from "../panels/dom.js";
import { css, number, ticks } from "../panels/format.js";
import * as means from "../data/means.js";
import { make, rgb } from "../colour/scale.js";
import { clean } from "../colour/stats.js";
import { axisStyle, column, whole, width } from "./style.js";

let hist = null;

// mean writes the mean of a slice: each value counts alike, and on a map of longitude and
// latitude also by the area of its cell.
function mean(s, plain) {
  const text = `mean ${number(plain)} (not weighted)`;
  if (s.axes.length !== 2 || s.axes.map(means.kindOf).sort().join("") !== "en") return text;
  const weights = means.weights(s);
  const weighted = means.area(s, null, weights).mean;
  return weights.weighted && Number.isFinite(weighted) ? `${text}, ${number(weighted)} weighted by the areas of cells` : text;
}

// histogram draws how often the values of a slice lie in each of some parts of a scale of scale.js, in its colours. Without
// colours it is linear. Values that seem to stand for missing ones are left out, unless the colours are of all values, or of categories.
export function show(slice, { name, units }, colours) {
  const s = colours?.range === "all" || colours?.names ? { ...slice, without: "" } : clean(slice);
  const { min, max } = s;
  hist?.destroy();
  hist = null;
  let count = 0, sum = 0, infinite = 0;
  for (const v of s.data) {
    if (!Number.isFinite(v)) {
      if (v === v) infinite++;
      continue;
    }
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
  const more = [`${s.missing} missing`, infinite > 0 && `${infinite} infinite`, outside > 0 && `${outside} outside of the ${names ? "categories" : "range of the colours"}`, s.without];
  const stats = count === 0 ? "no values" : `${count} values from ${number(min)} to ${number(max)}${unit}${about}; ${more.filter(Boolean).join("; ")}`;
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

// start keeps the histogram as wide as the page.
export function start() {
  new ResizeObserver(() => hist?.setSize({ width: width("hist"), height: 220 })).observe(document.querySelector(".pair"));
}

// redraw draws in other colours.
export const redraw = () => hist?.redraw(false);
