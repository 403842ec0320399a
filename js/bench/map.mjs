// How long the page's maps take: the raster of cells of a view, which stays while values change, and its colours. Times are
// those of the processor, so that other work on the machine counts little. It prints the table of docs/javascript.md:
// node js/bench/map.mjs
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

const dir = mkdtempSync(`${tmpdir()}/cdfz-map-`);
cpSync(fileURLToPath(new URL("../../cmd/cdfz/internal/page/static", import.meta.url)), dir, { recursive: true });
writeFileSync(`${dir}/package.json`, '{ "type": "module" }');
globalThis.document = { baseURI: "http://127.0.0.1/page/", documentElement: { classList: { contains: () => false } }, addEventListener() {} };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
const [cells, paint, projection, scale] = await Promise.all(["map/cells", "map/paint", "map/projection", "colour/scale"].map((m) => import(`${dir}/${m}.js`)));
rmSync(dir, { recursive: true });

// median returns the median of processor times of a function, in milliseconds.
function median(f, times = 15) {
  const out = [];
  for (let i = 0; i < times; i++) {
    const before = process.cpuUsage();
    f();
    const { user, system } = process.cpuUsage(before);
    out.push((user + system) / 1000);
  }
  return out.sort((a, b) => a - b)[times >> 1];
}

const box = { x: 0, y: 0, w: 1000, h: 500, scale: 1 };
const canvas = { createImageData: (w, h) => ({ data: new Uint8ClampedArray(4 * w * h) }) };
const raster = new Int32Array(box.w * box.h);
const colours = scale.make({ palette: "viridis", low: -1, high: 1 });

const grid = cells.grid([{ values: Array.from({ length: 180 }, (_, i) => i - 89.5) }, { values: Array.from({ length: 360 }, (_, i) => i + 0.5) }], 1);
const [nx, ny] = [1000, 500];
const lon = new Float64Array((nx + 1) * (ny + 1)), lat = new Float64Array(lon.length), corners = new Int32Array(6 * nx * ny), starts = new Int32Array(2 * nx * ny + 1);
for (let j = 0, k = 0; j <= ny; j++) for (let i = 0; i <= nx; i++, k++) [lon[k], lat[k]] = [(360 * i) / nx - 180, (180 * j) / ny - 90];
for (let j = 0, c = 0; j < ny; j++) for (let i = 0, a = j * (nx + 1); i < nx; i++, a++, c += 6) corners.set([a, a + 1, a + nx + 2, a, a + nx + 2, a + nx + 1], c);
for (let i = 0; i < starts.length; i++) starts[i] = 3 * i;
const made = median(() => cells.faces({ lon, lat, corners, starts }), 3);
const mesh = cells.faces({ lon, lat, corners, starts });
const rows = { "cells of a 360 × 180 grid": [], "10^6 triangles of a mesh": [], "colours of a frame": [] };
const names = { plate: "longitude and latitude", globe: "globe", mollweide: "Mollweide", north: "polar" };
for (const name of Object.keys(names)) {
  const p = projection.make(name, projection.whole(name), box);
  const [ofGrid, ofMesh] = [grid, mesh].map((geo) => median(() => geo.raster(raster, box, p)));
  const data = Float32Array.from({ length: grid.n }, (_, i) => Math.sin(i / 100));
  grid.raster(raster, box, p);
  const ofColours = median(() => paint.image(canvas, box, raster, data, colours, null));
  [ofGrid, ofMesh, ofColours].forEach((ms, i) => Object.values(rows)[i].push(Math.round(ms)));
}
const line = (...cells) => console.log(`| ${cells.join(" | ")} |`);
line("", ...Object.values(names));
for (const [what, times] of Object.entries(rows)) line(what, ...times);
console.log(`\nA mesh of ${mesh.triangles} triangles is cut in ${made.toFixed(0)} ms; ${box.w} × ${box.h} pixels, node ${process.version}`);
