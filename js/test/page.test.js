// The source of the page without a server answers as that of cdfz serve: /api/meta and /api/values of every variable.
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../src/index.js";
import { add, archiveOf, blocks, catalog, resource, slice, values } from "../viewer/archive.js";
import { original } from "../viewer/download.js";
import { describe } from "../viewer/describe.js";
import { archives, bytesOf, folder, judge, noise, server, testdata } from "./helpers.js";

const escape = (s) => s.split("/").map(encodeURIComponent).join("/");

async function parsed(r) {
  if (r.headers.get("Content-Type").startsWith("application/json")) return r.json();
  const buffer = await r.arrayBuffer();
  const end = new Uint8Array(buffer).indexOf(10);
  const out = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 0, end)));
  out.data = out.type === "float32" ? new Float32Array(buffer, end + 1) : new Float64Array(buffer, end + 1);
  return out;
}

// plain drops undefined members and -0, as JSON does.
const plain = (x) => JSON.parse(JSON.stringify(x));

// questions are what the page asks of a variable.
function questions(v) {
  const n = v.shape.length;
  const out = [];
  if (v.shape.includes(0)) return out;
  const zero = v.shape.map(() => "0");
  const put = (...pairs) => pairs.reduce((w, [i, s]) => (w[i] = s, w), [...zero]);
  if (n === 0) out.push([[], 1024]);
  for (let d = 0; d < n; d++) out.push([put([d, "x"]), 4096], [put([d, "x"]), 7, { extremes: true }]);
  if (n >= 1) out.push([put([n - 1, "x"]), 4096, { bare: true }]);
  if (n >= 2) out.push([put([n - 2, "y"], [n - 1, "x"]), 1024], [put([n - 2, "y"], [n - 1, "x"]), 9, { bare: true }], [put([n - 2, "x"], [n - 1, "y"]), 5]);
  if (n >= 1 && v.shape[n - 1] > 3) out.push([put([n - 1, "x1:3"]), 1024]);
  return out;
}

async function compare(t, dir, names) {
  const base = await judge(t, dir);
  let asked = 0;
  const one = async (file) => {
    const name = file.slice(dir.length + 1).replace(/\.cdfz$/, "");
    const a = await open(bytesOf(file));
    const want = await (await fetch(`${base}api/meta/${escape(name)}`)).json();
    assert.deepEqual(plain(describe(a, name)), want, name);
    for (const v of want.variables) {
      for (const [words, max, options] of questions(v)) {
        const query = new URLSearchParams({ var: v.num, at: words.join(","), max });
        for (const name of Object.keys(options ?? {})) query.set(name, "1");
        const r = await fetch(`${base}api/values/${escape(name)}?${query}`);
        const where = `${name} ${v.name} ${words} ${max}`;
        assert.equal(r.status, 200, where);
        const { data, ...answer } = await parsed(r);
        const { data: ours, ...got } = await slice(a, v.num, words, max, undefined, options);
        assert.deepEqual(plain(got), plain(answer), where);
        assert.deepEqual([ours?.constructor, ...(ours ?? [])], [data?.constructor, ...(data ?? [])], where); // NaN has many bits
        asked++;
      }
    }
  };
  const left = [...names];
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let f; (f = left.pop()); ) await one(f);
  }));
  return asked;
}

test("the page's answers", async (t) => {
  const dir = folder(t);
  // One version of each kind of file.
  const names = readdirSync(`${testdata}classic`).filter((f) => /^cdf5.*\.nc$/.test(f) || f === "cdf2_climate.nc");
  const n = await compare(t, dir, archives(dir, names.map((f) => `${testdata}classic/${f}`)));
  assert.ok(n > 500, `${n} answers`);
});

