// The map in a projection: its box, the part of a slice in it, and the lines around and over the cells.
import * as coast from "./coast.js";
import * as isolines from "./contours.js";
import { css, coordinate } from "../panels/format.js";
import * as paint from "./paint.js";
import { font } from "./plane.js";
import * as projection from "./projection.js";

const margin = 10; // CSS pixels

// layout returns the box of a map and the height of its canvas, for a width in CSS pixels.
export function layout(name, geo, width, scale) {
  const [west, south, east, north] = geo.bounds;
  const straight = name === "plate" || name === "flat";
  const [left, bottom, top] = straight ? [width < 500 ? 42 : 54, 24, 8] : [margin, margin, margin];
  const w = width - left - margin;
  const part = (east - west) / (north - south);
  const aspect = name === "flat" || (name === "plate" && east - west < 300) ? Math.max(0.75, Math.min(3, Number.isFinite(part) && part > 0 ? part : 1.5)) : projection.aspect(name);
  const h = Math.min(Math.max(120, Math.round(w / aspect)), Math.round(window.innerHeight * (straight ? 0.75 : 0.62)));
  const box = { x: Math.round(left * scale), y: Math.round(top * scale), w: Math.round(w * scale), h: Math.round(h * scale), scale };
  return { box, height: h + top + bottom };
}

// outline adds the edge of a projection to the path of a canvas.
function outline(g, p) {
  g.beginPath();
  if (p.round) g.ellipse(p.left, p.top, p.half[0] * p.size, p.half[1] * p.size, 0, 0, 7);
  else if (p.name === "flat") g.rect(-1e6, -1e6, 2e6, 2e6);
  else g.rect(p.left - p.half[0] * p.size, p.top - p.half[1] * p.size, 2 * p.half[0] * p.size, 2 * p.half[1] * p.size);
}

let scratch = null; // canvas of the cells, whose gaps are transparent

// cells paints the sphere and the cells.
export function cells(g, { x, y, w, h }, p, picture) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  outline(g, p);
  g.fillStyle = css("--sphere");
  g.fill();
  g.clip();
  scratch ??= document.createElement("canvas");
  if (scratch.width !== w || scratch.height !== h) Object.assign(scratch, { width: w, height: h });
  scratch.getContext("2d").putImageData(picture, 0, 0);
  g.drawImage(scratch, x, y);
  g.restore();
}

// lines draws what lies over the cells: meridians and parallels, coasts, those of coastlines or null, and the edge. A plane has only an edge.
export function lines(g, box, p, planar, coasts) {
  const { x, y, w, h, scale } = box;
  let step = 0;
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  outline(g, p);
  g.clip();
  if (!planar) {
    const jump = p.name === "globe" || !p.turn ? Infinity : p.turn / 2;
    step = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01].find((s) => (s * Math.PI * p.size) / 180 < 130 * scale) ?? 0.01;
    g.strokeStyle = css("--grid");
    g.lineWidth = scale;
    g.beginPath();
    coast.trace(g, paint.graticule(step, part(box, p)), p.forward, jump);
    g.stroke();
    if (coasts) paint.coastlines(g, coasts, p.forward, jump, scale);
  }
  g.restore();
  g.save();
  g.strokeStyle = css("--soft");
  g.lineWidth = scale;
  if (p.name === "plate" || p.name === "flat") {
    g.strokeRect(x - scale / 2, y - scale / 2, w + scale, h + scale);
    labels(g, box, p, step);
  } else {
    g.beginPath();
    g.rect(x, y, w, h);
    g.clip();
    outline(g, p);
    g.stroke();
  }
  g.restore();
}

// contours draws those of a slice.
export function contours(g, box, p, { geo, data, shape }, colours) {
  const round = geo.kind === "grid" && geo.across === 1 && geo.bounds[2] - geo.bounds[0] > 360 - 1e-6;
  const jump = p.name === "globe" || !p.turn ? Infinity : p.turn / 2;
  g.save();
  g.beginPath();
  g.rect(box.x, box.y, box.w, box.h);
  g.clip();
  isolines.draw(g, { slice: { data, shape }, of: [0, shape[0], 0, shape[1]], round, forward: isolines.onEarth(geo, shape[1], p), jump, ratio: box.scale }, colours);
  g.restore();
}

// part returns the bounds of what is seen: all of the earth unless longitudes and latitudes are straight.
function part(box, p) {
  if (p.name !== "plate") return [-180, -90, 180, 90];
  const at = new Float64Array(2);
  p.inverse(box.x, box.y + box.h, at);
  const [west, south] = at;
  p.inverse(box.x + box.w, box.y, at);
  return [Math.max(west, at[0] - 360), Math.max(-90, south), at[0], Math.min(90, at[1])];
}

