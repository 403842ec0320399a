// The page: what is open, and what to show of it.
import * as address from "./panels/address.js";
import * as animation from "./panels/animation.js";
import * as api from "./data/api.js";
import * as arrows from "./map/arrows.js";
import * as compare from "./panels/compare.js";
import { $, make, table, visible } from "./panels/dom.js";
import * as colours from "./colour/colours.js";
import * as controls from "./panels/controls.js";
import * as download from "./save/download.js";
import * as earth from "./map/earth.js";
import * as first from "./data/first.js";
import { coordinate, every, exact, size } from "./panels/format.js";
import * as geometry from "./map/geometry.js";
import * as lines from "./panels/lines.js";
import * as map from "./map/map.js";
import * as observations from "./data/observations.js";
import * as opening from "./panels/opening.js";
import * as palette from "./colour/palette.js";
import * as plots from "./plots/plots.js";
import * as point from "./plots/point.js";
import * as print from "./save/print.js";
import * as save from "./save/save.js";
import * as shown from "./panels/shown.js";
import * as slices from "./data/slices.js";
import * as storage from "./panels/storage.js";
import * as stretch from "./map/stretch.js";
import * as summary from "./plots/summary.js";
import * as tree from "./panels/tree.js";
import * as variables from "./panels/variables.js";

// state is what the page shows. words has an index, x or y for each dimension of the
// variable, and point the indices of the chosen cell, as words without letters. part is that
// of the map (null: all), along the name of the chosen dimension of series, and by that of the
// variable with their coordinates. spacing is "scale" or "index" for axes of the map to scale or with
// cells of equal size, or null for what is usual. projection is that which was chosen (null: the usual one),
// eye what it shows of the earth (null: all), and coast whether there are coastlines.
const state = { file: "", meta: null, variable: null, words: [], point: null, part: null, along: null, by: null, spacing: null, projection: null, eye: null, coast: true, seriesWords: null, slice: null, series: null };
let request = null; // the last request for a slice

// maxSeries is the number of values of a series.
const maxSeries = 4096;
// tries is the number of other variables that are read if the first one has no values.
const tries = 8;

const dimsOf = (v) => v.dims.map((d) => ({ id: d, ...state.meta.dimensions[d] }));

function fail(e) {
  if (e.name === "AbortError") return;
  $("message").hidden = false;
  $("message").textContent = state.variable && !missed.file ? explain(e.message) : e.message;
}

// explain adds what a user can do about damage.
function explain(text) {
  if (!/damaged|checksum/i.test(text)) return text;
  return `${text}. Other variables, and other parts of this one, may be intact: choose one. cdfz verify lists the damage, and cdfz repair may heal it.`;
}

// bookmark writes the state into the address of the page. Browsers refuse many changes in a
// short time, such as those of a map that is dragged, so it waits.
let marking = 0;
function bookmark(push) {
  clearTimeout(marking);
  const url = () => address.write({ ...state, more: { ...colours.settings(), ...animation.settings(), ...point.settings(), ...arrows.settings(), ...compare.settings(), ...earth.settings(state), ...(state.spacing && { spacing: state.spacing }) } });
  if (push) history.pushState(null, "", url());
  else marking = setTimeout(() => history.replaceState(null, "", url()), 150);
}

let missed = {}; // what an address wants of a file that could not be opened, and may be dropped on the page

// open shows a file: the variable of that name, or the one that a person would choose.
// wanted has the parts of an address.
async function open(file, wanted = {}, push = true) {
  request?.abort();
  animation.end();
  slices.clear();
  geometry.clear();
  $("message").hidden = true;
  note([]);
  try {
    state.meta = await api.meta(file);
  } catch (e) {
    missed = { ...wanted, file };
    fail(new Error(`${file}: ${e.message}`));
    return;
  }
  missed = {};
  state.file = file;
  document.title = `${visible(file)} – cdfz`;
  $("path").textContent = visible(file);
  $("welcome").hidden = true;
  tree.mark(file);
  variables.show(file, state.meta, (v) => choose(v, {}, true));
  if (window.innerWidth < 900) $("files").open = false;
  const named = state.meta.variables.find((v) => v.name === wanted.name);
  const bare = state.meta.variables.length === 0;
  $("view").hidden = false;
  $("view").classList.toggle("bare", bare);
  if (bare) {
    state.variable = state.slice = null;
    showAttributes(null);
    $("attributes").open = true;
    fail(new Error(state.meta.cut ? "The header of the file is too long for this page: it has more names than 2 MB." : "The file has no variables."));
    return;
  }
  if (named) {
    await choose(named, wanted, push);
    return;
  }
  await chooseFirst(push);
  if (wanted.name) note([`the file has no variable ${wanted.name}`]);
}

