// Arrows over the map: two variables as the components of vectors. They are read only when they are wanted.
import { $, make } from "../panels/dom.js";
import { number } from "../panels/format.js";
import { find } from "./find.js";
import * as geometry from "./geometry.js";
import * as globe from "./globe.js";
import { kindOf } from "../data/means.js";
import * as pairs from "../data/pairs.js";
import * as plane from "./plane.js";
import { maxCells, values } from "../data/slices.js";

const apart = 26; // pixels between arrows

let host = null;
let wanted = null; // name of the first component, "" for the usual one, or null for no arrows
let list = []; // the pairs that fit the map
let listed = ""; // what they are for
let seen = null; // what the map shows, of draw
let read = null; // the components, with the key of what they are of
let busy = false;

// start connects the control to functions: state, changed, when the address is another one, and fail.
export function start(functions) {
  host = functions;
  $("arrows").addEventListener("change", () => {
    wanted = $("arrows").checked ? "" : null;
    host.changed();
    draw(seen);
  });
  $("arrows-of").addEventListener("change", () => {
    wanted = list[Number($("arrows-of").value)].u.name;
    host.changed();
    draw(seen);
  });
}

// settings returns what belongs in the address.
export const settings = () => (wanted === null ? {} : { arrows: wanted || "1" });

// restore takes what an address wants, and adds to problems what it cannot have.
export function restore({ arrows }, problems) {
  wanted = arrows === undefined ? null : arrows === "1" ? "" : arrows;
  if (wanted && !host.state().meta.variables.some((v) => v.name === wanted)) {
    problems.push(`arrows=${arrows} is not a variable`);
    wanted = null;
  }
}

const chosen = () => list.find((p) => p.u.name === wanted) ?? list[0];

// offer shows the control if the file has vectors on the map.
function offer() {
  const { file, meta, variable, words } = host.state();
  const now = JSON.stringify([file, variable.num, words.map((w) => (typeof w === "string" ? w : 0)), wanted]);
  if (now === listed) return;
  listed = now;
  list = pairs.fitting(meta, variable, words);
  $("arrows-row").hidden = list.length === 0;
  $("arrows").checked = wanted !== null && list.length > 0;
  const on = $("arrows").checked;
  $("arrows-of").hidden = !on || list.length < 2;
  $("arrows-of").replaceChildren(...list.map((p, i) => make("option", { value: i, selected: p === chosen() }, `${p.u.name}, ${p.v.name}`)));
  $("arrow-key").hidden = $("arrows-note").hidden = !on;
}

// keyOf tells which values arrows on a slice have.
function keyOf(source, pair) {
  const { file, variable, words } = host.state();
  const range = source.part ? { y: `y${source.part.row}:${source.part.row + source.part.rows}`, x: `x${source.part.column}:${source.part.column + source.part.columns}` } : {};
  const of = (v) => [file, v.num, pairs.wordsFor(v, variable, words).map((w) => range[w] ?? w), maxCells];
  return [of(pair.u), of(pair.v)];
}

// component reads one.
async function component(v, [file, num, words, max]) {
  const { meta } = host.state();
  return await geometry.row(file, meta, v, words, find(meta, v, words)) ?? values(file, num, words, max);
}

// draw draws arrows for what the map has drawn: what is that of stage.js, and p and cells are its projection and its raster.
// They are read first, one after the other while the map moves.
export async function draw(drawn) {
  seen = drawn && { ...drawn, ...drawn.what };
  const canvas = $("map-arrows"), what = seen;
  if (!what) return;
  [canvas.width, canvas.height, canvas.style.height] = [what.width, what.height, `${what.height / what.box.scale}px`];
  offer();
  if (!$("arrows").checked) return;
  const key = JSON.stringify(keyOf(what.source, chosen()));
  if (read?.key === key) return paint(canvas.getContext("2d"));
  if (busy) return;
  busy = true;
  try {
    const pair = chosen();
    const [u, v] = await Promise.all(keyOf(what.source, pair).map((k, i) => component([pair.u, pair.v][i], k)));
    read = { key, pair, u: u.data, v: v.data, length: pairs.typical(u.data, v.data) };
  } catch (e) {
    wanted = null;
    host.fail(new Error(`The arrows cannot be read: ${e.message}`));
  } finally {
    busy = false;
  }
  draw(seen);
}

