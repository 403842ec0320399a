// Reading what the page shows: slices and series of the variable, with what the file tells of their places.
import { coordinate } from "../panels/format.js";
import { find } from "../map/find.js";
import * as geometry from "../map/geometry.js";
import * as slices from "../data/slices.js";
import { state } from "./state.js";

// maxSeries is the number of values of a series.
export const maxSeries = 4096;

let request = null; // the last one for a slice

// renew drops the last request for a slice, and returns the signal of a new one. signal returns that of the last one.
export function renew() {
  drop();
  request = new AbortController();
  return request.signal;
}

export const drop = () => request?.abort();
export const signal = () => request.signal;

// values reads a slice or a series of the variable, with what the file tells of its axes.
export async function values(words, max, signal, options) {
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
const longest = () => (state.words.includes("y") ? slices.maxCells : maxSeries);

// keyOf returns the parameters of slices.holds for what read reads.
export const keyOf = (words) => geometry.request(state.file, state.meta, state.variable, words) ?? [state.file, state.variable.num, words, longest()];

// read reads a slice: words are those of the state, or have ranges.
export async function read(words, signal) {
  const found = find(state.meta, state.variable, words);
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
export async function readPart({ row, column, rows, columns }, signal) {
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
    const s = await slices.values(state.file, v.num, v.dims.map(wordOf), slices.maxCells, signal);
    const text = (row, column) => {
      const at = s.data[row * s.shape[1] + column];
      return at !== at ? `no ${v.name}` : coordinate({ units: v.units, values: [at] }, 0);
    };
    return { text };
  }));
  return out.length > 0 ? out : null;
}
