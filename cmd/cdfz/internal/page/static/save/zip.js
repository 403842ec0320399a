// ZIP files whose entries are stored as they are.

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(b) {
  let c = ~0;
  for (let i = 0; i < b.length; i++) c = table[(c ^ b[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

const most = 0xffffffff, mostEntries = 0xffff; // without ZIP64

/** Zip makes a ZIP file. */
export class Zip {
  constructor() {
    this.parts = [];
    this.directory = [];
    this.size = 0;
  }

  /** add adds a file. Its bytes are kept in a Blob, which a browser may have on disk. */
  add(name, bytes) {
    const encoded = new TextEncoder().encode(name);
    if (this.directory.length === mostEntries || this.size + bytes.length + 2 ** 20 > most) throw new RangeError("a ZIP file of more than 4 GB or 65535 entries");
    // Version 2.0, names in UTF-8, stored, the first day of 1980.
    const common = [[20, 2], [0x800, 2], [0, 2], [0, 2], [33, 2], [crc32(bytes), 4], [bytes.length, 4], [bytes.length, 4], [encoded.length, 2], [0, 2]];
    const local = record([[0x04034b50, 4], ...common]);
    this.directory.push(record([[0x02014b50, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [this.size, 4]]), encoded);
    this.parts.push(new Blob([local, encoded, bytes]));
    this.size += local.length + encoded.length + bytes.length;
  }

  /** finish returns the file as a Blob. */
  finish() {
    const length = this.directory.reduce((n, b) => n + b.length, 0), n = this.directory.length / 2;
    return new Blob([...this.parts, ...this.directory, record([[0x06054b50, 4], [0, 2], [0, 2], [n, 2], [n, 2], [length, 4], [this.size, 4], [0, 2]])], { type: "application/zip" });
  }
}

// record writes numbers of some bytes, little-endian.
function record(fields) {
  const out = [];
  for (const [value, size] of fields) for (let i = 0; i < size; i++) out.push(Math.floor(value / 256 ** i) & 255);
  return Uint8Array.from(out);
}
