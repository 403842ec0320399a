// A second map that follows the first one: it shows the same part in the same view, and what pointers and keys do there
// happens on the first one.
import { cellOf, title } from "./axes.js";
import { strip } from "../colour/bar.js";
import { $, make } from "../panels/dom.js";
import { coordinate, exact, number } from "../panels/format.js";
import * as plane from "./plane.js";
import * as stage from "./stage.js";

// twin makes a map in the element of an id. remote are the functions of the first map.
export function twin(id, remote) {
  const parts = {
    title: make("h3"), up: make("div", { className: "axis" }), map: make("div", { className: "map" }), across: make("div", { className: "axis end" }),
    canvas: make("canvas", { id: `${id}-canvas` }), cursor: make("canvas", { id: `${id}-cursor`, className: "cursor", tabIndex: 0, role: "application" }),
    readout: make("output", { className: "readout" }), bar: make("canvas", { id: `${id}-bar` }), colours: make("p", { className: "hint" }),
  };
  parts.map.append(parts.canvas, parts.cursor);
  $(id).replaceChildren(parts.title, parts.up, parts.map, parts.across, parts.readout, parts.bar, parts.colours);
  let now = null; // what is shown
  let box = null;
  let down = null; // place of a pointer that is down

  function draw() {
    const width = parts.map.clientWidth;
    if (!now || width < 50) return;
    box = stage.fit([parts.canvas, parts.cursor], now.what, width);
    parts.canvas.dataset.view = JSON.stringify(now.what.shown);
    stage.draw(parts.canvas.getContext("2d"), box, now.what, now.colours);
    strip(parts.bar, now.colours, now.what.slice.units);
  }

  // there returns the place on the first map that a pointer is at here.
  function there(e) {
    const r = parts.cursor.getBoundingClientRect(), [x, y, w, h] = [box.x, box.y, box.w, box.h].map((n) => n / box.scale);
    return remote.placeOf((e.clientX - r.left - x) / w, (e.clientY - r.top - y) / h);
  }

  const on = (type, f, o) => parts.cursor.addEventListener(type, (e) => now && box && f(e), o);
  on("pointerdown", (e) => {
    if (e.button !== 0) return;
    down = { x: e.clientX, y: e.clientY, moved: false, rest: [0, 0] };
    parts.cursor.setPointerCapture(e.pointerId);
  });
  on("pointermove", (e) => {
    if (!down) return remote.hover(there(e));
    const [dx, dy] = [e.clientX - down.x, e.clientY - down.y];
    if (!down.moved && Math.hypot(dx, dy) < 5) return;
    Object.assign(down, { x: e.clientX, y: e.clientY, moved: true });
    remote.drag(dx, dy, down);
  });
  on("pointerup", (e) => {
    const moved = down?.moved;
    down = null;
    if (!moved) remote.choose(there(e));
  });
  on("pointercancel", () => { down = null; });
  on("pointerleave", () => remote.hover(null));
  on("wheel", (e) => remote.wheel(e, there(e)), { passive: false });
  on("keydown", (e) => remote.key(e));
  new ResizeObserver(draw).observe(parts.map);

  return {
    draw,
    // picture has what picture.js needs of the map.
    picture: () => ({ id, title: parts.title.textContent, up: parts.up.textContent, across: parts.across.textContent, said: parts.colours.textContent }),
    // show draws a slice: what is that of stage.js, and colours are those of scale.js. text tells of them.
    show(what, colours, heading, text = "") {
      now = { what, colours };
      const { axes, units, missing } = what.slice;
      parts.title.textContent = heading;
      const plain = what.name === "cells";
      parts.up.textContent = plain ? `${axes[0].down ? "↓" : "↑"} ${title(axes[0])}` : "";
      parts.across.textContent = plain ? `${title(axes[1])} →` : "";
      parts.cursor.setAttribute("aria-label", `${heading}${units ? ` in ${units}` : ""}. It follows the first map, and keys are those of that.`);
      parts.colours.textContent = `${text || `Colours from ${number(colours.low)} to ${number(colours.high)}${units ? ` ${units}` : ""}`}; ${missing === 0 ? "no" : missing} missing`;
      draw();
    },
    // point marks a cell, by its row and its column, and writes its value. null marks none.
    point(cell, place) {
      const c = parts.cursor, g = c.getContext("2d");
      g.clearRect(0, 0, c.width, c.height);
      parts.readout.textContent = "";
      if (!now || !box || !cell) return;
      const { slice, source, shown } = now.what;
      const [row, column] = source.axes.map((a, k) => cellOf(a, cell[k]));
      const v = source.data[row * source.shape[1] + column];
      parts.readout.textContent = `${v !== v ? "missing" : `${exact(v, slice.type)}${slice.units ? ` ${slice.units}` : ""}`} at ${source.axes.map((a, k) => coordinate(a, k === 0 ? row : column)).join(", ")}`;
      const at = place ?? plane.placeOf(box, source, shown, cell);
      if (at) stage.square(g, at, box.scale);
    },
  };
}
