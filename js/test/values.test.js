// Values of every variable, as the program answers them: all types, dimensions of length 0, odd names, and values that
// lie beyond the end of the file.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { DamageError, open } from "../src/index.js";
import { compareValues } from "./checks.js";
import { archives, bytesOf, folder, judge, testdata } from "./helpers.js";

const escape = (s) => s.split("/").map(encodeURIComponent).join("/");

// compare compares all variables of archives with what the program says, and returns how many there were.
async function compare(t, dir, names) {
  const base = await judge(t, dir);
  let compared = 0;
  const one = async (file) => {
    const name = file.slice(dir.length + 1).replace(/\.cdfz$/, "");
    const a = await open(bytesOf(file));
    const meta = await (await fetch(`${base}api/meta/${escape(name)}`)).json();
    const n = await compareValues(a, meta, name, async (v) => {
      const r = await fetch(`${base}api/get/${escape(name)}?${new URLSearchParams({ select: v.quoted, format: "npy" })}`);
      assert.equal(r.status, 200, `${name} ${v.name}: ${r.ok || (await r.text())}`);
      return new Uint8Array(await r.arrayBuffer());
    });
    compared += n; // others may have added meanwhile
  };
  const left = [...names];
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let f; (f = left.pop()); ) await one(f);
  }));
  return compared;
}

test("values of testdata", async (t) => {
  const dir = folder(t);
  const names = archives(dir, [`${testdata}classic`], "--block", "2K");
  assert.ok(await compare(t, dir, names) > 500);
});

test("values of portable archives", async (t) => {
  const dir = folder(t);
  const names = archives(dir, ["climate", "all_types", "bits", "names", "many_vars"].map((s) => `${testdata}classic/cdf1_${s}.nc`).filter((f) => readdirSync(`${testdata}classic`).includes(f.split("/").at(-1))), "--preset", "portable", "--zarr", "always");
  assert.ok(await compare(t, dir, names) > 20);
});

const corpus = process.env.CDFZ_CORPUS;
if (corpus) {
  test("values of the corpus", async (t) => {
    const dir = folder(t);
    const list = JSON.parse(readFileSync(`${corpus}/manifest.json`, "utf8"));
    assert.ok(list);
    const names = archives(dir, ["real", "wild", "generated"].map((d) => `${corpus}/${d}`));
    assert.ok(await compare(t, dir, names) > 1000);
  });
}

test("parts", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf1_climate_small.nc.cdfz`));
  const v = a.variables.find((v) => v.shape.length >= 3);
  const all = await v.get();
  const strides = v.shape.map((_, d) => v.shape.slice(d + 1).reduce((x, y) => x * y, 1));
  const brute = (ranges) => {
    let out = [0];
    ranges.forEach(([from, to, step], d) => {
      const next = [];
      for (const base of out) for (let i = from; i < to; i += step) next.push(base + i * strides[d]);
      out = next;
    });
    return out.map((i) => all.data[i]);
  };
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let i = 0; i < 300; i++) {
    const ranges = v.shape.map((n) => {
      const from = random(n + 1), to = random(n + 1);
      return [Math.min(from, to), Math.max(from, to), 1 + random(4)];
    });
    const got = await v.get(ranges);
    assert.deepEqual([...got.data], brute(ranges), JSON.stringify(ranges));
  }
  const last = await v.get(v.shape.map(() => -1));
  assert.deepEqual([last.shape, last.data[0]], [[], all.data.at(-1)]);
  const named = await v.get({ [v.dimensions.at(-1)]: 0 });
  assert.deepEqual(named.dimensions, v.dimensions.slice(0, -1));
  await assert.rejects(v.get([v.shape[0]]), /expected an index below/);
  await assert.rejects(v.get({ nothing: 0 }), /expected one of the dimensions/);
  await assert.rejects(v.get([1.5]), /expected an integer/);
});

test("a selection that is none is refused, and never means all", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf1_climate_small.nc.cdfz`));
  const v = a.variables.find((v) => v.shape.length >= 3), name = v.dimensions[0];
  const words = ["15", "", true, false, Symbol("a"), () => 0, {}, { begin: 1 }, { start: 0, length: 1 }, Int32Array.of(0, 1), new Map([["start", 1]]), new Number(1), [], [0], [0, 1, 1, 1], ["0", "1"]];
  for (const w of words) {
    for (const selection of [[w], { [name]: w }]) await assert.rejects(v.get(selection), (e) => (e instanceof TypeError || e instanceof RangeError) && /^dimension \S+ of length \d+: expected /.test(e.message), typeof w);
  }
  for (const selection of [0, 5, 5n, "", name, true, false, Symbol("a"), () => 0, Int32Array.of(0), new Map([[name, 0]]), Promise.resolve([0])]) {
    await assert.rejects(v.get(selection), /^TypeError: expected a list of indices and ranges, or an object with them by dimension, found /, typeof selection);
  }
  const all = (await v.get()).data;
  for (const selection of [null, [], {}, [null], [undefined], { [name]: null }, [{ start: undefined }], [[null, null]], Object.assign(Object.create(null), { [name]: { stop: null } })]) assert.deepEqual((await v.get(selection)).data, all);
});

test("a part of the file is of integers", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf1_climate_small.nc.cdfz`));
  for (const [off, len] of [["1", 4], [1, "4"], [[1], 4], [0.5, 4], [0, 1.5], [null, 4], [0], [], [-1, 4], [0, a.size + 1], [NaN, 1]]) await assert.rejects(a.image(off, len), /^RangeError: expected a range of the \d+ bytes of the file, found /);
  assert.equal((await a.image(a.size, 0)).length, 0);
});

test("64-bit integers are bigints", async () => {
  const a = await open(bytesOf(`${testdata}vectors/good/cdf5`).subarray(Buffer.from(bytesOf(`${testdata}vectors/good/cdf5`)).indexOf("\n\n") + 2));
  const types = a.variables.filter((v) => /64/.test(v.type));
  for (const v of types) assert.match((await v.get()).data.constructor.name, /^Big/);
});

test("a damaged block is refused, and others are read", async (t) => {
  const dir = folder(t);
  const [file] = archives(dir, [`${testdata}classic/cdf2_climate.nc`], "--block", "4K");
  const good = bytesOf(file);
  const a = await open(good);
  const v = a.variables.find((v) => a.blocked.get(v.num)?.count > 3);
  const [row] = await a.rows([a.blocked.get(v.num).first + 1]);
  const bad = good.slice();
  bad[Number(row.off) + 5] ^= 16;
  const b = await open(bad);
  await assert.rejects(b.variables[v.num].get(), (e) => e instanceof DamageError && /block \d+: wrong checksum/.test(e.message));
  const first = v.shape.map(() => 0);
  assert.deepEqual((await b.variables[v.num].get(first)).data, (await v.get(first)).data);
  for (const other of a.variables) if (other.num !== v.num) assert.deepEqual((await b.variables[other.num].get()).data, (await other.get()).data);
});

test("long blocks are refused", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf1_climate_small.nc.cdfz`), { maxBlock: 16 });
  const v = a.variables.find((v) => v.bytes > 64);
  await assert.rejects(v.get(), /longer than this package decodes \(16 bytes\)/);
});

test("the cache keeps its budget", async (t) => {
  const dir = folder(t);
  const [file] = archives(dir, [`${testdata}classic/cdf2_climate.nc`], "--block", "4K");
  const a = await open(bytesOf(file), { cache: 20000 });
  for (const v of a.variables) {
    await v.get();
    assert.ok(a.cache.used <= 20000);
  }
  assert.ok(a.cache.used > 0);
});
