// Two variables or files side by side, and their difference. The second one has the part, the cursor and the time of the first.
import * as api from "../data/api.js";
import { cellOf } from "../map/axes.js";
import { $, make, visible } from "./dom.js";
import { coordinate, shown } from "./format.js";
import { find } from "../map/find.js";
import * as geometry from "../map/geometry.js";
import * as match from "../data/match.js";
import * as scales from "../colour/scale.js";
import { maxCells, values } from "../data/slices.js";
import { twin } from "../map/twin.js";

const ways = ["beside", "difference", "both"];

let host = null;
let wanted = { file: "", name: "", show: ways[0] }; // name "" is none, and file "" that of the first variable
let meta = null; // of the second file
let other = null; // the second slice, with the words and the first slice that it was read for
let seen = null; // what the first map shows
let panels = {};
let run = 0;

// start connects the form to functions: state, remote, those of the map for other maps, changed when the address is another
// one, and fail.
export function start(functions) {
  host = functions;
  panels = { beside: twin("beside", host.remote), difference: twin("difference", host.remote) };
  $("compare-show").append(...[["beside", "side by side"], ["difference", "difference"], ["both", "both"]].map(([value, text]) => make("option", { value }, text)));
  $("compare-show").addEventListener("change", () => set({ show: $("compare-show").value }));
  $("compare-with").addEventListener("change", () => set({ name: $("compare-with").value }));
  $("compare-file").addEventListener("change", () => choose($("compare-file").value.trim()));
  $("compare-drop-row").hidden = api.served;
  $("compare-drop").addEventListener("change", () => {
    const [file] = $("compare-drop").files;
    if (file) choose(api.add(file));
    $("compare-drop").value = "";
  });
  $("compare").addEventListener("toggle", () => $("compare").open && list().catch(host.fail));
}

// settings returns what belongs in the address.
export const settings = () => (wanted.name === "" ? {} : { with: wanted.name, ...(wanted.file && { withfile: wanted.file }), ...(wanted.show !== ways[0] && { compare: wanted.show }) });

// restore takes what an address wants, and adds to problems what it cannot have.
export function restore({ with: name = "", withfile = "", compare = ways[0] }, problems) {
  if (!ways.includes(compare)) problems.push(`compare=${compare} is not one of ${ways.join(", ")}`);
  if (wanted.file !== withfile) meta = null;
  wanted = { file: withfile, name, show: ways.includes(compare) ? compare : ways[0] };
  other = null;
  if (name) $("compare").open = true;
}

// set changes what is wanted.
function set(changes) {
  Object.assign(wanted, changes);
  if ("name" in changes) other = null;
  host.changed();
  update();
}

// choose takes another file, and of that the variable of the same name.
function choose(file) {
  const own = host.state().file;
  wanted = { ...wanted, file: file === own ? "" : file, name: "" };
  meta = other = null;
  host.changed();
  list(host.state().variable.name).catch((e) => {
    if (wanted.file !== file) return;
    $("compare-note").textContent = `${shown(file)}: ${e.message}`;
    clear();
  });
}

// metaOf returns the description of the second file.
async function metaOf() {
  const { file } = host.state();
  if (wanted.file === "" || wanted.file === file) return host.state().meta;
  const name = wanted.file;
  if (meta?.of !== name) meta = { of: name, value: await api.meta(name) };
  return meta.value;
}

