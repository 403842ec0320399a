// The CF conventions, as package cf has them: packed values and axes. Times are in calendar.js.
import { parseUnits } from "../../cmd/cdfz/internal/page/static/data/calendar.js";
import { native, valueOf } from "../src/archive.js";
import { arrayType, sizes } from "../src/netcdf.js";

const attr = (v, name) => v.attributes.find((a) => a.name === name);

/** textOf returns an attribute of text, or "". */
export function textOf(v, name) {
  const a = attr(v, name);
  return a?.type === "char" ? valueOf(a) : "";
}

/** numbersOf returns the values of an attribute of numbers as a typed array, as those of another type of the same size if one is given. */
export const numbersOf = (a, type = a.type) => native(a.values.slice(), type);

const resigned = (type, unsigned) => {
  const pairs = { byte: "ubyte", short: "ushort", int: "uint", int64: "uint64" };
  if (/^true$/i.test(unsigned)) return pairs[type] ?? type;
  if (/^false$/i.test(unsigned)) return Object.keys(pairs).find((k) => pairs[k] === type) ?? type;
  return type;
};

/** packing tells how the stored values of a variable are unpacked. wrong names an attribute that is no single number. */
export function packing(v) {
  const p = { own: v.type, stored: v.type, type: v.type, scaled: false, scale: 1, offset: 0, missing: [] };
  if (v.type === "char") return p;
  p.stored = p.type = resigned(v.type, textOf(v, "_Unsigned"));
  for (const name of ["_FillValue", "missing_value"]) {
    const a = attr(v, name);
    if (a && a.type !== "char" && a.length > 0 && [...numbersOf(a)].some((x) => x === x)) p.missing.push(a);
  }
  let wide = v.type === "double" || (sizes[v.type] > 2 && v.type !== "float");
  for (const [name, to] of [["scale_factor", "scale"], ["add_offset", "offset"]]) {
    const a = attr(v, name);
    if (!a) continue;
    if (a.type === "char" || a.length !== 1) {
      Object.assign(p, { scaled: false, scale: 1, offset: 0, wrong: name });
      break;
    }
    p[to] = Number(numbersOf(a)[0]);
    p.scaled = true;
    wide ||= a.type !== "float" && v.type !== "float";
  }
  if (p.scaled || p.missing.length > 0) p.type = wide ? "double" : "float";
  return p;
}

const isFloat = (type) => type === "float" || type === "double";
const limits = (type) => {
  const bits = 8 * sizes[type], signed = !/^u/.test(type);
  return signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
};

/** missingOf returns the stored values that mean missing and that the type holds exactly. */
export function missingOf(p) {
  const out = new Set();
  for (const a of p.missing) {
    for (const x of numbersOf(a, a.type === p.own ? p.stored : a.type)) {
      if (x !== x) continue;
      if (isFloat(p.stored)) {
        const f = Number(x), y = p.stored === "float" ? Math.fround(f) : f;
        if (Number.isFinite(y) === Number.isFinite(f)) out.add(y);
        continue;
      }
      if (typeof x === "number" && !Number.isInteger(x)) continue;
      const [low, high] = limits(p.stored);
      if (BigInt(x) >= low && BigInt(x) <= high) out.add(/64/.test(p.stored) ? BigInt(x) : Number(x));
    }
  }
  return out;
}

const fills = { short: -32767, int: -2147483647, float: Math.fround(9.969209968386869e36), double: 9.969209968386869e36, ushort: 65535, uint: 4294967295, int64: -9223372036854775806, uint64: 18446744073709551614 };

