// Coastlines: those of Natural Earth, in the TopoJSON of world-atlas.
import * as api from "../data/api.js";

// decode returns the lines of a topology as longitudes and latitudes in turn, and the rings of its
// polygons as lists of lines: those with a negative number are followed backwards.
export function decode({ transform: { scale, translate }, arcs, objects }) {
  const lines = arcs.map((arc) => {
    const out = new Float32Array(2 * arc.length);
    let x = 0, y = 0;
    arc.forEach(([dx, dy], i) => {
      out[2 * i] = (x += dx) * scale[0] + translate[0];
      out[2 * i + 1] = (y += dy) * scale[1] + translate[1];
    });
    return out.every((v, i) => i % 2 === 0 || v < -89.99) ? new Float32Array() : out; // the South Pole is no coast
  });
  const rings = Object.values(objects).flatMap((o) => o.geometries ?? [o]).flatMap((o) => (o.type === "Polygon" ? [o.arcs] : o.arcs)).flat();
  return { lines, rings: rings.filter((r) => r.some((n) => lines[n < 0 ? ~n : n].length > 0)) };
}

const known = new Map(); // promises, by name

// read returns the coastlines in one of two resolutions.
export function read(fine) {
  const name = fine ? "land-50m" : "land-110m";
  if (!known.has(name)) {
    const got = api.resource(name).then(decode);
    known.set(name, got);
    got.catch(() => known.delete(name));
  }
  return known.get(name);
}

// trace adds lines to the path of a canvas. forward writes the pixels of a place and returns whether it
// is seen; jump is how far apart two points of a line are that are on both edges of a map.
export function trace(g, lines, forward, jump) {
  const at = new Float64Array(2);
  for (const line of lines) {
    let last = false, x = 0, y = 0;
    for (let i = 0; i < line.length; i += 2) {
      const seen = forward(line[i], line[i + 1], at);
      if (seen && last && Math.abs(at[0] - x) < jump && Math.abs(at[1] - y) < jump) g.lineTo(at[0], at[1]);
      else if (seen) g.moveTo(at[0], at[1]);
      [x, y] = at;
      last = seen;
    }
  }
}

// unwound returns a ring as points whose longitudes do not jump. One around a pole ends there.
export function unwound({ lines }, ring) {
  const out = [];
  for (const n of ring) {
    const line = lines[n < 0 ? ~n : n];
    for (let k = 0; k < line.length; k += 2) {
      const i = n < 0 ? line.length - 2 - k : k;
      const before = out.at(-1)?.[0] ?? line[i];
      out.push([line[i] + 360 * Math.round((before - line[i]) / 360), line[i + 1]]);
    }
  }
  const [first, last] = [out[0], out.at(-1)];
  if (Math.abs(last[0] - first[0]) > 180) {
    const pole = first[1] < 0 ? -90 : 90;
    out.push([last[0], pole], [first[0], pole]);
  }
  return out;
}

// land returns whether there is land, as a function of longitude and latitude. It has the resolution of the
// canvas on which it is drawn once.
export function land(coast, perDegree) {
  const [w, h] = [360 * perDegree, 180 * perDegree];
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: w, height: h });
  const g = canvas.getContext("2d", { willReadFrequently: true });
  for (const shift of [-360, 0, 360]) {
    g.beginPath();
    for (const ring of coast.rings) {
      unwound(coast, ring).forEach(([lon, lat], i) => g[i === 0 ? "moveTo" : "lineTo"]((lon + shift + 180) * perDegree, (90 - lat) * perDegree));
      g.closePath();
    }
    g.fill("evenodd");
  }
  const pixels = g.getImageData(0, 0, w, h).data;
  const mask = Uint8Array.from({ length: w * h }, (_, i) => (pixels[4 * i + 3] > 127 ? 1 : 0));
  return (lon, lat) => {
    const x = Math.floor((lon + 180 - 360 * Math.floor((lon + 180) / 360)) * perDegree);
    const y = Math.floor((90 - lat) * perDegree);
    return mask[Math.max(0, Math.min(h - 1, y)) * w + Math.min(w - 1, x)];
  };
}
