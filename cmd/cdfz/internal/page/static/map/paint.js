// Painting of rasters of cells, and of lines on the earth.
import * as coast from "./coast.js";
import { css } from "../panels/format.js";
import * as palette from "../colour/palette.js";
import { packed } from "../colour/scale.js";

// image returns the picture of a raster: pixels without a cell are transparent. colours are those of scale.js. Missing values of cells on land have the colour of land.
export function image(g, { w, h }, raster, data, colours, land) {
  const { pixels, place } = colours;
  const ground = packed(palette.land(), 0);
  const out = g.createImageData(w, h);
  const bytes = new DataView(out.data.buffer);
  for (let py = 0, i = 0; py < h; py++) {
    for (let px = 0; px < w; px++, i++) {
      const cell = raster[i];
      if (cell < 0) continue;
      const v = data[cell];
      bytes.setUint32(4 * i, v === v ? pixels[place(v)] : land?.[cell] ? ground : packed(palette.missing(px, py), 0));
    }
  }
  return out;
}

// landCells returns which cells have their middle on land: centre writes that of a cell.
export function landCells(isLand, n, centre) {
  const out = new Uint8Array(n), at = new Float64Array(2);
  for (let i = 0; i < n; i++) {
    centre(i, at);
    out[i] = isLand(at[0], at[1]);
  }
  return out;
}

// coastlines draws coastlines: a dark line in a light one, which are seen on all colours.
export function coastlines(g, lines, forward, jump, scale) {
  g.lineJoin = "round";
  g.beginPath();
  coast.trace(g, lines, forward, jump);
  for (const [colour, width] of [["--coast-edge", 2.4], ["--coast", 0.9]]) {
    g.strokeStyle = css(colour);
    g.lineWidth = width * scale;
    g.stroke();
  }
}

// graticule returns meridians and parallels as lines, every step degrees, in a part of the earth.
export function graticule(step, [west, south, east, north] = [-180, -90, 180, 90]) {
  const out = [];
  const fine = Math.min(2, step / 4);
  const first = (v) => Math.ceil(v / step - 1e-9) * step;
  const line = (n, at) => {
    const points = new Float32Array(2 * (n + 1));
    for (let i = 0; i <= n; i++) points.set(at(i / n), 2 * i);
    out.push(points);
  };
  const [tall, wide] = [Math.ceil((north - south) / fine), Math.ceil((east - west) / fine)];
  // Few meridians go up to the poles.
  for (let lon = first(west); lon < east; lon += step) {
    const [from, to] = lon % 90 === 0 ? [south, north] : [Math.max(south, step - 90), Math.min(north, 90 - step)];
    if (from < to) line(tall, (t) => [lon, from + t * (to - from)]);
  }
  for (let lat = first(south); lat <= north; lat += step) if (Math.abs(lat) < 90) line(wide, (t) => [west + t * (east - west), lat]);
  return out;
}
