// Deflate (RFC 1951). The DecompressionStream of browsers and node does not tell whether bytes follow the stream,
// which the format does not allow, cannot be bounded and is asynchronous, so this is written out.
import { need } from "./errors.js";

const bits = 10; // of the first table

// tables returns a decoding table: for each possible next bits, symbol << 4 | length. Codes longer than
// the table are found by comparing, from sorted symbols.
function tables(lengths, what, incomplete) {
  const count = new Uint16Array(16);
  for (const n of lengths) count[n]++;
  count[0] = 0;
  let left = 1;
  for (let n = 1; n < 16; n++) {
    left = (left << 1) - count[n];
    need(left >= 0, `deflate: ${what}: too many codes`);
  }
  const used = count.reduce((a, b) => a + b, 0);
  need(left === 0 || incomplete && used <= 1, `deflate: ${what}: codes are missing`);
  const next = new Uint16Array(16), first = new Uint16Array(16), index = new Uint16Array(17);
  for (let n = 1, code = 0; n < 16; n++) {
    code = (code + count[n - 1]) << 1;
    next[n] = first[n] = code;
    index[n + 1] = index[n] + count[n];
  }
  const sorted = new Uint16Array(used);
  const fast = new Uint16Array(1 << bits);
  const place = index.slice();
  for (let s = 0; s < lengths.length; s++) {
    const n = lengths[s];
    if (n === 0) continue;
    sorted[place[n]++] = s;
    const code = next[n]++;
    if (n > bits) continue;
    let r = 0;
    for (let k = 0; k < n; k++) r |= ((code >> k) & 1) << (n - 1 - k);
    for (; r < 1 << bits; r += 1 << n) fast[r] = (s << 4) | n;
  }
  return { fast, sorted, first, index, count };
}

const base = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const extra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const far = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const farExtra = far.map((_, i) => Math.max(0, (i >> 1) - 1));
const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
let fixed;

/**
 * inflate decodes the stream that begins at byte from. Its output has at most `most` bytes; known is its length, if
 * that is known. It returns the output and the place after the stream.
 */
export function inflate(b, from, most, known) {
  let out = new Uint8Array(known ?? Math.min(most, Math.max(1024, 4 * b.length)));
  let at = from, hold = 0, have = 0, n = 0;
  const room = (more) => {
    need(n + more <= most, `deflate: more than ${most} bytes`);
    if (n + more <= out.length) return;
    const wider = new Uint8Array(Math.min(most, Math.max(2 * out.length, n + more)));
    wider.set(out);
    out = wider;
  };
  const need32 = (k) => {
    // At least k bits, at most 32. Beyond the end there are zeros, which are counted.
    while (have < k) {
      hold |= (at < b.length ? b[at] : 0) << have;
      at++;
      have += 8;
    }
  };
  const take = (k) => {
    if (k === 0) return 0;
    need32(k);
    const x = hold & ((1 << k) - 1);
    hold >>>= k;
    have -= k;
    need(at - (have >> 3) <= b.length, "deflate: cut");
    return x;
  };
  const symbol = (t) => {
    need32(15);
    const e = t.fast[hold & ((1 << bits) - 1)];
    if (e !== 0) {
      hold >>>= e & 15;
      have -= e & 15;
      return e >> 4;
    }
    let code = 0;
    for (let k = 1; k < 16; k++) {
      code = (code << 1) | ((hold >> (k - 1)) & 1);
      const i = code - t.first[k];
      if (i >= 0 && i < t.count[k]) {
        hold >>>= k;
        have -= k;
        return t.sorted[t.index[k] + i];
      }
    }
    need(false, "deflate: an unused code");
  };
  for (let last = 0; !last; ) {
    last = take(1);
    const type = take(2);
    need(type < 3, "deflate: type of a block");
    if (type === 0) {
      at -= have >> 3;
      hold = have = 0;
      need(at + 4 <= b.length, "deflate: cut");
      const len = b[at] | (b[at + 1] << 8);
      need(len === (~(b[at + 2] | (b[at + 3] << 8)) & 0xffff), "deflate: length of a block");
      at += 4;
      need(at + len <= b.length, "deflate: cut");
      room(len);
      out.set(b.subarray(at, at + len), n);
      at += len;
      n += len;
      continue;
    }
    let literals, distances;
    if (type === 1) {
      fixed ??= [tables(Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)), "fixed"), tables(new Uint8Array(32).fill(5), "fixed")];
      [literals, distances] = fixed;
    } else {
      const nl = take(5) + 257, nd = take(5) + 1, nc = take(4) + 4;
      need(nl <= 286 && nd <= 30, "deflate: number of codes");
      const lengths = new Uint8Array(19);
      for (let i = 0; i < nc; i++) lengths[order[i]] = take(3);
      const codes = tables(lengths, "code lengths");
      const all = new Uint8Array(nl + nd);
      for (let i = 0; i < nl + nd; ) {
        const s = symbol(codes);
        if (s < 16) {
          all[i++] = s;
          continue;
        }
        need(s > 16 || i > 0, "deflate: nothing to repeat");
        const x = s === 16 ? all[i - 1] : 0;
        const times = s === 16 ? 3 + take(2) : s === 17 ? 3 + take(3) : 11 + take(7);
        need(i + times <= nl + nd, "deflate: too many lengths");
        all.fill(x, i, (i += times));
      }
      need(all[256] !== 0, "deflate: no code for the end");
      literals = tables(all.subarray(0, nl), "literals", true);
      distances = tables(all.subarray(nl), "distances", true);
    }
    for (;;) {
      const s = symbol(literals);
      if (s < 256) {
        if (n >= out.length) room(1);
        out[n++] = s;
        continue;
      }
      if (s === 256) break;
      need(s < 286, "deflate: length");
      const len = base[s - 257] + take(extra[s - 257]);
      const d = symbol(distances);
      need(d < 30, "deflate: distance");
      const back = far[d] + take(farExtra[d]);
      need(back <= n, "deflate: distance");
      if (n + len > out.length) room(len);
      if (back >= len) out.copyWithin(n, n - back, n - back + len);
      else for (let i = 0; i < len; i++) out[n + i] = out[n + i - back];
      n += len;
    }
    need(at - (have >> 3) <= b.length, "deflate: cut");
  }
  return { bytes: out.subarray(0, n), end: at - (have >> 3) };
}

/** inflateRaw decodes one stream that fills the bytes. */
export function inflateRaw(b, most, what) {
  const { bytes, end } = inflate(b, 0, most);
  need(end === b.length, `${what}: bytes after the deflate stream`);
  return bytes;
}
