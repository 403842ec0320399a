// What the map shows, and which part of it. Rows and columns are indices of the variable. A slice that is read in steps
// has a value for several of them.
import { $ } from "../panels/dom.js";
import * as projection from "./projection.js";
import * as stage from "./stage.js";

export const map = {
  slice: null, // answer of api.values for all rows and columns, with their numbers as all
  detail: null, // the same for a part, in finer steps, or null
  options: {}, // colours of scale.js, projection, coast, and scaled of plane.js
  colours: null, // of scale.js, those that are drawn
  eye: null, // what a projection shows, of projection.js, or null for the plane of cells
  shown: null, // the part that is shown, of view.js
  picture: null, // what stage.js has drawn
  box: null, // place of the cells, in pixels of the canvas
  picked: null, // [row, column]
  cursor: null,
  on: null, // functions of map.start
};

// source returns the slice that is drawn: the finer one if it has all of the part.
export function source() {
  return map.detail && covers(map.detail, map.shown) ? map.detail : map.slice;
}

// covers reports whether a slice has a value for all of a part.
export function covers(s, { row, column, rows, columns }) {
  const spans = (a, all, first, n) => a.start <= first && first + n <= Math.min(all, a.start + a.values.length * a.step);
  return spans(s.axes[0], map.slice.all[0], row, rows) && spans(s.axes[1], map.slice.all[1], column, columns);
}

// isWhole reports whether all of the slice is shown.
export const isWhole = () => (map.eye ? JSON.stringify(map.eye) === JSON.stringify(all()) : map.shown.rows === map.slice.all[0] && map.shown.columns === map.slice.all[1]);

// all returns the view with all cells.
export function all() {
  const size = stage.sizes(null, { slice: map.slice, name: map.options.projection }, Math.max(50, $("map").clientWidth), window.devicePixelRatio || 1).box;
  return projection.fit(map.options.projection, map.slice.geo.bounds, size);
}
