// Where the bytes of an archive come from: a URL, a File or Blob, or memory.
import { ChangedError, SourceError } from "./errors.js";

const first = 65536; // bytes of the first request
const gap = 65536; // bytes that are read to save a request
const longest = 16 << 20; // bytes of a request
const atOnce = 6; // requests

/** open returns a source. Its first bytes, and mostly its last ones, are already read. */
export async function open(what, options = {}) {
  if (typeof what === "string" || what instanceof URL) {
    const base = globalThis.document?.baseURI;
    const s = new URLSource(new URL(what, base).href, options);
    await s.begin();
    return s;
  }
  if (typeof Blob !== "undefined" && what instanceof Blob) return new Source(what.size, what.name ?? "", (off, len) => sliced(what, off, len));
  if (what instanceof ArrayBuffer) what = new Uint8Array(what);
  if (what instanceof Uint8Array) {
    const bytes = new Uint8Array(what.buffer, what.byteOffset, what.length); // slice of node's Buffer copies nothing
    return new Source(bytes.length, "", async (off, len) => bytes.subarray(off, off + len));
  }
  throw new TypeError("expected a URL, a File, a Blob, an ArrayBuffer or a Uint8Array");
}

async function sliced(blob, off, len) {
  let b;
  try {
    b = new Uint8Array(await blob.slice(off, off + len).arrayBuffer());
  } catch (e) {
    throw new ChangedError(`${blob.name ?? "the file"} cannot be read any more, perhaps because it has changed: ${e.message}`, { cause: e });
  }
  if (b.length !== len) throw new ChangedError(`${blob.name ?? "the file"} has changed: expected ${len} bytes, found ${b.length}`);
  return b;
}

/** Source reads ranges of bytes. */
export class Source {
  constructor(size, name, get) {
    this.size = size;
    this.name = name;
    this.get = get;
    this.requests = 0;
    this.bytes = 0; // read
    this.kept = []; // {off, bytes}
  }

  /** keep remembers a range, so that it is not read again. */
  async keep(off, len, signal) {
    if (!this.held(off, len)) this.kept.push({ off, bytes: (await this.read([[off, len]], signal))[0] });
  }

  held(off, len) {
    const k = this.kept.find((k) => k.off <= off && off + len <= k.off + k.bytes.length);
    return k?.bytes.subarray(off - k.off, off - k.off + len);
  }

  /** read returns the bytes of ranges [off, len]. Ranges that are near each other share a request. */
  async read(ranges, signal) {
    signal?.throwIfAborted();
    const out = ranges.map(([off, len]) => this.held(off, len));
    const wanted = ranges.map(([off, len], i) => ({ off, len, i })).filter(({ i }) => out[i] === undefined).sort((a, b) => a.off - b.off);
    const runs = [];
    for (const one of wanted) {
      const run = runs.at(-1);
      const end = one.off + one.len;
      if (run && one.off - run.end <= gap && (end - run.off <= longest || end <= run.end)) {
        run.end = Math.max(run.end, end);
        run.parts.push(one);
      } else runs.push({ off: one.off, end, parts: [one] });
    }
    const stop = new AbortController();
    const all = signal ? AbortSignal.any?.([signal, stop.signal]) ?? signal : stop.signal;
    const next = async () => {
      for (let run; (run = runs.shift()); ) {
        const len = run.end - run.off;
        this.requests++;
        this.bytes += len;
        const b = await this.get(run.off, len, all);
        for (const { off, len, i } of run.parts) out[i] = b.subarray(off - run.off, off - run.off + len);
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(atOnce, runs.length) }, next));
    } catch (e) {
      stop.abort();
      throw e;
    }
    return out;
  }
}

class URLSource extends Source {
  /** options: fetch, headers, signal, and whole: the most bytes of a file that a server without ranges may send whole. */
  constructor(url, { fetch, headers, signal, whole = 16 << 20, credentials }) {
    super(0, shown(url), (off, len, signal) => this.range(off, len, signal));
    this.url = url;
    this.fetch = fetch ?? ((...a) => globalThis.fetch(...a));
    this.headers = headers;
    this.credentials = credentials;
    this.signal = signal;
    this.whole = whole;
  }