// list offers the variables of the second file that have what the map spans. usual is the name of the one to take.
async function list(usual = "") {
  const { file: from } = wanted;
  const m = await metaOf();
  if (wanted.file !== from) return; // another one was chosen
  const { file, variable, words } = host.state();
  const fit = m.variables.filter((v) => v.type !== "char" && v.size > 0 && (m !== host.state().meta || v !== variable) && wordsOf(m, v, variable, words));
  if (usual && wanted.name === "") wanted.name = fit.find((v) => v.name === usual)?.name ?? "";
  $("compare-file").value = wanted.file || file;
  $("compare-show").value = wanted.show;
  $("compare-with").replaceChildren(make("option", { value: "" }, "nothing"), ...fit.map((v) => make("option", { value: v.name, selected: v.name === wanted.name }, visible(v.name))));
  if (usual) {
    host.changed();
    update();
    if (wanted.name === "" && fit.length === 0) $("compare-note").textContent = "That file has no variable with the dimensions of the map.";
  }
  const { datasets } = await api.catalog("").catch(() => ({ datasets: [] }));
  $("compare-files").replaceChildren(...datasets.filter((d) => d.dap).slice(0, 500).map((d) => make("option", { value: d.name })));
}

// wordsOf returns the words of a second variable: letters where the map has them, and {like} with the number of the
// dimension of the first one, or 0, for others. null means that it does not have what the map spans.
function wordsOf(m, v, first, words) {
  const a = match.dimsOf(host.state().meta, first);
  const pairs = match.pairDims(a, match.dimsOf(m, v));
  const letters = words.filter((w) => typeof w === "string");
  const out = pairs.map((k) => (k < 0 ? 0 : typeof words[k] === "string" ? words[k] : { like: k }));
  return letters.every((w) => out.includes(w)) ? out : null;
}

// axisOf reads the coordinates of a dimension, or returns its indices.
async function axisOf(file, m, dim) {
  const d = m.dimensions[dim];
  if (d.coordinate < 0) return { values: Array.from({ length: d.length }, (_, i) => i), start: 0, step: 1 };
  return (await values(file, d.coordinate, ["x"], 65536)).axes[0];
}

// read reads the second slice, the same part as that of a first one in finer steps if they have the same shape.
async function read() {
  const { file, meta: own, variable, words } = host.state();
  const first = seen.what.source;
  const m = await metaOf(), from = wanted.file || file;
  const v = m.variables.find((o) => o.name === wanted.name);
  if (!v) throw new Error(`The file ${visible(shown(from))} has no variable ${visible(wanted.name)}.`);
  const found = wordsOf(m, v, variable, words);
  if (!found) throw new Error(`${visible(v.name)} does not have the dimensions of the map.`);
  const at = await Promise.all(found.map(async (w, i) => {
    if (typeof w !== "object") return w;
    const [x, y] = [variable.dims[w.like], v.dims[i]];
    if (m === own && x === y) return words[w.like];
    return match.nearest(await axisOf(file, own, x), await axisOf(from, m, y), words[w.like]);
  }));
  const same = found.every((w, i) => typeof w !== "string" || v.shape[i] === variable.shape[words.indexOf(w)]);
  const { part } = first;
  const range = part && same ? { y: `y${part.row}:${part.row + part.rows}`, x: `x${part.column}:${part.column + part.columns}` } : {};
  const all = at.map((w) => range[w] ?? w);
  const row = await geometry.row(from, m, v, all, find(m, v, all));
  if (row) return { for: first, of: JSON.stringify(wanted), slice: row, variable: v, file: from };
  const s = await values(from, v.num, all, maxCells);
  const b = { ...s, units: v.units, axes: s.axes.map((a) => ({ ...a, down: m.dimensions[a.dim].down, axis: m.dimensions[a.dim].axis, index: m.dimensions[a.dim].coordinate < 0 })) };
  b.all = b.axes.map((a) => m.dimensions[a.dim].length);
  if (same && first.geo && first.geo.kind !== "grid") b.geo = await geometry.ofSlice(from, m, v, all, b, find(m, v, all));
  return { for: first, of: JSON.stringify(wanted), slice: b, variable: v, file: from };
}

function clear() {
  $("twins").hidden = true;
  $("map-title").hidden = true;
  document.body.classList.remove("comparing", "three");
}

// update reads the second slice if it is another one, and shows it.
export async function update() {
  const mine = ++run;
  if (wanted.name === "" || !seen) return clear();
  try {
    const o = await read();
    if (mine !== run) return;
    other = { ...o, aligned: match.align(o.for, o.slice) };
    if (!$("compare-with").value) list().catch(host.fail);
    show();
  } catch (e) {
    if (mine !== run) return;
    clear();
    $("compare-note").textContent = e.message;
  }
}

