// The series of the page: at the chosen point of a map, or the slice itself.
import { bookmark } from "./bookmark.js";
import { $, make } from "../panels/dom.js";
import { coordinate, every } from "../panels/format.js";
import { fail } from "./messages.js";
import * as observations from "../data/observations.js";
import * as plots from "../plots/plots.js";
import { maxSeries, signal as current, values } from "./read.js";
import { dimsOf, state } from "./state.js";

// start connects the choice of what a series is along and against.
export function start() {
  $("by").addEventListener("change", () => {
    state.by = $("by").value;
    bookmark(false);
    showSeries(state.seriesWords, current()).catch(fail);
  });
  $("along").addEventListener("change", () => {
    state.along = dimsOf(state.variable)[Number($("along").value)].name;
    bookmark(false);
    loadSeries(current()).catch(fail);
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
  state.seriesWords = state.words.map((w, i) => (i === along ? "x" : typeof w === "number" ? w : only[i]));
  const s = await showSeries(state.seriesWords, signal);
  $("series").dataset.values = s.shape[0] <= maxSeries ? JSON.stringify(Array.from(s.data)) : "";
}

// showSeries shows a series with its peaks, which a sample of it may lack.
export async function showSeries(words, signal, sample) {
  const v = state.variable;
  const { list, best } = observations.coordinates(state.meta, v, words);
  const by = state.by === "index" ? null : list.find((o) => o.name === state.by) ?? best;
  $("series-by").hidden = list.length === 0;
  $("by").replaceChildren(...[["index", !by], ...list.map((o) => [o.name, o === by])].map(([name, selected]) => make("option", { selected }, name)));
  const s = sample && !by && sample.axes[0].step === 1 ? sample : await values(words, maxSeries, signal, { extremes: true, by: by?.num });
  state.series = s;
  const axis = s.axes[0];
  const { at, step, name } = axis;
  const part = at ? `the smallest and the largest of every ${step} values` : step > 1 ? `${every(step, name)}, peaks between them are not shown` : "";
  $("series-where").textContent = [where(s.fixed), part].filter(Boolean).join("; ");
  if (by) Object.assign(axis, { name: by.name, axis: by.axis, down: by.down, index: false });
  plots.line(s, v, { points: Boolean(by) || observations.isPoints(state.meta, v, words) });
  return s;
}

const where = (fixed) => (fixed.length > 0 ? `at ${fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ")}` : "");
