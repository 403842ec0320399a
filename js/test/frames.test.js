// The frames of animations of the page, and what it keeps of what it has read.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as frames from "../../cmd/cdfz/internal/page/static/data/frames.js";
import { Kept } from "../../cmd/cdfz/internal/page/static/data/kept.js";

test("frames", () => {
  const f = { first: 2, last: 9, step: 3, loop: true }; // 2, 5, 8
  assert.equal(frames.count(f), 3);
  assert.deepEqual([0, 2, 3, 5, 8, 9, 20].map((n) => frames.after(f, n)), [2, 5, 5, 8, 2, 2, 2]);
  assert.deepEqual([0, 2, 3, 5, 8, 9, Infinity].map((n) => frames.before(f, n)), [8, 8, 2, 2, 5, 8, 8]);
  assert.deepEqual([2, 5, 8, 3].map((k) => frames.distance(f, 5, k)), [2, 0, 1, undefined]);
  assert.deepEqual(frames.ahead(f, 5, 2), [8, 2]);
  assert.deepEqual(frames.ahead(f, 5, 10), [8, 2, 5], "each once");
  const once = { ...f, loop: false };
  assert.equal(frames.after(once, 8), null);
  assert.equal(frames.before(once, 2), null);
  assert.equal(frames.distance(once, 5, 2), undefined);
  assert.deepEqual(frames.ahead(once, 5, 10), [8]);
  for (const [text, want] of [["0:12", { first: 0, last: 11, step: 1 }], ["2:10:3", { first: 2, last: 9, step: 3 }], ["0:13", null], ["3:4", null], ["0:3:5", null], ["0:3:0", null], ["", null], ["a:b", null]]) {
    assert.deepEqual(frames.parse(text, 12), want, text);
    if (want) assert.equal(frames.text(want), text);
  }
});

const kept = (budget) => new Kept(budget, (s) => s.length);

test("what is kept is read once", async () => {
  const k = kept(10);
  let reads = 0;
  const read = (key, s) => k.read(key, key, async () => (reads++, s));
  assert.deepEqual(await Promise.all([read("a", "1234"), read("a", "x"), read("b", "1234")]), ["1234", "1234", "1234"]);
  assert.equal(reads, 2);
  await read("a");
  await read("c", "1234"); // b was not used for longest
  assert.deepEqual(["a", "b", "c"].map((key) => k.has(key)), [true, false, true]);
  assert.equal(k.used, 8);
  await read("long", "12345678901234");
  assert.ok(k.used <= 10, "also what is longer than all of the budget");
  k.clear();
  assert.equal(k.used, 0);
});

test("errors are not kept, and a signal is that of its reader", async () => {
  const k = kept(10);
  await assert.rejects(k.read("a", "a", async () => { throw new Error("broken"); }), /broken/);
  assert.equal(await k.read("a", "a", async () => "1"), "1");
  const stop = new AbortController();
  const wait = (signal) => new Promise((resolve, reject) => {
    setTimeout(resolve, 5, "2");
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
  const mine = k.read("b", "b", () => wait(stop.signal), stop.signal), other = k.read("b", "b", () => wait());
  stop.abort();
  await assert.rejects(mine, { name: "AbortError" });
  assert.equal(await other, "2");
});

test("an animation that goes round keeps the frames that it needs first", async () => {
  const f = { first: 0, last: 9, step: 1, loop: true }, k = kept(60);
  let n = 0, reads = 0;
  k.due = (i) => frames.distance(f, n, i);
  for (let round = 0; round < 3; round++) {
    for (n = 0; n < 10; n++) await k.read(String(n), n, async () => (reads++, "x".repeat(10)));
    assert.ok(k.used <= 60);
  }
  assert.ok(reads <= 10 + 2 * 5, `${reads} reads of 30`);
});