// show draws what was read.
function show() {
  const { variable, file } = host.state();
  const { aligned, slice: b, for: slice } = other;
  const where = b.fixed.map((a) => `${a.name} ${coordinate(a, 0)}`).join(", ");
  const part = match.partOf(seen.part, slice, b);
  const away = aligned.data === null && seen.part && !part ? "The second map has nothing of the part that the first one shows, and is shown whole." : "";
  $("compare-note").textContent = [where && `There: ${where}.`, aligned.why, away, match.unitsText(variable.units, b.units)].filter(Boolean).join(" ");
  $("twins").hidden = false;
  const difference = wanted.show !== "beside" && aligned.data !== null;
  const beside = wanted.show !== "difference" || !difference;
  document.body.classList.add("comparing");
  document.body.classList.toggle("three", beside && difference);
  $("map-title").hidden = false;
  $("map-title").textContent = visible(variable.name);
  $("beside").hidden = !beside;
  $("difference").hidden = !difference;
  const named = `${visible(other.variable.name)}${other.file === file ? "" : ` of ${visible(shown(other.file))}`}`;
  if (beside) {
    // The same colours mean the same values where the units are the same, and most values are within them.
    const { low, high } = seen.colours;
    const same = match.sameUnits(variable.units, b.units) && b.min >= low - (high - low) / 4 && b.max <= high + (high - low) / 4;
    const second = aligned.data ? { ...slice, ...match.extent(aligned.data), data: aligned.data, type: b.type, units: b.units, axes: aligned.alike ? slice.axes : b.axes } : b;
    const what = aligned.data ? { ...seen.what, slice: second, source: second } : { slice: b, source: b, name: "cells", shown: part ?? { row: 0, column: 0, rows: b.all[0], columns: b.all[1] }, scaled: seen.what.scaled };
    const own = same ? seen.colours : scales.of(second, { ...seen.choice, low: undefined, high: undefined, held: undefined, variable: other.variable });
    panels.beside.show(what, own, named, same ? "Colours as on the first map" : "");
  }
  if (difference) {
    const d = other.difference ??= match.difference(slice, aligned.data);
    // As far on both sides of 0, without outliers.
    const plain = { palette: "auto", variable: { attributes: [] } };
    const { low, high } = scales.of(d, plain), end = Math.max(Math.abs(low), Math.abs(high));
    panels.difference.show({ ...seen.what, slice: d, source: d }, scales.of(d, { ...plain, low: -end, high: end }), `${visible(variable.name)} minus ${named}`);
  }
}

// compared returns what is compared with the first map, or null: its slice, the values of the second one in its order or null, the
// variable of that, and the maps that are shown.
export function compared() {
  if (!other || $("twins").hidden) return null;
  return { slice: other.for, data: other.aligned.data, type: other.slice.type, why: other.aligned.why, variable: other.variable, file: other.file, maps: ["beside", "difference"].filter((id) => !$(id).hidden).map((id) => panels[id]) };
}

// follow notes what the first map has drawn.
export function follow(drawn) {
  seen = drawn;
  const { what } = seen;
  if (wanted.name === "") return;
  if (other?.for === what.source && other.of === JSON.stringify(wanted)) show();
  else update();
}

// point follows the cursor of the first map: a cell, or null, with its place in a projection.
export function point(cell, place) {
  if (!other || $("twins").hidden) return;
  const slice = other.for;
  const on = (b) => cell && cell.map((i, k) => {
    const [x, y] = [slice.axes[k], b.axes[k]];
    return y.start + match.nearest(x, y, cellOf(x, i)) * y.step;
  });
  if (!$("beside").hidden) panels.beside.point(other.aligned.data ? cell : on(other.slice), place);
  if (!$("difference").hidden) panels.difference.point(cell, place);
}
