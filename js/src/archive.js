// Archives: the container, blocks, and the values of variables (sections 3 to 12).
import { Cache } from "./cache.js";
import { crc32, littleEndian, swapped, text, utf8, view } from "./bytes.js";
import { DamageError, need, UnsupportedError } from "./errors.js";
import { inflateRaw } from "./inflate.js";
import { safe } from "./json.js";
import { arrayType, parse, sizes } from "./netcdf.js";
import { compare, parseManifest, parsePlan } from "./plan.js";
import { run } from "./pool.js";
import { Gather, neededBlocks, resolve } from "./selection.js";
import * as sources from "./source.js";

const lineLength = 109, endLength = 131;
const manifestHead = 49, indexHead = 41; // bytes of the local headers
const pageRows = 256, rowLength = 20, pageLength = 8 + pageRows * rowLength;
const head = ".cdfz/plan.json";

/** open opens an archive: see index.d.ts. */
export async function open(what, options = {}) {
  const a = new Archive(await sources.open(what, options), options);
  await a.start(options.signal);
  return a;
}

// copyPart copies those bytes of b, which begins at start, that out has, which begins at off.
function copyPart(out, off, b, start) {
  const a = Math.max(start, off), e = Math.min(start + b.length, off + out.length);
  if (a < e) out.set(b.subarray(a - start, e - start), a - off);
}

const hex8 = (n) => n.toString(16).padStart(8, "0");

// kindOf tells what a file is that is no archive.
function kindOf(b) {
  const s = String.fromCharCode(...b.subarray(0, 8));
  if (/^CDF[\x01\x02\x05]/.test(s)) return "it is a classic netCDF file, of which cdfz archive makes an archive";
  if (s === "\x89HDF\r\n\x1a\n") return "it is a netCDF-4 (HDF5) file";
  if (s.startsWith("<")) return "it is a page of text";
  return b.length === 0 ? "it is empty" : "";
}

// Ended is what reading is for others who wait for it when the signal of the reader who began it ends it.
class Ended extends Error {}

// begun returns the promise of a read for others, too.
const begun = (promise, signal) => promise.catch((e) => {
  throw signal?.aborted ? new Ended("", { cause: e }) : e;
});

/**
 * shared waits for what another reader may have begun to read: promise, or later held(). If that one ended, begin() reads
 * again, because the signal of another reader is not this one's.
 */
async function shared(promise, held, begin, signal) {
  for (;;) {
    try {
      return await promise;
    } catch (e) {
      if (!(e instanceof Ended)) throw e;
      signal?.throwIfAborted();
      promise = held() ?? begin();
    }
  }
}

/** Archive is an open archive. */
export class Archive {
  constructor(source, { cache = 128 << 20, maxBlock = 64 << 20, workers = true } = {}) {
    this.source = source;
    this.cache = new Cache(cache);
    this.pages = new Cache(8 << 20);
    this.maxBlock = maxBlock;
    this.workers = workers;
  }

