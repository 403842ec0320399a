// Where cells are on the canvas, and which one is at a pointer.
import { cellOf } from "./axes.js";
import { $ } from "../panels/dom.js";
import * as globe from "./globe.js";
import { cellAt as planeCell, placeOf as planePlace } from "./plane.js";
import { map, source } from "./state.js";

// placeOf returns the place of a cell on the canvas, or null if it is not shown.
export const placeOf = (cell) => (map.eye ? globe.placeOf(source().geo, map.picture.p, map.box, numberOf(cell)) : planePlace(map.box, source(), map.shown, cell));

// pixelAt returns the pixel of the box at a pointer.
function pixelAt(e) {
  const r = $("map-cursor").getBoundingClientRect();
  return [Math.floor((e.clientX - r.left) * map.box.scale) - map.box.x, Math.floor((e.clientY - r.top) * map.box.scale) - map.box.y];
}

// placeAt returns the row and the column at a pointer, with fractions, or null. In a projection they are the pixel.
export function placeAt(e) {
  if (!map.slice || !map.box) return null;
  const [px, py] = pixelAt(e);
  if (map.eye) return px < 0 || py < 0 || px >= map.box.w || py >= map.box.h ? null : [py, px];
  return planeCell(map.box, px, py);
}

// numberOf returns the number of a cell in the slice that is drawn, or -1.
export function numberOf(cell) {
  const s = source(), at = s.axes.map((a, k) => Math.floor((cell[k] - a.start) / a.step));
  return at.every((i, k) => i >= 0 && i < s.shape[k]) ? at[0] * s.shape[1] + at[1] : -1;
}

// cellOfNumber is the other way round.
export function cellOfNumber(i) {
  const s = source();
  return i < 0 ? null : [Math.floor(i / s.shape[1]), i % s.shape[1]].map((k, d) => s.axes[d].start + k * s.axes[d].step);
}

// first returns the first row and the first column of the cell of a row and a column.
export function first(cell) {
  return cell.map((index, k) => {
    const a = source().axes[k];
    return a.start + cellOf(a, index) * a.step;
  });
}

// cellAt returns the cell at a pointer, or null.
export function cellAt(e) {
  const at = placeAt(e);
  if (!at) return null;
  if (map.eye) return cellOfNumber(map.picture.cells[at[0] * map.box.w + at[1]]);
  const row = map.box.flip ? Math.ceil(at[0]) - 1 : Math.floor(at[0]);
  return first([Math.max(0, row), Math.floor(at[1])]);
}
