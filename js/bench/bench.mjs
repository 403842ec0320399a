// Sizes and speed of the package beside zarrita with blosc, on the same data, as the tables of docs/javascript.md. Times are
// those of the processor, of one thread, the least of three, so that other work on the machine counts little; only the last
// column is by the clock.
//
//   node js/bench/bench.mjs CDFZ [FILE.nc…]
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import * as zarr from "zarrita";
import { compile } from "../src/decoder.js";
import { inflateRaw } from "../src/inflate.js";
import wasm from "../src/lorenz_wasm.js";
import { open } from "../src/node.js";

const ferret = "/usr/share/ferret-vis/data/"; // Debian's package ferret-datasets
const [cdfz, ...given] = process.argv.slice(2);
const files = given.length > 0 ? given : ["coads_climatology.cdf", "levitus_climatology.cdf", "monthly_navy_winds.cdf", "ocean_atlas_subset.nc"].map((f) => ferret + f);
const presets = ["fast", "default", "portable"];
const dir = mkdtempSync(join(os.tmpdir(), "cdfz-bench-"));
const used = () => process.cpuUsage().user / 1e3; // ms
const size = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((n, f) => n + size(join(path, f)), 0) : statSync(path).size);

// best returns the least time of three runs, by a clock.
async function best(f, clock = used) {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    const start = clock();
    await f();
    least = Math.min(least, clock() - start);
  }
  return least;
}

const start = used();
await compile();
const compiled = used() - start;

const kB = (list) => Math.round(list.reduce((n, b) => n + b.length, 0) / 1000);
const gzipped = (list) => kB(list.map((b) => gzipSync(b, { level: 9 })));
const line = (...cells) => console.log(`| ${cells.join(" | ")} |`);

const src = new URL("../src/", import.meta.url).pathname;
const modules = [...readdirSync(src).filter((f) => f.endsWith(".js") && !/node/.test(f)).map((f) => join(src, f)), join(src, "../vendor/fzstd.js")].map((f) => readFileSync(f));
const decoder = [inflateRaw(new Uint8Array(Buffer.from(wasm, "base64")), 1 << 20, "lorenz.wasm")];
line("", "kB", "gzipped");
line("the decoder as WebAssembly", kB(decoder), gzipped(decoder));
line("all modules, the decoder in base64 included", kB(modules), gzipped(modules));
console.log();

const rows = new Map(); // of each: bytes stored, ms to open, ms of one thread to read, ms of all by the clock, bytes read
const add = (what, ...numbers) => rows.set(what, numbers.map((n, i) => n + (rows.get(what)?.[i] ?? 0)));
try {
  for (const file of files) {
    const name = basename(file);
    for (const preset of presets) {
      const out = join(dir, `${name}.${preset}.cdfz`);
      execFileSync(cdfz, ["archive", "-q", "--preset", preset, "-o", out, file], { stdio: "ignore" });
      const bytes = new Uint8Array(readFileSync(out));
      let n = 0;
      const all = (options) => async () => {
        const a = await open(bytes, { cache: 0, ...options });
        n = 0;
        for (const v of a.variables) if (v.type !== "char") n += (await v.get()).data.byteLength;
      };
      add(`archive, preset \`${preset}\``, bytes.length, await best(() => open(bytes)), await best(all({ workers: false })), await best(all(), () => performance.now()), n);
    }
    const out = join(dir, `${name}.zarr`);
    execFileSync(cdfz, ["export", "-q", file, "-o", out], { stdio: "ignore" });
    const read = new Map();
    const store = { get: async (key) => {
      if (!read.has(key)) read.set(key, existsSync(out + key) ? new Uint8Array(readFileSync(out + key)) : undefined);
      return read.get(key);
    } };
    const begin = async () => zarr.withConsolidatedMetadata(store);
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
    await begin();
    add("Zarr of `cdfz export` (shuffle, zstd in blosc), zarrita 0.7.5", size(out), await best(begin), await best(all), await best(all, () => performance.now()), n);
  }
  line("", "stored", "opening", "MB/s of one core", `MB/s by the clock, ${os.availableParallelism()} cores`);
  for (const [what, [stored, opened, one, clock, bytes]] of rows) {
    line(what, `${(stored / 1e6).toFixed(1)} MB`, `${(opened / files.length).toFixed(1)} ms`, Math.round(bytes / one / 1e3), Math.round(bytes / clock / 1e3));
  }
  console.log(`\n${files.length} files, ${(files.reduce((n, f) => n + size(f), 0) / 1e6).toFixed(1)} MB; the decoder is compiled once, in ${compiled.toFixed(0)} ms; node ${process.version}, load ${os.loadavg()[0].toFixed(1)}`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
