// Classic netCDF files of parts of variables, as cdfz get writes them: with the attributes, the dimensions cut to the part,
// and the coordinate variables of these dimensions. The version is that of the archived file, unless unpacking makes types that it
// does not have.
import { littleEndian, swapped } from "../src/bytes.js";
import { sizes, types } from "../src/netcdf.js";
import { resolve } from "../src/selection.js";
import { packing, unpack } from "./cf.js";

const pad4 = (n) => n + (-n & 3);
const encoder = new TextEncoder();

/** Header encodes the header of a file of a version, 1, 2 or 5. */
class Header {
  constructor(version) {
    this.version = version;
    this.parts = [];
    this.length = 0;
    this.put(Uint8Array.of(67, 68, 70, version));
  }

  // put adds bytes and zeros up to a multiple of 4.
  put(b) {
    this.parts.push([this.length, b]);
    this.length += pad4(b.length);
  }

  number(n, wide) {
    const b = new DataView(new ArrayBuffer(wide ? 8 : 4));
    if (wide) b.setBigUint64(0, BigInt(n));
    else b.setUint32(0, n);
    this.put(new Uint8Array(b.buffer));
  }

  count(n) {
    this.number(n, this.version === 5);
  }

  name(b) {
    this.count(b.length);
    this.put(b);
  }

  list(tag, all, one) {
    this.number(all.length > 0 ? tag : 0);
    this.count(all.length);
    all.forEach(one);
  }

  attributes(all) {
    this.list(12, all, (a) => {
      this.name(a.bytes);
      this.number(types.indexOf(a.type) + 1);
      this.count(a.length);
      this.put(a.values);
    });
  }
}

// encode returns the header of a file whose variables begin at the bytes that they have.
function encode({ version, records, dims, attributes, vars }) {
  const h = new Header(version);
  h.count(records);
  h.list(10, dims, (d) => {
    h.name(d.bytes);
    h.count(d.length);
  });
  h.attributes(attributes);
  h.list(11, vars, (v) => {
    h.name(v.bytes);
    h.count(v.dims.length);
    v.dims.forEach((d) => h.count(d));
    h.attributes(v.attributes);
    h.number(types.indexOf(v.type) + 1);
    const n = pad4(v.each);
    h.count(version !== 5 && n > 0xfffffffc ? 0xffffffff : n);
    h.number(v.begin, version !== 1);
  });
  return h;
}

// withHistory adds a line to the history, or the attribute. A history that is not text stays as it is.
function withHistory(attributes, line) {
  const i = attributes.findIndex((a) => a.name === "history");
  if (line === "" || (i >= 0 && attributes[i].type !== "char")) return attributes;
  let old = i < 0 ? new Uint8Array() : attributes[i].values;
  while (old.length > 0 && (old.at(-1) === 0 || old.at(-1) === 10)) old = old.subarray(0, -1);
  const values = Uint8Array.from([...old, ...(old.length > 0 ? [10] : []), ...encoder.encode(line)]);
  const history = { bytes: encoder.encode("history"), name: "history", type: "char", length: values.length, values };
  return i < 0 ? [...attributes, history] : attributes.map((a, k) => (k === i ? history : a));
}

