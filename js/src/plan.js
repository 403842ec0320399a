// Manifest and plan: sections 5, 7 and 10.
import { need, UnsupportedError } from "./errors.js";
import { digits, levels, list, members, parse, safe, string, uint } from "./json.js";
import { sizes } from "./netcdf.js";

const M31 = 2 ** 31 - 1, M32 = 2 ** 32 - 1;
export const maxBlock = 2 ** 30, maxHeader = 2 ** 28;

/** parseManifest reads the manifest of an archive whose manifest has its local header at end. */
export function parseManifest(bytes, end) {
  const what = "manifest";
  const m = members(parse(bytes, what).value, what, "size sha256 entries blocks stored front plan header", "name name_hex copies parity loss tree");
  need(m.name === undefined || m.name_hex === undefined, "manifest: name and name_hex");
  if (m.name !== undefined) string(m.name, "name", 2 ** 16);
  if (m.name_hex !== undefined) digits(m.name_hex, "name_hex", 0);
  digits(m.sha256, "sha256", 64);
  if (m.tree !== undefined) digits(m.tree, "tree", 32);
  for (const name of ["size", "entries", "blocks", "stored"]) uint(m[name], name);
  if (m.parity !== undefined) uint(m.parity, "parity");
  const place = (name, required, optional) => {
    const p = members(m[name], name, required, optional);
    uint(p.len, `${name}.len`);
    digits(p.crc32, `${name}.crc32`, 8);
    if (p.off !== undefined) uint(p.off, `${name}.off`);
    if (p.mask !== undefined) uint(p.mask, `${name}.mask`, M32);
    p.mask ??= 0;
    return p;
  };
  const front = place("front", "len crc32"), plan = place("plan", "off len crc32"), header = place("header", "off len crc32", "mask");
  need(plan.off === 45 && plan.len <= maxHeader && plan.off + plan.len <= front.len, "manifest: impossible place of the plan");
  need(header.len <= maxHeader && BigInt(header.off) === BigInt(front.len) + (header.mask !== 0 ? 50n : 42n) && header.off + header.len <= end, "manifest: impossible place of the header");
  if (m.copies !== undefined) {
    m.copies = members(m.copies, "copies", "plan header");
    for (const [name, len] of [["plan", plan.len], ["header", header.len]]) {
      const off = uint(m.copies[name], `copies.${name}`);
      need(off >= header.off + header.len && off <= end - len, `manifest: impossible place of the second copy of the ${name}`);
    }
  }
  if (m.loss !== undefined) {
    const loss = members(m.loss, "loss", "source_sha256 vars");
    digits(loss.source_sha256, "source_sha256", 64);
    need(list(loss.vars, "loss.vars").length >= 1 && loss.vars.length <= 4096, "manifest: 1 to 4096 rounded variables");
    let last = -1;
    m.loss = { vars: loss.vars.map((x) => {
      const v = members(x, "loss.vars", "var filter", "params");
      need(uint(v.var, "var", M31) > last, "manifest: order of the rounded variables");
      last = v.var;
      uint(v.filter, "filter", M32);
      if (v.params !== undefined) need(list(v.params, "params").length <= 256, "manifest: more than 256 parameters");
      v.params?.forEach((y) => uint(y, "params", M32));
      return v;
    }) };
  }
  return { ...m, front, plan, header };
}

const known = "format features writer image block chains rest vars groups".split(" ");
const optional = "zarr pools";

