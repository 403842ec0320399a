// The plane: a slice as cells of equal size, in the order of its coordinates. A box is the place of
// the cells in pixels of a canvas, and shown a part of view.js.
import { cellOf, ticks } from "./axes.js";
import * as lines from "./contours.js";
import { css } from "../panels/format.js";
import * as stretch from "./stretch.js";

export const font = (scale) => `${12 * scale}px system-ui, sans-serif`;

// flipped reports whether the first row is at the bottom: coordinates grow upwards, unless
// the file marks them as growing downwards.
function flipped(slice) {
  const y = slice.axes[0];
  const [a, b] = [y.values[0], y.values.at(-1)];
  return y.down ? a > b : a <= b;
}

// aspect is the width of the map by its height, from the ranges of its coordinates if both
// are in the same units or degrees.
function aspect(slice) {
  const [y, x] = slice.axes;
  const [rows, columns] = slice.shape;
  const span = (a, n) => Math.abs(a.values.at(-1) - a.values[0]) * (n / Math.max(1, n - 1));
  const alike = y.units && (y.units === x.units || (y.units.startsWith("degree") && x.units?.startsWith("degree")));
  const r = alike ? span(x, columns) / span(y, rows) : columns / rows;
  return Math.min(4, Math.max(0.75, Number.isFinite(r) && r > 0 ? r : 1.5));
}

// layout returns the box of a map and the height of its canvas, for a width in CSS pixels. source
// is the slice that is drawn, which may be a part of the other one in finer steps. scaled tells which axes
// are to scale.
export function layout(g, slice, source, shown, width, scale, scaled = [false, false]) {
  g.font = font(1);
  const along = [[shown.row, shown.rows], [shown.column, shown.columns]].map(([first, n], k) => (scaled[k] ? stretch.along(source.axes[k], first, n) : even(source.axes[k], first, n)));
  const texts = along[0].ticks(9).map(([, text]) => g.measureText(text).width);
  const left = Math.round(Math.min(Math.max(width < 500 ? 46 : 58, ...texts.map((w) => w + 14)), width / 3)), bottom = 24, top = 8, right = 12;
  const w = width - left - right;
  const h = Math.min(Math.max(120, Math.round(w / aspect(slice))), Math.round(window.innerHeight * 0.75));
  const box = { x: Math.round(left * scale), y: Math.round(top * scale), w: Math.round(w * scale), h: Math.round(h * scale), flip: flipped(slice), scale, along };
  return { box, height: h + top + bottom };
}

// even is the scale of cells of equal size, as those of stretch.js.
const even = (axis, first, n) => ({ place: (index) => (index - first) / n, index: (at) => first + at * n, ticks: (most) => ticks(axis, first, n, most) });

// raster writes the number of the cell in each pixel of the box: a place in the data of the source.
export function raster(out, box, source) {
  const { w, h, flip } = box;
  const [up, across] = box.along;
  const all = source.shape[1];
  const column = Int32Array.from({ length: w }, (_, px) => cellOf(source.axes[1], Math.floor(across.index((px + 0.5) / w))));
  for (let py = 0, i = 0; py < h; py++) {
    const row = all * cellOf(source.axes[0], Math.floor(up.index((flip ? h - 1 - py + 0.5 : py + 0.5) / h)));
    for (let px = 0; px < w; px++, i++) out[i] = row + column[px];
  }
  return out;
}

// forward returns a function that writes the pixel of a longitude and a latitude, and returns whether it is shown.
// across is the number of the axis with longitudes.
export function forward(box, source, across) {
  const index = [0, 1].map((k) => locator(source.axes[k], k === across));
  return (lon, lat, out) => {
    const [down, right] = index.map((of, k) => box.along[k].place(of(k === across ? lon : lat) + 0.5));
    out[0] = box.x + right * box.w;
    out[1] = box.y + (box.flip ? 1 - down : down) * box.h;
    return true; // the box cuts off what is outside
  };
}

