// The filters of section 9 that cdfz chooses, and some simple ones of filters.md. They only decode.
import { need, UnsupportedError } from "./errors.js";
import { adler32, crc32, u32le, view } from "./bytes.js";
import { inflate } from "./inflate.js";
import * as lorenz from "./lorenz.js";
import * as zstd from "./zstd.js";

// In each undo(data, params, most, known), known is the length of the output, or undefined if a filter before
// it decides; the output has at most `most` bytes.

function undeflate(b, params, most, known) {
  need(b.length >= 6 && (b[0] & 15) === 8 && b[0] >> 4 <= 7 && ((b[0] << 8) | b[1]) % 31 === 0, "deflate: no zlib stream");
  need((b[1] & 32) === 0, "deflate: a preset dictionary");
  const { bytes, end } = inflate(b, 2, known ?? most, known);
  need(end + 4 === b.length, end + 4 > b.length ? "deflate: cut" : "deflate: bytes after the stream");
  need(view(b).getUint32(end) === adler32(bytes), "deflate: wrong Adler-32");
  return bytes;
}

function unshuffle(b, [size]) {
  const n = Math.floor(b.length / size);
  if (size === 1 || n === 0) return b;
  const out = new Uint8Array(b.length);
  for (let j = 0; j < size; j++) {
    const from = j * n;
    for (let i = 0, at = j; i < n; i++, at += size) out[at] = b[from + i];
  }
  out.set(b.subarray(n * size), n * size);
  return out;
}

function unzstd(b, params, most, known) {
  need(b.length >= 6 && u32le(b, 0) === 0xfd2fb528, "zstd: no frame");
  const d = b[4];
  need((d & 0xe0) !== 0, "zstd: a frame without its content size");
  need((d & 7) === 0, "zstd: a frame with a checksum or a dictionary");
  need((d & 8) === 0, "zstd: reserved bit");
  let at = d & 32 ? 5 : 6;
  const width = [d & 32 ? 1 : 0, 2, 4, 8][d >> 6];
  need(at + width <= b.length, "zstd: cut");
  let size = 0;
  for (let i = width - 1; i >= 0; i--) size = size * 256 + b[at + i];
  if (width === 2) size += 256;
  need(known === undefined ? size <= most : size === known, `zstd: expected ${known ?? `at most ${most}`} bytes, found ${size}`);
  at += width;
  // The frame ends where the data does.
  let block = at;
  for (let last = 0; !last; ) {
    need(at + 3 <= b.length, "zstd: cut");
    block = at;
    const h = b[at] | (b[at + 1] << 8) | (b[at + 2] << 16);
    last = h & 1;
    const type = (h >> 1) & 3;
    need(type < 3, "zstd: type of a block");
    need(type === 0 || h >> 3 <= 131072, "zstd: length of a block");
    at += 3 + (type === 1 ? 1 : h >> 3);
  }
  need(at === b.length, at > b.length ? "zstd: cut" : "zstd: bytes after the frame");
  return zstd.decode(b, block, size);
}

function unfletcher(b) {
  need(b.length >= 4, "fletcher32: no checksum");
  const n = b.length - 4;
  let s = 0, t = 0;
  for (let i = 0; i < n; ) {
    for (const end = Math.min(i + 720, n); i < end; i += 2) {
      s += (b[i] << 8) | (i + 1 < n ? b[i + 1] : 0);
      t += s;
    }
    s = (s & 0xffff) + Math.floor(s / 65536);
    t = (t % 65536) + Math.floor(t / 65536);
  }
  const fold = (x) => {
    while (x > 0xffff) x = (x % 65536) + Math.floor(x / 65536);
    return x;
  };
  need(((fold(t) << 16) | fold(s)) >>> 0 === u32le(b, n), "fletcher32: wrong checksum");
  return b.subarray(0, n);
}

// lz4Block decodes one LZ4 block to exactly size bytes.
function lz4Block(b, size) {
  const out = new Uint8Array(size);
  let at = 0, n = 0, lastMatch = -1;
  const more = (x) => {
    for (let c = 255; c === 255; x += c) {
      need(at < b.length, "lz4: cut");
      c = b[at++];
    }
    return x;
  };
  for (;;) {
    need(at < b.length, "lz4: cut");
    const token = b[at++];
    const literals = token >> 4 === 15 ? more(15) : token >> 4;
    need(literals <= b.length - at && literals <= size - n, "lz4: literals");
    out.set(b.subarray(at, at + literals), n);
    at += literals;
    n += literals;
    if (at === b.length) {
      need(n === size && (lastMatch < 0 || (literals >= 5 && lastMatch <= size - 12)), "lz4: end of a block");
      return out;
    }
    need(at + 2 <= b.length, "lz4: cut");
    const back = b[at] | (b[at + 1] << 8);
    at += 2;
    const len = ((token & 15) === 15 ? more(15) : token & 15) + 4;
    need(back > 0 && back <= n && len <= size - n, "lz4: match");
    lastMatch = n;
    for (let i = 0; i < len; i++) out[n + i] = out[n + i - back];
    n += len;
  }
}