/** parsePlan reads and checks the plan, apart from what needs the netCDF header. */
export function parsePlan(bytes) {
  let seen = 0;
  const order = [];
  const { value, codecBytes } = parse(bytes, "plan", (name, x) => {
    if (!known.includes(name) && !optional.split(" ").includes(name)) return;
    if (seen++ === 0) {
      need(name === "format", "plan: format is not the first member");
      uint(x, "format", M31);
      if (x !== 1) throw new UnsupportedError(`the archive has format ${x}; this package reads format 1`);
    } else if (seen === 2) {
      need(name === "features", "plan: features are not the second member");
      need(list(x, "features").length <= 64, "plan: more than 64 features");
      x.forEach((f) => string(f, "feature"));
      if (x.length > 0) throw new UnsupportedError(`the archive needs a feature that this package does not know: ${x.join(", ")}`);
    }
    order.push(name);
  });
  const p = members(value, "plan", known.join(" "), optional);
  need(order.indexOf("vars") < order.indexOf("groups"), "plan: groups before vars");
  need(p.zarr === undefined || p.zarr === "viewed" || p.zarr === "consolidated", "plan: zarr");
  string(p.writer, "writer");
  uint(p.block, "block");
  const image = members(p.image, "image", "size header");
  uint(image.size, "image.size");
  need(uint(image.header, "image.header", maxHeader) <= image.size, "plan: the header is longer than the image");
  let filters = 0, params = 0;
  need(list(p.chains, "chains").length <= 4096, "plan: more than 4096 chains");
  const chains = p.chains.map((c) => {
    need(list(c, "chain").length <= 32, "plan: a chain of more than 32 filters");
    return c.map((x) => {
      const f = members(x, "filter", "id", "params optional name codec");
      uint(f.id, "id", M32);
      f.params ??= [];
      list(f.params, "params").forEach((y) => uint(y, "params", M32));
      filters++;
      params += f.params.length;
      need(f.optional === undefined || typeof f.optional === "boolean", "plan: optional");
      if (f.name !== undefined) string(f.name, "name");
      if (f.codec !== undefined) need(f.codec instanceof Map && levels(f.codec) <= 32 && codecBytes(f.codec) <= 4096, "plan: codec");
      return { id: f.id, params: f.params, name: f.name };
    });
  });
  need(filters <= 4096 && params <= 65536, "plan: too many filters or parameters");

  let blocks = 0n, total = 0n, dims = 0, last = -1;
  // Blocks of a variable or a pool: section 8.1.
  const cut = (v, what) => {
    need(Object.hasOwn(sizes, v.type), `plan: type of ${what}`);
    list(v.shape, "shape").forEach((n) => uint(n, "shape"));
    list(v.block, "block").forEach((n) => uint(n, "block"));
    const r = v.shape.length;
    need(r === v.block.length && r <= 1024, `plan: rank of ${what}`);
    dims += 2 * r;
    const at = (i) => (v.shape[i] > 0 ? v.shape[i] : 1);
    let j = 0;
    for (let i = 0; i < r; i++) {
      need(v.block[i] >= 1 && v.block[i] <= at(i), `plan: block shape of ${what}`);
      if (v.block[i] !== at(i)) j = i;
    }
    for (let i = 0; i < j; i++) need(v.block[i] === 1, `plan: block shape of ${what}`);
    const es = BigInt(sizes[v.type]);
    const product = (list, n = 1n) => list.reduce((a, b) => a * BigInt(b), n);
    const bytes = product(v.shape, es);
    const inner = product(v.shape.slice(j + 1), es);
    const full = inner * BigInt(r > 0 ? v.block[j] : 1);
    need(full <= maxBlock, `plan: a block of ${what} has more than 2^30 bytes`);
    const grid = v.shape.map((n, i) => (BigInt(n) + BigInt(v.block[i]) - 1n) / BigInt(v.block[i]));
    need(uint(v.chain, "chain", M31) < chains.length, `plan: chain of ${what}`);
    v.first = blocks;
    v.count = product(grid);
    blocks += v.count;
    total += bytes;
    Object.assign(v, { bytes, j, inner, full, runs: r > 0 ? inner * BigInt(v.shape[j]) : inner, per: r > 0 ? grid[j] : 1n, grid });
  };
  const vars = list(p.vars, "vars").map((x) => {
    const v = members(x, "vars", "var path type shape block chain segment", "view");
    need(uint(v.var, "var", M31) > last, "plan: order of the variables");
    last = v.var;
    pathAllowed(string(v.path, "path"), v.var);
    const what = `variable ${v.path}`;
    need(v.view === undefined || ["path", "no-codec", "optional", "unaligned"].includes(v.view), `plan: view of ${what}`);
    cut(v, what);
    const s = members(v.segment, "segment", "off len stride count");
    v.segment = [s.off, s.len, s.stride, s.count].map((n) => BigInt(uint(n, "segment")));
    need(v.segment[1] * v.segment[3] === v.bytes, `plan: segment and shape of ${what} differ`);
    return v;
  });
  if (p.pools !== undefined) need(list(p.pools, "pools").length <= 4096, "plan: more than 4096 pools");
  const pools = (p.pools ?? []).map((x) => {
    const v = members(x, "pools", "vars type shape block chain");
    need(list(v.vars, "vars").length > 0, "plan: a pool without variables");
    v.vars.forEach((i) => uint(i, "vars", M31));
    cut(v, "a pool");
    need(v.bytes > 0n, "plan: a pool without a byte");
    return v;
  });
  need(dims <= 2 ** 18 + Math.floor(bytes.length / 16), "plan: too many dimensions");
  const taken = new Uint8Array(vars.length);
  let positions = 0;
  for (const g of list(p.groups, "groups")) {
    need(list(g, "groups").length > 0, "plan: an empty group");
    for (const i of g) {
      need(uint(i, "groups", M31) < vars.length && !taken[i], "plan: groups");
      taken[i] = 1;
      positions++;
    }
  }
  need(positions === vars.length, "plan: a variable without a group");
  const rest = members(p.rest, "rest", "len first block chain", "head");
  uint(rest.len, "rest.len");
  need(uint(rest.first, "rest.first", maxBlock) >= image.header && rest.first <= rest.len && rest.first <= Math.max(2 ** 21, image.header), "plan: rest.first");
  need(uint(rest.block, "rest.block", maxBlock) >= 1, "plan: rest.block");
  rest.head ??= rest.chain;
  need(uint(rest.chain, "rest.chain", M31) < chains.length && uint(rest.head, "rest.head", M31) < chains.length, "plan: chain of the rest");
  need(total + BigInt(rest.len) === BigInt(image.size), "plan: variables and rest are not the image");
  rest.start = blocks;
  rest.count = 1n + (BigInt(rest.len) - BigInt(rest.first) + BigInt(rest.block) - 1n) / BigInt(rest.block);
  blocks += rest.count;
  return { writer: p.writer, zarr: p.zarr, image, chains, rest, vars, pools, blocks, target: p.block };
}

