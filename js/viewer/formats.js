// CSV, JSON and npy of parts of variables, as cdfz get writes them. Texts are strings of bytes here, because those of a file
// may be in any encoding.
import { littleEndian, swapped, text } from "../src/bytes.js";
import { arrayType, sizes } from "../src/netcdf.js";
import { resolve } from "../src/selection.js";
import { missingOf, packing, unitsOf, unpack } from "./cf.js";
import { digitsOf } from "./describe.js";

const maxValues = 1 << 24;
const maxEmpty = 1 << 16; // arrays
const pieceLength = 1 << 16;

const encoder = new TextEncoder();

// chars returns bytes as a string, and bytesOf the bytes.
function chars(b) {
  let out = "";
  for (let i = 0; i < b.length; i += 8192) out += String.fromCharCode(...b.subarray(i, i + 8192));
  return out;
}
const bytesOf = (s) => Uint8Array.from(s, (c) => c.charCodeAt(0));

// escaped writes text in JSON. Characters that one cannot see are escaped, and in HTML with html.
function escaped(b, html = false) {
  const one = (c) => {
    if (c === '"' || c === "\\") return `\\${c}`;
    if (c === "\n") return "\\n";
    if (/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(c) && !(html && /[<>&]/.test(c))) return c;
    return Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
  };
  return `"${chars(encoder.encode([...text(b)].map(one).join("")))}"`;
}

// Styles of values: null is the text of missing ones.
const styles = {
  csv: { null: "", quote: chars, other: (x) => (x !== x ? "NaN" : x > 0 ? "Inf" : "-Inf") },
  json: { null: "null", quote: escaped, other: () => "null" },
};

