// Files of parts, which the viewer makes, are byte for byte those of the program but for its line in the history of netCDF files.
import { resolveObjectURL } from "node:buffer";
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../src/index.js";
import { parse as parseHeader, types } from "../src/netcdf.js";
import { file } from "../viewer/classic.js";
import { describe } from "../viewer/describe.js";
import { part } from "../viewer/download.js";
import { parse } from "../viewer/select.js";
import { archives, bytesOf, classic, folder, judge, testdata } from "./helpers.js";

const escape = (s) => s.split("/").map(encodeURIComponent).join("/");
const decoder = new TextDecoder();

// lineOf returns the last line of the history of a file.
function lineOf(b) {
  const history = parseHeader(b, b.length).attributes.find((a) => a.name === "history");
  return history?.type === "char" ? decoder.decode(history.values).split("\n").at(-1) : "";
}

// questions are parts of a variable.
function questions(v) {
  const out = [""], cut = (f) => v.shape.length > 0 && out.push(`[${v.shape.map(f).join(", ")}]`);
  cut((n, i) => (i === 0 ? "-1" : `${Math.floor(n / 3)}:`));
  cut((n, i) => (i % 2 === 0 ? "::2" : `1:${n - 1}`));
  cut(() => "0:0");
  if (v.shape.length > 1) out.push("[..., 0]");
  return out;
}

// others compares the CSV, JSON and npy files of a part, with all options.
async function others(base, name, a, select) {
  let made = 0;
  for (const format of ["csv", "json", "npy"]) {
    for (const unpacked of [false, true]) {
      for (const dates of format === "npy" ? [false] : [false, true]) {
        const where = `${name} ${select} ${format}${unpacked ? " unpacked" : ""}${dates ? " dates" : ""}`;
        const r = await fetch(`${base}api/get/${escape(name)}?${new URLSearchParams({ select, format, ...(unpacked && { unpack: 1 }), ...(dates && { time: 1 }) })}`);
        const want = Buffer.from(await r.arrayBuffer());
        if (r.status !== 200) {
          await assert.rejects(part(a, name, select, format, unpacked, dates), RangeError, where);
          continue;
        }
        const { href } = await part(a, name, select, format, unpacked, dates);
        const got = Buffer.from(await resolveObjectURL(href).arrayBuffer());
        if (Buffer.compare(got, want) !== 0) assert.equal(got.toString("latin1"), want.toString("latin1"), where);
        made++;
      }
    }
  }
  return made;
}

async function compare(t, dir, names) {
  const base = await judge(t, dir);
  let made = 0, refused = 0;
  const one = async (path) => {
    const name = path.slice(dir.length + 1).replace(/\.cdfz$/, "");
    const a = await open(bytesOf(path));
    for (const v of describe(a, name).variables) {
      if (v.size > 1 << 22) continue;
      for (const select of questions(v).map((q) => v.quoted + q)) {
        if (/odd|climate_small|all_types|fill|names/.test(name) && v.size <= 1 << 12) made += await others(base, name, a, select);
        for (const unpacked of v.type === "char" || select === v.quoted ? [false] : [false, true]) {
          const where = `${name} ${select}${unpacked ? " unpacked" : ""}`;
          const r = await fetch(`${base}api/get/${escape(name)}?${new URLSearchParams({ select, format: "nc", ...(unpacked && { unpack: 1 }) })}`);
          const want = new Uint8Array(await r.arrayBuffer());
          if (r.status !== 200) {
            await assert.rejects(async () => { const { num, words } = parse(a.header, select); await file(a, num, words, { unpacked, limit: 1 << 28 }); }, RangeError, where);
            refused++;
            continue;
          }
          const { num, words } = parse(a.header, select);
          const got = await file(a, num, words, { history: lineOf(want), unpacked, limit: 1 << 28 });
          assert.equal(Buffer.compare(got, want), 0, where);
          if (name === "odd.nc") assert.ok(parseHeader(got, got.length).vars.every((v) => got[3] === 5 || types.indexOf(v.type) <= types.indexOf("double")), where);
          made++;
        }
      }
    }
  };
  const left = [...names];
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let f; (f = left.pop()); ) await one(f);
  }));
  return [made, refused];
}