/** unpack turns stored values into a Float32Array or Float64Array, in which those that are missing are NaN. fill: also netCDF's default ones. */
export function unpack(data, p, wanted, fill = false) {
  if (p.stored !== p.own) data = new (arrayType(p.stored))(data.buffer, data.byteOffset, data.length);
  const out = new wanted(data.length);
  const missing = missingOf(p);
  const [few] = missing;
  const round = p.type === "float" ? Math.fround : (x) => x;
  const scale = round(p.scale), offset = round(p.offset);
  const test = missing.size === 0 ? null : missing.size === 1 ? (x) => x === few : (x) => missing.has(x);
  for (let i = 0; i < data.length; i++) {
    const x = data[i];
    let y = round(Number(x));
    if (p.scaled) y = round(round(y * scale) + offset);
    out[i] = test?.(x) ? NaN : y;
  }
  if (fill && missing.size === 0 && p.missing.length === 0 && !p.scaled && fills[p.stored] !== undefined) {
    const f = wanted === Float32Array ? Math.fround(fills[p.stored]) : fills[p.stored];
    for (let i = 0; i < out.length; i++) if (out[i] === f) out[i] = NaN;
  }
  return out;
}

const angle = (v, spellings, name) => {
  const a = attr(v, "units");
  if (a && a.values.length > 64) return false;
  const units = textOf(v, "units").trim().toLowerCase().replaceAll(" ", "_");
  return spellings.includes(units) || (textOf(v, "standard_name") === name && (units === "" || units.startsWith("deg")));
};
const isLatitude = (v) => angle(v, ["degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"], "latitude");
const isLongitude = (v) => angle(v, ["degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"], "longitude");

const short = (v, name) => {
  const s = textOf(v, name);
  return new TextEncoder().encode(s).length > 4096 ? "" : s;
};

const pressures = ["Pa", "hPa", "kPa", "pascal", "pascals", "hectopascal", "hectopascals", "bar", "mbar", "millibar", "millibars", "mb", "dbar", "decibar", "decibars", "atm"];

// Standard names of vertical coordinates, and whether they grow downwards.
const vertical = new Map([
  ["depth", true], ["air_pressure", true], ["sea_water_pressure", true], ["atmosphere_sigma_coordinate", true], ["atmosphere_hybrid_sigma_pressure_coordinate", true],
  ["height", false], ["altitude", false], ["atmosphere_ln_pressure_coordinate", false], ["atmosphere_hybrid_height_coordinate", false], ["atmosphere_sleve_coordinate", false],
  ["ocean_sigma_coordinate", false], ["ocean_s_coordinate", false], ["ocean_s_coordinate_g1", false], ["ocean_s_coordinate_g2", false], ["ocean_sigma_z_coordinate", false], ["ocean_double_sigma_coordinate", false],
]);

// Names of coordinates, a map because a variable may be called constructor.
const names = new Map(Object.entries({ lat: "Y", latitude: "Y", y: "Y", lon: "X", longitude: "X", x: "X", lev: "Z", level: "Z", depth: "Z", z: "Z", time: "T", t: "T" }));

/** axisOf returns the axis for which the values of a variable are coordinates, X, Y, Z, T or "", and whether they grow downwards. */
export function axisOf(header, num) {
  const v = header.vars[num];
  const positive = short(v, "positive"), units = short(v, "units"), name = v.name.toLowerCase();
  const pressure = pressures.includes(units), falls = vertical.get(short(v, "standard_name"));
  const down = /^down$/i.test(positive) || (positive === "" && (pressure || (falls ?? name === "depth")));
  const axis = () => {
    const a = short(v, "axis").toUpperCase();
    if (/^[XYZT]$/.test(a)) return a;
    if (isLatitude(v)) return "Y";
    if (isLongitude(v)) return "X";
    if (positive !== "") return "Z";
    if (unitsOf(header, num) !== null) return "T"; // also times that cannot be read
    if (pressure || falls !== undefined) return "Z";
    return names.get(name) ?? "";
  };
  return { axis: axis(), down };
}

/** unitsOf returns the units of a variable whose values are times, as parseUnits does. Bounds inherit those of their variable. */
export function unitsOf(header, num) {
  let v = header.vars[num];
  if (!attr(v, "units")) v = header.vars.find((p, i) => i !== num && (textOf(p, "bounds") === v.name || textOf(p, "climatology") === v.name)) ?? v;
  if (v.type === "char") return null;
  return parseUnits(textOf(v, "units"), textOf(v, "calendar"));
}

