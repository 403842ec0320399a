// Reads damaged archives and compares the outcomes with those of Go, which archive/javascript_judge_test.go has
// written: outcome, SHA-256 of the image, and the archive, of each.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { DamageError, open, store, UnsupportedError } from "../src/index.js";

const b = readFileSync(process.argv[2]);
const most = 384 << 20; // bytes of memory of the process
let at = 0, n = 0, wrong = 0;
const take = (k) => b.subarray(at, (at += k));
const start = process.memoryUsage().rss;
const counts = {};

async function outcome(ar, want) {
  try {
    const a = await open(ar, { cache: 1 << 20 });
    store(a);
    for (const v of a.variables.slice(0, 20)) {
      if (v.shape.some((n) => n === 0 || typeof n === "bigint")) continue;
      await v.get(v.shape.map(() => 0)).catch((e) => {
        if (!(e instanceof DamageError || e instanceof UnsupportedError)) throw e;
      });
    }
    if (want === "open") return ["open"];
    const sum = createHash("sha256").update(await a.image(0, a.size)).digest("hex");
    return [sum === a.sha256 ? "image" : "damage", sum];
  } catch (e) {
    if (e instanceof DamageError) return ["damage", e.message];
    if (e instanceof UnsupportedError) return ["refuse", e.message];
    return ["error", e.stack];
  }
}

while (at < b.length) {
  const want = take(take(1)[0]).toString();
  const sum = take(32).toString("hex");
  const ar = new Uint8Array(take(take(4).readUInt32LE()));
  const [got, more] = await outcome(ar, want);
  counts[got] = (counts[got] ?? 0) + 1;
  // Within codec and unknown members, readers may look for members that occur twice: section 5.1.
  const twice = got === "damage" && /occurs twice/.test(more);
  const same = twice || (want === "row of block 0" ? got === "image" || got === "damage" : got === want && (got !== "image" || more === sum));
  if (!same) {
    console.log(`archive ${n}: expected ${want}, found ${got}: ${more}`);
    wrong++;
  }
  n++;
  globalThis.gc(); // what one archive takes counts, and not when V8 collects
}
// Not maxRSS of getrusage, which begins with the memory of the process that started this one.
const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
const used = peak - start;
console.log(`node: ${JSON.stringify(counts)}, ${Math.round(used / 2 ** 20)} MiB more than before`);
if (wrong > 0 || n === 0 || used > most) process.exit(1);