  async start(signal) {
    const { source } = this;
    const { size } = source;
    const first = Math.min(size, 65536);
    // The directory and the index grow with the archive, and lie at its end with the manifest.
    const last = Math.min(size, Math.max(65536, Math.min(1 << 19, Math.floor(size / 512))));
    if (size > 0) await source.keep(0, first, signal);
    if (size > first) await source.keep(Math.max(first, size - last), size - Math.max(first, size - last), signal);
    const begin = source.held(0, Math.min(45, size)) ?? new Uint8Array();
    const ours = begin.length === 45 && begin[0] === 80 && begin[1] === 75 && begin[2] === 3 && begin[3] === 4 && utf8(begin.subarray(30)) === head;
    const line = size >= lineLength ? (await source.read([[size - lineLength, lineLength]], signal))[0] : new Uint8Array();
    const words = String.fromCharCode(...line);
    const format = /^cdfz ([1-9][0-9]{0,8}) /.exec(words);
    const sum = hex8(crc32(line.subarray(0, 100)));
    if (format && format[1] !== "1" && words.slice(100) === `${sum}\n`) throw new UnsupportedError(`the archive has format ${format[1]}; this package reads format 1`);
    if (!ours && !words.startsWith("cdfz 1 ")) {
      const kind = kindOf(begin);
      throw new UnsupportedError(`${source.name || "the file"} is not a cdfz archive${kind ? `: ${kind}` : ""}`);
    }
    const m = /^cdfz 1 manifest ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{8}) index ([0-9a-f]{16}) ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{8})\n$/.exec(words);
    need(m && m[7] === sum, "the last line is damaged or missing");
    const big = (s) => BigInt(`0x${s}`);
    const [manifestOff, manifestLen, indexOff, indexLen] = [big(m[1]), big(m[2]), big(m[4]), big(m[5])];
    const indexStart = indexOff + (indexLen >= 2n ** 32n - 1n ? 61n : BigInt(indexHead));
    need(manifestLen <= 65536n && manifestOff + BigInt(manifestHead) + manifestLen === indexOff && indexLen >= 32n &&
      indexStart + indexLen <= BigInt(size - endLength), "the last line has impossible places");
    const end = Number(manifestOff);
    this.index = { off: Number(indexStart), len: Number(indexLen) };
    const [stored, indexHeader] = await source.read([[end + manifestHead, Number(manifestLen)], [this.index.off, 32]], signal);
    need(hex8(crc32(stored)) === m[3], "manifest: wrong checksum");
    const man = (this.manifest = parseManifest(inflateRaw(stored, 65536, "manifest"), end));
    const h = view(indexHeader);
    const rows = h.getBigUint64(8, true);
    need(utf8(indexHeader.subarray(0, 8)) === "cdfzidx\x01" && h.getUint32(16, true) === pageRows && h.getUint32(20, true) === rowLength &&
      h.getUint32(24, true) === 0 && h.getUint32(28, true) === crc32(indexHeader.subarray(0, 28)), "index: header");
    need(indexLen === 32n + 20n * rows + 8n * ((rows + 255n) / 256n), "index: length");
    const [planBytes, headerBytes] = await this.front(man, signal);
    const most = Math.min(65536 + 256 * man.plan.len, 2 ** 22 + size - man.header.len);
    const plan = (this.plan = parsePlan(inflateRaw(planBytes, most, "plan")));
    need(BigInt(man.blocks) === rows && BigInt(plan.blocks) === rows && BigInt(man.size) === BigInt(plan.image.size), "manifest, plan and index differ");
    const chain = plan.chains[plan.rest.head];
    need(hex8(crc32(headerBytes)) === man.header.crc32, "netCDF header: wrong checksum");
    need(plan.rest.first <= 2 ** 21 || man.header.mask === 2 ** chain.length - 1, "a long netCDF header that is not stored unchanged");
    need(headerBytes.length <= 2 * plan.rest.first + 65536, "netCDF header: too many stored bytes");
    this.first = await run(chain, man.header.mask, headerBytes, Number(plan.rest.first), { threads: false });
    this.header = parse(this.first, plan.image.size);
    compare(plan, this.header);
    this.blocked = new Map(plan.vars.map((v) => [v.var, v]));
    this.pooled = new Map(plan.pools.flatMap((p) => p.vars.map((n, i) => [n, [p, p.starts[i]]])));
    this.describe();
  }

  // front returns the stored bytes of plan and header, or their second copies (section 5.3).
  async front(man, signal) {
    const places = [["plan", man.plan], ["header", man.header]];
    const out = await this.source.read(places.map(([, p]) => [p.off, p.len]), signal);
    for (const [i, [name, p]] of places.entries()) {
      if (hex8(crc32(out[i])) === p.crc32) continue;
      if (man.copies) [out[i]] = await this.source.read([[man.copies[name], p.len]], signal);
      need(hex8(crc32(out[i])) === p.crc32, `${name === "plan" ? "plan" : "netCDF header"}: wrong checksum`);
    }
    return out;
  }

  // describe makes the lists that users see.
  describe() {
    const { header, manifest } = this;
    const number = (n) => (n <= Number.MAX_SAFE_INTEGER ? Number(n) : n);
    this.name = manifest.name ?? (manifest.name_hex !== undefined ? text(Uint8Array.from(manifest.name_hex.match(/../g) ?? [], (h) => parseInt(h, 16))) : "");
    this.size = this.plan.image.size;
    this.sha256 = manifest.sha256;
    this.format = `CDF-${header.version}`;
    this.records = number(header.records);
    this.dimensions = header.dims.map((d) => ({ name: d.name, length: number(d.length === 0n ? header.records : d.length), unlimited: d.length === 0n }));
    this.attributes = attributesOf(header.attributes);
    this.rounded = manifest.loss ? manifest.loss.vars.map((v) => v.var) : [];
    this.variables = header.vars.map((h, i) => new Variable(this, h, i));
  }

  /** variable returns the first variable of a name, or undefined. */
  variable(name) {
    return this.variables.find((v) => v.name === name);
  }

  // rows returns the rows of the index of block numbers. A damaged page is an error.
  async rows(numbers, signal) {
    const wanted = [...new Set(numbers.map((n) => Math.floor(n / pageRows)))];
    const load = (list) => {
      const total = this.plan.blocks;
      const read = this.source.read(list.map((p) => [this.index.off + 32 + p * pageLength, 8 + rowLength * Math.min(pageRows, total - p * pageRows)]), signal);
      return list.map((p, i) => this.pages.set(p, begun(read.then((all) => {
        const v = view(all[i]);
        need(v.getUint32(0, true) === crc32(all[i].subarray(4)) && v.getUint32(4, true) === p % 2 ** 32, `index: page ${p}: wrong checksum or number`);
        return all[i].slice();
      }), signal)));
    };
    const promises = new Map(wanted.map((p) => [p, this.pages.get(p)]));
    const missing = wanted.filter((p) => promises.get(p) === undefined);
    if (missing.length > 0) load(missing).forEach((promise, i) => promises.set(missing[i], promise));
    const pages = new Map(await Promise.all(wanted.map(async (p) => [p, await shared(promises.get(p), () => this.pages.get(p), () => load([p])[0], signal)])));
    return numbers.map((n) => {
      const v = view(pages.get(Math.floor(n / pageRows))), at = 8 + rowLength * (n % pageRows);
      const off = v.getBigUint64(at, true);
      return { off, len: v.getUint32(at + 8, true), mask: v.getUint32(at + 12, true), crc: v.getUint32(at + 16, true) };
    });
  }

  /**
   * blocks gives the decoded bytes of blocks to use(block, bytes), in any order. Each is {number, chain, length}, and has
   * what use needs of it.
   */
  async blocks(list, signal, use) {
    const batch = 32 << 20; // stored bytes that are read before any is decoded
    let at = 0;
    while (at < list.length) {
      const ours = [], others = [];
      const from = at;
      for (let bytes = 0; at < list.length && at - from < 4096 && bytes < batch; at++) {
        const one = list[at];
        if (one.length > this.maxBlock) throw new UnsupportedError(`a block of ${one.length} bytes is longer than this package decodes (${this.maxBlock} bytes): cdfz copy --block 256K makes an archive with shorter ones`);
        bytes += one.length / 2;
        const held = this.cache.get(one.number);
        if (held) others.push([one, held]);
        else ours.push(one);
      }
      if (ours.length > 0) others.push(...this.load(ours, signal));
      const settled = await Promise.allSettled(others.map(async ([one, promise]) => {
        use(one, await shared(promise, () => this.cache.get(one.number), () => this.load([one], signal)[0][1], signal));
      }));
      const failed = settled.find((s) => s.status === "rejected");
      if (failed) throw failed.reason;
    }
  }

  // load starts to read and decode blocks, and returns pairs of a block and a promise.
  load(list, signal) {
    const read = (async () => {
      const rows = await this.rows(list.map((b) => b.number), signal);
      const places = rows.map((r, i) => {
        const good = r.off + BigInt(r.len) <= BigInt(this.source.size) && r.len <= 2 * list[i].length + 65536;
        return good ? [Number(r.off), r.len] : null;
      });
      const stored = await this.source.read(places.filter(Boolean), signal);
      let n = 0;
      return rows.map((row, i) => ({ row, stored: places[i] ? stored[n++] : null }));
    })();
    return list.map((one, i) => {
      const promise = begun((async () => {
        const { row, stored } = (await read)[i];
        signal?.throwIfAborted();
        try {
          need(stored !== null, `impossible place in the index`);
          need(crc32(stored) === row.crc, "wrong checksum");
          const b = await run(one.chain, row.mask, stored, one.length, { threads: this.workers, signal });
          return b.length < b.buffer.byteLength ? b.slice() : b; // it may be a part of what was read
        } catch (e) {
          if (e instanceof DamageError) throw new DamageError(`block ${one.number}: ${e.message}`, { cause: e });
          if (e instanceof UnsupportedError) throw new UnsupportedError(`block ${one.number}: ${e.message}`, { cause: e });
          throw e;
        }
      })(), signal);
      this.cache.set(one.number, promise);
      return [one, promise];
    });
  }

  blockOf(v, n) {
    return { number: v.first + n, chain: this.plan.chains[v.chain], length: v.full, n };
  }

  /** cutOf returns where block n of a variable or pool begins in its row-major bytes, and how many it has. */
  static cutOf(v, n) {
    const within = (n % v.per) * v.full;
    return [Math.floor(n / v.per) * v.runs + within, Math.min(v.full, v.runs - within)];
  }

  // Lists of the blocks that have bytes of something, each with put(bytes), which copies what is wanted of it to out.

  // rawBlocks are of the row-major bytes of a variable or pool.
  rawBlocks(v, off, out) {
    const end = off + out.length, list = [];
    const numberAt = (p) => Math.floor(p / v.runs) * v.per + Math.floor((p % v.runs) / v.full);
    for (let n = numberAt(off); out.length > 0 && n <= numberAt(end - 1); n++) {
      const [start, bytes] = Archive.cutOf(v, n);
      list.push({ ...this.blockOf(v, n), put: (b) => copyPart(out, off, b.subarray(0, bytes), start) });
    }
    return list;
  }

  // restBlocks are of the rest. What lies in its beginning, which is always there, is copied at once.
  restBlocks(off, out) {
    const r = this.plan.rest, list = [];
    copyPart(out, off, this.first, 0);
    for (let n = Math.max(0, Math.floor((off - r.first) / r.block)); out.length > 0 && r.first + n * r.block < off + out.length; n++) {
      const start = r.first + n * r.block;
      list.push({ number: r.start + 1 + n, chain: this.plan.chains[r.chain], length: Math.min(r.block, r.len - start), put: (b) => copyPart(out, off, b, start) });
    }
    return list;
  }

  // put reads the blocks of a list and calls their put.
  put(list, signal) {
    return this.blocks(list, signal, (one, b) => one.put(b));
  }

  // raw returns bytes of the row-major bytes of a variable or pool.
  async raw(v, off, len, signal) {
    const out = new Uint8Array(len);
    await this.put(this.rawBlocks(v, off, out), signal);
    return out;
  }

  // rest returns bytes of the rest.
  async rest(off, len, signal) {
    const out = new Uint8Array(len);
    await this.put(this.restBlocks(off, out), signal);
    return out;
  }

  // segments returns all segments with bytes, {off, len, stride, count, v, base}, by their offset.
  segments() {
    this.sorted ??= [
      ...this.plan.vars.map((v) => [v.segment, v, 0]),
      ...this.plan.pools.flatMap((p) => p.vars.map((n, i) => [this.header.vars[n].segment.map(Number), p, p.starts[i]])),
    ].filter(([s]) => s[1] * s[3] > 0).map(([[off, len, stride, count], v, base]) => ({ off, len, stride, count, v, base })).sort((a, b) => a.off - b.off);
    return this.sorted;
  }

  // inRest returns where bytes of the image lie in the rest, or -1 if some belong to a segment.
  inRest(off, len) {
    let before = 0;
    for (const s of this.segments()) {
      if (s.off >= off + len) break;
      const r = s.count > 1 ? Math.min(s.count - 1, Math.max(0, Math.floor((off - s.off) / s.stride))) : 0;
      const start = s.off + r * s.stride;
      if (start < off + len && off < start + s.len) return -1;
      if (s.count > 1 && r + 1 < s.count && start + s.stride < off + len) return -1;
      before += (off >= start + s.len ? r + 1 : r) * s.len;
    }
    return off - before;
  }

  /** image returns bytes of the original netCDF file. */
  async image(off, len, signal) {
    const whole = Number.isSafeInteger(off) && Number.isSafeInteger(len); // texts would be joined, not added
    if (!(whole && off >= 0 && len >= 0 && off + len <= this.size)) throw new RangeError(`expected a range of the ${this.size} bytes of the file, found ${len} from ${off} on`);
    const end = off + len;
    const out = new Uint8Array(len);
    // Runs of segments in the range, and how many bytes of segments lie before it.
    let before = 0;
    const runs = [];
    const parts = [];
    for (const s of this.segments()) {
      const stride = s.count > 1 ? s.stride : Infinity;
      const ahead = off - s.off;
      const r0 = ahead <= 0 ? 0 : s.count > 1 ? Math.min(s.count, Math.floor(ahead / stride)) : 0;
      const inside = ahead > 0 && r0 < s.count ? Math.min(s.len, ahead - (r0 > 0 ? r0 * stride : 0)) : 0;
      before += r0 * s.len + inside;
      let low = Infinity, high = 0;
      for (let r = r0; r < s.count; r++) {
        const start = s.off + (r > 0 ? r * stride : 0);
        if (start >= end) break;
        const a = Math.max(start, off), e = Math.min(start + s.len, end);
        if (a >= e) continue;
        const at = s.base + r * s.len + a - start;
        low = Math.min(low, at);
        high = Math.max(high, at + e - a);
        runs.push({ from: a - off, to: e - off, at, s });
      }
      if (high > 0) parts.push({ s, low, high });
    }
    const bytes = new Map(parts.map(({ s, low, high }) => [s, [low, new Uint8Array(high - low)]]));
    const rest = new Uint8Array(runs.reduce((n, r) => n - (r.to - r.from), len));
    // All at once, because the blocks of records lie between each other.
    await this.put([...parts.flatMap(({ s }) => this.rawBlocks(s.v, ...bytes.get(s))), ...this.restBlocks(off - before, rest)], signal);
    runs.sort((a, b) => a.from - b.from);
    for (const r of runs) {
      const [low, b] = bytes.get(r.s);
      out.set(b.subarray(r.at - low, r.at - low + r.to - r.from), r.from);
    }
    let at = 0, used = 0;
    for (const r of [...runs, { from: len, to: len }]) {
      if (r.from > at) {
        out.set(rest.subarray(used, used + r.from - at), at);
        used += r.from - at;
      }
      at = r.to;
    }
    return out;
  }

  // present returns how many of the row-major bytes of a variable may be in the file: headers may promise any number.
  present(num) {
    const h = this.header.vars[num], room = BigInt(this.size) - h.begin;
    if (this.blocked.has(num) || this.pooled.has(num) || h.bytes === 0n) return Number(h.bytes);
    const n = room <= 0n ? 0n : !h.record ? room : h.each * ((room + this.header.recsize - 1n) / this.header.recsize);
    return Number(n < h.bytes ? n : h.bytes);
  }

  /** bytesOf returns bytes of the row-major bytes of a variable, big-endian. */
  async bytesOf(num, off, len, signal) {
    const v = this.blocked.get(num);
    if (v) return this.raw(v, off, len, signal);
    const pool = this.pooled.get(num);
    if (pool) return this.raw(pool[0], pool[1] + off, len, signal);
    // An unblocked variable: bytes of the image, and zeros beyond its end (section 12).
    const h = this.header.vars[num];
    const out = new Uint8Array(len);
    const each = safe(h.record ? h.each : h.bytes, "bytes of a variable"), begin = Number(h.begin);
    if (each === 0) return out;
    const recsize = h.record ? safe(this.header.recsize, "bytes of a record") : 0;
    const read = async (x, n, at) => {
      const some = Math.min(n, this.size - x);
      if (some > 0) out.set(await this.image(x, some, signal), at);
    };
    if (!h.record || recsize === each) {
      await read(begin + off, len, 0);
      return out;
    }
    // The bytes of each record lie in the rest, mostly: near each other there, and so they are read together.
    const near = 8 << 20;
    let parts = [];
    const flush = async () => {
      if (parts.length === 0) return;
      const from = parts[0].at, last = parts.at(-1);
      const b = await this.rest(from, last.at + last.n - from, signal);
      for (const { at, n, to } of parts) out.set(b.subarray(at - from, at - from + n), to);
      parts = [];
    };
    for (let p = off; p < off + len; ) {
      const within = p % each, n = Math.min(each - within, off + len - p);
      const x = begin + Math.floor(p / each) * recsize + within;
      if (x >= this.size) break;
      const some = Math.min(n, this.size - x);
      const at = some > 0 ? this.inRest(x, some) : -1;
      if (at >= 0) {
        if (parts.length > 0 && (at < parts.at(-1).at || at + some - parts[0].at > near)) await flush();
        parts.push({ at, n: some, to: p - off });
      } else await read(x, n, p - off);
      p += n;
    }
    await flush();
    return out;
  }

  /** close frees the memory for blocks. */
  close() {
    this.cache.clear();
    this.pages.clear();
  }
}

