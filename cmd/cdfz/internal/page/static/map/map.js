// The map: which slice it shows, which part of it, and what pointers and keys do. Rows and columns
// are indices of the variable. A slice that is read in steps has a value for several of them.
import { cellOf, title } from "./axes.js";
import * as bar from "../colour/bar.js";
import { $ } from "../panels/dom.js";
import { coordinate, exact } from "../panels/format.js";
import * as globe from "./globe.js";
import { cellAt as planeCell, placeOf as planePlace } from "./plane.js";
import * as projection from "./projection.js";
import * as scale from "../colour/scale.js";
import * as stage from "./stage.js";
import * as view from "../data/view.js";

let slice = null; // answer of api.values for all rows and columns, with their numbers as all
let detail = null; // the same for a part, in finer steps, or null
let options = {}; // colours of scale.js, projection, coast, and scaled of plane.js
let colours = null; // of scale.js, those that are drawn
let eye = null; // what a projection shows, of projection.js, or null for the plane of cells
let picture = null; // what stage.js has drawn
let picked = null; // [row, column]
let cursor = null;
let shown = null; // the part that is shown, of view.js
let waiting = null; // timer, and then the AbortController of a request for a detail
const fingers = new Map(); // pointers that are down, with their places
let dragged = false; // the pointer moved since it is down
let box = null; // place of the cells, in pixels of the canvas

// maxCells is the number of cells along an axis of a slice.
export const maxCells = 1024;

let onPick = () => {};
let onPage = () => {};
let onLook = () => {};
let onDraw = () => {};
let onCursor = () => {};
let refine = async () => null;

// start connects the map to functions: pick is called with the row and the column of a chosen
// cell, page with the direction in which to step through the first other dimension, and
// look when another part or another slice is shown, with the view of a projection. read reads a part of the slice. draw is
// called with what was drawn, and cursor with the cell of the cursor, or null, and its place.
export function start({ pick, page, look, read, draw: drew, cursor: moved }) {
  [onDraw, onCursor] = [drew, moved];
  onPick = pick;
  onPage = page;
  onLook = look;
  refine = read;
  const c = $("map-cursor");
  c.addEventListener("pointerdown", press);
  c.addEventListener("pointermove", (e) => (fingers.has(e.pointerId) ? drag(e) : move(cellAt(e))));
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) c.addEventListener(name, (e) => fingers.delete(e.pointerId));
  c.addEventListener("pointerleave", () => move(null));
  c.addEventListener("click", (e) => !dragged && choose(cellAt(e)));
  c.addEventListener("wheel", (e) => wheel(e), { passive: false });
  $("zoom-in").addEventListener("click", () => zoomBy(0.5));
  $("zoom-out").addEventListener("click", () => zoomBy(2));
  $("zoom-all").addEventListener("click", lookAtAll);
  c.addEventListener("keydown", key);
  new ResizeObserver(() => slice && draw()).observe($("map"));
  stage.start(() => slice && draw());
}

// drawn returns the colours of the map.
export const drawn = () => colours;

// show draws a part of a slice, or all of it, or what a view of a projection shows. A row and a column may be marked.
export function show(s, o, mark, part, wanted) {
  if (s !== slice) {
    cancel();
    detail = null;
  }
  slice = s;
  options = o;
  picked = mark;
  cursor = null;
  if (o.projection === "cells") {
    eye = null;
    look(part ?? view.whole(s.all));
  } else {
    shown = view.whole(s.all);
    turn(wanted ? { ...all(), ...wanted } : all());
  }
  if (mark) describe(mark);
}

// source returns the slice that is drawn: the finer one if it has all of the part.
function source() {
  return detail && covers(detail, shown) ? detail : slice;
}

// covers reports whether a slice has a value for all of a part.
function covers(s, { row, column, rows, columns }) {
  const spans = (a, all, first, n) => a.start <= first && first + n <= Math.min(all, a.start + a.values.length * a.step);
  return spans(s.axes[0], slice.all[0], row, rows) && spans(s.axes[1], slice.all[1], column, columns);
}

// pause is how long the map stays as it is before a detail is read, in milliseconds.
const pause = 150;

// cancel drops a request for a detail.
function cancel() {
  clearTimeout(waiting?.timer);
  waiting?.abort.abort();
  waiting = null;
}

