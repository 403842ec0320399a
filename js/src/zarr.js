// Any archive as a Zarr store of format 2, for zarrita and viewers that stand on it (Annex B). The chunks are
// decoded here, in workers and from the cache, so the metadata name no codec.
import { valueOf } from "./archive.js";
import { utf8 } from "./bytes.js";
import { sizes } from "./netcdf.js";

const dtypes = { byte: "|i1", char: "|S1", short: ">i2", int: ">i4", float: ">f4", double: ">f8", ubyte: "|u1", ushort: ">u2", uint: ">u4", int64: ">i8", uint64: ">u8" };
const chunk = 4 << 20; // bytes of a chunk of a variable without blocks of its own

/** store returns a store that zarrita opens. */
export function store(archive) {
  return new Store(archive);
}

class Store {
  #archive;
  #files = new Map(); // metadata by key
  #arrays = new Map(); // variables by path

  constructor(archive) {
    this.#archive = archive;
    const { header } = archive;
    const names = dimensionNames(header);
    this.#add("/.zgroup", { zarr_format: 2 });
    this.#add("/.zattrs", attributes(header.attributes));
    for (const v of archive.variables) {
      if (v.shape.some((n) => typeof n === "bigint")) continue; // a hostile header: nothing of it is in the file
      const path = this.#path(v);
      this.#arrays.set(path, v);
      const h = header.vars[v.num];
      v.path = path;
      this.#add(`/${path}/.zarray`, { zarr_format: 2, shape: v.shape, chunks: chunks(archive, v), dtype: dtypes[v.type], order: "C", fill_value: fill(h), compressor: null, filters: null });
      this.#add(`/${path}/.zattrs`, { ...attributes(h.attributes), _ARRAY_DIMENSIONS: names(h.dims) });
    }
    const metadata = Object.fromEntries([...this.#files].map(([key, json]) => [key.slice(1), new Raw(json)]));
    this.#add("/.zmetadata", { metadata, zarr_consolidated_format: 1 });
  }

  // path returns the name of a variable, or __vN if addresses cannot have it, with _ while another one has that name.
  #path({ name, num }) {
    try {
      const kept = decodeURIComponent(new URL(name, "file:///a/b").pathname) === `/a/${name}`;
      if (kept && name !== "" && !/^\.|[/\\\u0000-\u001f]/.test(name) && !this.#arrays.has(name)) return name;
    } catch { /* no address */ }
    let path = `__v${num}`;
    while (this.#arrays.has(path)) path += "_";
    return path;
  }

  #add(key, value) {
    this.#files.set(key, write(value));
  }

  async get(key, { signal } = {}) {
    const file = this.#files.get(key) ?? this.#files.get(decoded(key));
    if (file !== undefined) return new TextEncoder().encode(file);
    for (const k of [key, decoded(key)]) {
      const m = /^\/(.*)\/([0-9]+(?:\.[0-9]+)*)$/s.exec(k);
      const v = m && this.#arrays.get(m[1]);
      if (v) return this.#chunk(v, m[2].split(".").map(Number), signal);
    }
    return undefined;
  }

  async #chunk(v, index, signal) {
    const shape = chunks(this.#archive, v);
    const grid = v.shape.map((n, d) => Math.ceil(n / shape[d]));
    if (index.length !== Math.max(1, shape.length) || (shape.length > 0 ? index.some((i, d) => i >= grid[d]) : index[0] !== 0)) return undefined;
    const archive = this.#archive;
    const blocked = archive.blocked.get(v.num);
    if (blocked) {
      const n = shape.length > 0 ? index.reduce((at, i, d) => at * grid[d] + i, 0) : 0;
      let out;
      await archive.blocks([archive.blockOf(blocked, n)], signal, (_, b) => { out = b.slice(); });
      return out;
    }
    // Chunks have whole rows of their dimension, so the elements of one are neighbours. Those beyond its end are zeros.
    const out = new Uint8Array(shape.reduce((a, b) => a * b, sizes[v.type]));
    let from = 0, len = out.length;
    for (let d = shape.length - 1, stride = sizes[v.type]; d >= 0; stride *= v.shape[d--]) {
      from += index[d] * shape[d] * stride;
      if (index[d] === grid[d] - 1 && shape[d] < v.shape[d]) len -= (shape[d] * grid[d] - v.shape[d]) * stride;
    }
    out.set(await archive.bytesOf(v.num, from, len, signal));
    return out;
  }
}

function decoded(key) {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function chunks(archive, v) {
  const blocked = archive.blocked.get(v.num);
  if (blocked) return blocked.block;
  const shape = v.shape.map(() => 1);
  for (let d = v.shape.length - 1, inner = sizes[v.type]; d >= 0; inner *= v.shape[d--]) {
    shape[d] = Math.max(1, Math.min(v.shape[d], Math.floor(chunk / Math.max(1, inner))));
    if (shape[d] < v.shape[d]) break;
  }
  return shape;
}

// Raw is a text of JSON in JSON.
class Raw {
  constructor(json) {
    this.json = json;
  }
}

// write writes JSON, of bigints all digits, and of floats a point.
function write(x) {
  if (x instanceof Raw) return x.json;
  if (Array.isArray(x)) return `[${x.map(write).join(",")}]`;
  if (typeof x === "bigint") return String(x);
  if (x !== null && typeof x === "object") return `{${Object.entries(x).map(([k, y]) => `${JSON.stringify(k)}:${write(y)}`).join(",")}}`;
  return JSON.stringify(x);
}

function fill(h) {
  const a = h.attributes.find((a) => a.name === "_FillValue");
  if (!a || a.type !== h.type || a.length !== 1) return null;
  if (a.type === "char") return btoa(String.fromCharCode(a.values[0]));
  const x = valueOf(a);
  if (typeof x !== "number" || Number.isFinite(x)) return x;
  return Number.isNaN(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
}

// attributes returns those that JSON can hold.
function attributes(list) {
  const out = {};
  for (const a of list) {
    if (Object.hasOwn(out, a.name) || a.name === "_ARRAY_DIMENSIONS" || a.name === "__proto__") continue;
    if (a.values.length > 65536 || (a.type === "char" && utf8(a.values) === null)) continue;
    const x = valueOf(a);
    const all = typeof x === "object" ? [...x] : [x];
    if (all.some((y) => typeof y === "bigint" ? y > 2n ** 53n || y < -(2n ** 53n) : typeof y === "number" && !Number.isFinite(y))) continue;
    const plain = all.map((y) => (typeof y === "bigint" ? Number(y) : y));
    out[a.name] = typeof x === "object" ? plain : plain[0];
  }
  return out;
}

// dimensionNames returns a function that names the dimensions of a variable: Annex B, "Dimensions".
function dimensionNames(header) {
  const taken = new Set(header.dims.map((d) => d.name));
  const unlike = (name, id) => {
    let s = `${name}__d${id}`;
    while (taken.has(s)) s += "_";
    taken.add(s);
    return s;
  };
  const seen = new Set();
  const names = header.dims.map((d, id) => {
    if (d.name !== "" && utf8(d.bytes) !== null && !seen.has(d.name)) return seen.add(d.name), d.name;
    return unlike(d.name !== "" && utf8(d.bytes) !== null ? d.name : "", id);
  });
  const second = new Map();
  return (ids) => ids.map((id, i) => {
    if (ids.indexOf(id) === i) return names[id];
    const key = `${id} ${ids.slice(0, i).filter((x) => x === id).length}`;
    if (!second.has(key)) second.set(key, unlike(names[id], id));
    return second.get(key);
  });
}

