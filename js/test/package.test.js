// What the package weighs and contains, as npm packs it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import wasm from "../src/lorenz_wasm.js";
import { inflateRaw } from "../src/inflate.js";
import { folder, testdata } from "./helpers.js";

const root = new URL("../", import.meta.url);

test("the decoder has at most 55 kB, gzipped", () => {
  const module = inflateRaw(new Uint8Array(Buffer.from(wasm, "base64")), 1 << 20, "lorenz.wasm");
  const n = gzipSync(module, { level: 9 }).length;
  assert.ok(n <= 55000, `${n} bytes`);
});

test("the package has what its users need, and nothing else", () => {
  const [{ files, size }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--silent"], { cwd: root, encoding: "utf8" }));
  const names = files.map((f) => f.path);
  for (const name of names) assert.match(name, /^(src\/[a-z_]+\.(js|d\.ts)|vendor\/fzstd(\.js|-license\.txt)|LICENSE|README\.md|package\.json)$/);
  for (const name of ["package.json", "README.md", "vendor/fzstd.js", "vendor/fzstd-license.txt"]) assert.ok(names.includes(name), name);
  assert.ok(size <= 110000, `${size} bytes`);
  // All that is imported and exported is in it.
  const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const wanted = Object.values(exports).flatMap((e) => (typeof e === "string" ? [e] : Object.values(e))).map((f) => f.slice(2));
  for (const name of names.filter((f) => f.startsWith("src/") && f.endsWith(".js"))) {
    for (const [, from] of readFileSync(new URL(name, root), "utf8").matchAll(/(?:from |new URL\()"(\.[^"]+)"/g)) wanted.push(new URL(from, new URL(name, "file:///")).pathname.slice(1));
  }
  assert.ok(wanted.length > 30);
  for (const name of wanted) assert.ok(names.includes(name), name);
});

test("the first example of README.md works with nothing but the package", (t) => {
  const dir = folder(t);
  const [{ filename }] = JSON.parse(execFileSync("npm", ["pack", "--json", "--silent", "--pack-destination", dir], { cwd: root, encoding: "utf8" }));
  mkdirSync(`${dir}/node_modules/cdfz`, { recursive: true });
  execFileSync("tar", ["xzf", `${dir}/${filename}`, "-C", `${dir}/node_modules/cdfz`, "--strip-components=1"]);
  writeFileSync(`${dir}/show.mjs`, /```js\n(.*?)```/s.exec(readFileSync(`${dir}/node_modules/cdfz/README.md`, "utf8"))[1]);
  const out = execFileSync(process.execPath, ["show.mjs", `${testdata}compat/1/cdf1_climate_small.nc.cdfz`], { cwd: dir, encoding: "utf8" });
  assert.match(out, /^float \w+\(time,\w+,\w+\) of \d+,\d+,\d+ in .+: -?[\d.]+,/m);
});

test("what browsers get has no module of node", () => {
  const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const left = Object.values(exports).map((e) => e.default).filter(Boolean).map((f) => new URL(f, root).href), seen = new Set();
  for (let name; (name = left.pop()); ) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const [, from] of readFileSync(new URL(name), "utf8").matchAll(/(?:^import (?:.* from )?|^export .* from |import\(|new URL\()"([^"]+)"/gm)) {
      assert.match(from, /^\.|^zarrita$/, name);
      if (from[0] === ".") left.push(new URL(from, name).href);
    }
  }
  assert.ok(seen.has(new URL("src/worker.js", root).href) && seen.size > 18, `${seen.size} modules`);
  // Workers get the decoder from their page, and load no second one.
  const reach = (name, out = new Set()) => {
    if (!out.has(name)) {
      out.add(name);
      for (const [, from] of readFileSync(new URL(name), "utf8").matchAll(/^import .*?"(\.[^"]+)"/gm)) reach(new URL(from, name).href, out);
    }
    return out;
  };
  assert.ok(![...reach(new URL("src/worker.js", root).href)].some((f) => /lorenz_wasm/.test(f)));
});