// sharpen reads the part that is shown, with what is next to it, if that has finer steps.
function sharpen() {
  cancel();
  const part = view.around(shown, slice.all);
  const finer = (a, n) => Math.ceil(n / maxCells) < a.step;
  const [y, x] = source().axes;
  if (!finer(y, part.rows) && !finer(x, part.columns)) return;
  // The server may have had to read in longer steps than it was asked for.
  if (detail && JSON.stringify(detail.part) === JSON.stringify(part)) return;
  const abort = new AbortController();
  const timer = setTimeout(async () => {
    const s = await refine(part, abort.signal);
    if (!s || abort.signal.aborted) return;
    waiting = null;
    detail = { ...s, part };
    for (const [name, f] of [["min", Math.min], ["max", Math.max]]) {
      if (s[name] !== null) slice[name] = f(s[name], slice[name] ?? s[name]);
    }
    draw();
    if (cursor ?? picked) describe(cursor ?? picked);
    onLook(isWhole() ? null : shown, source(), isWhole() ? null : eye);
  }, pause);
  waiting = { abort, timer };
}

// draw draws the map, also on other contexts that its canvases may have.
export function draw() {
  const canvas = $("map-canvas");
  const ratio = window.devicePixelRatio || 1;
  const width = $("map").clientWidth;
  if (width < 50) return;
  const g = canvas.getContext("2d", { willReadFrequently: true });
  const what = { slice, source: source(), shown, name: options.projection, eye, coast: options.coast, scaled: options.scaled, contours: options.colours.contours };
  const layout = stage.sizes(g, what, width, ratio);
  box = layout.box;
  for (const c of [canvas, $("map-cursor")]) {
    c.width = Math.round(width * ratio);
    c.height = Math.round(layout.height * ratio);
    c.style.height = `${layout.height}px`;
  }
  canvas.dataset.box = JSON.stringify(box);
  canvas.dataset.view = JSON.stringify(shown);
  const whole = isWhole();
  $("zoom-out").disabled = eye ? eye.zoom <= 1 : whole;
  $("zoom-all").disabled = whole;
  // One finger scrolls the page over a whole map, and moves a part, and turns a globe.
  $("map-cursor").style.touchAction = whole && options.projection !== "globe" ? "pan-x pan-y" : "none";
  canvas.dataset.eye = JSON.stringify(eye);
  colours = scale.of(slice, options.colours);
  picture = stage.draw(g, box, what, colours);
  canvas.dataset.coast = picture.coast;
  titles();
  overlay();
  bar.draw(colours, slice.units);
  onDraw({ what, box, width: canvas.width, height: canvas.height, p: picture.p, cells: picture.cells, colours, choice: options.colours, part: whole ? null : shown });
}

// titles names the axes.
function titles() {
  if (eye) {
    $("map-y").textContent = $("map-x").textContent = "";
    $("map-cursor").setAttribute("aria-label", `Map${slice.units ? ` in ${slice.units}` : ""}, ${projection.titles[options.projection]}`);
    return;
  }
  const [up, across] = [title(source().axes[0], shown.row, shown.rows), title(source().axes[1], shown.column, shown.columns)];
  $("map-y").textContent = `${slice.axes[0].down ? "↓" : "↑"} ${up}`;
  $("map-x").textContent = `${across} →`;
  $("map-cursor").setAttribute("aria-label", `Map${slice.units ? ` in ${slice.units}` : ""}, across: ${across}, up: ${up}`);
}

// placeOf returns the place of a cell on the canvas, or null if it is not shown.
const placeOf = (cell) => (eye ? globe.placeOf(source().geo, picture.p, box, numberOf(cell)) : planePlace(box, source(), shown, cell));

// overlay marks the cursor and the chosen cell.
function overlay() {
  const c = $("map-cursor");
  const g = c.getContext("2d");
  g.clearRect(0, 0, c.width, c.height);
  for (const [cell, colour] of [[picked, "#d62a1e"], [cursor, "#000000"]]) {
    if (!cell) continue;
    const place = placeOf(cell);
    if (!place) continue;
    const { x: px, y: py, r } = place;
    for (const [width, style] of [[4, "#ffffff"], [2, colour]]) {
      g.lineWidth = width * box.scale;
      g.strokeStyle = style;
      g.beginPath();
      if (cell === picked) {
        g.arc(px, py, r + 3 * box.scale, 0, 7);
        g.moveTo(px - r, py);
        g.lineTo(px + r, py);
        g.moveTo(px, py - r);
        g.lineTo(px, py + r);
      } else {
        g.rect(px - r, py - r, 2 * r, 2 * r);
      }
      g.stroke();
    }
  }
}

// pixelAt returns the pixel of the box at a pointer.
function pixelAt(e) {
  const r = $("map-cursor").getBoundingClientRect();
  return [Math.floor((e.clientX - r.left) * box.scale) - box.x, Math.floor((e.clientY - r.top) * box.scale) - box.y];
}

// placeAt returns the row and the column at a pointer, with fractions, or null. In a projection they are the pixel.
function placeAt(e) {
  if (!slice || !box) return null;
  const [px, py] = pixelAt(e);
  if (eye) return px < 0 || py < 0 || px >= box.w || py >= box.h ? null : [py, px];
  return planeCell(box, px, py);
}