function attributesOf(list) {
  const out = {};
  for (const a of list) {
    if (Object.hasOwn(out, a.name)) continue;
    Object.defineProperty(out, a.name, { enumerable: true, configurable: true, get: () => valueOf(a) });
  }
  return out;
}

/** valueOf returns the value of an attribute: a string, a number or bigint, or a typed array of several. */
export function valueOf(a) {
  if (a.type === "char") {
    let n = a.values.length;
    while (n > 0 && a.values[n - 1] === 0) n--;
    return text(a.values.subarray(0, n));
  }
  const x = native(a.values.slice(), a.type);
  return x.length === 1 ? x[0] : x;
}

/** native turns big-endian bytes, which it may change, into values in the order of the machine. */
export function native(bytes, type) {
  const size = sizes[type];
  if (bytes.byteOffset % size !== 0) bytes = bytes.slice();
  if (littleEndian) swapped(bytes, size);
  return new (arrayType(type))(bytes.buffer, bytes.byteOffset, bytes.length / size);
}

/** Variable is a variable of an archive. */
export class Variable {
  constructor(archive, h, num) {
    this.archive = archive;
    this.num = num;
    this.name = h.name;
    this.type = h.type;
    this.dimensions = h.dims.map((d) => archive.dimensions[d].name);
    this.dims = h.dims;
    this.shape = h.shape.map((n) => (n <= Number.MAX_SAFE_INTEGER ? Number(n) : n));
    this.attributes = attributesOf(h.attributes);
  }

