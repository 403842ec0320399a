// The series of the page: at the chosen point of a map, or the slice itself.
import { bookmark } from "./bookmark.js";
import { $, make } from "../panels/dom.js";
import { coordinate, every } from "../panels/format.js";
import { fail } from "./messages.js";
import { clean } from "../colour/stats.js";
import * as observations from "../data/observations.js";
import * as plots from "../plots/plots.js";
import * as point from "../plots/point.js";
import * as ragged from "../data/ragged.js";
import { maxSeries, signal as current, values } from "./read.js";
import { dimsOf, state } from "./state.js";

const mostMixed = 1 << 18; // values of all instances that are read for a series of one
let run = 0; // the last series that was wanted

// start connects the choice of what a series is along and against.
export function start() {
  $("by").addEventListener("change", () => {
    state.by = $("by").value;
    bookmark(false);
    (state.slice.shape.length === 2 ? point.load() : showSeries(state.seriesWords, current())).catch(fail);
  });
  $("along").addEventListener("change", () => {
    state.along = dimsOf(state.variable)[Number($("along").value)].name;
    bookmark(false);
    point.load().catch(fail);
  });
}

// loadSeries shows the series at the chosen point.
export async function loadSeries(signal) {
  if (state.slice.shape.length !== 2) return; // the slice is a series
  const dims = dimsOf(state.variable);
  const free = dims.map((_, i) => i).filter((i) => dims[i].length > 1);
  const along = free.find((i) => dims[i].name === state.along) ??
    free.find((i) => dims[i].axis === "T") ?? free.find((i) => typeof state.words[i] === "number") ?? state.words.indexOf("x");
  const only = state.point ?? (free.length === 1 && !state.words.includes("y") ? state.words : null); // all is on its series
  $("series-table").hidden = !only;
  $("along").replaceChildren(...free.map((i) => make("option", { value: i, selected: i === along }, dims[i].name)));
  if (!only) {
    $("series-where").textContent = "click a point of the map";
    $("series-by").hidden = true;
    plots.clearLine();
    state.series = null;
    return;
  }
  // Of ragged arrays, the series is that of one instance.
  const { instances, instance } = state.slice.geo ?? {};
  const group = instances && state.words[along] === "x" ? { ...ragged.group(instances, state.point?.[along] ?? 0), name: instance } : null;
  state.seriesWords = state.words.map((w, i) => (i === along ? (group ? `x${group.from}:${group.to}` : "x") : typeof w === "number" ? w : only[i]));
  const s = await showSeries(state.seriesWords, signal, { group });
  $("series").dataset.values = s.shape[0] <= maxSeries ? JSON.stringify(Array.from(s.data)) : "";
}

// showSeries shows a series with its peaks, which a sample of it may lack. group is the instance of a ragged array that it is of, of
// ragged.js, with the name of its dimension.
export async function showSeries(words, signal, { sample = null, group = null } = {}) {
  const v = state.variable, mine = ++run;
  const { list, best } = observations.coordinates(state.meta, v, words);
  const by = state.by === "index" ? null : list.find((o) => o.name === state.by) ?? best;
  $("series-by").hidden = list.length === 0;
  $("by").replaceChildren(...[["index", !by], ...list.map((o) => [o.name, o === by])].map(([name, selected]) => make("option", { selected }, name)));
  const s = sample && !by && sample.axes[0].step === 1 ? sample : await seriesOf(words, signal, by, group);
  if (mine !== run) throw new DOMException("another series is wanted", "AbortError");
  state.series = s;
  const axis = s.axes[0];
  const { at, step, name } = axis;
  const part = at && step > 1 ? `the smallest and the largest of every ${step} values` : step > 1 ? `${every(step, name)}, peaks between them are not shown` : "";
  $("series-where").textContent = [group && `${group.name} ${group.instance}`, where(s.fixed), part, clean(s).without].filter(Boolean).join("; ");
  if (by) Object.assign(axis, { name: by.name, axis: by.axis, down: by.down, index: false });
  plots.line(s, v, { points: Boolean(by) || observations.isPoints(state.meta, v, words) });
  return s;
}

// seriesOf reads a series, or those of its values that belong to the chosen instance.
async function seriesOf(words, signal, by, group) {
  if (!group?.places) return values(words, maxSeries, signal, { extremes: true, by: by?.num });
  const s = await values(words, mostMixed, signal, { by: by?.num });
  return s.axes[0].step === 1 ? ragged.pick(s, group.places) : s;
}

const where = (fixed) => (fixed.length > 0 ? `at ${fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ")}` : "");