// labels writes the coordinates of lines at the left and the lower edge.
function labels(g, box, p, step) {
  const { x, y, w, h, scale } = box;
  const at = new Float64Array(2);
  p.inverse(x, y + h, at);
  const [west, south] = at;
  p.inverse(x + w, y, at);
  const [east, north] = at;
  const flat = p.name === "flat";
  const distance = flat ? nice((Math.max(1e-300, (north - south) / h)) * 70 * scale) : step;
  const text = (v, units) => (flat ? String(Number(v.toPrecision(6))) : coordinate({ units, values: [Number(projection.wrap(v).toFixed(3))] }, 0));
  g.fillStyle = css("--ink");
  g.font = font(scale);
  g.textAlign = "center";
  g.textBaseline = "top";
  const tick = (v) => v * distance;
  let end = -Infinity;
  for (let k = Math.ceil(west / distance); tick(k) <= east; k++) {
    const px = x + ((tick(k) - west) / (east - west)) * w;
    const name = text(tick(k), "degrees_east"), half = g.measureText(name).width / 2;
    if (px - half < end + 6 * scale || px + half > x + w + margin * scale) continue;
    end = px + half;
    g.fillRect(px - scale / 2, y + h, scale, 4 * scale);
    g.fillText(name, px, y + h + 6 * scale);
  }
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (let k = Math.ceil(south / distance); tick(k) <= north; k++) {
    if (!flat && Math.abs(tick(k)) > 90) continue;
    const py = y + ((north - tick(k)) / (north - south)) * h;
    g.fillRect(x - 4 * scale, py - scale / 2, 4 * scale, scale);
    g.fillText(flat ? text(tick(k)) : coordinate({ units: "degrees_north", values: [Number(tick(k).toFixed(3))] }, 0), x - 6 * scale, py, x - 8 * scale);
  }
}

// nice returns a round number that is not smaller.
function nice(v) {
  const e = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].find((k) => k * e >= v) * e;
}

// seen returns the rows and columns of a slice that a box shows, as a part of view.js.
export function seen(source, all, box, raster) {
  const columns = source.shape[1];
  let [r0, r1, c0, c1] = [Infinity, -1, Infinity, -1];
  const step = Math.max(1, Math.floor(Math.min(box.w, box.h) / 150));
  for (let y = 0; y < box.h; y += step) {
    for (let x = 0; x < box.w; x += step) {
      const i = raster[y * box.w + x];
      if (i < 0) continue;
      const r = Math.floor(i / columns), c = i % columns;
      if (r < r0) r0 = r;
      if (r > r1) r1 = r;
      if (c < c0) c0 = c;
      if (c > c1) c1 = c;
    }
  }
  if (r1 < 0) return { row: 0, column: 0, rows: all[0], columns: all[1] };
  // What lies between the pixels that were looked at is seen, too.
  const range = (k, from, to) => {
    const a = source.axes[k];
    const first = Math.max(0, a.start + (from - 1) * a.step), end = Math.min(all[k], a.start + (to + 2) * a.step);
    return [first, end - first];
  };
  const [row, rows] = range(0, r0, r1), [column, wide] = range(1, c0, c1);
  return { row, column, rows, columns: wide };
}

// placeOf returns the middle of a cell on the canvas, or null if it is not seen.
export function placeOf(geo, p, box, cell) {
  const at = new Float64Array(2);
  if (cell < 0 || cell >= geo.n || !geo.middle(cell, at) || !p.forward(at[0], at[1], at)) return null;
  const [x, y] = at;
  if (x < box.x || y < box.y || x > box.x + box.w || y > box.y + box.h) return null;
  return { x, y, r: 6 * box.scale };
}

// next returns the cell nearest in a direction (dx, dy, of pixels) from another one, or -1.
export function next(geo, p, cell, dx, dy) {
  const at = new Float64Array(2);
  if (!geo.middle(cell, at) || !p.forward(at[0], at[1], at)) return -1;
  const [x, y] = at;
  let best = -1, least = Infinity;
  for (let i = 0; i < geo.n; i++) {
    if (i === cell || !geo.middle(i, at) || !p.forward(at[0], at[1], at)) continue;
    const ahead = (at[0] - x) * dx + (at[1] - y) * dy, aside = Math.abs((at[0] - x) * dy) + Math.abs((at[1] - y) * dx);
    if (!(ahead > 1e-9) || aside > ahead) continue;
    const far = ahead + 2 * aside;
    if (far < least) [best, least] = [i, far];
  }
  return best;
}
