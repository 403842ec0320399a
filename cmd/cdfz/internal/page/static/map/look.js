// What the map is made to show: another slice, another part or view, another cell.
import { cancel, sharpen } from "./detail.js";
import { describe, draw, overlay } from "./draw.js";
import * as globe from "./globe.js";
import { first, numberOf, placeOf } from "./places.js";
import * as projection from "./projection.js";
import { all, covers, isWhole, map, source } from "./state.js";
import * as view from "../data/view.js";

// show draws a part of a slice, or all of it, or what a view of a projection shows. A row and a column may be marked.
export function show(s, o, mark, part, wanted) {
  if (s !== map.slice) {
    cancel();
    map.detail = null;
  }
  map.slice = s;
  map.options = o;
  map.picked = mark;
  map.cursor = null;
  if (o.projection === "cells") {
    map.eye = null;
    look(part ?? view.whole(s.all));
  } else {
    map.shown = view.whole(s.all);
    turn(wanted ? { ...all(), ...wanted } : all());
  }
  if (mark) describe(mark);
}

// lookAtAll shows the whole map.
export function lookAtAll() {
  if (map.eye) turn(all());
  else look(view.whole(map.slice.all));
}

// turn shows what a view of a projection shows.
function turn(next) {
  map.eye = next;
  if (map.detail) map.shown = view.whole(map.slice.all); // not the detail: there may be more
  draw();
  if (!map.picture) return;
  map.shown = map.slice.axes[0].dim === -1 || (isWhole() && !projection.hides(map.options.projection)) ? view.whole(map.slice.all) : globe.seen(source(), map.slice.all, map.box, map.picture.cells);
  if (map.detail && covers(map.detail, map.shown)) draw();
  map.on.look(map.shown.rows === map.slice.all[0] && map.shown.columns === map.slice.all[1] ? null : map.shown, source(), isWhole() ? null : map.eye);
  sharpen();
}

// look shows a part of the slice.
function look(part) {
  map.shown = part;
  draw();
  map.on.look(isWhole() ? null : map.shown, source(), null);
  sharpen();
}

// zoomBy changes the number of cells around a place, or else around the cursor, the chosen
// cell or the middle.
export function zoomBy(factor, at) {
  if (map.eye) {
    const mark = [map.cursor, map.picked].map((c) => c && globe.placeOf(source().geo, map.picture.p, map.box, numberOf(c))).find(Boolean);
    const [x, y] = at ? [map.box.x + at[1], map.box.y + at[0]] : mark ? [mark.x, mark.y] : [map.box.x + map.box.w / 2, map.box.y + map.box.h / 2];
    turn(projection.zoom(map.options.projection, map.eye, map.box, 1 / factor, x, y));
    return;
  }
  const cell = [map.cursor, map.picked].find((c) => c && JSON.stringify(view.containing(map.shown, map.slice.all, c)) === JSON.stringify(map.shown));
  at ??= cell ? [cell[0] + 0.5, cell[1] + 0.5] : [map.shown.row + map.shown.rows / 2, map.shown.column + map.shown.columns / 2];
  look(view.zoom(map.shown, map.slice.all, factor, at));
}

// pull moves the part that is shown by pixels of the page. f keeps the rest of cells.
export function pull(dx, dy, f) {
  if (map.eye) {
    turn(projection.move(map.options.projection, map.eye, map.box, dx * map.box.scale, dy * map.box.scale));
    return;
  }
  const cells = [((map.box.flip ? dy : -dy) * map.box.scale * map.shown.rows) / map.box.h + f.rest[0], (-dx * map.box.scale * map.shown.columns) / map.box.w + f.rest[1]];
  f.rest = cells.map((c) => c - Math.round(c));
  look(view.pan(map.shown, map.slice.all, Math.round(cells[0]), Math.round(cells[1])));
}

// move moves the cursor to a cell that is shown, or takes it away with null.
export function move(cell) {
  map.cursor = cell;
  overlay();
  if (cell) describe(cell);
  map.on.cursor(cell, cell && placeOf(cell));
}

// moveTo moves the cursor to a cell, which may be outside of the part that is shown.
export function moveTo(cell) {
  if (!map.eye) {
    look(view.containing(map.shown, map.slice.all, cell));
    move(first(cell));
    return;
  }
  // A cell that is not seen is brought to the middle.
  const at = [0, 0];
  if (!globe.placeOf(source().geo, map.picture.p, map.box, numberOf(cell)) && source().geo.middle(numberOf(cell), at)) turn(projection.towards(map.options.projection, map.eye, at));
  move(cell);
}

// choose marks a cell, and tells the page.
export function choose(cell) {
  if (!cell) return;
  map.picked = cell;
  overlay();
  describe(cell);
  map.on.pick(cell[0], cell[1]);
}
