// The files in a catalogue that cdfz catalogue wrote, a Parquet file. Only its metadata and the dictionaries of its first
// column, the paths, are read.
import { text, u32le, view } from "../src/bytes.js";
import { need, UnsupportedError } from "../src/errors.js";
import * as sources from "../src/source.js";
import { decompress } from "../vendor/fzstd.js";

const maxFooter = 64 << 20, maxPage = 32 << 20, maxFiles = 1 << 20;

/** paths returns the paths in the catalogue at an address, each once, in order. */
export async function paths(url, signal) {
  const source = await sources.open(url, { signal });
  const { size } = source;
  const read = async (off, len) => (await source.read([[off, len]], signal))[0];
  if (size < 12 || text(await read(0, 4)) !== "PAR1") throw new UnsupportedError("it is no catalogue of cdfz: expected a Parquet file");
  const end = await read(size - 8, 8), length = u32le(end, 0);
  need(text(end.subarray(4)) === "PAR1" && length <= Math.min(maxFooter, size - 12), "catalogue: the end is damaged");
  const footer = thrift(await read(size - 8 - length, length));
  const keys = (footer[5] ?? []).map((pair) => text(pair[1] ?? new Uint8Array()));
  const first = (footer[2] ?? [])[1];
  if (!keys.includes("cdfz_catalogue") || text(first?.[4] ?? new Uint8Array()) !== "path") throw new UnsupportedError("it is a Parquet file, and no catalogue of cdfz");
  const out = [];
  for (const group of footer[4] ?? []) {
    const chunk = group[1]?.[0]?.[3];
    need(chunk && chunk[11] > 0 && chunk[9] > chunk[11] && chunk[9] - chunk[11] <= maxPage && chunk[9] <= size, "catalogue: expected paths in a dictionary");
    const page = await read(chunk[11], chunk[9] - chunk[11]);
    const at = { at: 0 };
    const head = thrift(page, at);
    need(head[1] === 2 && head[2] >= 0 && head[2] <= maxPage && head[3] === page.length - at.at, "catalogue: the dictionary of paths is damaged");
    const stored = page.subarray(at.at);
    const bytes = chunk[4] === 0 ? stored : decompress(stored, new Uint8Array(head[2]));
    const values = view(bytes);
    for (let p = 0; p < bytes.length; ) {
      need(p + 4 <= bytes.length && values.getUint32(p, true) <= bytes.length - p - 4, "catalogue: a path is damaged");
      const n = values.getUint32(p, true);
      const path = text(bytes.subarray(p + 4, p + 4 + n));
      if (path !== out.at(-1)) out.push(path); // a file may be in two groups
      p += 4 + n;
      need(out.length <= maxFiles, `catalogue: more than ${maxFiles} files`);
    }
  }
  return out;
}

// thrift reads a struct of Thrift's compact protocol: members by their numbers, lists as arrays, text as bytes.
function thrift(b, at = { at: 0 }) {
  const byte = () => {
    need(at.at < b.length, "catalogue: cut");
    return b[at.at++];
  };
  const varint = () => {
    let x = 0, scale = 1;
    for (let c = 128; c & 128; scale *= 128) {
      c = byte();
      need(scale < 2 ** 63, "catalogue: a number is too long");
      x += (c & 127) * scale;
    }
    return x;
  };
  const zigzag = () => {
    const x = varint();
    return x % 2 === 0 ? x / 2 : -(x + 1) / 2;
  };
  const value = (type, depth) => {
    need(depth < 32, "catalogue: more than 32 levels");
    switch (type) {
      case 1: case 2: return type === 1;
      case 3: return byte();
      case 4: case 5: case 6: return zigzag();
      case 7: return (at.at += 8), null;
      case 8: {
        const n = varint();
        need(n <= b.length - at.at, "catalogue: cut");
        return b.subarray(at.at, (at.at += n));
      }
      case 9: case 10: {
        const head = byte();
        const n = head >> 4 === 15 ? varint() : head >> 4;
        need(n <= b.length - at.at, "catalogue: cut");
        return Array.from({ length: n }, () => ((head & 15) <= 2 ? byte() === 1 : value(head & 15, depth + 1)));
      }
      case 12: return struct(depth + 1);
    }
    return need(false, `catalogue: type ${type}`);
  };
  const struct = (depth) => {
    const out = {};
    for (let id = 0; ; ) {
      const head = byte();
      if (head === 0) return out;
      id = head >> 4 === 0 ? zigzag() : id + (head >> 4);
      out[id] = value(head & 15, depth);
    }
  };
  return struct(0);
}

/** addressOf returns the address of a file in the catalogue at an address. */
export function addressOf(path, url) {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) return path;
  return new URL(path.split("/").map(encodeURIComponent).join("/"), url).href;
}
