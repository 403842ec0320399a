// Threads of node: they give the same values, and end with the program. pool.test.js has what they get.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import wt from "node:worker_threads";
import { archives, bytesOf, folder, noise } from "./helpers.js";

const seen = { threads: 0, blocks: 0, modules: 0 };
let fault = null; // called with each thread
wt.Worker = class extends wt.Worker {
  constructor(...all) {
    super(...all);
    seen.threads++;
  }

  postMessage(message, ...more) {
    seen.blocks++;
    seen.modules += message.module !== null;
    super.postMessage(message, ...more);
    fault?.(this);
  }
};
syncBuiltinESMExports();
const { DamageError, open, UnsupportedError } = await import("cdfz");

function made(t) {
  const dir = folder(t);
  writeFileSync(`${dir}/x.nc`, noise(20, 90, 180));
  return archives(`${dir}/made`, [`${dir}/x.nc`], "--preset", "fast", "--block", "64K")[0];
}

test("values and errors are those of one thread", async (t) => {
  const bytes = bytesOf(made(t));
  const [a, b] = await Promise.all([open(bytes), open(bytes, { workers: false })]);
  const v = a.variable("v");
  const before = seen.blocks;
  assert.deepEqual(await v.get(), await b.variable("v").get());
  assert.ok(seen.blocks - before >= a.blocked.get(v.num).count, `${seen.blocks} blocks`);
  assert.equal(seen.modules, seen.threads, "each gets the compiled decoder once");
  const [row] = await a.rows([a.blocked.get(v.num).first]);
  bytes[Number(row.off) + 5] ^= 16;
  await assert.rejects((await open(bytes)).variable("v").get(), DamageError);
});

test("threads that end, or that have no script", async (t) => {
  const bytes = bytesOf(made(t));
  const want = await (await open(bytes, { workers: false })).variable("v").get();
  // The script is missing: one attempt, then this thread.
  for (const workers of ["file:///nothing/worker.js", new URL("file:///nothing/else.js")]) {
    const before = seen.threads;
    assert.deepEqual(await (await open(bytes, { workers, cache: 0 })).variable("v").get(), want);
    const after = seen.threads;
    assert.ok(after > before);
    assert.deepEqual(await (await open(bytes, { workers, cache: 0 })).variable("v").get(), want);
    assert.equal(seen.threads, after, "no further attempt");
  }
  const a = await open(bytes, { cache: 0 });
  await a.variable("v").get();
  fault = (w) => w.terminate();
  await assert.rejects(a.variable("v").get(), (e) => e instanceof UnsupportedError && /a thread stopped/.test(e.message));
  fault = null;
  assert.deepEqual(await a.variable("v").get(), want);
});

test("a program with threads ends", (t) => {
  const file = made(t);
  const script = `import { open } from "cdfz";
    import { readFileSync } from "node:fs";
    const a = await open(readFileSync(${JSON.stringify(file)}));
    console.log((await a.variable("v").get()).data.length);`;
  const out = execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: new URL("..", import.meta.url), encoding: "utf8", timeout: 60000 });
  assert.equal(out, "324000\n");
});
