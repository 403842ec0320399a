// The memory of WebAssembly, which never shrinks: the decoder that a long block made large is given up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DamageError, Lorenz } from "../src/index.js";

test("a decoder that has grown is replaced, also after a damaged block", async (t) => {
  const { instantiate } = WebAssembly;
  t.after(() => { WebAssembly.instantiate = instantiate; });
  const made = [];
  WebAssembly.instantiate = async (...all) => {
    const x = await instantiate(...all);
    made.push(x.exports.memory);
    return x;
  };
  const decode = (n) => assert.rejects(Lorenz.fromConfig({ type: 5, shape: [n] }).decode(new Uint8Array(100).fill(255)), DamageError);
  for (let i = 0; i < 3; i++) await decode(1000);
  assert.equal(made.length, 1, "small blocks share one");
  await decode(16 << 20);
  assert.equal(made.length, 1);
  assert.ok(made[0].buffer.byteLength > 32 << 20 && made[0].buffer.byteLength < 512 << 20, `${made[0].buffer.byteLength} bytes`);
  for (let i = 0; i < 3; i++) await decode(1000);
  assert.equal(made.length, 2);
  assert.ok(made[1].buffer.byteLength < 8 << 20, `${made[1].buffer.byteLength} bytes`);
});
