// The map, as other parts of the page see it.
import { $ } from "../panels/dom.js";
import { draw } from "./draw.js";
import { choose, move, pull } from "./look.js";
import { cellAt } from "./places.js";
import * as pointer from "./pointer.js";
import * as stage from "./stage.js";
import { map } from "./state.js";

// start connects the map to functions: pick is called with the row and the column of a chosen cell, page with the direction in
// which to step through the first other dimension, and look when another part or another slice is shown, with the view of a
// projection. read reads a part of the slice. draw is called with what was drawn, and cursor with the cell of the cursor, or null,
// and its place.
export function start(functions) {
  map.on = functions;
  pointer.start();
  new ResizeObserver(() => map.slice && draw()).observe($("map"));
  stage.start(() => map.slice && draw());
}

// drawn returns the colours of the map.
export const drawn = () => map.colours;

// remote are functions for maps that follow this one: at is the clientX and the clientY of a place on this one.
export const remote = {
  placeOf(right, down) {
    const r = $("map-cursor").getBoundingClientRect(), { box } = map;
    return { clientX: r.left + (box.x + right * box.w) / box.scale, clientY: r.top + (box.y + down * box.h) / box.scale };
  },
  hover: (at) => move(at && cellAt(at)),
  choose: (at) => choose(cellAt(at)),
  drag: pull,
  wheel: pointer.wheel,
  key: pointer.key,
};
