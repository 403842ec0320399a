// A small map without zoom: a slice in a box of its own, with a cursor and the value below it.
import { cellOf, title } from "./axes.js";
import { $, make } from "../panels/dom.js";
import { coordinate, exact, number } from "../panels/format.js";
import * as plane from "./plane.js";
import * as scales from "../colour/scale.js";
import * as stage from "./stage.js";
import * as view from "../data/view.js";

// panel makes a map in the element of an id. chosen is called with the indices of a cell that was clicked.
export function panel(id, chosen = () => {}) {
  const parts = {
    up: make("div", { className: "axis" }), across: make("div", { className: "axis end" }), map: make("div", { className: "map" }),
    canvas: make("canvas", { id: `${id}-canvas` }), cursor: make("canvas", { id: `${id}-cursor`, className: "cursor", tabIndex: 0, role: "application" }),
    colours: make("p", { className: "hint" }), readout: make("output", { className: "readout", ariaLive: "polite" }),
  };
  parts.map.append(parts.canvas, parts.cursor);
  $(id).replaceChildren(parts.up, parts.map, parts.across, parts.readout, parts.colours);
  let slice = null, scaled = false, colours = null, box = null, shown = null, cell = null;

  function draw() {
    const width = parts.map.clientWidth;
    if (!slice || width < 50) return;
    const what = { slice, source: slice, shown, name: "cells", scaled };
    box = stage.fit([parts.canvas, parts.cursor], what, width);
    stage.draw(parts.canvas.getContext("2d"), box, what, colours);
    mark();
  }

  function mark() {
    const c = parts.cursor, g = c.getContext("2d");
    g.clearRect(0, 0, c.width, c.height);
    const place = cell && plane.placeOf(box, slice, shown, cell);
    if (place) stage.square(g, place, box.scale);
  }

  // first returns the first index of the cell of an index, on both axes.
  const first = (at) => at.map((index, k) => slice.axes[k].start + cellOf(slice.axes[k], index) * slice.axes[k].step);

  function cellAt(e) {
    const r = parts.cursor.getBoundingClientRect();
    const at = box && plane.cellAt(box, Math.floor((e.clientX - r.left) * box.scale) - box.x, Math.floor((e.clientY - r.top) * box.scale) - box.y);
    return at && first([box.flip ? Math.max(0, Math.ceil(at[0]) - 1) : Math.floor(at[0]), Math.floor(at[1])]);
  }

  function move(to) {
    cell = to;
    mark();
    if (!cell) return;
    const [row, column] = slice.axes.map((a, k) => cellOf(a, cell[k]));
    const v = slice.data[row * slice.shape[1] + column];
    parts.readout.textContent = `${v !== v ? "missing" : `${exact(v, slice.type)}${slice.units ? ` ${slice.units}` : ""}`} at ${slice.axes.map((a, k) => `${a.name} ${coordinate(a, k === 0 ? row : column)}`).join(", ")}`;
  }

  function key(e) {
    if (!slice || !box) return;
    const [tall, wide] = slice.axes.map((a) => a.step * (e.shiftKey ? 10 : 1));
    const up = box.flip ? tall : -tall;
    const step = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -wide], ArrowRight: [0, wide] }[e.key];
    const from = cell ?? [shown.row, shown.column];
    if (step) move(first(from.map((i, k) => Math.max(0, Math.min(i + step[k], slice.axes[k].start + (slice.shape[k] - 1) * slice.axes[k].step)))));
    else if (e.key === "Enter" || e.key === " ") chosen(from, slice);
    else return;
    e.preventDefault();
  }

  parts.cursor.addEventListener("pointermove", (e) => move(cellAt(e)));
  parts.cursor.addEventListener("pointerleave", () => move(null));
  parts.cursor.addEventListener("click", (e) => {
    const at = cellAt(e);
    if (at) chosen(at, slice);
  });
  parts.cursor.addEventListener("keydown", key);
  new ResizeObserver(draw).observe(parts.map);

  return {
    draw,
    // slice returns what is shown, or null, and picture what picture.js needs of it.
    slice: () => slice,
    picture: () => ({ id, title: "", up: parts.up.textContent, across: parts.across.textContent, said: parts.colours.textContent }),
    // show draws a slice. options has the palette, low and high, and scaled of plane.js.
    show(s, o, label) {
      slice = s;
      scaled = o.scaled;
      colours = scales.of(s, { ...o, held: undefined });
      shown = { ...view.whole(s.all) };
      cell = null;
      const [up, across] = s.axes.map((a) => title(a));
      parts.up.textContent = `${s.axes[0].down ? "↓" : "↑"} ${up}`;
      parts.across.textContent = `${across} →`;
      parts.cursor.setAttribute("aria-label", `${label}, across: ${across}, up: ${up}. Arrows move, Enter chooses.`);
      parts.colours.textContent = s.min === null ? "no values" : `Colours from ${number(colours.low)} to ${number(colours.high)}${s.units ? ` ${s.units}` : ""}; ${s.missing === 0 ? "no" : s.missing} missing`;
      parts.readout.textContent = "";
      parts.map.hidden = parts.up.hidden = parts.across.hidden = false;
      draw();
    },
    // clear shows a text instead.
    clear(text) {
      slice = null;
      parts.map.hidden = parts.up.hidden = parts.across.hidden = true;
      parts.readout.textContent = text;
      parts.colours.textContent = "";
    },
  };
}