const packed = ["scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "valid_min", "valid_max", "valid_range"];

// unpackedOf returns the type and the attributes of a variable whose values are unpacked.
function unpackedOf(v, p) {
  if (p.wrong) throw new RangeError(`${v.name}: expected one number as ${p.wrong}`);
  if (p.type === v.type && !p.scaled && p.missing.length === 0) return v;
  const attributes = v.attributes.filter((a) => !packed.includes(a.name));
  const nan = p.type === "float" ? [0x7f, 0xc0, 0, 0] : [0x7f, 0xf8, 0, 0, 0, 0, 0, 0];
  if (p.missing.length > 0) attributes.push({ bytes: encoder.encode("_FillValue"), name: "_FillValue", type: p.type, length: 1, values: Uint8Array.from(nan) });
  return { ...v, type: p.type, attributes };
}

const sameBytes = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

/**
 * file returns the bytes of a file with a part of variable num of an archive: words are those of Variable.get, and history is
 * a line to add to the attribute history. A file of more than limit bytes is refused before any values are read.
 */
export async function file(a, num, words, { history = "", unpacked = false, limit, signal }) {
  const { header } = a, main = header.vars[num];
  const sel = resolve(words, a.variables[num].shape, a.variables[num].dimensions);
  const cuts = new Map(); // the words of the dimensions that the file has
  sel.dims.forEach((d, i) => {
    const dim = main.dims[d], cut = { word: words[d] ?? null, start: sel.start[d], count: sel.shape[i], step: sel.step[d] };
    const old = cuts.get(dim);
    if (old && !(old.start === cut.start && old.count === cut.count && old.step === cut.step)) throw new RangeError(`dimension ${header.dims[dim].name} is cut in different ways, and names in a netCDF file are unique`);
    cuts.set(dim, cut);
  });
  const numbers = [...cuts.keys()].sort((x, y) => x - y);
  const parts = [{ num, words, dims: sel.dims.map((d) => main.dims[d]) }];
  for (const dim of numbers) {
    const named = (v) => sameBytes(v.nameBytes, header.dims[dim].bytes);
    const of = header.vars.findIndex((v) => v.dims.length === 1 && v.dims[0] === dim && named(v));
    if (of >= 0 && !parts.some((part) => named(header.vars[part.num]))) parts.push({ num: of, words: [cuts.get(dim).word], dims: [dim] });
  }
  parts.sort((x, y) => x.num - y.num);
  // The format has one dimension of records, the first in the file. Others become fixed.
  const record = numbers.find((dim) => header.dims[dim].length === 0n);
  for (const dim of numbers) {
    if (dim !== record && cuts.get(dim).count === 0) throw new RangeError(`nothing is selected in dimension ${header.dims[dim].name}, and netCDF has no fixed dimension of length 0`);
  }
  const records = record === undefined ? 0 : cuts.get(record).count;
  const vars = parts.map((part) => {
    const own = header.vars[part.num], p = unpacked ? packing(own) : null;
    const v = p ? unpackedOf(own, p) : own;
    const isRecord = record !== undefined && part.dims[0] === record;
    const each = part.dims.slice(isRecord ? 1 : 0).reduce((n, dim) => n * cuts.get(dim).count, sizes[v.type]);
    return { ...part, p, bytes: v.nameBytes, type: v.type, attributes: v.attributes, dims: part.dims.map((dim) => numbers.indexOf(dim)), record: isRecord, each, begin: 0 };
  });
  const inRecords = vars.filter((v) => v.record);
  const recordLength = inRecords.length === 1 ? inRecords[0].each : inRecords.reduce((n, v) => n + pad4(v.each), 0);
  const wide = vars.some((v) => v.type !== header.vars[v.num].type && types.indexOf(v.type) > types.indexOf("double"));
  const head = { version: wide ? 5 : header.version, records, dims: numbers.map((dim) => ({ bytes: header.dims[dim].bytes, length: dim === record ? 0 : cuts.get(dim).count })), attributes: withHistory(header.attributes, history), vars };
  let at = encode(head).length;
  for (const v of [...vars.filter((x) => !x.record), ...inRecords]) {
    v.begin = at;
    at += pad4(v.each);
  }
  const total = inRecords.length > 0 ? inRecords[0].begin + records * recordLength : at;
  if (!(total <= limit)) throw new RangeError(`the file would have ${total} bytes, and this page makes files of at most ${limit}: select a part`);
  const out = new Uint8Array(total);
  for (const [off, b] of encode(head).parts) out.set(b, off);
  for (const v of vars) {
    const data = await values(a, v, signal);
    if (!v.record) out.set(data, v.begin);
    else for (let r = 0; r < records; r++) out.set(data.subarray(r * v.each, (r + 1) * v.each), v.begin + r * recordLength);
  }
  return out;
}

// values reads the values of a part as the file has them.
async function values(a, { num, words, p, type }, signal) {
  let { data } = await a.variables[num].get(words, { signal });
  if (p && (p.scaled || p.missing.length > 0)) {
    const unpacked = unpack(data, p, type === "float" ? Float32Array : Float64Array);
    // The bits of a NaN stay where nothing is computed.
    if (p.scaled || !(data instanceof unpacked.constructor)) data = unpacked;
    else unpacked.forEach((x, i) => x !== x && data[i] === data[i] && (data[i] = NaN));
  }
  const b = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return littleEndian ? swapped(b, sizes[type]) : b;
}
