// What the canvas of the map shows: cells on the plane of their indices or in a projection, and coastlines.
import * as coast from "./coast.js";
import { css } from "../panels/format.js";
import * as globe from "./globe.js";
import * as paint from "./paint.js";
import * as plane from "./plane.js";
import * as projection from "./projection.js";

const rasters = new WeakMap(); // the last one of a canvas, with what it depends on
let land = null; // whether cells are on land, with their geometry
const layers = new WeakMap(); // the last coastlines on the plane of a canvas, with what they depend on
let isLand = null; // by longitude and latitude
const lines = { near: null, far: null }; // coastlines, when they have been read
let onCoast = () => {};

// start sets what is called when coastlines have been read.
export const start = (f) => { onCoast = f; };

// projections returns the names of those that a slice can have, the usual one first.
export function projections(slice) {
  const geo = slice?.geo;
  if (!geo) return ["cells"];
  if (geo.planar) return slice.shape[0] === 1 ? ["flat"] : ["flat", "cells"];
  const [best, ...others] = new Set([geo.home || "plate", "plate", "globe", "mollweide", "north", "south"]);
  return geo.kind === "grid" ? ["cells", best, ...others] : slice.axes[0].dim === -1 ? [best, ...others] : [best, "cells", ...others];
}

// hasCoast reports whether coastlines can be drawn on a slice in a projection.
export const hasCoast = (slice, name) => Boolean(slice?.geo && !slice.geo.planar && (name !== "cells" || slice.geo.kind === "grid"));

// hasContours reports whether cells are those of a grid, between which contours are drawn.
const hasContours = ({ axes, shape, geo }) => axes[0].dim !== -1 && shape[0] > 1 && shape[1] > 1 && geo?.kind !== "points";

// coastlines returns those that are known, and reads others.
function coastlines(fine) {
  const name = fine ? "near" : "far";
  if (!lines[name]) {
    lines[name] = "waits";
    coast.read(fine).then((c) => {
      lines[name] = c.lines;
      isLand ??= coast.land(c, 4);
      onCoast();
    }, () => { lines[name] = null; });
  }
  return Array.isArray(lines[name]) ? lines[name] : Array.isArray(lines.far) ? lines.far : null;
}

// cellsOf returns the raster of a view, if possible the last one of a canvas.
function cellsOf(canvas, box, source, shown, name, eye, make) {
  const of = name === "cells" ? [shown, source.axes.map((a, k) => [a.start, a.step, shown[1]?.[k] ? a.values : a.values.length])] : source.geo.kind === "grid" ? source.axes.map((a) => [a.start, a.step, a.values]) : null;
  const key = JSON.stringify([box, name, eye, of]);
  const raster = rasters.get(canvas);
  if (raster?.key === key && (of !== null || raster.geo === source.geo)) return raster.cells;
  const length = box.w * box.h;
  const cells = make(raster?.cells.length === length ? raster.cells : new Int32Array(length));
  rasters.set(canvas, { key, geo: source.geo, cells });
  return cells;
}

function landOf(source) {
  if (!isLand || !source.geo) return null;
  const key = source.geo.kind === "grid" ? JSON.stringify(source.axes.map((a) => a.values)) : source.geo;
  if (land?.key !== key) land = { key, cells: paint.landCells(isLand, source.geo.n, source.geo.middle) };
  return land.cells;
}

// layered draws what changes less often than values, as the lines of an animation, which take longer than its cells:
// while the key is the same, from a canvas of its own. Other contexts than that of a canvas, which write SVG, get it itself.
function layered(g, key, draw) {
  if (!(g instanceof CanvasRenderingContext2D)) {
    draw(g);
    return;
  }
  let layer = layers.get(g.canvas);
  if (layer?.key !== key) {
    const canvas = layer?.canvas ?? document.createElement("canvas");
    [canvas.width, canvas.height] = [g.canvas.width, g.canvas.height];
    draw(canvas.getContext("2d", { willReadFrequently: true })); // as the map, so that lines look the same
    layers.set(g.canvas, (layer = { key, canvas }));
  }
  g.drawImage(layer.canvas, 0, 0);
}

// sizes returns the box of a view and the height of its canvas, for a width in CSS pixels.
export function sizes(g, { slice, source, shown, name, scaled }, width, scale) {
  return name === "cells" ? plane.layout(g, slice, source, shown, width, scale, scaled) : globe.layout(name, slice.geo, width, scale);
}

// fit gives the canvases of a map the size of a view in a width, in pixels of the page, and returns its box.
export function fit([canvas, cursor], what, width) {
  const scale = window.devicePixelRatio || 1;
  const { box, height } = sizes(canvas.getContext("2d", { willReadFrequently: true }), what, width, scale);
  for (const c of [canvas, cursor]) {
    c.width = Math.round(width * scale);
    c.height = Math.round(height * scale);
    c.style.height = `${height}px`;
  }
  canvas.dataset.box = JSON.stringify(box);
  return box;
}

// square draws the mark of a cursor at a place, on dark and on light colours.
export function square(g, { x, y, r }, scale) {
  for (const [width, style] of [[4, "#ffffff"], [2, "#000000"]]) {
    g.lineWidth = width * scale;
    g.strokeStyle = style;
    g.strokeRect(x - r, y - r, 2 * r, 2 * r);
  }
}

// draw draws a view in a box, and returns its projection, or null for the plane, the raster, and whether it has coastlines, which may be read later.
export function draw(g, box, { source, shown, name, eye, coast: wanted, scaled, contours }, colours) {
  const drawn = wanted && hasCoast(source, name);
  if (name === "cells") {
    const cells = cellsOf(g.canvas, box, source, [shown, scaled], name, null, (out) => plane.raster(out, box, source));
    let found = null;
    if (drawn) {
      const { across } = source.geo, a = source.axes[across], n = across === 1 ? shown.columns : shown.rows;
      found = coastlines(Math.abs(a.values[1] - a.values[0]) / a.step * n < 70);
    }
    g.putImageData(paint.image(g, box, cells, source.data, colours, drawn ? landOf(source) : null), box.x, box.y);
    if (contours) plane.contours(g, box, source, shown, colours);
    if (found) {
      layered(g, JSON.stringify([rasters.get(g.canvas).key, land?.key, found === lines.near, css("--coast"), css("--coast-edge")]), (g) => {
        g.save();
        g.beginPath();
        g.rect(box.x, box.y, box.w, box.h);
        g.clip();
        paint.coastlines(g, found, plane.forward(box, source, source.geo.across), (source.geo.across === 1 ? box.w : box.h) / 2, box.scale);
        g.restore();
      });
    }
    plane.axes(g, box);
    return { p: null, cells, coast: Boolean(found) };
  }
  const p = projection.make(name, eye, box);
  const cells = cellsOf(g.canvas, box, source, shown, name, eye, (out) => source.geo.raster(out, box, p));
  const found = drawn ? coastlines((p.size * Math.PI) / 180 > 12 * box.scale) : null;
  globe.cells(g, box, p, paint.image(g, box, cells, source.data, colours, drawn ? landOf(source) : null));
  layered(g, JSON.stringify([box, name, eye, Boolean(found), found === lines.near, ...["--grid", "--coast", "--coast-edge", "--soft", "--ink"].map(css)]), (g) => globe.lines(g, box, p, source.geo.planar, found));
  if (contours && hasContours(source)) globe.contours(g, box, p, source, colours);
  return { p, cells, coast: Boolean(found) };
}
