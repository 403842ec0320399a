// Archives as stores of zarrita, and the codec in other stores.
import assert from "node:assert/strict";
import { test } from "node:test";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as zarr from "zarrita";
import { DamageError, Lorenz, open, store } from "../src/index.js";
import "../src/register.js";
import { archives, bytesOf, cdfz, classic, folder, noise, testdata } from "./helpers.js";

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

// overlapping makes an archive of a file whose variable v begins within x, so that neither has blocks of its own.
async function overlapping(t, shape, grow = 1) {
  const dir = folder(t), image = noise(...shape), begin = 216; // where the header has the begin of v
  image.writeUInt32BE(image.readUInt32BE(begin) - 4, begin);
  for (const at of [24, 36, 48]) image.writeUInt32BE(image.readUInt32BE(at) * grow, at); // lengths of t, y and x
  writeFileSync(`${dir}/x.nc`, image);
  return open(bytesOf(archives(`${dir}/made`, [`${dir}/x.nc`], "--preset", "fast")[0]));
}

test("a name that a path could have is not taken twice", async (t) => {
  const dir = folder(t);
  writeFileSync(`${dir}/x.nc`, classic({ x: 2 }, [{ name: "__v1", type: 4, dims: ["x"], values: [1, 2] }, { name: "a?b", type: 4, dims: ["x"], values: [3, 4] }]));
  const [file] = archives(`${dir}/made`, [`${dir}/x.nc`]);
  const a = await open(bytesOf(file)), root = zarr.root(store(a));
  assert.deepEqual(a.variables.map((v) => v.path), ["__v1", "__v1_"]);
  for (const v of a.variables) assert.deepEqual((await zarr.get(await zarr.open.v2(root.resolve(v.path), { kind: "array" }))).data, (await v.get()).data);
});

test("long variables without blocks have short chunks", async (t) => {
  const a = await overlapping(t, [3, 1100, 1100]);
  const v = a.variable("v"), want = await v.get();
  assert.ok(!a.blocked.has(v.num) && !a.pooled.has(v.num));
  const array = await zarr.open.v2(zarr.root(store(a)).resolve("v"), { kind: "array" });
  assert.deepEqual(array.chunks, [1, 953, 1100]);
  const got = await zarr.get(array);
  assert.ok(want.data.every((x, i) => x === got.data[i]));
  assert.equal((await store(a).get("/v/2.1.0")).length, 4 * 953 * 1100, "chunks are whole");
  assert.equal(await store(a).get("/v/2.2.0"), undefined);
});

test("what a header promises beyond the end of the file is not read", async (t) => {
  const a = await overlapping(t, [20, 20, 20], 2000);
  const v = a.variable("v");
  assert.deepEqual(v.shape, [40000, 40000, 40000]);
  const { data, shape } = await v.get([[0, null, 39999], [0, null, 39999], [0, null, 39999]]);
  assert.deepEqual([shape, data.slice(1).every((x) => x === 0)], [[2, 2, 2], true]);
  const array = await zarr.open.v2(zarr.root(store(a)).resolve("v"), { kind: "array" });
  assert.deepEqual(array.chunks, [1, 26, 40000]);
  assert.ok((await store(a).get("/v/39999.1538.0")).every((x) => x === 0));
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

test("configurations of the codec that cannot be", () => {
  for (const shape of [[-1], [1.5], ["a"], [null], [NaN], [2 ** 31], [2 ** 20, 2 ** 20], "abc", undefined]) {
    assert.throws(() => Lorenz.fromConfig({ type: 5, shape }), DamageError, JSON.stringify(shape));
  }
});