// odd is a file with what values can mean, and with texts that need quotes.
function odd() {
  const text = (name, s) => [name, 2, s];
  return classic({ x: 4, "a,b": 2, n: 5 }, [
    { name: "x", type: 6, dims: ["x"], attributes: [text("units", "days since 2001-02-27"), ["_FillValue", 6, [-1]]], values: [0, 1.5, -1, 1e-7] },
    { name: "a,b", type: 3, dims: ["a,b"], attributes: [["scale_factor", 5, [0.1]]], values: [1, -2] },
    { name: "packed", type: 3, dims: ["x", "a,b"], attributes: [["scale_factor", 5, [0.01]], ["add_offset", 5, [300]], ["missing_value", 3, [-9, -8]]], values: [1, -9, 3, -8, 5, 6, -32767, 8] },
    { name: "default", type: 4, dims: ["x"], values: [1, -2147483647, 3, 4] },
    { name: "filled", type: 5, dims: ["x"], attributes: [["_FillValue", 5, [1e20]]], values: [0.1, 1e20, NaN, -Infinity] },
    { name: "plain", type: 6, dims: ["x"], values: [0.1, -0, NaN, 1e21] },
    { name: "unsigned", type: 1, dims: ["x"], attributes: [text("_Unsigned", "true"), ["_FillValue", 1, [-1]]], values: [1, -1, -128, 127] },
    { name: "ubyte", type: 1, dims: ["x"], attributes: [text("_Unsigned", "true")], values: [1, -1, -128, 127] },
    { name: "wrong", type: 3, dims: ["x"], attributes: [["scale_factor", 5, [1, 2]]], values: [1, 2, 3, 4] },
    { name: "names", type: 2, dims: ["x", "n"], values: 'a"b,c\0\0\0\0\0 b   \xe9t\xe9\n<' },
    { name: "letter", type: 2, dims: [], values: "," },
  ]);
}

test("netCDF files of parts", async (t) => {
  const dir = folder(t);
  const all = readdirSync(`${testdata}classic`).filter((f) => f.endsWith(".nc"));
  // One version of each kind of file, or all.
  const names = process.env.CDFZ_SOAK ? all : all.filter((f, i) => (/^cdf5.*\.nc$/.test(f) ? i % 4 === 0 : /all_types|two_unlimited|one_record|cdf._climate_small|cdf5_fill/.test(f)));
  const own = `${folder(t)}/odd.nc`;
  writeFileSync(own, odd());
  const [made, refused] = await compare(t, dir, archives(dir, [...names.map((f) => `${testdata}classic/${f}`), own]));
  t.diagnostic(`${made} files, ${refused} refused by both`);
  assert.ok(made > 300 && refused > 10, `${made} files, ${refused} refused`);
});

test("a file that would be too long", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf2_climate.nc.cdfz`));
  const { num, words } = parse(a.header, a.variables.at(-1).name);
  await assert.rejects(() => file(a, num, words, { limit: 100 }), /^RangeError: the file would have \d+ bytes, and this page makes files of at most 100: select a part$/);
});

test("other files of too many values are refused before any are read", async () => {
  const v = { name: "v", type: "byte", shape: [1 << 20, 17], dimensions: ["y", "x"], get: () => assert.fail("values were read") };
  const a = { header: { vars: [{ ...v, nameBytes: Uint8Array.of(118), dims: [0, 1] }] }, variables: [v] };
  for (const format of ["csv", "json", "npy"]) await assert.rejects(part(a, "x.nc", "v", format, false, false), /^RangeError: the part has 17825792 values, and this page writes at most 16777216 as/);
});

test("names in selections", () => {
  const named = (...bytes) => ({ name: "", nameBytes: Uint8Array.from(bytes), dims: [0] });
  const header = { vars: [named(97), named(97, 32, 98), named(97, 91), named(0xe9), named(0xc3, 0xa9), named(97, 34, 92), named(7, 0xf0, 0x9f, 0x8c, 0x8d)] };
  const cases = [["a"], ["a b", '"a b"', "a\\ b"], ['"a["', "a\\["], ['"\\xe9"', "\\xe9"], ["é", '"\\u00e9"', '"\\303\\251"'], ['"a\\"\\\\"'], ['"\\a\\U0001f30d"']];
  cases.forEach((list, num) => list.forEach((s) => {
    assert.deepEqual(parse(header, `${s}[1:3]`), { num, words: [{ start: 1, stop: 3, step: undefined }] }, s);
    assert.deepEqual(parse(header, ` ${s} `).num, num, s);
  }));
  for (const s of ["b", "", "a[", "a[1]x", "a[1,2]", "a[x]", '"a', "a\\q", "a[::-1]", '"\\U00ffffff"']) assert.throws(() => parse(header, s), RangeError, s);
});

const corpus = process.env.CDFZ_CORPUS;
if (corpus) {
  test("netCDF files of parts over the corpus", async (t) => {
    const dir = folder(t);
    const all = ["real", "wild", "generated"].flatMap((d) => readdirSync(`${corpus}/${d}`).filter((f) => f.endsWith(".nc")).map((f) => `${corpus}/${d}/${f}`));
    const [made] = await compare(t, dir, archives(dir, process.env.CDFZ_SOAK ? all : all.filter((_, i) => i % 12 === 0)));
    assert.ok(made > 50, `${made} files`);
  });
}