// chooseFirst shows the best variable that has a value in its first slice.
async function chooseFirst(push) {
  const [best, ...others] = first.ranked(state.meta);
  await choose(best, {}, push);
  const empty = () => {
    const s = state.slice;
    return s !== null && (s.type === "text" ? s.lines.every((l) => l.trim() === "") : s.missing === s.data.length);
  };
  if (!empty()) return;
  const { file } = state;
  for (const v of others.slice(0, tries)) {
    if (v.dims.length < best.dims.length || v.size === 0) break;
    await choose(v, {}, false);
    if (state.file !== file || state.variable !== v || !empty()) return;
  }
  await choose(best, {}, false);
}

// note tells which parts of an address are wrong and have no effect.
function note(problems) {
  $("note").hidden = problems.length === 0;
  $("note").textContent = problems.length > 0 ? `In the address: ${problems.join("; ")}.` : "";
}

// choose shows a variable, and of it the part that an address wants.
async function choose(v, wanted, push) {
  animation.end();
  const dims = dimsOf(v);
  const { problems, ...right } = address.check(wanted, v, dims, state.meta.variables);
  Object.assign(state, { variable: v, slice: null }, right);
  Object.assign(state, earth.check(wanted.more ?? {}, problems));
  state.words ??= controls.propose(dims, geometry.along(state.meta, v));
  colours.show(wanted.more, problems);
  // Another variable from the list keeps the tab and the arrows.
  for (const part of wanted.more ? [point, arrows] : []) part.restore(wanted.more, problems);
  compare.restore(wanted.more ?? {}, problems);
  $("readout").textContent = "";
  showAttributes(v);
  showControls(wanted.more, problems);
  note(problems);
  variables.mark(v);
  $("title").textContent = visible(v.title || v.name) || "(no name)";
  $("subtitle").textContent = `${visible(v.name)}${v.units ? `, ${visible(v.units)}` : ""} · ${v.type} (${dims.map((d) => `${visible(d.name)}=${d.length}`).join(", ")}) · ${size(v.size)}`;
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
function showFrame(words, s) {
  Object.assign(state, { words, slice: s });
  controls.move(words);
  label(s);
  if (s.shape?.length === 2) drawMap();
  else if (s.shape?.length === 1) showSeries(words, undefined, s).catch(fail);
  bookmark(false);
}

// stopped shows a frame with all that belongs to it.
function stopped(words) {
  state.words = words;
  controls.move(words);
  bookmark(false);
  return load();
}

// label writes the coordinates of the slice next to the sliders.
function label(s) {
  for (const a of s.fixed ?? []) {
    const i = dimsOf(state.variable).findIndex((d, k) => d.id === a.dim && typeof state.words[k] === "number" && Number(a.word) === state.words[k]);
    controls.label(i, coordinate(a, 0));
  }
}

// load reads the slice and shows it.
async function load() {
  request?.abort();
  request = new AbortController();
  const { signal } = request;
  $("message").hidden = true;
  try {
    const s = await read(state.words, signal);
    state.slice = s;
    await colours.prepare(signal);
    await showSlice(s, signal);
    if (s.shape && s.shape.length > 0) await point.load(signal);
    document.body.dataset.first ??= performance.now();
    document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
  } catch (e) {
    if (e.name !== "AbortError") {
      for (const id of ["map", "text", "series", "hist"]) $(`${id}-section`).hidden = true;
      shown.texts(state);
    }
    fail(e);
  }
}

// values reads a slice or a series of the variable, with what the file tells of its axes.
async function values(words, max, signal, options) {
  const { file, meta, variable } = state;
  const s = await slices.values(file, variable.num, words, max, signal, options);
  s.units = variable.units;
  for (const a of s.axes ?? []) {
    Object.assign(a, { down: meta.dimensions[a.dim].down, axis: meta.dimensions[a.dim].axis });
    a.index = meta.dimensions[a.dim].coordinate < 0;
  }
  return s;
}

// longest is the number of values along an axis of a slice.
const longest = () => (state.words.includes("y") ? map.maxCells : maxSeries);

// read reads a slice: words are those of the state, or have ranges.
async function read(words, signal) {
  const found = geometry.find(state.meta, state.variable, words);
  const row = await geometry.row(state.file, state.meta, state.variable, words, found, signal);
  if (row) return row;
  const s = await values(words, longest(), signal);
  if (s.shape?.length !== 2) return s;
  s.all = s.axes.map((a) => state.meta.dimensions[a.dim].length);
  s.geo = await geometry.ofSlice(state.file, state.meta, state.variable, words, s, found);
  s.places = s.geo && s.geo.kind !== "grid" ? geometry.texts(s.geo, s.shape[1]) : await places(words, signal);
  return s;
}

// readPart reads a part of the map in finer steps. null means that there is an error, which
// the map can do without.
async function readPart({ row, column, rows, columns }, signal) {
  const range = { y: `y${row}:${row + rows}`, x: `x${column}:${column + columns}` };
  return read(state.words.map((w) => range[w] ?? w), signal).catch(() => null);
}

// places returns the coordinates of the cells in two dimensions that the attribute
// coordinates names, by section 5.2 of the CF conventions: each has a text for a row and a
// column. null means that there are none.
async function places(all, signal) {
  const named = state.variable.attributes.find((a) => a.name === "coordinates")?.value.split(/\s+/) ?? [];
  const dims = state.variable.dims;
  const wordOf = (d) => all[dims.indexOf(d)];
  const flat = state.meta.variables.filter((v) => named.includes(v.name) && v.type !== "char" && v.dims.length === 2 &&
    v.dims.map((d) => state.words[dims.indexOf(d)]).sort().join() === "x,y");
  const out = await Promise.all(flat.map(async (v) => {
    const s = await slices.values(state.file, v.num, v.dims.map(wordOf), map.maxCells, signal);
    const text = (row, column) => {
      const at = s.data[row * s.shape[1] + column];
      return at !== at ? `no ${v.name}` : coordinate({ units: v.units, values: [at] }, 0);
    };
    return { text };
  }));
  return out.length > 0 ? out : null;
}

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
      await showSeries(state.words, signal, s);
    }
  }
  label(s);
  state.seriesWords = flat ? null : state.words;
  if (!flat) shown.update(state, s); // the map tells it itself
  if ($("blocks").open) storage.show(state.file, state.variable, state.words);
}

