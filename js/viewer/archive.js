// What the page shows of archives, without a server: the answers of cdfz serve's /api, from the package.
import { open } from "../src/archive.js";
import { text } from "../src/bytes.js";
import { SourceError } from "../src/errors.js";
import { filterName } from "../src/filters.js";
import { sizes } from "../src/netcdf.js";
import { neededBlocks } from "../src/selection.js";
import { addressOf, paths } from "./catalogue.js";
import { packing, unitsOf, unpack } from "./cf.js";
import { coordinatesOf, describe, shortText, whole } from "./describe.js";
import * as download from "./download.js";

const maxCharacters = 64 << 10;
const maxValues = 1 << 20;
const maxWork = 256 << 20; // decoded bytes of the blocks that an answer needs
const maxBlocks = 4096, maxPool = 256;
const maxRows = 1 << 16; // of the index, read at a time

const archives = new Map(); // promises of archives, by the name or address of the file
const lengths = new WeakMap(); // of the files of those that have opened, by promise
const recent = []; // names of those that were used last
const maxRecent = 4; // archives that keep blocks: each has a cache of its own

// use notes that an archive is used. Those that were not used for long give up their blocks.
function use(name) {
  const i = recent.indexOf(name);
  if (i >= 0) recent.splice(i, 1);
  recent.unshift(name);
  for (const old of recent.splice(maxRecent)) {
    archives.get(old)?.then((a) => a.close(), () => {});
    if (listing?.places.has(old)) archives.delete(old); // it is opened again from the catalogue
  }
}

// keep keeps the promise of an archive. A server may never answer, so its length is noted when there is one.
function keep(name, opened) {
  archives.set(name, opened);
  opened.then((a) => lengths.set(opened, a.source.size), () => {});
  return opened;
}

/** add opens a dropped file and returns its name in the page. */
export function add(file) {
  let name = file.name;
  for (let n = 2; archives.has(name); n++) name = `${file.name} (${n})`;
  keep(name, open(file));
  return name;
}

/** archiveOf returns the open archive of a name, or opens the one at an address. */
export function archiveOf(name) {
  if (!archives.has(name)) {
    let url = null;
    try {
      url = new URL(name, globalThis.document?.baseURI);
    } catch { /* a name */ }
    if (url === null || !/^https?:$/.test(url.protocol)) return Promise.reject(new SourceError("drop the file here: a page cannot open it by its name"));
    const opened = keep(name, open(url));
    opened.catch(() => archives.delete(name));
  }
  use(name);
  return archives.get(name);
}

/** served tells that no server has the files, and key what they are called in the address of the page. */
export const served = false;
export const key = "url";
export const base = "";
export const escape = (path) => path;

const scripts = new Map(); // promises of files that are only sometimes needed

