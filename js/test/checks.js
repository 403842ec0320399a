// The checks that node and browsers share.
import { DamageError, open, UnsupportedError } from "../src/index.js";

const check = (ok, message) => {
  if (!ok) throw new Error(message);
};
const same = (got, want, what) => check(JSON.stringify(got) === JSON.stringify(want), `${what}: expected ${JSON.stringify(want)}, found ${JSON.stringify(got)}`);

/** vector takes a file of testdata/vectors apart. */
export function vector(b) {
  let end = 0;
  while (b[end] !== 10 || b[end + 1] !== 10) end++;
  return { want: Object.fromEntries(new TextDecoder().decode(b.subarray(0, end)).split("\n").map((l) => l.split(/: (.*)/))), archive: b.subarray(end + 2) };
}

/** outcome reads an archive whole: "image" and its SHA-256, "damage" or "refuse" and the message. */
export async function outcome(bytes, sha256) {
  try {
    const a = await open(bytes);
    const sum = await sha256(await a.image(0, a.size));
    return sum === a.sha256 ? ["image", sum] : ["damage", ""];
  } catch (e) {
    if (e instanceof DamageError) return ["damage", e.message];
    if (e instanceof UnsupportedError) return ["refuse", e.message];
    throw e;
  }
}

/** npy reads the values of a .npy file as bytes in the order that descr says. */
export function npy(b) {
  const v = new DataView(b.buffer, b.byteOffset);
  const head = new TextDecoder("latin1").decode(b.subarray(10, 10 + v.getUint16(8, true)));
  const [, descr] = /'descr': '([^']*)'/.exec(head);
  const shape = /'shape': \(([^)]*)\)/.exec(head)[1].split(",").filter((s) => s.trim() !== "").map(Number);
  return { descr, shape, bytes: b.subarray(10 + v.getUint16(8, true)) };
}

/** compareValues compares an archive with /api/meta of the program, and all variables with what get(variable) returns as .npy. */
export async function compareValues(a, meta, name, get) {
  let compared = 0;
  same([a.size, a.sha256], [meta.size, meta.archive.sha256], name);
  if (!meta.cut) same(a.variables.map((v) => [v.name, v.type, v.dims, v.shape]), meta.variables.map((v) => [v.name, v.type, v.dims, v.shape]), name);
  for (const v of meta.variables) {
    if (v.size > 16 << 20 || a.variable(v.name).num !== v.num) continue; // a second variable of a name
    const want = npy(await get(v));
    const { data, shape } = await a.variables[v.num].get();
    same(shape, want.shape, `${name} ${v.name}`);
    const bytes = new Uint8Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
    if (want.descr[0] === ">") for (let i = 0, n = data.BYTES_PER_ELEMENT; i < bytes.length; i += n) bytes.subarray(i, i + n).reverse();
    check(bytes.length === want.bytes.length && bytes.every((x, i) => x === want.bytes[i]), `${name} ${v.name}: other values`);
    compared++;
  }
  return compared;
}
