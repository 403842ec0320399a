// One frame of Zstandard, by fzstd 0.1.1, which is in vendor as it was published.
import { DamageError, need } from "./errors.js";
import { decompress } from "../vendor/fzstd.js";

// Output is what fzstd writes to. It notes where the last block that is stored unchanged ends, and spares comparisons
// that would write all bytes as text.
class Output extends Uint8Array {
  static get [Symbol.species]() {
    return Uint8Array;
  }

  end = -1;

  set(from, at = 0) {
    this.end = at + from.length;
    super.set(from, at);
  }

  valueOf() {
    return NaN;
  }
}

/**
 * decode decodes a frame to size bytes, which its header says, too. last is the place of the header of its last block.
 * fzstd does not tell how many bytes a frame has, so an empty block that is stored unchanged is put at its end.
 */
export function decode(b, last, size) {
  const longer = new Uint8Array(b.length + 3);
  longer.set(b);
  longer[last] &= 0xfe;
  longer[b.length] = 1;
  const out = new Output(size);
  try {
    decompress(longer, out);
  } catch (e) {
    throw new DamageError(`zstd: ${e.message}`, { cause: e });
  }
  need(out.end === size, `zstd: expected ${size} bytes, found ${out.end}`);
  return new Uint8Array(out.buffer);
}
