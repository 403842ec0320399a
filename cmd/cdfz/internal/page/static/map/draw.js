// Drawing of the map, its marks, and the value of a cell in words.
import { cellOf, title } from "./axes.js";
import * as bar from "../colour/bar.js";
import { $ } from "../panels/dom.js";
import { coordinate, exact } from "../panels/format.js";
import { placeOf } from "./places.js";
import * as projection from "./projection.js";
import * as scale from "../colour/scale.js";
import * as stage from "./stage.js";
import { covers, isWhole, map, source } from "./state.js";

// draw draws the map, also on other contexts that its canvases may have.
export function draw() {
  const canvas = $("map-canvas");
  const width = $("map").clientWidth;
  if (width < 50) return;
  const what = { slice: map.slice, source: source(), shown: map.shown, name: map.options.projection, eye: map.eye, coast: map.options.coast, scaled: map.options.scaled, contours: map.options.colours.contours };
  map.box = stage.fit([canvas, $("map-cursor")], what, width);
  canvas.dataset.view = JSON.stringify(map.shown);
  const whole = isWhole();
  $("zoom-out").disabled = map.eye ? map.eye.zoom <= 1 : whole;
  $("zoom-all").disabled = whole;
  // One finger scrolls the page over a whole map, and moves a part, and turns a globe.
  $("map-cursor").style.touchAction = whole && map.options.projection !== "globe" ? "pan-x pan-y" : "none";
  canvas.dataset.eye = JSON.stringify(map.eye);
  map.colours = scale.of(scale.wider(map.slice, what.source), map.options.colours);
  map.picture = stage.draw(canvas.getContext("2d"), map.box, what, map.colours);
  canvas.dataset.coast = map.picture.coast;
  titles();
  overlay();
  bar.draw(map.colours, map.slice.units);
  map.on.draw({ what, box: map.box, width: canvas.width, height: canvas.height, p: map.picture.p, cells: map.picture.cells, colours: map.colours, choice: map.options.colours, part: whole ? null : map.shown });
}

// titles names the axes.
function titles() {
  if (map.eye) {
    $("map-y").textContent = $("map-x").textContent = "";
    $("map-cursor").setAttribute("aria-label", `Map${map.slice.units ? ` in ${map.slice.units}` : ""}, ${projection.titles[map.options.projection]}`);
    return;
  }
  const [up, across] = [title(source().axes[0], map.shown.row, map.shown.rows), title(source().axes[1], map.shown.column, map.shown.columns)];
  $("map-y").textContent = `${map.slice.axes[0].down ? "↓" : "↑"} ${up}`;
  $("map-x").textContent = `${across} →`;
  $("map-cursor").setAttribute("aria-label", `Map${map.slice.units ? ` in ${map.slice.units}` : ""}, across: ${across}, up: ${up}`);
}

// overlay marks the cursor and the chosen cell.
export function overlay() {
  const c = $("map-cursor");
  const g = c.getContext("2d");
  g.clearRect(0, 0, c.width, c.height);
  const picked = map.picked && placeOf(map.picked), cursor = map.cursor && placeOf(map.cursor);
  if (picked) {
    const { x, y, r } = picked;
    for (const [width, style] of [[4, "#ffffff"], [2, "#d62a1e"]]) {
      g.lineWidth = width * map.box.scale;
      g.strokeStyle = style;
      g.beginPath();
      g.arc(x, y, r + 3 * map.box.scale, 0, 7);
      g.moveTo(x - r, y);
      g.lineTo(x + r, y);
      g.moveTo(x, y - r);
      g.lineTo(x, y + r);
      g.stroke();
    }
  }
  if (cursor) stage.square(g, cursor, map.box.scale);
}

// describe writes the value of a cell.
export function describe(cell) {
  const s = map.detail && covers(map.detail, { row: cell[0], column: cell[1], rows: 1, columns: 1 }) ? map.detail : map.slice;
  const [row, column] = s.axes.map((a, k) => cellOf(a, cell[k]));
  const v = s.data[row * s.shape[1] + column];
  const value = v !== v ? "missing" : `${exact(v, s.type)}${s.units ? " " + s.units : ""}${map.colours?.word(v) ? ` (${map.colours.word(v)})` : ""}`;
  const at = s.places ?? s.axes.map((a, k) => ({ text: (r, c) => coordinate(a, k === 0 ? r : c) }));
  const index = s.axes.map((a, k) => (a.dim === -1 ? "" : `${a.name}[${a.start + [row, column][k] * a.step}]`)).filter(Boolean);
  $("readout").textContent = `${value} at ${at.map((p) => p.text(row, column)).join(", ")} — ${index.join(", ")}`;
}
