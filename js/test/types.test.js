// The types, as a program in TypeScript uses them: in a page by a bundler, and in node.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const root = new URL("../", import.meta.url).pathname;

for (const flags of [["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom"], ["--module", "nodenext", "--lib", "es2022,dom"]]) {
  test(`tsc --strict ${flags.join(" ")}`, () => {
    const tsc = ["node_modules/.bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--types", "", ...flags, "test/program.ts"];
    const said = (() => {
      try {
        return execFileSync(tsc[0], tsc.slice(1), { cwd: root, encoding: "utf8" });
      } catch (e) {
        return `${e.stdout}${e.stderr}` || String(e);
      }
    })();
    assert.equal(said, "");
  });
}