// directions returns a function that writes the direction of a vector on the canvas to out, or returns false. note is for users.
function directions({ source, p }) {
  const { east } = read.pair;
  const kinds = source.axes.map(kindOf).join("");
  const mesh = source.axes[0].dim === -1; // its cells have no direction
  const regular = kinds === "ne" || kinds === "en" || mesh;
  const rotated = source.axes.some((a) => a.standard?.startsWith("grid_")) || (!regular && Boolean(source.geo));
  const grid = east === false || (east === null && !regular);
  if (!p) {
    const sign = source.axes[1].values.at(-1) < source.axes[1].values[0] && regular ? -1 : 1;
    const along = kinds === "en" ? (u, v) => [v, u] : (u, v) => [u, v];
    const note = rotated && !grid ? "They point east and north, and the axes of the map are rotated: choose another view for their true directions." : rotated || !regular ? "They are along the axes of the grid." : "";
    const up = seen.box.flip ? -1 : 1;
    return { note, of(_, u, v, out) {
      const [a, b] = along(u, v);
      // Rows of a grid without latitudes grow as their indices do.
      [out[0], out[1]] = [sign * a, regular ? -b : up * b];
      return true;
    } };
  }
  const { geo, shape } = source;
  const at = new Float64Array(2), from = new Float64Array(2), to = new Float64Array(2);
  const unit = (lon, lat, x, y) => { // the direction of a small step from a place
    const step = geo.planar ? (geo.bounds[2] - geo.bounds[0]) / 1e4 : 0.05;
    const side = geo.planar ? 1 : Math.max(0.02, Math.cos((lat * Math.PI) / 180));
    const end = geo.planar ? lat + step * y : Math.max(-90, Math.min(90, lat + step * y));
    if (!p.forward(lon, lat, from) || !p.forward(lon + (step * x) / side, end, to)) return null;
    const d = [to[0] - from[0], to[1] - from[1]], n = Math.hypot(...d);
    return n > 0 ? [d[0] / n, d[1] / n] : null;
  };
  const towards = (cell, by) => { // the direction to the next cell along the grid
    const column = cell % shape[1], row = Math.floor(cell / shape[1]);
    const back = by === 1 ? column + 1 >= shape[1] : row + 1 >= shape[0];
    const other = cell + (back ? -by : by);
    if (other < 0 || !geo.middle(cell, at) || !p.forward(at[0], at[1], from) || !geo.middle(other, at) || !p.forward(at[0], at[1], to)) return null;
    const d = back ? [from[0] - to[0], from[1] - to[1]] : [to[0] - from[0], to[1] - from[1]], n = Math.hypot(...d);
    return n > 0 ? [d[0] / n, d[1] / n] : null;
  };
  return { note: grid && rotated ? "They are taken along the axes of the grid, and turned as these are." : "", of(cell, u, v, out) {
    if (!geo.middle(cell, at)) return false;
    const [lon, lat] = at;
    const [a, b] = grid && rotated ? [towards(cell, 1), towards(cell, shape[1])] : [unit(lon, lat, 1, 0), unit(lon, lat, 0, 1)];
    if (!a || !b) return false;
    out[0] = u * a[0] + v * b[0];
    out[1] = u * a[1] + v * b[1];
    return true;
  } };
}

// arrow draws one from the middle of its place, with white around it.
function arrow(g, x, y, dx, dy, scale) {
  const n = Math.hypot(dx, dy);
  const [cx, cy] = [dx / n, dy / n], head = Math.min(6 * scale, 2 * scale + n / 3);
  const [ex, ey] = [x + dx / 2, y + dy / 2];
  for (const [width, colour] of [[3.5, "#ffffff"], [1.5, "#000000"]]) {
    g.lineWidth = width * scale;
    g.strokeStyle = colour;
    g.beginPath();
    g.moveTo(x - dx / 2, y - dy / 2);
    g.lineTo(ex, ey);
    g.moveTo(ex - head * (cx - 0.6 * cy), ey - head * (cy + 0.6 * cx));
    g.lineTo(ex, ey);
    g.lineTo(ex - head * (cx + 0.6 * cy), ey - head * (cy - 0.6 * cx));
    g.stroke();
  }
}

// paint draws arrows at distances on the screen, one a cell at most.
function paint(g) {
  const { box, source, shown, p, cells } = seen;
  const gap = apart * box.scale, columns = source.shape[1];
  const { note, of } = directions(seen);
  const done = new Set(), d = [0, 0];
  let count = 0;
  g.lineCap = g.lineJoin = "round";
  for (let py = Math.round(gap / 2); py < box.h; py += gap) {
    for (let px = Math.round(gap / 2); px < box.w; px += gap) {
      const cell = cells[Math.floor(py) * box.w + Math.floor(px)];
      if (cell < 0 || done.has(cell)) continue;
      done.add(cell);
      const [u, v] = [read.u[cell], read.v[cell]];
      if (!Number.isFinite(u + v) || (u === 0 && v === 0) || !of(cell, u, v, d)) continue;
      const index = [Math.floor(cell / columns), cell % columns].map((k, i) => source.axes[i].start + k * source.axes[i].step);
      const place = p ? globe.placeOf(source.geo, p, box, cell) : plane.placeOf(box, source, shown, index);
      if (!place) continue;
      const length = Math.min(2, Math.hypot(u, v) / read.length) * gap * 0.95, n = Math.hypot(d[0], d[1]);
      if (length < 2 * box.scale || n === 0) continue;
      arrow(g, place.x, place.y, (d[0] / n) * length, (d[1] / n) * length, box.scale);
      count++;
    }
  }
  $("map-arrows").dataset.drawn = String(count);
  key(gap, note);
}

// key draws the arrow that tells the lengths.
function key(gap, note) {
  const { scale } = seen.box;
  const { u, v } = read.pair;
  const length = pairs.keyLength(read.length * 1.5), pixels = (length / read.length) * gap * 0.95;
  const c = $("arrow-key");
  c.width = Math.round(48 * scale);
  c.height = Math.round(18 * scale);
  if (length > 0) arrow(c.getContext("2d"), c.width / 2, c.height / 2, pixels, 0, scale);
  const units = u.units ? ` ${u.units}` : "";
  c.setAttribute("aria-label", `Arrow of ${number(length)}${units}`);
  $("arrows-note").textContent = length > 0 ? `${number(length)}${units} (${u.name}, ${v.name}${u.dims.join() === v.dims.join() ? "" : ", at different points of the cells"}). ${note}`.trim() : "no vectors";
}