  /** bytes is the number of bytes of all values. */
  get bytes() {
    return Number(this.archive.header.vars[this.num].bytes);
  }

  /** get reads a part: see index.d.ts. */
  async get(selection, { signal } = {}) {
    const shape = this.shape.map((n) => safe(n, "length of a dimension"));
    const sel = resolve(selection, shape, this.dimensions);
    const size = sizes[this.type];
    const g = new Gather(shape, sel, size);
    if (g.length * size > 2 ** 32) throw new RangeError(`expected a part of at most 2^32 bytes, found ${g.length * size}`);
    const out = new Uint8Array(g.length * size);
    const { archive, num } = this;
    const v = archive.blocked.get(num);
    if (v && g.length > 0) {
      const list = neededBlocks(v, sel).map((n) => archive.blockOf(v, n));
      await archive.blocks(list, signal, ({ n }, b) => {
        const [start, bytes] = Archive.cutOf(v, n);
        g.copy(out, b, start / size, (start + bytes) / size);
      });
    } else if (g.length > 0) {
      // Pooled and unblocked variables are short, or their bytes are not compressed apart. They are read in pieces.
      const piece = (16 << 20) / size;
      const low = g.low[0], high = Math.min(g.high[0], Math.ceil(archive.present(num) / size)); // beyond it are zeros
      for (let p = low; p < high; p += piece) {
        const e = Math.min(high, p + piece);
        g.copy(out, await archive.bytesOf(num, p * size, (e - p) * size, signal), p, e);
      }
    }
    return { data: native(out, this.type), shape: sel.shape, dimensions: sel.dims.map((d) => this.dimensions[d]) };
  }
}
