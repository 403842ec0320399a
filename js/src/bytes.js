// Numbers, checksums and text in bytes.

const table = (() => {
  // Eight tables, for eight bytes at once.
  const t = Array.from({ length: 8 }, () => new Uint32Array(256));
  for (let i = 0; i < 256; i++) {
    let c = i;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    t[0][i] = c;
  }
  for (let i = 0; i < 256; i++) for (let k = 1; k < 8; k++) t[k][i] = (t[k - 1][i] >>> 8) ^ t[0][t[k - 1][i] & 255];
  return t;
})();

/** crc32 returns the CRC-32 of ZIP. */
export function crc32(b) {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = table;
  let c = -1, i = 0;
  for (const end = b.length - 7; i < end; i += 8) {
    c ^= b[i] | (b[i + 1] << 8) | (b[i + 2] << 16) | (b[i + 3] << 24);
    c = t7[c & 255] ^ t6[(c >>> 8) & 255] ^ t5[(c >>> 16) & 255] ^ t4[c >>> 24] ^ t3[b[i + 4]] ^ t2[b[i + 5]] ^ t1[b[i + 6]] ^ t0[b[i + 7]];
  }
  for (; i < b.length; i++) c = t0[(c ^ b[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** adler32 returns the Adler-32 of RFC 1950. */
export function adler32(b) {
  let s = 1, t = 0;
  for (let i = 0; i < b.length; ) {
    for (const end = Math.min(i + 3800, b.length); i < end; i++) {
      s += b[i];
      t += s;
    }
    s %= 65521;
    t %= 65521;
  }
  return ((t << 16) | s) >>> 0;
}

/** view returns a DataView of bytes. */
export const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength);

/** u32le reads a little-endian number. */
export const u32le = (b, at) => (b[at] | (b[at + 1] << 8) | (b[at + 2] << 16) | (b[at + 3] << 24)) >>> 0;

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** utf8 decodes text that must be UTF-8. It returns null if it is not. */
export function utf8(b) {
  try {
    return strict.decode(b);
  } catch {
    return null;
  }
}

/** text decodes text whose encoding nobody states: UTF-8, or else Latin-1, so that no byte is lost. */
export function text(b) {
  const s = utf8(b);
  if (s !== null) return s;
  let out = "";
  for (let i = 0; i < b.length; i += 8192) out += String.fromCharCode(...b.subarray(i, i + 8192));
  return out;
}

/** utf8Length returns the bytes of a string in UTF-8. */
export const utf8Length = (s) => new TextEncoder().encode(s).length;

/** swapped reverses the bytes of each element of a size, in place. */
export function swapped(b, size) {
  if (size === 1 || b.length === 0) return b;
  if (b.byteOffset % size !== 0) throw new RangeError("expected aligned bytes");
  if (size === 2) {
    const a = new Uint16Array(b.buffer, b.byteOffset, b.length / 2);
    for (let i = 0; i < a.length; i++) a[i] = (a[i] << 8) | (a[i] >>> 8);
    return b;
  }
  const a = new Uint32Array(b.buffer, b.byteOffset, b.length / 4);
  const turn = (x) => (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24);
  if (size === 4) for (let i = 0; i < a.length; i++) a[i] = turn(a[i]);
  else {
    for (let i = 0; i < a.length; i += 2) {
      const x = a[i];
      a[i] = turn(a[i + 1]);
      a[i + 1] = turn(x);
    }
  }
  return b;
}

/** littleEndian is true on all machines that browsers run on today. */
export const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
