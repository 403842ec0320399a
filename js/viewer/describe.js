// What the page tells of a file before any values: the answer of cdfz serve's /api/meta.
import { text, utf8 } from "../src/bytes.js";
import { sizes } from "../src/netcdf.js";
import { axisOf, numbersOf, textOf } from "./cf.js";

const maxText = 2 << 20, maxValue = 4 << 10, maxNumbers = 64;

/** coordinatesOf returns the numbers of coordinate variables of numbers, by the numbers of dimensions. */
export const coordinatesOf = (header) => {
  const out = new Map();
  header.vars.forEach((v, i) => {
    if (v.dims.length === 1 && v.type !== "char" && v.name === header.dims[v.dims[0]].name && !out.has(v.dims[0])) out.set(v.dims[0], i);
  });
  return out;
};

/** whole leaves out a character that was cut off at the end. */
export function whole(b) {
  for (let i = b.length - 1; i >= Math.max(0, b.length - 4); i--) {
    if ((b[i] & 0xc0) === 0x80) continue;
    const n = b[i] < 0x80 ? 1 : b[i] >> 5 === 6 ? 2 : b[i] >> 4 === 14 ? 3 : b[i] >> 3 === 30 ? 4 : 1;
    return n > b.length - i ? b.subarray(0, i) : b;
  }
  return b;
}

/** digitsOf returns the fewest digits that make a finite double, or a float, and the exponent of the first one. */
export function digitsOf(x, single) {
  let s = x.toExponential();
  for (let p = 0; single && p < 9; p++) {
    if (Math.fround(Number((s = x.toExponential(p)))) !== x) continue;
    // Half way between two the last digit is even, where toExponential takes the larger one.
    const more = x.toExponential(p + 1), less = p > 0 ? more.replace(/([02468])5e/, "$1e") : more;
    if (less !== more && Number(more) === x && Math.fround(Number(less)) === x) s = less;
    break;
  }
  const [, sign, digits, exponent] = /^(-?)([\d.]+)e([-+]\d+)$/.exec(s);
  return { sign, digits: digits.replace(".", "").replace(/0+$/, "") || "0", exponent: Number(exponent) };
}

// general writes a float as Go's %g does.
function general(x, single) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "+Inf" : "-Inf";
  if (x === 0) return Object.is(x, -0) ? "-0" : "0";
  const { sign, digits: d, exponent: e } = digitsOf(x, single);
  if (e < -4 || e >= 6) return sign + d[0] + (d.length > 1 ? `.${d.slice(1)}` : "") + (e < 0 ? "e-" : "e+") + String(Math.abs(e)).padStart(2, "0");
  if (e < 0) return `${sign}0.${"0".repeat(-e - 1)}${d}`;
  return sign + (d.length <= e + 1 ? d.padEnd(e + 1, "0") : `${d.slice(0, e + 1)}.${d.slice(e + 1)}`);
}

function formatted(a) {
  if (a.type === "char") {
    let n = a.values.length;
    while (n > 0 && a.values[n - 1] === 0) n--;
    return n > maxValue ? `${text(whole(a.values.subarray(0, maxValue)))}…` : text(a.values.subarray(0, n));
  }
  const b = a.length > maxNumbers ? { ...a, values: a.values.subarray(0, maxNumbers * sizes[a.type]) } : a;
  const words = [...numbersOf(b)].map((x) => (a.type === "float" || a.type === "double" ? general(x, a.type === "float") : String(x)));
  if (a.length > maxNumbers) words.push(`… (${a.length} in all)`);
  return words.join(", ");
}

function quoted(v) {
  if (/^[A-Za-z0-9_.+-]+$/.test(v.name)) return v.name;
  if (utf8(v.bytes) === null) return `"${[...v.bytes].map((c) => (c >= 0x20 && c < 0x7f && c !== 34 && c !== 92 ? String.fromCharCode(c) : `\\x${c.toString(16).padStart(2, "0")}`)).join("")}"`;
  const known = { 7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 34: '\\"', 92: "\\\\" };
  return `"${[...v.name].map((c) => {
    const n = c.codePointAt(0);
    return known[n] ?? (n < 32 || n === 127 ? `\\x${n.toString(16).padStart(2, "0")}` : /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(c) ? c : n > 0xffff ? `\\U${n.toString(16).padStart(8, "0")}` : `\\u${n.toString(16).padStart(4, "0")}`);
  }).join("")}"`;
}

export const shortText = (v, name) => {
  const s = textOf(v, name);
  return new TextEncoder().encode(s).length > maxValue ? "" : s;
};

/** describe answers as /api/meta does. */
export function describe(a, path) {
  const { header, plan } = a;
  let left = maxText;
  const attributes = (list) => {
    const out = [];
    for (const one of list) {
      if (left < 0) break;
      const value = formatted(one);
      left -= one.bytes.length + new TextEncoder().encode(value).length + 40;
      out.push({ name: one.name, type: one.type, value });
    }
    return out;
  };
  const layout = plan.zarr ?? (plan.vars.length === 0 && plan.pools.length === 0 && plan.rest.first > plan.image.header ? "single" : "pooled");
  const out = {
    path, format: a.format, size: a.size, records: Number(header.records),
    archive: { size: a.source.size, sha256: a.sha256, layout, writer: plan.writer, blocks: plan.blocks },
    attributes: attributes(header.attributes), dimensions: [], variables: [], cut: false,
  };
  const axes = coordinatesOf(header);
  for (const [i, dim] of header.dims.entries()) {
    left -= dim.bytes.length + 80;
    if (left < 0) break;
    const one = { name: dim.name, length: Number(a.dimensions[i].length), coordinate: axes.get(i) ?? -1 };
    if (dim.length === 0n) one.unlimited = true;
    if (axes.has(i)) Object.assign(one, axisProperties(header, axes.get(i)));
    out.dimensions.push(one);
  }
  for (const [num, v] of header.vars.entries()) {
    left -= 2 * v.nameBytes.length + 16 * v.shape.length + 160;
    if (left < 0) break;
    const one = { num, name: v.name, quoted: quoted({ name: v.name, bytes: v.nameBytes }), type: v.type, dims: v.dims, shape: v.shape.map(Number), size: Number(v.bytes), attributes: null };
    const units = shortText(v, "units"), title = shortText(v, "long_name") || shortText(v, "standard_name");
    if (units) one.units = units;
    one.attributes = attributes(v.attributes);
    Object.assign(one, axisProperties(header, num));
    if (title) one.title = title;
    out.variables.push(one);
  }
  out.cut = left < 0;
  return out;
}

function axisProperties(header, num) {
  const { axis, down } = axisOf(header, num);
  return { ...(axis && { axis }), ...(down && { down }) };
}