function drawMap() {
  const shape = earth.options(state.slice, state);
  const { possible, scaled } = shape.projection === "cells" ? stretch.choose(state.slice.axes, state.spacing) : { possible: false, scaled: [] };
  $("spacing-row").hidden = !possible;
  $("spacing").checked = scaled.includes(true);
  const mark = state.point && ["y", "x"].map((w) => state.point[state.words.indexOf(w)] ?? 0);
  map.show(state.slice, { colours: colours.options(), scaled, ...shape }, mark, state.part, state.eye);
}

// looked notes the part of the map that is shown, and tells which steps it has: s is the slice
// that is drawn.
function looked(part, s, eye) {
  if (JSON.stringify([part, eye]) !== JSON.stringify([state.part, state.eye])) {
    Object.assign(state, { part, eye });
    bookmark(false);
  }
  shown.update(state, s, animation.plays());
  summary.follow(part, s);
  const steps = s.axes.filter((a) => a.step > 1).map((a) => every(a.step, a.name));
  $("missing").textContent = `${state.slice.missing === 0 ? "no" : state.slice.missing} missing${steps.length > 0 ? `; the map shows ${steps.join(" and ")}` : ""}`;
}

// step shows the map at other indices.
function step(words) {
  controls.move(words);
  changed(words, false);
}