function pathAllowed(path, num) {
  if (path === `.cdfz/v/${num}`) return;
  const bytes = new TextEncoder().encode(path).length;
  need(bytes >= 1 && bytes <= 200 && path[0] !== "." && !/[/\\\u0000-\u001f\u007f-\u009f]/.test(path), `plan: path ${JSON.stringify(path)}`);
}

/** compare checks the plan against the netCDF header and turns its numbers into those that JavaScript counts with. */
export function compare(plan, header) {
  need(header.length === plan.image.header, `netCDF header: expected ${plan.image.header} bytes, found ${header.length}`);
  const segments = [], taken = new Set();
  for (const v of plan.vars) {
    const h = header.vars[v.var];
    const what = `variable ${v.path}`;
    need(h !== undefined, `${what}: expected a number below ${header.vars.length}, found ${v.var}`);
    need(h.type === v.type && h.shape.length === v.shape.length && h.shape.every((n, i) => n === BigInt(v.shape[i])) &&
      h.segment.every((n, i) => n === v.segment[i]), `${what} differs from the netCDF header`);
    taken.add(v.var);
    segments.push(v.segment);
  }
  for (const p of plan.pools) {
    let bytes = 0n;
    p.starts = p.vars.map((i) => {
      const h = header.vars[i];
      need(h !== undefined && h.type === p.type && h.bytes > 0n && !taken.has(i), "a pool differs from the netCDF header");
      taken.add(i);
      segments.push(h.segment);
      bytes += h.bytes;
      return bytes - h.bytes;
    });
    need(bytes === p.bytes, "a pool and its variables differ in length");
  }
  disjoint(segments, BigInt(plan.image.header), BigInt(plan.image.size));
  const n = (x, what) => safe(x, what);
  plan.image.size = n(plan.image.size, "size of the image");
  plan.blocks = n(plan.blocks, "number of blocks");
  for (const v of [...plan.vars, ...plan.pools]) {
    for (const m of ["bytes", "inner", "full", "runs", "per", "first", "count"]) if (typeof v[m] === "bigint") v[m] = v.bytes === 0n && m !== "first" ? Number(v[m]) : n(v[m], m);
    v.shape = v.shape.map(Number);
    v.block = v.block.map(Number);
    v.grid = v.grid.map(Number);
    if (v.segment) v.segment = v.segment.map(Number);
    if (v.starts) v.starts = v.starts.map(Number);
  }
  const r = plan.rest;
  for (const m of ["len", "first", "block", "start", "count"]) r[m] = n(r[m], `rest.${m}`);
}

/** disjoint makes the checks of section 10.2. */
function disjoint(segments, from, to) {
  const fixed = [], recs = [];
  for (const [off, len, stride, count] of segments) {
    if (len * count === 0n) continue;
    need(off >= from && off + stride * (count - 1n) + len <= to, "plan: a segment outside of the image");
    (count > 1n ? recs : fixed).push({ off, end: off + len, len, stride, count });
  }
  if (recs.length > 0) {
    const { stride, count } = recs[0];
    let first = recs[0].off, last = recs[0].end;
    for (const r of recs) {
      need(r.stride === stride && r.count === count && r.len <= stride, "plan: segments of records differ");
      if (r.off < first) first = r.off;
      if (r.end > last) last = r.end;
    }
    need(last - first <= stride, "plan: segments of records overlap");
    fixed.push({ off: first, end: last + stride * (count - 1n) });
  }
  for (const runs of [recs, fixed]) {
    runs.sort((a, b) => (a.off < b.off ? -1 : a.off > b.off ? 1 : 0));
    for (let i = 1; i < runs.length; i++) need(runs[i - 1].end <= runs[i].off, "plan: segments overlap");
  }
}
