// Does what bench.c does, with a WebAssembly module:
//
//	node wasm.mjs MODULE FILE
//
// The memory of the blocks is that of the module, so that nothing is copied out of it.
import fs from "node:fs";

if (process.argv.length !== 4) {
  console.error("usage: node wasm.mjs MODULE FILE");
  process.exit(2);
}
const module = await WebAssembly.instantiate(fs.readFileSync(process.argv[2]), {});
const lorenz = module.instance.exports;
const file = fs.readFileSync(process.argv[3]);

// Buffers follow each other from the end of the module's own memory on.
let free = 0;
function allocate(size) {
  const at = (free + 63) & ~63;
  free = at + size;
  const missing = free - lorenz.memory.buffer.byteLength;
  if (missing > 0) lorenz.memory.grow(Math.ceil(missing / 65536));
  return at;
}

// Decodes the block at a place of the file several times, and returns the place after it.
function block(at, runs, print) {
  free = lorenz.__heap_base.value;
  const count = file.readUInt32LE(at);
  const list = file.subarray(at + 4, at + 4 + 4 * count);
  at += 20 + 4 * count;
  const length = file.readUInt32LE(at);
  const from = file.subarray(at + 4, at + 4 + length);
  const [p, params, src] = [allocate(64), allocate(4 * count), allocate(length)];
  const memory = new Uint8Array(lorenz.memory.buffer);
  memory.set(list, params);
  memory.set(from, src);
  let status = lorenz.lorenz_parse(p, params, count);
  const size = lorenz.lorenz_size(p), need = lorenz.lorenz_scratch_size(p);
  const out = allocate(size), scratch = allocate(need);
  let best = Infinity;
  for (let i = 0; i < runs && status === 0; i++) {
    const start = process.hrtime.bigint();
    status = lorenz.lorenz_decode(p, src, length, out, size, scratch, need);
    best = Math.min(best, Number(process.hrtime.bigint() - start));
  }
  if (status !== 0) throw new Error(`lorenz: status ${status}`);
  if (print) console.log(list.readUInt32LE(4), from[0], size, length, (size / best).toFixed(4));
  return at + 4 + length;
}

// The first round is for the compiler, which makes faster code of what runs often.
for (let at = 0; at < file.length; ) at = block(at, 3, false);
for (let at = 0; at < file.length; ) at = block(at, 15, true);
