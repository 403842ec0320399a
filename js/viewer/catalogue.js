// The files in a catalogue that cdfz catalogue wrote, a Parquet file. Only its metadata and the dictionaries of its first
// column, the paths, are read.
import { text, u32le, view } from "../src/bytes.js";
import { DamageError, need, UnsupportedError } from "../src/errors.js";
import * as sources from "../src/source.js";
import { decompress } from "../vendor/fzstd.js";

const maxFooter = 32 << 20, maxItems = 2 << 20; // bytes, and values in them
const maxGroups = 1024, maxPage = 32 << 20, maxPages = 256 << 20; // row groups, each a request, and bytes of their paths
const maxFiles = 1 << 20, atOnce = 6;

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
  const groups = footer[4] ?? [], advice = "make several catalogues, such as one for each folder";
  if (groups.length > maxGroups) throw new UnsupportedError(`the catalogue has ${groups.length} row groups, each of which takes a request, and this page reads at most ${maxGroups}: ${advice}`);
  const ranges = groups.map((group) => {
    const chunk = group[1]?.[0]?.[3];
    need(chunk && chunk[11] > 0 && chunk[9] > chunk[11] && chunk[9] - chunk[11] <= maxPage && chunk[9] <= size, "catalogue: expected paths in a dictionary");
    return [chunk[11], chunk[9] - chunk[11]];
  });
  const total = ranges.reduce((n, [, len]) => n + len, 0);
  if (total > maxPages) throw new UnsupportedError(`the paths of the catalogue take ${total} bytes, and this page reads at most ${maxPages}: ${advice}`);
  const out = [];
  let pages = [];
  for (const [i, group] of groups.entries()) {
    if (i % atOnce === 0) pages = await source.read(ranges.slice(i, i + atOnce), signal);
    const page = pages[i % atOnce], codec = group[1][0][3][4];
    const at = { at: 0 };
    const head = thrift(page, at);
    need(head[1] === 2 && head[2] >= 0 && head[2] <= maxPage && head[3] === page.length - at.at, "catalogue: the dictionary of paths is damaged");
    const stored = page.subarray(at.at);
    const bytes = codec === 0 ? stored : unpack(stored, codec, head[2]);
    const values = view(bytes);
    for (let p = 0; p < bytes.length; ) {
      need(p + 4 <= bytes.length && values.getUint32(p, true) <= bytes.length - p - 4, "catalogue: a path is damaged");
      const n = values.getUint32(p, true);
      const path = text(bytes.subarray(p + 4, p + 4 + n));
      if (path !== out.at(-1)) out.push(path); // a file may be in two groups
      p += 4 + n;
      if (out.length > maxFiles) throw new UnsupportedError(`the catalogue has more files than the ${maxFiles} that this page lists: ${advice}`);
    }
  }
  return out;
}

// unpack undoes the compression of a page: cdfz writes Zstandard.
function unpack(b, codec, size) {
  if (codec !== 6) throw new UnsupportedError(`the catalogue has compression ${codec} of Parquet; this page reads none (0) and Zstandard (6)`);
  try {
    return decompress(b, new Uint8Array(size));
  } catch (e) {
    throw new DamageError(`catalogue: zstd: ${e.message}`, { cause: e });
  }
}

// thrift reads a struct of Thrift's compact protocol: members by their numbers, lists as arrays, text as bytes.
function thrift(b, at = { at: 0 }) {
  let items = 0;
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
  const value = (type, depth, listed = false) => {
    need(depth < 32, "catalogue: more than 32 levels");
    if (++items > maxItems) throw new UnsupportedError(`the end of the catalogue has more than ${maxItems} values`);
    switch (type) {
      case 1: case 2: return listed ? byte() === 1 : type === 1;
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
        return Array.from({ length: n }, () => value(head & 15, depth + 1, true));
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
