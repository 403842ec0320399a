// What several tests use.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const testdata = new URL("../../testdata/", import.meta.url).pathname;

/** cdfz is the program, which is the judge. .ci/js names it. */
export const cdfz = process.env.CDFZ ?? new URL("../../bin/cdfz", import.meta.url).pathname;

export const bytesOf = (file) => new Uint8Array(readFileSync(file));

export function folder(t) {
  const dir = mkdtempSync(join(tmpdir(), "cdfz-js-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** archives makes archives of files in a folder and returns their names. */
export function archives(dir, sources, ...flags) {
  execFileSync(cdfz, ["archive", "-q", ...flags, "-o", `${dir}/`, ...sources], { stdio: ["ignore", "ignore", "inherit"] });
  const out = [];
  const walk = (d) => readdirSync(d, { withFileTypes: true }).forEach((e) => (e.isDirectory() ? walk(join(d, e.name)) : e.name.endsWith(".cdfz") && out.push(join(d, e.name))));
  walk(dir);
  return out.sort();
}

/** judge starts cdfz serve for a folder and returns its address. */
export async function judge(t, dir) {
  const child = spawn(cdfz, ["serve", "--listen", "127.0.0.1:0", dir], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const address = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (b) => {
      said += b;
      const m = /serving (http:\S+)/.exec(said);
      if (m) resolve(m[1]);
    });
    child.on("exit", () => reject(new Error(`cdfz serve ended: ${said}`)));
  });
  return address;
}

/**
 * server serves bytes as most hosts do. options: ranges false: it ignores Range; etag: a function; log: a list that gets the
 * ranges; answer: a function that answers before all.
 */
export async function server(t, bytes, { ranges = true, etag = () => '"a"', log = [], answer } = {}) {
  const s = http.createServer((q, r) => {
    log.push(q.headers.range);
    if (answer?.(q, r)) return;
    r.setHeader("ETag", etag(log.length));
    const m = /^bytes=(\d+)-(\d+)$/.exec(q.headers.range ?? "");
    if (!m || !ranges) {
      r.writeHead(200, { "Content-Length": bytes.length });
      r.end(bytes);
      return;
    }
    const [from, to] = [Number(m[1]), Math.min(Number(m[2]), bytes.length - 1)];
    if (from >= bytes.length) {
      r.writeHead(416, { "Content-Range": `bytes */${bytes.length}` });
      r.end();
      return;
    }
    r.writeHead(206, { "Content-Range": `bytes ${from}-${to}/${bytes.length}`, "Content-Length": to - from + 1 });
    r.end(bytes.subarray(from, to + 1));
  });
  await new Promise((resolve) => s.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    s.closeAllConnections();
    s.close();
  });
  return `http://127.0.0.1:${s.address().port}/x.nc.cdfz`;
}

export const files = (dir, ext) => readdirSync(dir).filter((f) => f.endsWith(ext)).map((f) => join(dir, f)).filter((f) => statSync(f).isFile());

/** noise makes a classic netCDF file with a variable v of floats that do not compress, and its coordinates. */
export function noise(...shape) {
  const names = ["t", "y", "x"], parts = [];
  const n = (x) => parts.push(Buffer.from(Uint32Array.of(x).buffer).reverse());
  const name = (s) => (n(s.length), parts.push(Buffer.from(s.padEnd((s.length + 3) & ~3, "\0"))));
  const vars = [...names.map((s, i) => [s, [i]]), ["v", [0, 1, 2]]];
  const head = 4 + 4 + 8 + 3 * 12 + 8 + 8 + 3 * (8 + 4 + 4 + 8 + 12) + (8 + 4 + 12 + 8 + 12);
  parts.push(Buffer.from("CDF\x01"));
  n(0), n(10), n(3);
  shape.forEach((len, i) => (name(names[i]), n(len)));
  n(0), n(0), n(11), n(4);
  let at = head;
  for (const [s, dims] of vars) {
    const bytes = 4 * dims.reduce((x, d) => x * shape[d], 1);
    name(s), n(dims.length), dims.forEach(n), n(0), n(0), n(5), n(bytes), n(at);
    at += bytes;
  }
  const data = new DataView(new ArrayBuffer(at - head));
  let seed = 1, off = 0;
  for (const len of shape) for (let i = 0; i < len; i++, off += 4) data.setFloat32(off, i);
  for (; off < data.byteLength; off += 4) data.setFloat32(off, (seed = (seed * 48271) % 2147483647) / 1e6);
  return Buffer.concat([...parts, Buffer.from(data.buffer)]);
}

/**
 * classic makes a netCDF file of CDF-1, with fixed dimensions {x: 3} and variables {name, type, dims: ["x"], attributes: [[name, type, values]],
 * values}. Types are numbers of the format, and values are numbers, or text for type 2.
 */
export function classic(dims, vars) {
  const parts = [], names = Object.keys(dims);
  const put = (b) => parts.push(Buffer.concat([b, Buffer.alloc(-b.length & 3)]));
  const n = (x) => put(Buffer.from([x >>> 24, x >>> 16, x >>> 8, x]));
  const name = (s) => (n(Buffer.byteLength(s)), put(Buffer.from(s)));
  const bytes = (type, values) => {
    if (typeof values === "string") return Buffer.from(values, "latin1");
    const out = new DataView(new ArrayBuffer([0, 1, 1, 2, 4, 4, 8][type] * values.length));
    const set = [, "setInt8", "setUint8", "setInt16", "setInt32", "setFloat32", "setFloat64"][type];
    values.forEach((x, i) => out[set](i * (out.byteLength / values.length), x));
    return Buffer.from(out.buffer);
  };
  const data = vars.map((v) => bytes(v.type, v.values));
  const write = (begin) => {
    parts.length = 0;
    put(Buffer.from("CDF\x01"));
    n(0), n(names.length ? 10 : 0), n(names.length);
    names.forEach((s) => (name(s), n(dims[s])));
    n(0), n(0), n(11), n(vars.length);
    vars.forEach((v, i) => {
      name(v.name), n(v.dims.length), v.dims.forEach((d) => n(names.indexOf(d)));
      const all = v.attributes ?? [];
      n(all.length ? 12 : 0), n(all.length);
      for (const [s, type, values] of all) name(s), n(type), n(values.length), put(bytes(type, values));
      n(v.type), n((data[i].length + 3) & ~3), n(begin);
      begin += (data[i].length + 3) & ~3;
    });
    return Buffer.concat(parts);
  };
  write(write(0).length);
  data.forEach(put);
  return Buffer.concat(parts);
}
