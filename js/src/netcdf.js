// The header of classic netCDF files: Annex E and section 1.3.
import { need } from "./errors.js";
import { text, view } from "./bytes.js";
import { safe } from "./json.js";

export const types = ["byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"];
export const sizes = { byte: 1, char: 1, short: 2, int: 4, float: 4, double: 8, ubyte: 1, ushort: 2, uint: 4, int64: 8, uint64: 8 };

const M63 = 2n ** 63n - 1n;

/**
 * parse reads the header at the start of an image of size bytes. Numbers may have 63 bits, so those of the result that
 * the plan is compared with are bigints.
 */
export function parse(b, size) {
  const v = view(b);
  need(b.length >= 4 && b[0] === 67 && b[1] === 68 && b[2] === 70 && [1, 2, 5].includes(b[3]), "netCDF header: no magic");
  const version = b[3];
  let at = 4;
  const room = (n) => need(n <= b.length - at, "netCDF header: cut");
  const u32 = () => (room(4), (at += 4), v.getUint32(at - 4));
  const u64 = () => (room(8), (at += 8), v.getBigUint64(at - 8));
  const wide = version === 5 ? u64 : () => BigInt(u32());
  // A number that counts something of which each takes a byte or more.
  const count = (least) => {
    const n = version === 5 ? u64() : u32();
    need(n <= Math.floor((b.length - at) / least), "netCDF header: a count beyond its end");
    return Number(n);
  };
  const padded = (n) => {
    room(n);
    const out = b.subarray(at, at + n);
    at += n;
    const pad = -n & 3;
    room(pad);
    at += pad;
    return out;
  };
  const name = () => {
    const bytes = padded(count(1));
    return { bytes, name: text(bytes) };
  };
  const list = (tag, least, one) => {
    const t = u32(), n = count(least);
    need(t === tag || (t === 0 && n === 0), "netCDF header: tag");
    return Array.from({ length: n }, one);
  };
  const type = () => {
    const t = u32();
    need(t >= 1 && t <= 11, "netCDF header: type");
    return types[t - 1];
  };
  const attribute = () => {
    const n = name(), t = type(), size = sizes[t];
    const length = count(size);
    return { ...n, type: t, length, values: padded(length * size) };
  };
  const records = wide();
  const streaming = records === (version === 5 ? 2n ** 64n - 1n : 2n ** 32n - 1n);
  need(streaming || records <= M63, "netCDF header: number of records");
  const least = version === 5 ? 8 : 4;
  const most = version === 1 ? 2n ** 31n - 1n : M63;
  const dims = list(10, 2 * least, () => ({ ...name(), length: wide() }));
  const attributes = list(12, 2 * least + 4, attribute);
  const vars = list(11, 3 * least + 12, () => {
    const n = name();
    const ids = Array.from({ length: count(least) }, wide);
    const attributes = list(12, 2 * least + 4, attribute);
    const t = type();
    wide(); // vsize
    const begin = version === 1 ? BigInt(u32()) : u64();
    need(begin <= most, "netCDF header: begin");
    return { name: n.name, nameBytes: n.bytes, ids, attributes, type: t, begin };
  });
  for (const d of dims) need(d.length <= most, "netCDF header: length of a dimension");
  const bytesOf = (size, lengths) => {
    let n = BigInt(size);
    for (const l of lengths) {
      n *= l;
      need(n <= M63, "netCDF header: bytes of a variable");
    }
    return n;
  };
  for (const one of vars) {
    for (const id of one.ids) need(id < dims.length, "netCDF header: number of a dimension");
    one.dims = one.ids.map(Number);
    delete one.ids;
    const lengths = one.dims.map((d) => dims[d].length);
    need(lengths.slice(1).every((n) => n > 0n), "netCDF header: a record dimension in another place than the first");
    one.record = lengths.length > 0 && lengths[0] === 0n;
    one.each = bytesOf(sizes[one.type], one.record ? lengths.slice(1) : lengths); // of a record, or of all
    one.shape = lengths;
  }
  const recs = vars.filter((one) => one.record);
  const recsize = recs.length === 1 ? recs[0].each : recs.reduce((n, one) => n + one.each + (-one.each & 3n), 0n);
  let total = records;
  if (streaming) {
    total = recsize === 0n || recs.length === 0 ? 0n : M63;
    for (const one of recs) {
      if (recsize === 0n) break;
      const room = BigInt(size) - one.begin - one.each;
      const n = room < 0n ? 0n : room / recsize + 1n;
      if (n < total) total = n;
    }
  }
  need(recsize <= M63 && recsize * total <= M63, "netCDF header: bytes of the records");
  for (const one of vars) {
    const times = one.record ? total : 1n;
    if (one.record) one.shape[0] = total;
    need(one.begin + one.each + (times > 0n ? recsize * (times - 1n) * (one.record ? 1n : 0n) : 0n) <= M63, "netCDF header: end of a variable");
    one.bytes = one.each * times;
    need(one.bytes <= M63, "netCDF header: bytes of a variable");
    one.segment = one.bytes === 0n ? [0n, 0n, 0n, 0n] : times > 1n ? [one.begin, one.each, recsize, times] : [one.begin, one.each, 0n, 1n];
  }
  return { version, length: at, records: total, streaming, recsize, dims, attributes, vars };
}

/** nativeArray makes a typed array of big-endian bytes of a type, in the order of the machine. The bytes are changed. */
export function arrayType(type) {
  return { byte: Int8Array, char: Uint8Array, short: Int16Array, int: Int32Array, float: Float32Array, double: Float64Array, ubyte: Uint8Array,
    ushort: Uint16Array, uint: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array }[type];
}

/** lengthOf returns a length as a number. */
export const lengthOf = (n) => safe(n, "length");
