// The slice that the page shows: its choice, and what is shown of it.
import * as address from "../panels/address.js";
import * as animation from "../panels/animation.js";
import * as arrows from "../map/arrows.js";
import * as attributes from "../panels/attributes.js";
import { bookmark } from "./bookmark.js";
import * as colours from "../colour/colours.js";
import * as compare from "../panels/compare.js";
import * as controls from "../panels/controls.js";
import { $, visible } from "../panels/dom.js";
import { drawMap } from "./draw.js";
import * as earth from "../map/earth.js";
import { cancel } from "../map/detail.js";
import { along } from "../map/find.js";
import { coordinate, exact, size } from "../panels/format.js";
import { fail, hush, note, say } from "./messages.js";
import * as point from "../plots/point.js";
import { read, renew } from "./read.js";
import { showSeries } from "./series.js";
import * as shown from "../panels/shown.js";
import { dimsOf, state } from "./state.js";
import * as storage from "../panels/storage.js";
import * as variables from "../panels/variables.js";

// choose shows a variable, and of it the part that an address wants.
export async function choose(v, wanted, push) {
  animation.end();
  const dims = dimsOf(v);
  const { problems, ...right } = address.check(wanted, v, dims, state.meta.variables);
  Object.assign(state, { variable: v, slice: null }, right);
  Object.assign(state, earth.check(wanted.more ?? {}, problems));
  state.words ??= controls.propose(dims, along(state.meta, v));
  colours.show(wanted.more, problems);
  // Another variable from the list keeps the tab and the arrows.
  for (const part of wanted.more ? [point, arrows] : []) part.restore(wanted.more, problems);
  compare.restore(wanted.more ?? {}, problems);
  $("readout").textContent = "";
  attributes.show(state.meta, v);
  showControls(wanted.more, problems);
  note(problems);
  variables.mark(v);
  $("title").textContent = visible(v.title || v.name) || "(no name)";
  $("subtitle").textContent = `${[v.title && visible(v.name), v.units && visible(v.units)].filter(Boolean).join(", ")} · ${v.type} (${dims.map((d) => `${visible(d.name)}=${d.length}`).join(", ")}) · ${size(v.size)}`.replace(/^ · /, "");
  bookmark(push);
  await load();
}

// showControls shows the controls of the slice and of its animation.
function showControls(wanted, problems) {
  const dims = state.variable.type === "char" ? [] : dimsOf(state.variable); // all of a text is shown
  const { file, meta } = state;
  controls.show(dims, state.words, changed, (d) => {
    const variable = meta.variables.find((v) => v.num === d.coordinate);
    return variable ? { file, variable } : null;
  });
  animation.show(dims, state.words, wanted, problems);
}

function changed(words, axes) {
  animation.end();
  state.words = words;
  if (axes) {
    state.point = state.part = state.eye = null;
    showControls();
  } else animation.move(words);
  bookmark(false);
  load();
}

// showFrame shows a frame of an animation, without what can wait until it stops.
export function showFrame(words, s) {
  Object.assign(state, { words, slice: s });
  controls.move(words);
  label(s);
  if (s.shape?.length === 2) drawMap();
  else if (s.shape?.length === 1) showSeries(words, undefined, { sample: s }).catch(fail);
  bookmark(false);
}

// stopped shows a frame with all that belongs to it.
export function stopped(words) {
  state.words = words;
  controls.move(words);
  bookmark(false);
  return load();
}

// step shows the map at other indices.
export function step(words) {
  controls.move(words);
  changed(words, false);
}

// label writes the coordinates of the slice next to the sliders.
function label(s) {
  for (const a of s.fixed ?? []) {
    const i = dimsOf(state.variable).findIndex((d, k) => d.id === a.dim && typeof state.words[k] === "number" && Number(a.word) === state.words[k]);
    controls.label(i, coordinate(a, 0));
  }
}

// hide hides what shows values.
function hide() {
  for (const id of ["map", "text", "series", "hist"]) $(`${id}-section`).hidden = true;
  shown.texts(state);
}

// bare tells why a variable has no values, or returns "".
function bare(v) {
  const none = dimsOf(v).find((d) => d.length === 0);
  return none ? `The variable has no values: its dimension ${visible(none.name)} has length 0.` : "";
}

// load reads the slice and shows it.
export async function load() {
  const signal = renew();
  cancel(); // it would be of the words that are shown no longer
  hush();
  if (bare(state.variable)) {
    say(bare(state.variable));
    hide();
    ready();
    return;
  }
  try {
    const s = await read(state.words, signal);
    signal.throwIfAborted(); // its places may have come after the choice of another slice
    state.slice = s;
    await colours.prepare(signal);
    signal.throwIfAborted();
    await showSlice(s, signal);
    if (s.shape && s.shape.length > 0) await point.load();
    document.body.dataset.first ??= performance.now();
    ready();
  } catch (e) {
    if (e.name !== "AbortError") hide();
    fail(e);
  }
}

// ready counts what was shown, for tests.
function ready() {
  document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
}

// showSlice shows what was read.
async function showSlice(s, signal) {
  const isText = s.type === "text";
  const flat = s.shape?.length === 2;
  $("map-section").hidden = !flat;
  $("text-section").hidden = !isText && s.shape.length > 0;
  $("series-section").hidden = isText || s.shape.length === 0;
  $("hist-section").hidden = isText || s.shape.length === 0;
  $("series-along").hidden = !flat;
  if (isText) {
    $("text").textContent = s.lines.join("\n") + (s.cut ? "\n…" : "");
  } else if (s.shape.length === 0) {
    $("text").textContent = `${exact(s.data[0], s.type)} ${s.units ?? ""}`;
  } else {
    if (flat) drawMap();
    if (!flat) {
      $("series-table").hidden = false;
      await showSeries(state.words, signal, { sample: s });
    }
  }
  label(s);
  state.seriesWords = flat ? null : state.words;
  if (!flat) shown.update(state, s); // the map tells it itself
  if ($("blocks").open) storage.show(state.file, state.variable, state.words);
}