// numberOf returns the number of a cell in the slice that is drawn, or -1.
function numberOf(cell) {
  const s = source(), at = s.axes.map((a, k) => Math.floor((cell[k] - a.start) / a.step));
  return at.every((i, k) => i >= 0 && i < s.shape[k]) ? at[0] * s.shape[1] + at[1] : -1;
}

// cellOfNumber is the other way round.
function cellOfNumber(i) {
  const s = source();
  return i < 0 ? null : [Math.floor(i / s.shape[1]), i % s.shape[1]].map((k, d) => s.axes[d].start + k * s.axes[d].step);
}

// first returns the first row and the first column of the cell of a row and a column.
function first(cell) {
  return cell.map((index, k) => {
    const a = source().axes[k];
    return a.start + cellOf(a, index) * a.step;
  });
}

// cellAt returns the cell at a pointer, or null.
function cellAt(e) {
  const at = placeAt(e);
  if (!at) return null;
  if (eye) return cellOfNumber(picture.cells[at[0] * box.w + at[1]]);
  const row = box.flip ? Math.ceil(at[0]) - 1 : Math.floor(at[0]);
  return first([Math.max(0, row), Math.floor(at[1])]);
}

const isWhole = () => (eye ? JSON.stringify(eye) === JSON.stringify(all()) : shown.rows === slice.all[0] && shown.columns === slice.all[1]);

// all returns the view with all cells.
function all() {
  const size = stage.sizes(null, { slice, name: options.projection }, Math.max(50, $("map").clientWidth), window.devicePixelRatio || 1).box;
  return projection.fit(options.projection, slice.geo.bounds, size);
}

// lookAtAll shows the whole map.
function lookAtAll() {
  if (eye) turn(all());
  else look(view.whole(slice.all));
}

// turn shows what a view of a projection shows.
function turn(next) {
  eye = next;
  if (detail) shown = view.whole(slice.all); // not the detail: there may be more
  draw();
  if (!picture) return;
  shown = slice.axes[0].dim === -1 ? view.whole(slice.all) : globe.seen(source(), slice.all, box, picture.cells);
  if (detail && covers(detail, shown)) draw();
  onLook(shown.rows === slice.all[0] && shown.columns === slice.all[1] ? null : shown, source(), isWhole() ? null : eye);
  sharpen();
}

// look shows a part of the slice.
function look(part) {
  shown = part;
  draw();
  onLook(isWhole() ? null : shown, source(), null);
  sharpen();
}

// zoomBy changes the number of cells around a place, or else around the cursor, the chosen
// cell or the middle.
function zoomBy(factor, at) {
  if (eye) {
    const mark = [cursor, picked].map((c) => c && globe.placeOf(source().geo, picture.p, box, numberOf(c))).find(Boolean);
    const [x, y] = at ? [box.x + at[1], box.y + at[0]] : mark ? [mark.x, mark.y] : [box.x + box.w / 2, box.y + box.h / 2];
    turn(projection.zoom(options.projection, eye, box, 1 / factor, x, y));
    return;
  }
  const cell = [cursor, picked].find((c) => c && JSON.stringify(view.containing(shown, slice.all, c)) === JSON.stringify(shown));
  at ??= cell ? [cell[0] + 0.5, cell[1] + 0.5] : [shown.row + shown.rows / 2, shown.column + shown.columns / 2];
  look(view.zoom(shown, slice.all, factor, at));
}

// wheel zooms. Zooming out of a whole map scrolls the page.
function wheel(e, place = e) {
  const at = placeAt(place);
  if (!at || (e.deltaY >= 0 && (eye ? eye.zoom <= 1 : isWhole()))) return;
  e.preventDefault();
  zoomBy(1.25 ** Math.sign(e.deltaY), at);
}

function press(e) {
  if (e.button !== 0 || !placeAt(e)) return;
  if (fingers.size === 0) dragged = false;
  fingers.set(e.pointerId, { x: e.clientX, y: e.clientY, rest: [0, 0] });
  e.currentTarget.setPointerCapture(e.pointerId);
}

// drag moves the part that is shown, or with two fingers changes its size.
function drag(e) {
  const f = fingers.get(e.pointerId);
  const [dx, dy] = [e.clientX - f.x, e.clientY - f.y];
  if (!dragged && Math.hypot(dx, dy) < 5) return;
  dragged = true;
  const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
  if (other) {
    const far = (x, y) => Math.hypot(x - other.x, y - other.y);
    const factor = far(f.x, f.y) / Math.max(1, far(e.clientX, e.clientY));
    if (Math.abs(Math.log(factor)) < 0.1) return;
    Object.assign(f, { x: e.clientX, y: e.clientY });
    zoomBy(factor, placeAt({ clientX: (f.x + other.x) / 2, clientY: (f.y + other.y) / 2 }));
    return;
  }
  Object.assign(f, { x: e.clientX, y: e.clientY });
  pull(dx, dy, f);
}