/** resource reads such a file, by its name without .js. Pages from file:// can fetch nothing, so it is a script. */
export function resource(name) {
  if (!scripts.has(name)) {
    scripts.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${name}.js`;
      script.onload = () => resolve(globalThis.cdfzResources[name]);
      script.onerror = () => {
        scripts.delete(name); // it may be there the next time
        script.remove();
        reject(new SourceError(`${name}.js cannot be read`));
      };
      document.head.append(script);
    }));
  }
  return scripts.get(name);
}

let listing = null; // the catalogue that is open: its name, and the places of its files by their addresses

/** isListing reports whether a name is that of a catalogue. */
export const isListing = (name) => /\.parquet([?#]|$)/i.test(name ?? "");

/** list opens a catalogue, whose files catalog lists from then on. */
export async function list(name) {
  const url = new URL(name, globalThis.document?.baseURI).href;
  const all = await paths(url);
  listing = { name, places: new Map(all.map((path) => [addressOf(path, url), path.replace(/^[a-z][a-z0-9+.-]*:\/+|^\/+/i, "")])) };
}

/** listed returns the name of the catalogue, or null, and placeOf where a file is in it. */
export const listed = () => listing?.name ?? null;
export const placeOf = (file) => listing?.places.get(file) ?? file;

/** catalog lists a folder of the catalogue, and above all what else has opened. */
export async function catalog(folder = "") {
  const datasets = [], closed = [], folders = new Set();
  for (const [name, opened] of folder === "" ? archives : []) {
    if (lengths.has(opened) && !listing?.places.has(name)) datasets.push({ name, file: name, size: lengths.get(opened), dap: true });
  }
  const inside = folder === "" ? "" : `${folder}/`;
  for (const [file, place] of listing?.places ?? []) {
    if (!place.startsWith(inside)) continue;
    const [name, ...below] = place.slice(inside.length).split("/");
    if (below.length > 0) folders.add(name);
    else if (name.endsWith(".cdfz")) datasets.push({ name, file, dap: true });
    else closed.push({ name, why: "it is no archive" });
  }
  return { folders: [...folders].map((name) => ({ name })), datasets, closed };
}

/** meta describes a file. */
export async function meta(file) {
  return describe(await archiveOf(file), file);
}

/** values reads a slice or a series, as /api/values answers it. */
export async function values(file, num, words, max, signal, options = {}) {
  return slice(await archiveOf(file), num, words.map(String), max, signal, options);
}

// place reads the words of a request.
function place(v, words, limit) {
  const p = { start: [], count: [], step: [], words: [], length: [], order: [] };
  if (words.length !== v.shape.length) throw new RangeError(`expected ${v.shape.length} words, found ${words.length}`);
  let x = -1, y = -1;
  words.forEach((w, i) => {
    const n = v.shape[i];
    const m = /^([xy])(?:(\d+):(\d+))?$/.exec(w);
    if (m) {
      const [from, to] = m[2] === undefined ? [0, n] : [Number(m[2]), Number(m[3])];
      if (m[2] !== undefined && !(from < to && to <= n)) throw new RangeError(`expected a range within 0:${n}, found ${w}`);
      if ((m[1] === "x" ? x : y) >= 0) throw new RangeError(`expected ${m[1]} once, found ${words}`);
      if (m[1] === "x") x = i;
      else y = i;
      const step = Math.max(1, Math.ceil((to - from) / limit));
      p.words.push(m[1]), p.start.push(from), p.length.push(to - from), p.step.push(step), p.count.push(Math.ceil((to - from) / step));
      return;
    }
    const k = /^\d+$/.test(w) ? Number(w) : n; // Number("") is 0
    if (k >= n) throw new RangeError(`expected x, y or an index below ${n}, found ${w}`);
    p.words.push(w), p.start.push(k), p.length.push(1), p.step.push(1), p.count.push(1);
  });
  for (const i of [y, x]) if (i >= 0) p.order.push(i);
  return p;
}

// cheap reports whether the blocks of a selection are within the limit.
function cheap(a, num, sel) {
  const v = a.blocked.get(num);
  return !v || neededBlocks(v, sel).length * v.full <= maxWork;
}

const ranges = (sel) => sel.start.map((s, i) => [s, s + (sel.count[i] - 1) * sel.step[i] + (sel.count[i] > 0 ? 1 : 0), sel.step[i]]);

async function read(a, num, sel, p, wanted, signal, fill) {
  const { data } = await a.variables[num].get(ranges(sel), { signal });
  return unpack(data, p, wanted, fill);
}

// part returns what a slice has of a variable, in longer steps if it were too much.
function part(a, num, words, limit) {
  const p = place({ shape: a.variables[num].shape }, words, limit);
  const product = (list) => list.reduce((x, y) => x * y, 1);
  while (product(p.count) > maxValues || !cheap(a, num, p)) {
    const widest = p.order.reduce((w, i) => (w < 0 || p.count[i] > p.count[w] ? i : w), -1);
    if (widest < 0 || p.count[widest] < 2) break;
    p.count[widest] = Math.ceil(p.count[widest] / 2);
    p.step[widest] *= 2;
  }
  return p;
}

/** ahead reads the blocks that several slices need with few requests: values then finds them in the cache. */
export async function ahead(file, num, list, max, signal) {
  const a = await archiveOf(file);
  const v = a.blocked.get(num);
  if (!v) return;
  const numbers = [...new Set(list.flatMap((words) => neededBlocks(v, part(a, num, words.map(String), max))))].sort((x, y) => x - y);
  if (numbers.length * v.full > a.cache.budget / 2) return;
  await a.blocks(numbers.map((n) => a.blockOf(v, n)), signal, () => {});
}

const joining = new WeakMap(); // by archive, the blocks that are about to be read

// together waits until others that ask at the same time have said which blocks they need, and begins to read them with few
// requests: the nodes and the faces of a mesh lie beside each other, mostly. The reader finds them in the cache.
async function together(a, num, sel) {
  const v = a.blocked.get(num);
  if (!v) return;
  let join = joining.get(a);
  if (!join) {
    join = { list: new Map(), done: null };
    joining.set(a, join);
    join.done = (async () => {
      for (let i = 0; i < 4; i++) await null; // those who wait for the archive, too
      joining.delete(a);
      const list = [...join.list.values()].sort((x, y) => x.number - y.number);
      if (list.reduce((n, b) => n + b.length, 0) <= a.cache.budget / 2) a.blocks(list, undefined, () => {}).catch(() => {}); // the reader has the error
    })();
  }
  for (const n of neededBlocks(v, sel)) join.list.set(v.first + n, a.blockOf(v, n));
  await join.done;
}

/** slice answers as /api/values does. */
export async function slice(a, num, words, limit, signal, { extremes = false, by, bare = false } = {}) {
  const { header } = a;
  const v = header.vars[num];
  if (v.type === "char") return characters(a, num, signal);
  const p = part(a, num, words, limit);
  if (bare && !signal) await together(a, num, p); // a part of a mesh
  const pack = packing(v);
  const wanted = pack.type === "float" || sizes[pack.type] <= 2 ? Float32Array : Float64Array;
  let data, axes, at = null;
  const coords = coordinatesOf(header);
  const coordinates = () => Promise.all(v.dims.map(async (dim, i) => {
    const axis = { dim, name: header.dims[dim].name, word: p.words[i], start: p.start[i], step: p.step[i] };
    const here = at !== null && i === only;
    if (here) axis.at = at;
    const of = by !== undefined && i === p.order[0] ? by : coords.get(dim);
    if (bare && p.order.includes(i)) axis.values = [];
    else if (of !== undefined) await readAxis(a, axis, of, p, v, dim, here ? at : null, signal);
    else axis.values = here ? at.map(Number) : Array.from({ length: p.count[i] }, (_, k) => axis.start + k * axis.step);
    return axis;
  }));
  const only = p.order.length === 1 ? p.order[0] : -1;
  const full = only >= 0 && { ...p, start: [...p.start], count: p.count.map((n, i) => (i === only ? p.length[only] : n)), step: p.step.map((n, i) => (i === only ? 1 : n)) };
  if (extremes && full && p.step[only] > 1 && p.length[only] * sizes[v.type] <= maxWork && cheap(a, num, full)) {
    // The smallest and the largest of each run of two steps.
    const x = await read(a, num, full, pack, wanted, signal, true), step = 2 * p.step[only], out = [];
    at = [];
    for (let from = 0; from < x.length; from += step) {
      let low = -1, high = -1;
      for (let i = from; i < Math.min(from + step, x.length); i++) {
        if (!Number.isFinite(x[i])) continue;
        if (low < 0 || x[i] < x[low]) low = i;
        if (high < 0 || x[i] > x[high]) high = i;
      }
      const first = low < 0 ? from : Math.min(low, high), last = low < 0 ? from : Math.max(low, high);
      for (const i of first === last ? [first] : [first, last]) {
        out.push(x[i]);
        at.push(p.start[only] + i);
      }
    }
    data = wanted.from(out);
    p.count[only] = out.length;
    p.step[only] = step;
  } else [data, axes] = await Promise.all([read(a, num, p, pack, wanted, signal, true), coordinates()]);
  const shape = p.order.map((i) => p.count[i]);
  const out = { type: wanted === Float32Array ? "float32" : "float64", shape, axes: [], fixed: [], min: null, max: null, missing: 0 };
  for (const axis of axes ?? (await coordinates())) {
    if (axis.word === "y") out.axes.unshift(axis);
    else if (axis.word === "x") out.axes.push(axis);
    else out.fixed.push(axis);
  }
  if (p.order.length === 2 && p.order[0] > p.order[1]) {
    const [rows, columns] = shape, turned = new wanted(data.length);
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) turned[r * columns + c] = data[c * rows + r];
    data = turned;
  }
  let low = Infinity, high = -Infinity;
  for (const y of data) {
    if (y !== y) out.missing++;
    else if (Math.abs(y) !== Infinity) {
      if (y < low) low = y;
      if (y > high) high = y;
    }
  }
  if (low <= high) [out.min, out.max] = [low, high];
  out.data = data;
  return out;
}

async function readAxis(a, axis, num, p, v, dim, at, signal) {
  const w = a.header.vars[num];
  const pick = (list) => w.dims.map((d) => list[v.dims.indexOf(d)]);
  const sel = { start: pick(p.start), count: pick(p.count), step: pick(p.step) };
  const along = w.dims.indexOf(dim);
  if (at) [sel.start[along], sel.count[along], sel.step[along]] = [at[0] ?? 0, at.length > 0 ? at.at(-1) - at[0] + 1 : 0, 1];
  let x = await read(a, num, sel, packing(w), Float64Array, signal);
  if (at) x = Float64Array.from(at, (i) => x[i - at[0]]);
  axis.values = Array.from(x, (y) => (Number.isFinite(y) ? y : null));
  const units = shortText(w, "units");
  if (units) axis.units = units;
  const times = unitsOf(a.header, num);
  if (times?.date) axis.dates = Array.from(x, (y) => times.date(y));
}

async function characters(a, num, signal) {
  const v = a.variables[num];
  const width = v.shape.length > 0 ? v.shape.at(-1) : 1;
  const n = Math.min(v.bytes, maxCharacters);
  const b = n > 0 ? await a.bytesOf(num, 0, n, signal) : new Uint8Array();
  const lines = [];
  for (let at = 0; at < n; at += width) {
    let row = b.subarray(at, Math.min(at + width, n));
    if (row.length < width) row = whole(row);
    let end = row.length;
    while (end > 0 && row[end - 1] === 0) end--;
    lines.push(text(row.subarray(0, end)));
  }
  return { type: "text", lines, cut: v.bytes > maxCharacters };
}

const modeNames = ["raw", "constant", "groups", "matches", "adaptive", "references", "text", "parts", "contexts"];

/** blocks describes the blocks of a variable. */
export async function blocks(file, num) {
  const a = await archiveOf(file);
  const out = { archive: true, pool: [], shape: [], filters: [], blocks: 0, raw: 0, stored: 0, modes: {}, listed: [] };
  let v = a.blocked.get(num);
  if (!v) {
    [v] = a.pooled.get(num) ?? [];
    if (!v) return { ...out, why: "its bytes lie with others that no variable has for itself" };
    out.pool = v.vars.slice(0, maxPool).map((i) => a.header.vars[i].name);
  }
  out.shape = v.block;
  const chain = a.plan.chains[v.chain];
  out.filters = chain.map((f) => ({ id: f.id, name: filterName(f.id) || f.name || "", params: f.params }));
  if (chain.length === 1 && chain[0].id === 52723) out.preset = ["default", "fast", "max"][chain[0].params[4 + chain[0].params[3]] & 3] ?? "default";
  if (chain.length === 2 && chain[0].id === 2 && chain[1].id === 1) out.preset = "portable";
  out.blocks = v.count;
  out.raw = v.bytes;
  const listed = Math.min(v.count, maxBlocks);
  const rows = await a.rows(Array.from({ length: listed }, (_, n) => v.first + n));
  rows.forEach((row, n) => {
    const raw = a.constructor.cutOf(v, n)[1];
    const start = [], count = [];
    for (let d = v.shape.length - 1, rest = n; d >= 0; d--) {
      const at = (rest % v.grid[d]) * v.block[d];
      rest = Math.floor(rest / v.grid[d]);
      start.unshift(at);
      count.unshift(Math.min(v.block[d], v.shape[d] - at));
    }
    out.stored += row.len;
    out.listed.push({ start, count, raw, stored: row.len, ...(row.mask !== 0 && { off: true }) });
  });
  for (let n = listed; n < v.count; n += maxRows) {
    for (const row of await a.rows(Array.from({ length: Math.min(maxRows, v.count - n) }, (_, i) => v.first + n + i))) out.stored += row.len;
  }
  // Their modes, if that costs no more than a request.
  const last = chain.at(-1);
  const total = rows.reduce((n, r) => n + r.len, 0);
  if (last?.id === 52723 && total < 4 << 20 && listed > 0) {
    const coded = rows.map((row) => !((row.mask >>> (chain.length - 1)) & 1) && row.len > 0 && row.off < BigInt(a.source.size));
    const first = await a.source.read(rows.map((row, n) => (coded[n] ? [Number(row.off), 1] : [0, 0])));
    rows.forEach((row, n) => {
      if (!coded[n]) return;
      const mode = modeNames[first[n][0]] ?? String(first[n][0]);
      out.listed[n].mode = mode;
      out.modes[mode] = (out.modes[mode] ?? 0) + 1;
    });
  }
  return out;
}

/** formats are those of downloads. */
export const formats = ["nc", "csv", "npy", "json"];

/** getURL: the address of a download is known when prepare has made it. */
export const getURL = () => "#";

/** prepare makes a download of a selection by index, such as SST[0, :, 10:20]. */
export const prepare = async (file, selection, format, unpacked, dates) => download.part(await archiveOf(file), file, selection, format, unpacked, dates);

/** original makes a download of the netCDF file. */
export const original = async (file) => download.original(await archiveOf(file), file);