// locator returns the index of a coordinate, with fractions and beyond the ends, as a function.
function locator(axis, isLongitude) {
  const x = Float64Array.from(axis.values);
  const n = x.length;
  if (isLongitude) for (let i = 1; i < n; i++) x[i] -= 360 * Math.round((x[i] - x[i - 1]) / 360);
  const sign = Math.sign(x[n - 1] - x[0]);
  // Longitudes are those of the circle that begins at the first cell, or has a part of it in its middle.
  const first = Math.abs(x[n - 1] - x[0]) > 300 ? x[0] - (x[1] - x[0]) / 2 : (x[0] + x[n - 1]) / 2 - sign * 180;
  return (v) => {
    if (isLongitude) v -= sign * 360 * Math.floor((sign * (v - first)) / 360);
    let low = 0, high = n - 1;
    while (high - low > 1) {
      const k = (low + high) >> 1;
      if (sign * (x[k] - v) <= 0) low = k;
      else high = k;
    }
    return axis.start + axis.step * (low + (v - x[low]) / (x[high] - x[low]));
  };
}

// contours draws those of the part that is shown.
export function contours(g, box, source, shown, colours) {
  const [y, x] = source.axes;
  const of = [cellOf(y, shown.row), cellOf(y, shown.row + shown.rows - 1) + 1, cellOf(x, shown.column), cellOf(x, shown.column + shown.columns - 1) + 1];
  const middle = (a, i) => a.start + (i + 0.5) * a.step;
  const forward = (row, column, out) => {
    const down = box.along[0].place(middle(y, row));
    out[0] = box.x + box.along[1].place(middle(x, column)) * box.w;
    out[1] = box.y + (box.flip ? 1 - down : down) * box.h;
    return true; // the box cuts off what is outside
  };
  g.save();
  g.beginPath();
  g.rect(box.x, box.y, box.w, box.h);
  g.clip();
  lines.draw(g, { slice: source, of, forward, ratio: box.scale }, colours);
  g.restore();
}

// axes draws the frame and the ticks.
export function axes(g, box) {
  const { x, y, w, h, scale } = box;
  g.strokeStyle = css("--soft");
  g.fillStyle = css("--ink");
  g.lineWidth = scale;
  g.strokeRect(x - scale / 2, y - scale / 2, w + scale, h + scale);
  g.font = font(scale);
  g.textBaseline = "top";
  g.textAlign = "center";
  let end = -Infinity;
  for (const [at, text] of box.along[1].ticks(w / scale / 75)) {
    const px = x + at * w;
    const half = g.measureText(text).width / 2;
    const place = Math.min(Math.max(px, x, half + 2 * scale), x + w - half + 10 * scale);
    if (place - half < end + 6 * scale) continue;
    end = place + half;
    g.fillRect(px - scale / 2, y + h, scale, 4 * scale);
    g.fillText(text, place, y + h + 6 * scale);
  }
  g.textBaseline = "middle";
  g.textAlign = "right";
  let last = NaN;
  for (const [at, text] of box.along[0].ticks(h / scale / 40)) {
    const py = y + (box.flip ? 1 - at : at) * h;
    if (Math.abs(py - last) < 14 * scale) continue;
    last = py;
    g.fillRect(x - 4 * scale, py - scale / 2, 4 * scale, scale);
    g.fillText(text, x - 6 * scale, py, x - 8 * scale);
  }
}

// cellAt returns the row and the column at a pixel of the box, with fractions, or null outside.
export function cellAt(box, px, py) {
  if (px < 0 || py < 0 || px >= box.w || py >= box.h) return null;
  const down = (py + 0.5) / box.h;
  return [box.along[0].index(box.flip ? 1 - down : down), box.along[1].index((px + 0.5) / box.w)];
}

// placeOf returns the middle of a cell on the canvas, with the radius of a mark around it, or null
// if the cell is not shown.
export function placeOf(box, source, shown, cell) {
  const [down, right] = [cell[0] - shown.row, cell[1] - shown.column];
  if (down < 0 || down >= shown.rows || right < 0 || right >= shown.columns) return null;
  const [[top, bottom], [left, end]] = box.along.map((a, k) => [a.place(cell[k]), a.place(cell[k] + source.axes[k].step)]);
  const middle = (top + bottom) / 2;
  return {
    x: box.x + ((left + end) / 2) * box.w,
    y: box.y + (box.flip ? 1 - middle : middle) * box.h,
    r: Math.min(Math.max(5 * box.scale, ((end - left) * box.w) / 2, ((bottom - top) * box.h) / 2), 20 * box.scale),
  };
}
