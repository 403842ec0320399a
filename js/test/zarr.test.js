// Archives as stores of zarrita, and the codec in other stores.
import assert from "node:assert/strict";
import { test } from "node:test";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import * as zarr from "zarrita";
import { open, store } from "../src/index.js";
import "../src/register.js";
import { archives, bytesOf, cdfz, folder, testdata } from "./helpers.js";

test("every archive is a store", async (t) => {
  const dir = folder(t);
  let read = 0;
  const names = readdirSync(`${testdata}classic`).filter((f) => /^cdf[15].*\.nc$/.test(f) || f === "cdf2_climate.nc");
  for (const file of archives(dir, names.map((f) => `${testdata}classic/${f}`))) {
    const a = await open(bytesOf(file));
    const s = store(a);
    const root = await zarr.open.v2(s, { kind: "group" });
    for (const v of a.variables) {
      if (!v.path || v.bytes > 1 << 20) continue; // the longest are of headers that promise more than there is
      const array = await zarr.open.v2(root.resolve(v.path), { kind: "array" });
      assert.deepEqual(array.shape, v.shape, `${file} ${v.name}`);
      if (v.shape.includes(0)) continue; // zarrita does not read arrays without elements
      const got = await zarr.get(array);
      const want = await v.get();
      if (v.type === "char") {
        const text = v.shape.length === 0 ? [got] : Array.from({ length: want.data.length }, (_, i) => got.data.get(i));
        const ascii = (c) => (c > "\x7f" ? "?" : c || "\0"); // zarrita takes other bytes as UTF-8
        assert.deepEqual(text.map(ascii), [...want.data].map((c) => ascii(String.fromCharCode(c))), `${file} ${v.name}`);
      } else assert.deepEqual(v.shape.length === 0 ? [got] : [...got.data], [...want.data], `${file} ${v.name}`);
      read++;
    }
  }
  assert.ok(read > 400, `${read}`);
});

test("consolidated, with dimensions and attributes", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf1_climate_small.nc.cdfz`));
  const s = await zarr.withConsolidatedMetadata(store(a));
  assert.equal(s.contents().filter((c) => c.kind === "array").length, a.variables.length);
  for (const v of a.variables) {
    const array = await zarr.open.v2(zarr.root(s).resolve(v.path), { kind: "array" });
    assert.deepEqual(array.attrs._ARRAY_DIMENSIONS, v.dimensions);
    for (const name of ["units", "long_name"]) assert.equal(array.attrs[name], v.attributes[name]);
  }
});

test("the codec in stores that are no archives", async (t) => {
  const dir = folder(t);
  for (const format of ["2", "3"]) {
    const out = `${dir}/x${format}.zarr`;
    execFileSync(cdfz, ["export", "-q", "--zarr-format", format, "--filters", "52723", `${testdata}classic/cdf2_climate.nc`, "-o", out], { stdio: "ignore" });
    const files = { get: async (key) => (existsSync(out + key) ? new Uint8Array(readFileSync(out + key)) : undefined) };
    const [file] = archives(`${dir}/${format}`, [`${testdata}classic/cdf2_climate.nc`]);
    const a = await open(bytesOf(file));
    let read = 0;
    for (const v of a.variables) {
      if (v.type === "char" || !existsSync(`${out}/${v.name}`)) continue;
      const array = await zarr.open(zarr.root(files).resolve(v.name), { kind: "array" });
      const got = await zarr.get(array);
      assert.deepEqual(v.shape.length === 0 ? [got] : [...got.data], [...(await v.get()).data], `${format} ${v.name}`);
      read++;
    }
    assert.ok(read > 5);
  }
});
