// Series, drawn by uPlot.
import { title } from "../map/axes.js";
import { $, table } from "../panels/dom.js";
import { coordinate, css, dateTicks, exact, indexOf, isDegrees, ticks } from "../panels/format.js";
import { clean } from "../colour/stats.js";
import { axisStyle, column, whole, width } from "./style.js";

const lines = new Map(); // plots of series, by id
const slices = new Map(); // what they show

// line draws a series of a variable: an answer of api.values with one axis. points: they are not connected. id is
// that of the element to draw in, and upright tells whether the coordinate is upright, as heights and depths are. note
// is added to the text of a value.
export function line(s, { name, units }, { points = false, id = "series", upright = s.axes[0].axis === "Z", note = () => "" } = {}) {
  const axis = s.axes[0];
  const ordered = points || axis.values.every((v) => v !== null); // or else against the index
  const along = isDegrees(axis.units, "e") && !points ? unwound(axis.values) : axis.values;
  const place = (i) => (ordered ? along[i] : indexOf(axis, i));
  const { data } = clean(s);
  const value = (i) => (Number.isFinite(data[i]) ? data[i] : null);
  let order = Array.from({ length: s.shape[0] }, (_, i) => i);
  if (points) order = order.filter((i) => place(i) !== null && value(i) !== null);
  order.sort((a, b) => place(a) - place(b));
  const n = order.length;
  const xs = order.map(place);
  const text = (k) => `${exact(s.data[order[k]], s.type)}${units ? " " + units : ""} at ${coordinate(axis, order[k])}${note(order[k])}`;
  const none = order.some((i) => value(i) !== null) ? "" : "no values";
  const values = { scale: "y", space: upright ? 80 : undefined, size: upright ? undefined : column, values: (_, splits) => ticks(splits) };
  const places = { scale: "x", space: upright ? 30 : 80, size: upright ? column : undefined, values: (_, splits) => ticks(splits, ordered ? axis.units : undefined) };
  if (!ordered || axis.values.every(Number.isInteger)) places.incrs = whole;
  if (axis.dates && ordered) {
    const date = (split) => axis.dates[order[xs.indexOf(split)]] ?? "";
    Object.assign(places, { splits: () => dated(xs, Math.max(2, Math.floor(width(id) / 110))), values: (_, splits) => dateTicks(splits.map(date), axis.dates) });
  }
  lines.get(id)?.destroy();
  slices.set(id, s);
  const [up, across] = [units ? `${name} (${units})` : name, ordered ? title(axis) : `index of ${axis.name}`];
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

// unwound returns longitudes that go on where those of the file begin again, such as -175 after 180, if these are then in order.
export function unwound(values) {
  const out = [...values];
  for (let i = 1; i < out.length; i++) out[i] -= 360 * Math.round((out[i] - out[i - 1]) / 360);
  const sign = Math.sign(out.at(-1) - out[0]);
  return out.every((v, i) => i === 0 || Math.sign(v - out[i - 1]) === sign) ? out : values;
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

// start keeps the plots as wide as the page.
export function start() {
  new ResizeObserver(() => {
    for (const [id, plot] of lines) if ($(id).clientWidth > 0) plot.setSize({ width: width(id), height: plot.height });
  }).observe(document.querySelector(".pair"));
}

// redraw draws in other colours.
export function redraw() {
  for (const plot of lines.values()) plot.redraw(false);
}
