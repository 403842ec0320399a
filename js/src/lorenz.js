// The decoder of lorenz, c/lorenz.c as WebAssembly (LORENZ.md).
import { DamageError, UnsupportedError } from "./errors.js";

let compiled = null;

/** provide takes a function that returns a promise of the decoder's WebAssembly.Module: that of decoder.js, or what another thread has compiled. */
export function provide(f) {
  compiled = f;
}

const sizes = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];

/** checkParams checks the list of section 1 of LORENZ.md and returns the bytes of the block. */
export function checkParams(list) {
  const wrong = (what) => {
    throw new DamageError(`lorenz: ${what}`);
  };
  const [version, type, order, rank] = list;
  if (list.length < 4 || version !== 1 || !(type >= 1 && type <= 11) || order > 1 || list.length < 4 + rank || list.length > 5 + rank) wrong("parameters");
  if (list.length === 5 + rank && ((list[4 + rank] & 3) > 2 || list[4 + rank] > 6)) wrong("effort");
  let n = sizes[type];
  const dims = list.slice(4, 4 + rank);
  if (!dims.every((d) => Number.isInteger(d) && d >= 0 && d <= 2 ** 30)) wrong("a dimension");
  if (dims.includes(0)) return 0;
  for (const d of dims) {
    n *= d;
    if (n > 2 ** 30) wrong("a block of more than 2^30 bytes");
  }
  return n;
}

// An instance keeps its memory, which never shrinks: after a large block it is given up for another one.
let instance = null;
const keep = 32 << 20; // bytes of memory

const causes = ["", "parameters", "the block violates the format", "range", "destination", "scratch memory", "rounding"];

/** decode decodes a block whose parameters checkParams has accepted to size bytes. */
export async function decode(list, block, size) {
  const module = await compiled();
  if (instance === null) {
    const made = await WebAssembly.instantiate(module, {}); // another call may have made one meanwhile
    instance ??= made;
  }
  const x = instance.exports;
  const up = (n) => 16 * Math.ceil(n / 16);
  const base = up(x.__heap_base.value);
  const at = { params: base, list: base + 64 };
  at.block = up(at.list + 4 * list.length);
  at.out = up(at.block + block.length);
  at.scratch = up(at.out + size);
  const grow = (end) => {
    const more = Math.ceil((end - x.memory.buffer.byteLength) / 65536);
    if (more <= 0) return;
    try {
      x.memory.grow(more);
    } catch {
      throw new UnsupportedError(`lorenz: the browser gave no ${end} bytes of memory for a block of ${size} bytes`);
    }
  };
  grow(at.scratch);
  new Uint32Array(x.memory.buffer, at.list, list.length).set(list);
  let status = x.lorenz_parse(at.params, at.list, list.length);
  if (status === 0) {
    const scratch = x.lorenz_scratch_size(at.params) >>> 0;
    if (scratch > 2 ** 31) throw new UnsupportedError(`lorenz: a block of ${size} bytes needs ${scratch} bytes of memory`);
    grow(at.scratch + scratch);
    const memory = new Uint8Array(x.memory.buffer);
    memory.set(block, at.block);
    status = x.lorenz_decode(at.params, at.block, block.length, at.out, size, at.scratch, scratch);
  }
  if (x.memory.buffer.byteLength > keep && instance?.exports === x) instance = null;
  if (status !== 0) throw new DamageError(`lorenz: ${causes[status] ?? status}`);
  return new Uint8Array(x.memory.buffer, at.out, size).slice();
}
