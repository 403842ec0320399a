// The map: which slice it shows, which part of it, and what pointers and keys do. Rows and columns
// are indices of the variable. A slice that is read in steps has a value for several of them.
import { cellOf, title } from "./axes.js";
import * as bar from "./bar.js";
import { $ } from "./dom.js";
import { coordinate, exact } from "./format.js";
import * as plane from "./plane.js";
import * as scale from "./scale.js";
import * as view from "./view.js";

let slice = null; // answer of api.values for all rows and columns, with their numbers as all
let detail = null; // the same for a part, in finer steps, or null
let options = {}; // colours of scale.js, and scaled of plane.js
let colours = null; // of scale.js, those that are drawn
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
let refine = async () => null;

// start connects the map to functions: pick is called with the row and the column of a chosen
// cell, page with the direction in which to step through the first other dimension, and
// look when another part or another slice is shown. read reads a part of the slice.
export function start({ pick, page, look, read }) {
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
  c.addEventListener("wheel", wheel, { passive: false });
  $("zoom-in").addEventListener("click", () => zoomBy(0.5));
  $("zoom-out").addEventListener("click", () => zoomBy(2));
  $("zoom-all").addEventListener("click", () => look(view.whole(slice.all)));
  c.addEventListener("keydown", key);
  new ResizeObserver(() => slice && draw()).observe($("map"));
}

// drawn returns the colours of the map.
export const drawn = () => colours;

// show draws a part of a slice, or all of it. A row and a column may be marked.
export function show(s, o, mark, part) {
  if (s !== slice) {
    cancel();
    detail = null;
  }
  slice = s;
  options = o;
  picked = mark;
  cursor = null;
  look(part ?? view.whole(s.all));
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
    onLook(isWhole() ? null : shown, source());
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
  const layout = plane.layout(g, slice, source(), shown, width, ratio, options.scaled);
  box = layout.box;
  for (const c of [canvas, $("map-cursor")]) {
    c.width = Math.round(width * ratio);
    c.height = Math.round(layout.height * ratio);
    c.style.height = `${layout.height}px`;
  }
  canvas.dataset.box = JSON.stringify(box);
  canvas.dataset.view = JSON.stringify(shown);
  const all = isWhole();
  $("zoom-out").disabled = $("zoom-all").disabled = all;
  // One finger scrolls the page over a whole map, and moves a part.
  $("map-cursor").style.touchAction = all ? "pan-x pan-y" : "none";
  colours = scale.of(slice, options.colours);
  plane.paint(g, box, source(), colours);
  if (options.colours.contours) plane.contours(g, box, source(), shown, colours);
  plane.axes(g, box);
  titles();
  overlay();
  bar.draw(colours, slice.units);
}

// titles names the axes.
function titles() {
  const [up, across] = [title(source().axes[0], shown.row, shown.rows), title(source().axes[1], shown.column, shown.columns)];
  $("map-y").textContent = `${slice.axes[0].down ? "↓" : "↑"} ${up}`;
  $("map-x").textContent = `${across} →`;
  $("map-cursor").setAttribute("aria-label", `Map${slice.units ? ` in ${slice.units}` : ""}, across: ${across}, up: ${up}`);
}

// overlay marks the cursor and the chosen cell.
function overlay() {
  const c = $("map-cursor");
  const g = c.getContext("2d");
  g.clearRect(0, 0, c.width, c.height);
  for (const [cell, colour] of [[picked, "#d62a1e"], [cursor, "#000000"]]) {
    if (!cell) continue;
    const place = plane.placeOf(box, source(), shown, cell);
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

// placeAt returns the row and the column at a pointer, with fractions, or null.
function placeAt(e) {
  if (!slice) return null;
  const r = $("map-cursor").getBoundingClientRect();
  const px = Math.floor((e.clientX - r.left) * box.scale) - box.x;
  const py = Math.floor((e.clientY - r.top) * box.scale) - box.y;
  return plane.cellAt(box, px, py);
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
  const row = box.flip ? Math.ceil(at[0]) - 1 : Math.floor(at[0]);
  return first([Math.max(0, row), Math.floor(at[1])]);
}

const isWhole = () => shown.rows === slice.all[0] && shown.columns === slice.all[1];

// look shows a part of the slice.
function look(part) {
  shown = part;
  draw();
  onLook(isWhole() ? null : shown, source());
  sharpen();
}

// zoomBy changes the number of cells around a place, or else around the cursor, the chosen
// cell or the middle.
function zoomBy(factor, at) {
  const cell = [cursor, picked].find((c) => c && JSON.stringify(view.containing(shown, slice.all, c)) === JSON.stringify(shown));
  at ??= cell ? [cell[0] + 0.5, cell[1] + 0.5] : [shown.row + shown.rows / 2, shown.column + shown.columns / 2];
  look(view.zoom(shown, slice.all, factor, at));
}

// wheel zooms. Zooming out of a whole map scrolls the page.
function wheel(e) {
  const at = placeAt(e);
  if (!at || (e.deltaY >= 0 && isWhole())) return;
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
  const cells = [((box.flip ? dy : -dy) * box.scale * shown.rows) / box.h + f.rest[0], (-dx * box.scale * shown.columns) / box.w + f.rest[1]];
  f.rest = cells.map((c) => c - Math.round(c));
  look(view.pan(shown, slice.all, Math.round(cells[0]), Math.round(cells[1])));
}

function move(cell) {
  cursor = cell;
  overlay();
  if (cell) describe(cell);
}

// moveTo moves the cursor to a cell, which may be outside of the part that is shown.
function moveTo(cell) {
  look(view.containing(shown, slice.all, cell));
  move(first(cell));
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
  const index = (a, i) => `${a.name}[${a.start + i * a.step}]`;
  $("readout").textContent = `${value} at ${at.map((p) => p.text(row, column)).join(", ")} — ${index(s.axes[0], row)}, ${index(s.axes[1], column)}`;
}

function key(e) {
  if (!slice) return;
  const [rows, columns] = slice.all;
  const [tall, wide] = source().axes.map((a) => a.step * (e.shiftKey ? 10 : 1));
  const up = box.flip ? tall : -tall;
  const steps = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -wide], ArrowRight: [0, wide] };
  const clamp = (i, n) => Math.max(0, Math.min(n - 1, i));
  const from = cursor ?? picked ?? [Math.floor(rows / 2), Math.floor(columns / 2)];
  if (steps[e.key]) {
    const [dr, dc] = steps[e.key];
    moveTo([clamp(from[0] + dr, rows), clamp(from[1] + dc, columns)]);
  } else if (e.key === "Home" || e.key === "End") {
    moveTo([from[0], e.key === "Home" ? 0 : columns - 1]);
  } else if (e.key === "+" || e.key === "-") {
    zoomBy(e.key === "+" ? 0.5 : 2);
  } else if (e.key === "0") {
    look(view.whole(slice.all));
  } else if (e.key === "Enter" || e.key === " ") {
    choose(from);
  } else if (e.key === "PageUp" || e.key === "PageDown") {
    onPage(e.key === "PageUp" ? -1 : 1);
  } else {
    return;
  }
  e.preventDefault();
}