// pick chooses a cell of the map.
function pick(row, column) {
  state.point = state.words.map((w) => (w === "y" ? row : w === "x" ? column : w));
  bookmark(false);
  point.load(request.signal).catch(fail);
}

// loadSeries shows the series at the chosen point.
async function loadSeries(signal) {
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
async function showSeries(words, signal, sample) {
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

function showAttributes(v) {
  const rows = (list) => table(["name", "type", "value"], list.map((a) => [a.name, a.type, a.value]));
  const m = state.meta;
  const facts = [["File", `${m.path}, ${m.format}, ${size(m.size)}`]];
  if (m.archive) facts.push(["Archive", `${size(m.archive.size)}, ratio ${(m.size / m.archive.size).toFixed(2)}, ${m.archive.blocks} blocks, layout ${m.archive.layout}, by ${m.archive.writer}`], ["SHA-256 of the file", m.archive.sha256]);
  $("attributes-body").replaceChildren(...(v ? [make("h3", {}, visible(v.name)), rows(v.attributes)] : []), make("h3", {}, "File"), table(["", ""], facts), rows(m.attributes));
}

async function start() {
  const page = (by) => {
    const i = state.words.findIndex((w, k) => typeof w === "number" && dimsOf(state.variable)[k].length > 1);
    if (i >= 0) controls.step(i, state.words[i] + by);
  };
  map.start({ pick, page, look: looked, read: readPart, cursor: compare.point, draw(drawn) {
    arrows.draw(drawn);
    compare.follow(drawn);
  } });
  arrows.start({ state: () => state, changed: () => bookmark(false), fail });
  compare.start({ state: () => state, remote: map.remote, changed: () => bookmark(false), fail });
  earth.start((changes) => {
    Object.assign(state, changes);
    if (changes.projection) state.eye = state.part = null;
    if (state.slice) drawMap();
    bookmark(false);
  });
  plots.start();
  animation.start({ state: () => state, read, key: (words) => geometry.request(state.file, state.meta, state.variable, words) ?? [state.file, state.variable.num, words, longest()], show: showFrame, stopped, fail, changed: () => bookmark(false) });
  colours.start({
    state: () => state, read, fail,
    changed() {
      if (!state.slice) return;
      if (state.slice.shape?.length === 2) drawMap();
      bookmark(false);
    },
  });
  point.start({ state: () => state, values, series: loadSeries, colours: colours.options, changed: () => bookmark(false), step, fail });
  summary.start({ state: () => state, fail });
  $("spacing").addEventListener("change", () => {
    state.spacing = $("spacing").checked ? "scale" : "index";
    drawMap();
    bookmark(false);
  });
  download.start(() => state);
  save.start({ state: () => state, series: () => state.series });
  lines.start();
  $("by").addEventListener("change", () => {
    state.by = $("by").value;
    bookmark(false);
    showSeries(state.seriesWords, request.signal).catch(fail);
  });
  $("along").addEventListener("change", () => {
    state.along = dimsOf(state.variable)[Number($("along").value)].name;
    bookmark(false);
    loadSeries(request.signal).catch(fail);
  });
  $("blocks").addEventListener("toggle", () => $("blocks").open && storage.show(state.file, state.variable, state.words));
  $("skip").addEventListener("click", (e) => {
    e.preventDefault(); // the address stays that of the view
    $("main").focus();
  });
  print.start(() => {
    palette.forPaper();
    if (state.slice?.shape?.length === 2) drawMap();
    plots.redraw();
  });
  palette.onTheme(() => state.slice && load());
  window.addEventListener("popstate", () => {
    const wanted = address.read(location.search);
    if (wanted) open(wanted.file, wanted, false);
  });
  opening.start((file) => open(file, missed.file === file ? missed : {}).then(() => tree.refill()), (list) => list.then(() => tree.refill()).catch(fail));
  variables.start();
  const listed = opening.catalogue(location.search).catch(fail).then(() => tree.start((file) => open(file))).catch(fail);
  const wanted = address.read(location.search);
  if (wanted && !api.isListing(wanted.file)) {
    await open(wanted.file, wanted, false);
    listed.then(() => tree.mark(state.file));
    return;
  }
  const only = await listed;
  if (only) await open(only, {}, false);
}

start();