test("words of slices that are none are refused", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf2_climate.nc.cdfz`));
  const v = a.variables.find((v) => v.shape.length === 3);
  for (const w of ["", " ", "-1", "1.5", "0x1", "1e0", "null", String(v.shape[0])]) await assert.rejects(slice(a, v.num, [w, "y", "x"], 1024), /^RangeError: expected x, y or an index below \d+, found /, w);
  for (const words of [["x", "y", "x"], ["y0:1", "x", "y"]]) await assert.rejects(slice(a, v.num, words, 1024), /^RangeError: expected [xy] once, found /);
});

test("only the archives that were used last keep blocks", async (t) => {
  const [file] = archives(folder(t), [`${testdata}classic/cdf2_climate.nc`], "--block", "4K");
  const names = Array.from({ length: 6 }, () => add(Object.assign(new Blob([bytesOf(file)]), { name: "x.nc.cdfz" })));
  assert.deepEqual(names.slice(0, 2), ["x.nc.cdfz", "x.nc.cdfz (2)"]);
  const used = [];
  for (const name of names) {
    const a = await archiveOf(name);
    const v = a.variables.find((v) => a.blocked.has(v.num) && v.shape.length === 3);
    await values(name, v.num, ["0", "y", "x"], 1024);
    used.push(a);
  }
  assert.deepEqual(used.map((a) => a.cache.used > 0), [false, false, true, true, true, true]);
  assert.equal(await archiveOf(names[0]), used[0], "it is still there");
});

test("the list of files has those that have opened", async (t) => {
  const bytes = bytesOf(`${testdata}compat/1/cdf2_climate.nc.cdfz`);
  let answers = false, wait = () => {};
  const url = await server(t, bytes, { answer: (q, r) => !answers && ((wait = () => r.destroy()), true) });
  const file = Object.assign(new Blob([bytes]), { name: "dropped.nc.cdfz" });
  const slow = archiveOf(url), name = add(file);
  await archiveOf(name);
  const { datasets } = await catalog("");
  assert.deepEqual(datasets.find((d) => d.name === name), { name, file: name, size: bytes.length, dap: true });
  assert.ok(!datasets.some((d) => d.name === url), "a server that does not answer");
  answers = true;
  wait();
  await slow.catch(() => {});
  await archiveOf(url);
  assert.equal((await catalog("")).datasets.find((d) => d.name === url).size, bytes.length);
});

test("a script that could not be read is asked for again", async () => {
  const before = globalThis.document;
  let asked = 0;
  globalThis.document = { createElement: () => ({ remove() {} }), head: { append: (s) => queueMicrotask(() => (asked++ === 0 ? s.onerror() : s.onload())) } };
  globalThis.cdfzResources = { coast: [1] };
  await assert.rejects(resource("coast"), /coast.js cannot be read/);
  assert.deepEqual(await resource("coast"), [1]);
  globalThis.document = before;
});

test("a whole file that cannot be compared has a note", async () => {
  const a = await open(bytesOf(`${testdata}compat/1/cdf2_climate.nc.cdfz`));
  assert.equal((await original(a, "x.nc.cdfz")).note, undefined);
  const own = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  assert.match((await original(a, "x.nc.cdfz")).note, /not compared with its SHA-256/);
  Object.defineProperty(globalThis, "crypto", own);
});

test("the stored bytes are those of all blocks", async (t) => {
  const dir = folder(t);
  const source = `${folder(t)}/x.nc`;
  writeFileSync(source, noise(18, 256, 256)); // not beside the archive, where the server would show it instead
  const [file] = archives(dir, [source], "--block", "1K");
  const base = await judge(t, dir);
  const want = await (await fetch(`${base}api/blocks/x.nc?var=3`)).json();
  const got = await blocks(add(Object.assign(new Blob([bytesOf(file)]), { name: "many" })), 3);
  assert.ok(want.blocks > 4096 && want.listed.length === 4096, want.blocks);
  assert.deepEqual([got.blocks, got.raw, got.stored, got.listed.length], [want.blocks, want.raw, want.stored, 4096]);
});

test("blocks of an index with impossible places are listed", async (t) => {
  const [file] = archives(folder(t), [`${testdata}classic/cdf2_climate.nc`], "--block", "4K");
  const name = add(Object.assign(new Blob([bytesOf(file)]), { name: "damaged" }));
  const a = await archiveOf(name), v = a.variables.find((v) => a.blocked.get(v.num)?.count > 3);
  const { rows } = a;
  a.rows = async (...all) => (await rows.apply(a, all)).map((row, i) => (i === 1 ? { ...row, off: 2n ** 60n } : row));
  const { listed } = await blocks(name, v.num);
  assert.deepEqual([listed[0].mode !== undefined, listed[1].mode], [true, undefined]);
});

const corpus = process.env.CDFZ_CORPUS;
if (corpus) {
  test("the page's answers over the corpus", async (t) => {
    const dir = folder(t);
    assert.ok(await compare(t, dir, archives(dir, ["real", "wild", "generated"].map((d) => `${corpus}/${d}`))) > 1000);
  });
}