// shortest writes a number with the fewest digits that read back as the same one.
function shortest(x, single, style) {
  if (!Number.isFinite(x)) return style.other(x);
  if (x === 0) return Object.is(x, -0) ? "-0" : "0";
  const { sign, digits, exponent: e } = digitsOf(x, single), size = Math.abs(x);
  if (size < 1e-6 || size >= 1e21) return `${sign}${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ""}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
  if (e < 0) return `${sign}0.${"0".repeat(-e - 1)}${digits}`;
  return sign + (digits.length <= e + 1 ? digits.padEnd(e + 1, "0") : `${digits.slice(0, e + 1)}.${digits.slice(e + 1)}`);
}

// convert returns the values that are written of stored ones, and the type of numbers that stay as they are.
function convert(v, data, unpacked) {
  if (!unpacked || v.type === "char") return { data, type: v.type };
  const p = packing(v);
  if (p.wrong) throw new RangeError(`${v.name}: expected one number as ${p.wrong}`);
  if (p.scaled || p.missing.length > 0) return { data: unpack(data, p, p.type === "float" ? Float32Array : Float64Array), type: p.type, gaps: true };
  return { data: p.stored === v.type ? data : new (arrayType(p.stored))(data.buffer, data.byteOffset, data.length), type: p.type };
}

// column returns the texts of the values of a variable as a function. Text comes in strings of n characters.
function column(header, num, stored, n, { unpacked, dates }, style) {
  const v = header.vars[num];
  const { data, type, gaps } = convert(v, stored, unpacked);
  if (type === "char") {
    return (i) => {
      let end = (i + 1) * n;
      while (end > i * n && data[end - 1] === 0) end--;
      return style.quote(data.subarray(i * n, end));
    };
  }
  const times = dates ? unitsOf(header, num) : null;
  if (times?.date) {
    const x = unpack(stored, packing(v), Float64Array);
    return (i) => {
      const date = times.date(x[i]);
      return date === "" ? style.null : style.quote(encoder.encode(date));
    };
  }
  const missing = unpacked ? new Set() : missingOf({ ...packing(v), stored: v.type });
  const write = type === "float" || type === "double" ? (x) => shortest(x, type === "float", style) : String;
  return (i) => (missing.has(data[i]) || (gaps && data[i] !== data[i]) ? style.null : write(data[i]));
}

// parts returns bytes in pieces of what a function puts, of at most limit in all.
function parts(limit, write) {
  const out = [];
  let piece = "", total = 0;
  const flush = () => {
    total += piece.length;
    if (total > limit) throw new RangeError(`the file would have more than ${limit} bytes, the most of this page: select a part`);
    out.push(bytesOf(piece));
    piece = "";
  };
  write((s) => {
    piece += s;
    if (piece.length >= pieceLength) flush();
  });
  flush();
  return out;
}

// opened reads a part, unless it has too many values. kept are its dimensions, those without the one along which text is written in
// strings of n characters, and positions the product of their lengths.
async function opened(a, num, words, format) {
  const v = a.variables[num], sel = resolve(words, v.shape, v.dimensions);
  const count = sel.shape.reduce((x, y) => x * y, 1);
  if (count > maxValues) throw new RangeError(`the part has ${count} values, and this page writes at most ${maxValues} as ${format}: select a part, or choose netCDF`);
  const strings = v.type === "char" && sel.dims.length > 0 && sel.dims.at(-1) === v.shape.length - 1;
  const kept = strings ? sel.dims.slice(0, -1) : sel.dims, shape = kept.map((_, k) => sel.shape[k]);
  return { sel, kept, shape, positions: shape.reduce((x, y) => x * y, 1), n: strings ? sel.shape.at(-1) : 1, data: (await a.variables[num].get(words)).data };
}

// cell quotes a cell of a CSV file as Go does: also one that begins with a space, in UTF-8.
const space = /^(?:[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)/;
const cell = (s) => (s === "\\." || /[",\n\r]/.test(s) || space.test(s) ? `"${s.replaceAll('"', '""')}"` : s);

/** csv returns the bytes of a table in pieces: a row for each value or string, with its coordinates. */
export async function csv(a, num, words, { limit, ...options }) {
  const { header } = a, main = header.vars[num], name = (b) => chars(b);
  const { sel, kept, shape, positions, n, data } = await opened(a, num, words, "csv");
  const columns = [];
  for (const [k, d] of kept.entries()) {
    const dim = main.dims[d], bytes = name(header.dims[dim].bytes);
    const of = header.vars.findIndex((v) => v.dims.length === 1 && v.dims[0] === dim && name(v.nameBytes) === bytes);
    if (of === num) continue; // it has a column
    let texts = (i) => String(sel.start[d] + i * sel.step[d]);
    if (of >= 0 && positions > 0) texts = column(header, of, (await a.variables[of].get([words[d]])).data, 1, options, styles.csv);
    columns.push({ k, bytes, texts, last: -1, text: "" });
  }
  const values = column(header, num, data, n, options, styles.csv);
  return parts(limit, (put) => {
    put(`${[...columns.map((c) => c.bytes), name(main.nameBytes)].map(cell).join(",")}\n`);
    const at = shape.map(() => 0);
    for (let i = 0; i < positions; i++) {
      let line = "";
      for (const c of columns) {
        if (c.last !== at[c.k]) [c.last, c.text] = [at[c.k], `${cell(c.texts(at[c.k]))},`];
        line += c.text;
      }
      put(`${line + cell(values(i)) || '""'}\n`); // readers skip empty lines
      for (let d = at.length - 1; d >= 0 && ++at[d] === shape[d]; d--) at[d] = 0;
    }
  });
}

// empty writes the arrays of a shape without values, unless there were too many.
function empty(shape) {
  const zero = shape.indexOf(0);
  if (zero < 0) return "";
  if (zero === 0 || shape.slice(0, zero).reduce((x, y) => x * y, 1) > maxEmpty) return "[]";
  return `[${new Array(shape[0]).fill(empty(shape.slice(1))).join(",")}]`;
}

/** json returns the bytes of an object in pieces, with the values in nested arrays. selection is how the user wrote the part. */
export async function json(a, num, words, { limit, selection, ...options }) {
  const { header } = a, main = header.vars[num];
  const { sel, shape, positions, n, data } = await opened(a, num, words, "json");
  const values = column(header, num, data, n, options, styles.json);
  return parts(limit, (put) => {
    const dims = sel.dims.map((d) => escaped(header.dims[main.dims[d]].bytes, true));
    put(`{"vars":[{"name":${escaped(main.nameBytes, true)},"selection":${escaped(encoder.encode(selection), true)},"type":"${main.type}","dims":[${dims}],"shape":[${sel.shape}],\n"data":`);
    put(empty(shape));
    const at = shape.map(() => 0);
    for (let i = 0; i < positions; i++) {
      let k = at.length, line = "";
      while (k > 0 && at[k - 1] === 0) k--;
      line += "[".repeat(at.length - k) + values(i);
      for (k = at.length - 1; k >= 0 && ++at[k] === shape[k]; k--) {
        at[k] = 0;
        line += "]";
      }
      put(line + (k < 0 ? "" : k === at.length - 1 ? "," : ",\n"));
    }
    put("}]}\n");
  });
}

const letters = { byte: "i1", char: "S1", short: "i2", int: "i4", float: "f4", double: "f8", ubyte: "u1", ushort: "u2", uint: "u4", int64: "i8", uint64: "u8" };

/** npy returns the bytes of an array for numpy in pieces, big-endian as netCDF files are. */
export async function npy(a, num, words, { unpacked }) {
  const { sel, data: stored } = await opened(a, num, words, "npy");
  const { data, type } = convert(a.header.vars[num], stored, unpacked);
  const dims = sel.shape.length === 1 ? `${sel.shape[0]},` : sel.shape.join(", ");
  let head = `{'descr': '${sizes[type] === 1 ? "|" : ">"}${letters[type]}', 'fortran_order': False, 'shape': (${dims}), }`;
  head = `${head.padEnd(Math.ceil((11 + head.length) / 64) * 64 - 11)}\n`;
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [Uint8Array.of(0x93, 78, 85, 77, 80, 89, 1, 0, head.length & 255, head.length >> 8), bytesOf(head), littleEndian ? swapped(bytes, sizes[type]) : bytes];
}
