// Does what serve.c does, with the WebAssembly module that the first argument names.
import fs from "node:fs";

const module = await WebAssembly.instantiate(fs.readFileSync(process.argv[2]), {});
const lorenz = module.instance.exports;

function read(count) {
  const b = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    let n = 0;
    try {
      n = fs.readSync(0, b, at, count - at, null);
    } catch (e) {
      if (e.code === "EAGAIN") continue;
      if (e.code !== "EOF") throw e;
    }
    if (n === 0) return null;
    at += n;
  }
  return b;
}

function write(b) {
  for (let at = 0; at < b.length; ) at += fs.writeSync(1, b, at);
}

// Buffers follow each other from the end of the module's own memory on.
let free = 0;
function allocate(size) {
  const at = (free + 15) & ~15;
  free = at + size;
  const missing = free - lorenz.memory.buffer.byteLength;
  if (missing > 0) lorenz.memory.grow(Math.ceil(missing / 65536));
  return at;
}

for (let head; (head = read(4)) !== null; ) {
  free = lorenz.__heap_base.value;
  const count = head.readUInt32LE();
  const params = read(4 * count);
  const range = read(16);
  const block = read(read(4).readUInt32LE());
  const [p, list, src] = [allocate(64), allocate(params.length), allocate(block.length)];
  let memory = new Uint8Array(lorenz.memory.buffer);
  memory.set(params, list);
  memory.set(block, src);
  let status = lorenz.lorenz_parse(p, list, count);
  let out = 0, size = 0;
  const wanted = range.readBigUInt64LE(8);
  if (status === 0 && wanted !== 0xfffffffffffffffen) {
    const whole = wanted === 0xffffffffffffffffn;
    size = lorenz.lorenz_size(p);
    if (!whole) size = Number(wanted) * new DataView(lorenz.memory.buffer).getUint32(p + 8, true);
    const need = lorenz.lorenz_scratch_size(p) >>> 0;
    out = allocate(size);
    const scratch = allocate(need);
    status = whole
      ? lorenz.lorenz_decode(p, src, block.length, out, size, scratch, need)
      : lorenz.lorenz_decode_range(p, src, block.length, range.readBigUInt64LE(0), wanted, out, size, scratch, need);
  }
  if (status !== 0) size = 0;
  const answer = Buffer.alloc(9 + size);
  answer[0] = status;
  answer.writeBigUInt64LE(BigInt(size), 1);
  answer.set(new Uint8Array(lorenz.memory.buffer, out, size), 9);
  write(answer);
}