  /**
   * request asks for a range and returns the answer, and the bytes of one of status 206. It asks again if the server is busy, or
   * if the answer was cut: a browser that has a part of the range from before gives no more than that if the server is busy.
   */
  async request(off, end, signal) {
    const headers = new Headers(this.headers);
    headers.set("Range", `bytes=${off}-${end - 1}`);
    for (let attempt = 1; ; attempt++) {
      const r = await this.once(headers, signal, attempt === 1 ? undefined : "no-store");
      const last = attempt === attempts;
      if (r.status === 206) {
        const bytes = await this.body(r, end - off, signal, last);
        if (bytes) return { r, bytes };
        continue;
      }
      if (!busy.includes(r.status) || last) return { r };
      const asked = r.headers.get("Retry-After"); // seconds, or a date
      const wait = asked === null ? 50 * 4 ** attempt : 1000 * (/^\d+$/.test(asked) ? Number(asked) : Math.max(0, (Date.parse(asked) - Date.now()) / 1000 || 0));
      if (wait > longestWait) return { r };
      await r.body?.cancel();
      await pause(wait, signal);
    }
  }

  async once(headers, signal, cache) {
    try {
      return await this.fetch(this.url, { headers, signal, credentials: this.credentials, cache });
    } catch (e) {
      if (signal?.aborted || e.name === "AbortError") throw e;
      const elsewhere = globalThis.location && new URL(this.url).origin !== globalThis.location.origin;
      throw new SourceError(`${this.name} could not be read: ${e.message}${e.cause?.message ? ` (${e.cause.message})` : ""}${elsewhere ? `. Either there is no such server, or it does not allow pages of ${globalThis.location.origin} to read it: it has to answer with the headers ${cors}` : ""}`, { cause: e });
    }
  }

  async begin() {
    const { r, bytes } = await this.request(0, first, this.signal);
    this.requests++;
    this.tag = tagOf(r);
    if (r.status === 416) { // an empty file
      await r.body?.cancel();
      this.size = 0;
      return;
    }
    if (r.status === 200) return this.complete(r);
    if (r.status !== 206) throw await this.refused(r);
    const found = r.headers.get("Content-Range");
    const [, end, size] = /^bytes 0-(\d+)\/(\d+)$/.exec(found ?? "") ?? [];
    if (size === undefined) {
      throw new SourceError(found === null
        ? `${this.name}: the server hides the length of the file from this page: it has to answer with the headers ${cors}`
        : `${this.name}: expected a Content-Range of bytes 0-, found ${found}`);
    }
    if (Number(end) + 1 !== Math.min(first, Number(size))) throw new SourceError(`${this.name}: expected ${Math.min(first, Number(size))} bytes, found a Content-Range of ${found}`);
    this.size = Number(size);
    this.kept.push({ off: 0, bytes });
    this.bytes += bytes.length;
  }

  // complete takes the whole file of a server that does not know ranges, if it is short.
  async complete(r) {
    const refuse = (n) => new SourceError(`${this.name}: the server ignores Range and sends the whole file${n ? ` of ${n} bytes` : ""}, more than the option whole allows (${this.whole} bytes). Archives should lie on a server that answers requests of ranges with status 206`);
    const length = Number(r.headers.get("Content-Length") ?? 0);
    if (length > this.whole) {
      await r.body?.cancel();
      throw refuse(length);
    }
    const bytes = await this.collect(r, this.whole, this.signal);
    if (bytes === null) throw refuse();
    this.size = this.bytes = bytes.length;
    this.kept = [{ off: 0, bytes }];
  }

