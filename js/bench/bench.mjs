// Sizes and speed of the package beside zarrita with blosc, on the same data. Times are those of the processor, of one
// thread.
//
//   node bench/bench.mjs CDFZ FILE.nc…
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import * as zarr from "zarrita";
import { open } from "../src/index.js";

const [cdfz, ...files] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), "cdfz-bench-"));
const used = () => process.cpuUsage().user / 1e3; // ms
const size = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((n, f) => n + size(join(path, f)), 0) : statSync(path).size);

// best returns the least time of some runs.
async function best(runs, f) {
  let least = Infinity;
  for (let i = 0; i < runs; i++) {
    const start = used();
    await f();
    least = Math.min(least, used() - start);
  }
  return least;
}

const src = new URL("../src/", import.meta.url).pathname, vendor = new URL("../vendor/", import.meta.url).pathname;
const modules = [...readdirSync(src).filter((f) => f.endsWith(".js")).map((f) => join(src, f)), join(vendor, "fzstd.js")].map((f) => readFileSync(f));
const kB = (n) => (n / 1000).toFixed(1);
console.log(`modules: ${kB(modules.reduce((n, b) => n + b.length, 0))} kB, each gzipped ${kB(modules.reduce((n, b) => n + gzipSync(b, { level: 9 }).length, 0))} kB`);

try {
  const rows = { "archive, default": [0, 0, 0, 0], "archive, portable": [0, 0, 0, 0], "zarrita, blosc with zstd": [0, 0, 0, 0] };
  for (const file of files) {
    const name = basename(file);
    for (const preset of ["default", "portable"]) {
      const out = join(dir, `${name}.${preset}.cdfz`);
      execFileSync(cdfz, ["archive", "-q", "--preset", preset, "-o", out, file], { stdio: "ignore" });
      const bytes = new Uint8Array(readFileSync(out));
      const row = rows[`archive, ${preset}`];
      row[0] += bytes.length;
      row[1] += await best(3, () => open(bytes));
      let n = 0;
      row[3] += await best(3, async () => {
        const a = await open(bytes, { cache: 0 });
        n = 0;
        for (const v of a.variables) if (v.type !== "char") n += (await v.get()).data.byteLength;
      });
      row[2] += n;
    }
    const out = join(dir, `${name}.zarr`);
    execFileSync(cdfz, ["export", "-q", file, "-o", out], { stdio: "ignore" });
    const read = new Map();
    const store = { get: async (key) => {
      if (!read.has(key)) read.set(key, existsSync(out + key) ? new Uint8Array(readFileSync(out + key)) : undefined);
      return read.get(key);
    } };
    const row = rows["zarrita, blosc with zstd"];
    row[0] += size(out);
    const begin = async () => zarr.withConsolidatedMetadata(store);
    await begin();
    row[1] += await best(3, begin);
    let n = 0;
    const all = async () => {
      const s = await begin();
      n = 0;
      for (const { path, kind } of s.contents()) {
        if (kind !== "array") continue;
        const a = await zarr.open.v2(zarr.root(s).resolve(path), { kind: "array" });
        if (a.dtype.startsWith("v2:") || a.shape.includes(0)) continue;
        const got = await zarr.get(a);
        n += got.data?.byteLength ?? 8;
      }
    };
    row[3] += await best(3, all);
    row[2] += n;
  }
  for (const [what, [stored, opened, bytes, ms]] of Object.entries(rows)) {
    console.log(`${what}: ${(stored / 1e6).toFixed(1)} MB, opened in ${(opened / files.length).toFixed(1)} ms, ${(bytes / 1e6).toFixed(1)} MB decoded, ${(bytes / ms / 1e3).toFixed(0)} MB/s`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