// pull moves the part that is shown by pixels of the page. f keeps the rest of cells.
function pull(dx, dy, f) {
  if (eye) {
    turn(projection.move(options.projection, eye, box, dx * box.scale, dy * box.scale));
    return;
  }
  const cells = [((box.flip ? dy : -dy) * box.scale * shown.rows) / box.h + f.rest[0], (-dx * box.scale * shown.columns) / box.w + f.rest[1]];
  f.rest = cells.map((c) => c - Math.round(c));
  look(view.pan(shown, slice.all, Math.round(cells[0]), Math.round(cells[1])));
}

function move(cell) {
  cursor = cell;
  overlay();
  if (cell) describe(cell);
  onCursor(cell, cell && placeOf(cell));
}

// remote are functions for maps that follow this one: at is the clientX and the clientY of a place on this one.
export const remote = {
  placeOf(right, down) {
    const r = $("map-cursor").getBoundingClientRect();
    return { clientX: r.left + (box.x + right * box.w) / box.scale, clientY: r.top + (box.y + down * box.h) / box.scale };
  },
  hover: (at) => move(at && cellAt(at)),
  choose: (at) => choose(cellAt(at)),
  drag: pull,
  wheel,
  key,
};

// moveTo moves the cursor to a cell, which may be outside of the part that is shown.
function moveTo(cell) {
  if (!eye) {
    look(view.containing(shown, slice.all, cell));
    move(first(cell));
    return;
  }
  // A cell that is not seen is brought to the middle.
  const at = [0, 0];
  if (!globe.placeOf(source().geo, picture.p, box, numberOf(cell)) && source().geo.middle(numberOf(cell), at)) turn(projection.towards(options.projection, eye, at));
  move(cell);
}

function choose(cell) {
  if (!cell) return;
  picked = cell;
  overlay();
  describe(cell);
  onPick(cell[0], cell[1]);
}

// describe writes the value of a cell.
function describe(cell) {
  const s = detail && covers(detail, { row: cell[0], column: cell[1], rows: 1, columns: 1 }) ? detail : slice;
  const [row, column] = s.axes.map((a, k) => cellOf(a, cell[k]));
  const v = s.data[row * s.shape[1] + column];
  const value = v !== v ? "missing" : `${exact(v, s.type)}${s.units ? " " + s.units : ""}${colours?.word(v) ? ` (${colours.word(v)})` : ""}`;
  const at = s.places ?? s.axes.map((a, k) => ({ text: (r, c) => coordinate(a, k === 0 ? r : c) }));
  const index = s.axes.map((a, k) => (a.dim === -1 ? "" : `${a.name}[${a.start + [row, column][k] * a.step}]`)).filter(Boolean);
  $("readout").textContent = `${value} at ${at.map((p) => p.text(row, column)).join(", ")} — ${index.join(", ")}`;
}

function key(e) {
  if (!slice) return;
  const [rows, columns] = slice.all;
  const [tall, wide] = source().axes.map((a) => a.step * (e.shiftKey ? 10 : 1));
  const up = (eye ? slice.axes[0].values[0] <= slice.axes[0].values.at(-1) : box.flip) ? tall : -tall;
  const steps = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -wide], ArrowRight: [0, wide] };
  const clamp = (i, n) => Math.max(0, Math.min(n - 1, i));
  const from = cursor ?? picked ?? [Math.floor(rows / 2), Math.floor(columns / 2)];
  const aims = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  if (steps[e.key] && eye && slice.axes[0].dim === -1) {
    let at = numberOf(from);
    for (let k = e.shiftKey ? 10 : 1; k > 0 && at >= 0; k--) {
      const to = globe.next(source().geo, picture.p, at, ...aims[e.key]);
      if (to < 0) break;
      at = to;
    }
    moveTo(cellOfNumber(at) ?? from);
  } else if (steps[e.key]) {
    const [dr, dc] = steps[e.key];
    moveTo([clamp(from[0] + dr, rows), clamp(from[1] + dc, columns)]);
  } else if (e.key === "Home" || e.key === "End") {
    moveTo([from[0], e.key === "Home" ? 0 : columns - 1]);
  } else if (e.key === "+" || e.key === "-") {
    zoomBy(e.key === "+" ? 0.5 : 2);
  } else if (e.key === "0") {
    lookAtAll();
  } else if (e.key === "Enter" || e.key === " ") {
    choose(from);
  } else if (e.key === "PageUp" || e.key === "PageDown") {
    onPage(e.key === "PageUp" ? -1 : 1);
  } else {
    return;
  }
  e.preventDefault();
}