  // collect returns the bytes of an answer, or null if they are more than most.
  async collect(r, most, signal) {
    const parts = [], reader = r.body?.getReader();
    let n = 0;
    try {
      for (let part; reader && !(part = await reader.read()).done; ) {
        n += part.value.length;
        if (n > most) {
          await reader.cancel();
          return null;
        }
        parts.push(part.value);
      }
    } catch (e) {
      if (signal?.aborted || e.name === "AbortError") throw e;
      throw new SourceError(`${this.name}: the connection broke: ${e.message}`, { cause: e });
    }
    if (parts.length === 1) return parts[0];
    const all = new Uint8Array(n);
    n = 0;
    for (const p of parts) {
      all.set(p, n);
      n += p.length;
    }
    return all;
  }

  async range(off, len, signal) {
    const { r, bytes } = await this.request(off, off + len, signal);
    const tag = tagOf(r), found = r.headers.get("Content-Range");
    const total = /\/(\d+)$/.exec(found ?? "")?.[1];
    const was = (name, a, b) => new ChangedError(`${this.name} has changed since it was opened: its ${name} was ${a} and is ${b}. Open it again`);
    if (r.status === 206) {
      if (this.tag && tag && tag !== this.tag) throw was("ETag", this.tag, tag);
      if (total && Number(total) !== this.size) throw was("length", this.size, total);
      if (bytes.length !== len || (found !== null && !found.startsWith(`bytes ${off}-`))) throw new SourceError(`${this.name}: expected ${len} bytes from ${off} on, found ${bytes.length} with the Content-Range ${found}`);
      return bytes;
    }
    if (r.status !== 416 && r.status !== 200) throw await this.refused(r);
    await r.body?.cancel();
    throw r.status === 416 ? was("length", this.size, total ?? "less") : new SourceError(`${this.name}: the server ignored a range, which it had known before`);
  }

  // refused describes a status, with the code and message of stores like S3.
  async refused(r) {
    let more = "";
    const asked = r.headers.get("Retry-After");
    if (busy.includes(r.status) && asked) more = `: the server asks to wait (Retry-After: ${asked})`;
    else {
      const reader = r.body?.getReader();
      const text = new TextDecoder().decode((await reader?.read().catch(() => undefined))?.value ?? new Uint8Array());
      await reader?.cancel().catch(() => {});
      const [code, message] = ["Code", "Message"].map((name) => new RegExp(`<${name}>([^<]{1,300})</${name}>`).exec(text)?.[1]);
      if (code) more = `: ${code}${message ? `: ${message}` : ""}`;
    }
    return new SourceError(`${`${this.name}: status ${r.status} ${r.statusText}`.trimEnd()}${more}`);
  }

  // body returns the bytes of an answer to a request of len bytes, of which a short file has fewer. It returns null if the answer
  // was cut and may be asked for again.
  async body(r, len, signal, last) {
    const [, from, to] = /^bytes (\d+)-(\d+)\//.exec(r.headers.get("Content-Range") ?? "") ?? [];
    const want = from === undefined ? len : Math.min(len, Number(to) - Number(from) + 1);
    let b;
    try {
      b = await this.collect(r, want, signal);
    } catch (e) {
      if (!last && e instanceof SourceError) return null;
      throw e;
    }
    if (b?.length === want || from === undefined) return b ?? new Uint8Array();
    const encoding = r.headers.get("Content-Encoding");
    if (b !== null && !encoding && !last) return null;
    throw new SourceError(`${this.name}: expected ${want} bytes, found ${b?.length ?? "more"}${encoding ? `: the server must not compress archives (Content-Encoding: ${encoding})` : ""}`);
  }
}

// shown is a URL in messages, without passwords and the query, which may have a signature.
function shown(url) {
  const u = new URL(url);
  u.username = u.password = u.hash = u.search = "";
  return u.href;
}

const busy = [429, 500, 502, 503, 504]; // statuses after which a request may succeed
const attempts = 4, longestWait = 10000; // ms

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

const cors = "Access-Control-Allow-Origin: * (or the page's origin) and Access-Control-Expose-Headers: Content-Range, ETag";

const tagOf = (r) => r.headers.get("ETag") ?? "";
