// The checks in a browser. The test that serves this page gives list.json: vectors, archives of earlier versions with
// the SHA-256 of their images, archives that the program serves, under program/, and a store of another origin.
import { DamageError, open, UnsupportedError } from "../src/index.js";
import { compareValues, outcome, vector } from "./checks.js";
import { stores } from "./stores.js";

const bytesOf = async (url) => {
  const r = await fetch(url);
  if (!r.ok) throw new Error(`${url}: status ${r.status}`);
  return new Uint8Array(await r.arrayBuffer());
};
const escape = (s) => s.split("/").map(encodeURIComponent).join("/");
const sha256 = async (b) => Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", b)), (x) => x.toString(16).padStart(2, "0")).join("");
const check = (ok, message) => {
  if (!ok) throw new Error(message);
};

let answers = 0; // of workers
globalThis.Worker = class extends Worker {
  constructor(...all) {
    super(...all);
    this.addEventListener("message", () => answers++);
  }
};

const checks = {
  async vectors({ vectors }) {
    for (const name of vectors) {
      const { want, archive } = vector(await bytesOf(`/testdata/vectors/${name}`));
      const [got, more] = await outcome(archive, sha256);
      check(got === want["expect-reader"] && (got !== "image" || more === want.sha256), `${name}: expected ${want["expect-reader"]}, found ${got}: ${more}`);
    }
    return vectors.length;
  },
  async compat({ compat }) {
    let n = 0;
    for (const [name, sum] of Object.entries(compat)) {
      const [got, more] = await outcome(await bytesOf(`/testdata/compat/${name}`), sha256);
      if (got === "refuse" && /is not in this package/.test(more)) continue; // filters of -F
      check(got === "image" && (sum === "" || more === sum), `${name}: ${got} ${more}`);
      n++;
    }
    return n;
  },
  // By ranges of a URL, with workers.
  async values({ archives }) {
    let n = 0;
    const left = [...archives];
    const some = async () => {
      for (let name; (name = left.pop()); ) {
        const a = await open(`/program/files/${escape(name)}.cdfz`);
        const meta = await (await fetch(`/program/api/meta/${escape(name)}`)).json();
        const more = await compareValues(a, meta, name, (v) => bytesOf(`/program/api/get/${escape(name)}?${new URLSearchParams({ select: v.quoted, format: "npy" })}`));
        n += more; // others may have added meanwhile
        a.close();
      }
    };
    await Promise.all([some(), some(), some(), some()]);
    return n;
  },
  // A damaged block is refused by the worker's side, too, and the others are read.
  async damage({ large }) {
    const bytes = await bytesOf(`/program/files/${escape(large)}.cdfz`);
    const a = await open(bytes);
    const v = a.variables.find((v) => a.blocked.get(v.num)?.count > 1);
    const [row] = await a.rows([a.blocked.get(v.num).first]);
    bytes[Number(row.off) + 5] ^= 16;
    const b = await open(new Blob([bytes]));
    const e = await b.variables[v.num].get().catch((e) => e);
    check(e instanceof DamageError && /block \d+: wrong checksum/.test(e.message), `expected damage, found ${e}`);
    const last = v.shape.map((n) => n - 1);
    check(String((await b.variables[v.num].get(last)).data) === String((await a.variables[v.num].get(last)).data), "another value");
    const long = await (await open(bytes, { maxBlock: 16 })).variables[v.num].get().catch((e) => e);
    check(long instanceof UnsupportedError, `expected a refused block, found ${long}`);
    const one = await open(await bytesOf(`/program/files/${escape(large)}.cdfz`), { workers: false });
    const other = await open(`/program/files/${escape(large)}.cdfz`);
    const [x, y] = await Promise.all([one.variables[v.num].get(), other.variables[v.num].get()]);
    check(x.data.every((n, i) => n === y.data[i] || n !== n && y.data[i] !== y.data[i]), "workers decode other values");
    check(answers > 0, "expected blocks decoded in workers");
    return x.data.length;
  },
  stores: ({ store }) => stores(store, sha256),
};

const done = {};
try {
  const list = await (await fetch("/list.json")).json();
  for (const [name, f] of Object.entries(checks)) done[name] = await f(list);
} catch (e) {
  done.error = String(e.stack ?? e);
}
window.done = done;
