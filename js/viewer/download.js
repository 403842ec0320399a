// Downloads, which are made in the page.
import { shown } from "../../cmd/cdfz/internal/page/static/panels/format.js";
import { text } from "../src/bytes.js";
import { DamageError } from "../src/errors.js";
import * as classic from "./classic.js";
import { packing, unitsOf, unpack } from "./cf.js";
import { coordinatesOf, general } from "./describe.js";
import { parse } from "./select.js";

/** maxFile is the most bytes of a file that is made in memory. */
export const maxFile = 256 << 20;
const maxValues = 1 << 24; // of other formats

let made = null; // the address of the last download, which takes memory

function offer(parts, name) {
  if (made) URL.revokeObjectURL(made);
  made = URL.createObjectURL(new Blob(parts));
  return { href: made, name };
}

const baseName = (file) => shown(file).split("/").at(-1).replace(/\.cdfz$/, "");

/** part makes a download of a selection of an archive in a format of the page. */
export async function part(a, file, selection, format, unpacked, dates) {
  const { num, words } = parse(a.header, selection);
  const name = `${baseName(file).replace(/\.nc$/, "")}-${a.header.vars[num].name.replace(/[^\p{L}\p{N}_.-]/gu, "_")}.${format}`;
  if (format === "nc") {
    const line = `${new Date().toISOString().replace(/\.\d+/, "")} cdfz viewer ${shown(file)} '${selection}'`;
    return offer([await classic.file(a, num, words, { history: line.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "?"), unpacked, limit: maxFile })], name);
  }
  const read = await a.variables[num].get(words);
  if (read.data.length > maxValues) throw new RangeError(`the part has ${read.data.length} values, and this page writes at most ${maxValues} as ${format}: select a part, or choose netCDF`);
  return offer(await { npy, json, csv }[format](a, num, words, read, unpacked, dates), name);
}

/** original makes a download of the netCDF file that the archive was made of, and compares its SHA-256 where browsers can. */
export async function original(a, file) {
  if (a.size > maxFile) throw new RangeError(`the file has ${a.size} bytes, and this page makes files of at most ${maxFile}: cdfz restore makes longer ones`);
  const bytes = await a.image(0, a.size);
  const sum = await globalThis.crypto?.subtle?.digest("SHA-256", bytes); // pages of http have none
  if (sum && [...new Uint8Array(sum)].map((x) => x.toString(16).padStart(2, "0")).join("") !== a.sha256) throw new DamageError("the file has another SHA-256 than the archive says");
  return offer([bytes], baseName(file));
}

// columns returns the names and the coordinates of the dimensions of a part.
function columns(a, num, words, { shape }, dates) {
  const { header } = a, v = a.variables[num], coords = coordinatesOf(header);
  const kept = v.shape.map((_, d) => d).filter((d) => typeof words[d] !== "number");
  return Promise.all(kept.map(async (d, k) => {
    const dim = v.dims[d], of = coords.get(dim), name = header.dims[dim].name;
    if (of === undefined) {
      const { start = 0, step = 1 } = words[d];
      return { name, values: Array.from({ length: shape[k] }, (_, i) => (start < 0 ? Math.max(0, v.shape[d] + start) : start) + i * step) };
    }
    const { data } = await a.variables[of].get([words[d]]);
    const plain = Array.from(unpack(data, packing(header.vars[of]), Float64Array));
    const times = dates ? unitsOf(header, of) : null;
    return { name, values: times?.date ? plain.map((x) => times.date(x)) : plain };
  }));
}

const valuesOf = (a, num, data, unpacked) => (unpacked && a.variables[num].type !== "char" ? unpack(data, packing(a.header.vars[num]), Float64Array, true) : data);

async function json(a, num, words, part, unpacked, dates) {
  const data = valuesOf(a, num, part.data, unpacked);
  const axes = await columns(a, num, words, part, dates);
  const values = a.variables[num].type === "char" ? text(data) : Array.from(data, (x) => (typeof x === "bigint" ? Number(x) : Number.isFinite(x) ? x : null));
  return [JSON.stringify({ name: a.variables[num].name, dimensions: part.dimensions, shape: part.shape, coordinates: Object.fromEntries(axes.map((x) => [x.name, x.values])), values })];
}

async function csv(a, num, words, part, unpacked, dates) {
  const data = valuesOf(a, num, part.data, unpacked), { name, type } = a.variables[num];
  const axes = await columns(a, num, words, part, dates);
  const cell = (x) => (/[",\n\r]/.test(x) ? `"${x.replaceAll('"', '""')}"` : x);
  const lines = [[...axes.map((x) => x.name), name].map(cell).join(",")];
  const at = part.shape.map(() => 0);
  for (let i = 0; i < data.length; i++) {
    const x = type === "char" ? String.fromCharCode(data[i]) : data[i] !== data[i] ? "" : type === "float" && !unpacked ? general(data[i], true) : String(data[i]);
    lines.push([...axes.map((y, d) => y.values[at[d]]), x].map((y) => cell(String(y))).join(","));
    for (let d = at.length - 1; d >= 0 && ++at[d] === part.shape[d]; d--) at[d] = 0;
  }
  return [lines.join("\n"), "\n"];
}

// npy writes an array for numpy.
async function npy(a, num, words, part, unpacked) {
  const data = valuesOf(a, num, part.data, unpacked), { shape } = part;
  const kind = data instanceof Float64Array ? "<f8" : { byte: "|i1", char: "|S1", short: "<i2", int: "<i4", float: "<f4", double: "<f8", ubyte: "|u1", ushort: "<u2", uint: "<u4", int64: "<i8", uint64: "<u8" }[a.variables[num].type];
  let head = `{'descr': '${kind}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  head = `${head.padEnd(Math.ceil((11 + head.length) / 64) * 64 - 11)}\n`;
  return [Uint8Array.of(0x93, 78, 85, 77, 80, 89, 1, 0, head.length & 255, head.length >> 8), head, data];
}
