// The vectors of the format, and the archives that every version has to read.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { outcome, vector } from "./checks.js";
import { bytesOf, files, testdata } from "./helpers.js";

const sha256 = (b) => createHash("sha256").update(b).digest("hex");

for (const kind of ["good", "bad"]) {
  test(`vectors: ${kind}`, async () => {
    const names = readdirSync(`${testdata}vectors/${kind}`);
    assert.ok(names.length > 50);
    for (const name of names) {
      const { want, archive } = vector(bytesOf(`${testdata}vectors/${kind}/${name}`));
      const [got, more] = await outcome(archive, sha256);
      assert.equal(got, want["expect-reader"], `${name}: ${want.comment}: ${more}`);
      if (got === "image") assert.equal(more, want.sha256, name);
    }
  });
}

test("archives of earlier versions", async () => {
  let n = 0;
  for (const version of ["1", "1-contexts", "1-modes"]) {
    const dir = `${testdata}compat/${version}`;
    const sums = new Map(readFileSync(`${dir}/SHA256SUMS`, "utf8").trim().split("\n").map((l) => [l.slice(66), l.slice(0, 64)]));
    for (const file of files(dir, ".cdfz")) {
      const [got, sum] = await outcome(bytesOf(file), sha256).catch((e) => ["error", e.stack]);
      if (got === "refuse" && /is not in this package/.test(sum)) continue; // filters of -F
      assert.equal(got, "image", `${file}: ${sum}`);
      const name = file.split("/").at(-1).replace(/\.cdfz$/, "");
      if (sums.has(name)) assert.equal(sum, sums.get(name), file);
      n++;
    }
  }
  assert.ok(n > 80, `${n} archives`);
});