function unlz4(b, params, most, known) {
  need(b.length >= 12, "lz4: cut");
  const v = view(b), total = v.getBigUint64(0), block = v.getUint32(8);
  need((known === undefined ? total <= most : total === BigInt(known)) && (block > 0 || total === 0n), "lz4: length");
  const out = new Uint8Array(Number(total));
  let at = 12;
  for (let n = 0; n < out.length; ) {
    const want = Math.min(block, out.length - n);
    need(at + 4 <= b.length, "lz4: cut");
    const len = v.getUint32(at);
    at += 4;
    need(len <= b.length - at, "lz4: cut");
    const part = b.subarray(at, at + len);
    out.set(len === want ? part : lz4Block(part, want), n);
    at += len;
    n += want;
  }
  need(at === b.length, "lz4: bytes after the last block");
  return out;
}

function numcodecsLZ4(b, params, most, known) {
  need(b.length >= 4, "lz4: cut");
  const size = u32le(b, 0);
  need(known === undefined ? size <= most : size === known, "lz4: length");
  return lz4Block(b.subarray(4), size);
}

function undelta(b, [kind, size, order]) {
  need((kind === 1 || kind === 2) && [1, 2, 4, 8].includes(size) && order <= 1, "delta: parameters");
  need(b.length % size === 0, "delta: incomplete elements");
  const out = b.slice(), v = view(out), little = order === 1;
  const [get, set] = { 1: ["getUint8", "setUint8"], 2: ["getUint16", "setUint16"], 4: ["getUint32", "setUint32"], 8: ["getBigUint64", "setBigUint64"] }[size];
  let sum = size === 8 ? 0n : 0;
  for (let i = 0; i < out.length; i += size) {
    sum = size === 8 ? BigInt.asUintN(64, sum + v[get](i, little)) : (sum + v[get](i, little)) >>> 0;
    v[set](i, sum, little);
  }
  return out;
}

const checksum = (name, sum) => (b, [end]) => {
  need(b.length >= 4, `${name}: no checksum`);
  const n = b.length - 4;
  const [at, out] = end === 1 ? [n, b.subarray(0, n)] : [0, b.subarray(4)];
  need(sum(out) === u32le(b, at), `${name}: wrong checksum`);
  return out;
};

const level = (low, high, absent) => (p) => (p.length === 0 && absent) || (p.length === 1 && (p[0] | 0) >= low && (p[0] | 0) <= high);
const none = (p) => p.length === 0;
const location = (p) => p.length === 0 || (p.length === 1 && p[0] <= 1);
const same = (n) => n;

// params checks the parameters; length is that of the stored bytes of n, if it follows from n.
const filters = {
  1: { name: "deflate", params: level(0, 9), undo: undeflate },
  2: { name: "shuffle", params: (p) => p.length === 1 && p[0] >= 1, undo: unshuffle, length: same },
  3: { name: "fletcher32", params: none, undo: unfletcher, length: (n) => n + 4 },
  32004: { name: "lz4", params: (p) => p.length === 0 || (p.length === 1 && p[0] <= 2113929216), undo: unlz4 },
  32015: { name: "zstd", params: level(-131072, 22, true), undo: unzstd },
  52723: { name: "lorenz", params: (p) => lorenz.checkParams(p) >= 0,
    undo: (b, params, most, known) => {
      const size = lorenz.checkParams(params);
      need(known === undefined ? size <= most : size === known, `lorenz: expected ${known ?? `at most ${most}`} bytes, found ${size}`);
      return lorenz.decode(params, b, size);
    } },
  52724: { name: "delta", params: (p) => p.length === 3, undo: undelta, length: same },
  52726: { name: "quantize", params: () => true, undo: same, length: same },
  52727: { name: "bitround", params: () => true, undo: same, length: same },
  52729: { name: "crc32", params: location, undo: checksum("crc32", crc32), length: (n) => n + 4 },
  52730: { name: "adler32", params: location, undo: checksum("adler32", adler32), length: (n) => n + 4 },
  52734: { name: "numcodecs-lz4", params: (p) => p.length <= 1, undo: numcodecsLZ4 },
};

// Names of filters that archives may have and this package does not.
const others = { 4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32008: "bitshuffle", 32013: "zfp", 52725: "fixedscaleoffset",
  52728: "packbits", 52731: "gzip", 52732: "lzma" };

/** filterName returns the name of a filter, or "". */
export const filterName = (id) => filters[id]?.name ?? others[id] ?? "";

/** decode undoes a chain. n is the length of the decoded block. Its checksum was right. */
export async function decode(chain, mask, b, n) {
  need(mask < 2 ** chain.length, "a mask with a bit beyond the chain");
  let length = n;
  const steps = [];
  for (let i = 0; i < chain.length; i++) {
    const { id, params, name } = chain[i];
    need(id <= 65535, `filter ${id}: expected an id of at most 65535`);
    if ((mask >>> i) & 1) continue;
    const f = filters[id];
    if (!f) throw new UnsupportedError(`the filter ${name || others[id] || "without a name"} (${id}) is not in this package: cdfz copy makes an archive with the filters of a preset`);
    need(f.params(params), `filter ${f.name}: parameters`);
    steps.push({ f, params, length });
    length = length === undefined ? undefined : f.length?.(length);
  }
  need(length === undefined || length === b.length, `expected ${length} stored bytes, found ${b.length}`);
  for (const { f, params, length } of steps.reverse()) {
    b = await f.undo(b, params, 2 * n + 65536, length);
    need(length === undefined || b.length === length, `filter ${f.name}: expected ${length} bytes, found ${b.length}`);
    need(b.length <= 2 * n + 65536, `filter ${f.name}: too many bytes`);
  }
  need(b.length === n, `expected ${n} decoded bytes, found ${b.length}`);
  return b;
}
