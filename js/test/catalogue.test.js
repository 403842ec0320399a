// Catalogues that are large or hostile: requests and memory have bounds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DamageError, UnsupportedError } from "../src/index.js";
import { paths } from "../viewer/catalogue.js";
import { server } from "./helpers.js";

// The part of Thrift's compact protocol that a catalogue has.
function varint(n) {
  const out = [];
  for (; n >= 128; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return [...out, n];
}
const number = (n) => varint(2 * n);
const bytes = (s) => [...varint(s.length), ...Buffer.from(s)];
const struct = (fields) => {
  let last = 0;
  return [...fields.flatMap(([id, type, value]) => [((id - last) << 4) | type, ...((last = id), value)]), 0];
};
const list = (type, all) => [...(all.length < 15 ? [(all.length << 4) | type] : [0xf0 | type, ...varint(all.length)]), ...all.flat()];
const i64 = 6, binary = 8, listOf = 9, record = 12;

const group = (off, end) => struct([[1, listOf, list(record, [struct([[3, record, struct([[4, 5, number(0)], [9, i64, number(end)], [11, i64, number(off)]])]])])]]);

// catalogue makes a file with pages, each the paths of a row group. The groups may be others.
function catalogue(pages, groups) {
  const body = [Buffer.from("PAR1")], made = [];
  let at = 4;
  for (const names of pages) {
    const values = Buffer.concat(names.map((s) => Buffer.concat([Buffer.from(Uint32Array.of(s.length).buffer), Buffer.from(s)])));
    const head = Buffer.from(struct([[1, 5, number(2)], [2, 5, number(values.length)], [3, 5, number(values.length)]]));
    body.push(head, values, Buffer.alloc(1 << 17)); // other columns
    made.push(group(at, at + head.length + values.length));
    at += head.length + values.length + (1 << 17);
  }
  const lists = groups?.(Buffer.from(made[0])) ?? Buffer.from(list(record, made));
  const schema = [struct([[4, binary, bytes("schema")]]), struct([[4, binary, bytes("path")]])];
  const footer = Buffer.concat([Buffer.from([0x29, ...list(record, schema), 0x29]), lists, Buffer.from([0x19, ...list(record, [struct([[1, binary, bytes("cdfz_catalogue")]])]), 0])]);
  return Buffer.concat([...body, footer, Buffer.from(Uint32Array.of(footer.length).buffer), Buffer.from("PAR1")]);
}

test("a catalogue of many row groups", async (t) => {
  const names = Array.from({ length: 20 }, (_, i) => [`${i}/a.nc.cdfz`, `${i}/b.nc.cdfz`]), log = [];
  assert.deepEqual(await paths(await server(t, catalogue(names), { log })), names.flat());
  assert.ok(log.length <= 24, `${log.length} requests`);
});

test("catalogues that would take too much", async (t) => {
  const refused = async (b, kind, want) => {
    const log = [];
    await assert.rejects(async () => paths(await server(t, b, { log })), (e) => e instanceof kind && want.test(e.message) || assert.fail(`${e.name}: ${e.message}`));
    assert.ok(log.length <= 3, `${log.length} requests`);
  };
  const one = [["a.nc.cdfz"]], times = (n) => (g) => Buffer.concat([Buffer.from([0xfc, ...varint(n)]), Buffer.alloc(n * g.length, g)]);
  await refused(catalogue(one, times(2000)), UnsupportedError, /^the catalogue has 2000 row groups, each of which takes a request, and this page reads at most 1024: make several/);
  await refused(catalogue(one, times(1e6)), UnsupportedError, /^the end of the catalogue has more than 2097152 values$/);
  // Empty structs take a byte each in the file, and more in memory.
  await refused(catalogue(one, () => times(3e7)(Buffer.from([0]))), UnsupportedError, /^the end of the catalogue has more than 2097152 values$/);
  await refused(catalogue(one, () => times(1000)(Buffer.from(group(4, 4 + (1 << 20))))), DamageError, /^catalogue: expected paths in a dictionary$/);
  await refused(catalogue([["a".repeat(1 << 20)]], times(300)), UnsupportedError, /^the paths of the catalogue take \d+ bytes, and this page reads at most 268435456: make several/);
});

test("pages of paths that are compressed otherwise, or damaged", async (t) => {
  for (const [codec, kind, want] of [[6, DamageError, /^catalogue: zstd: /], [1, UnsupportedError, /^the catalogue has compression 1 of Parquet/]]) {
    const other = (g) => {
      g[g.indexOf(Buffer.from([0x45, 0])) + 1] = 2 * codec;
      return Buffer.from(list(record, [[...g]]));
    };
    const url = await server(t, catalogue([["a.nc.cdfz"]], other));
    await assert.rejects(paths(url), (e) => e instanceof kind && want.test(e.message) || assert.fail(`${e.name}: ${e.message}`));
  }
});
