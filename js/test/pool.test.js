// What threads get to do, by threads that only note it.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deflateSync } from "node:zlib";
import { UnsupportedError } from "../src/index.js";
import { run, use } from "../src/pool.js";

const chain = [{ id: 1, params: [6] }];
const n = 1 << 20, block = new Uint8Array(deflateSync(new Uint8Array(n).fill(7)));
const answerOf = (k) => new Uint8Array(k); // tells which thread gave it

let threads, address = 0; // each test has a pool of its own
beforeEach(() => {
  threads = [];
  address++;
  use((address, answered, failed) => {
    const thread = { answered, failed, ended: false, posted: [], post: (m) => thread.posted.push(m), end: () => { thread.ended = true; } };
    threads.push(thread);
    return thread;
  }, 3);
});
const give = (length, options = {}) => run(chain, 0, block, length, { threads: `x${address}`, ...options });
const posted = () => threads.map((t) => t.posted.length);
const answer = (i) => threads[i].answered({ bytes: answerOf(i) });

test("as many threads as there may be, and more blocks wait", async () => {
  const all = Array.from({ length: 5 }, () => give(n));
  await setImmediate();
  assert.deepEqual(posted(), [1, 1, 1]);
  answer(2);
  assert.deepEqual(posted(), [1, 1, 2]);
  for (const i of [0, 1, 2, 0]) answer(i);
  assert.deepEqual((await Promise.all(all)).map((b) => b.length), [0, 1, 2, 2, 0]);
  assert.equal(threads.length, 3);
});

test("short blocks, and those that are only shuffled, are not sent", async () => {
  assert.equal((await run(chain, 0, new Uint8Array(deflateSync(new Uint8Array(10))), 10, { threads: `x${address}` })).length, 10);
  assert.equal((await run([{ id: 2, params: [4] }], 0, new Uint8Array(n), n, { threads: `x${address}` })).length, n);
  assert.equal((await give(n, { threads: false })).length, n);
  assert.equal(threads.length, 0);
});

test("threads have at most 64 MiB at once, or one block", async () => {
  const all = [give(40 << 20), give(30 << 20), give(20 << 20), give(100 << 20), give(n)];
  await setImmediate();
  assert.deepEqual(posted(), [1]);
  answer(0);
  assert.deepEqual(posted(), [2, 1]);
  answer(0);
  assert.deepEqual(posted(), [2, 1], "the longest waits for all");
  answer(1);
  assert.deepEqual(posted(), [3, 1]);
  answer(0);
  assert.deepEqual(posted(), [4, 1]);
  answer(0);
  await Promise.all(all);
});

test("a reader that ends takes its blocks out of the queue", async () => {
  const stop = new AbortController(), reason = new Error("enough");
  const theirs = Array.from({ length: 4 }, () => give(n, { signal: stop.signal }).catch((e) => e));
  const other = give(n);
  await setImmediate();
  stop.abort(reason);
  for (const i of [0, 1, 2]) answer(i);
  assert.deepEqual(posted(), [2, 1, 1]);
  answer(0);
  await other;
  assert.deepEqual((await Promise.all(theirs)).map((x) => x === reason), [false, false, false, true]);
});

test("threads that cannot be loaded: this one decodes, and no other is started", async () => {
  const all = Array.from({ length: 5 }, () => give(n));
  await setImmediate();
  for (const t of [...threads]) t.failed({ type: "error" });
  for (const b of await Promise.all(all)) assert.equal(b[n - 1], 7);
  assert.equal((await give(n)).length, n);
  assert.equal(threads.length, 3);
  assert.ok(threads.every((t) => t.ended));
});

test("threads that cannot be started, and messages that cannot be sent", async () => {
  let asked = 0;
  for (const start of [() => { asked++; throw new Error("forbidden"); }, () => ({ post() { asked++; throw new Error("cannot be cloned"); }, end() {} })]) {
    use(start, 2);
    for (let i = 0; i < 3; i++) assert.equal((await give(n, { threads: `${start}` })).length, n);
  }
  assert.equal(asked, 2);
});

test("a thread that stops is replaced", async () => {
  const first = give(n);
  await setImmediate();
  answer(0);
  await first;
  const second = give(n), third = give(n);
  await setImmediate();
  threads[0].failed(new Error("out of memory"));
  threads[0].failed(new Error("it ended")); // also said
  await assert.rejects(second, (e) => e instanceof UnsupportedError && /a thread stopped: out of memory/.test(e.message));
  answer(1);
  assert.equal((await third).length, 1);
  const fourth = Array.from({ length: 3 }, () => give(n));
  await setImmediate();
  assert.deepEqual(posted(), [2, 2, 1, 1]);
  for (const i of [1, 2, 3]) answer(i);
  await Promise.all(fourth);
});
