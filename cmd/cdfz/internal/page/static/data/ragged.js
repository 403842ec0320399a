// Ragged arrays, by sections 9.3.3 and 9.3.4 of the CF conventions: the observations of all stations, profiles or trajectories, its
// instances, lie along one dimension, one instance after the other with their numbers in a variable, or each with the
// index of its instance.
import { attr } from "./attributes.js";

const most = 4; // levels of instances

// levels returns how observations along a dimension belong to instances, these to others, and so on: a variable with
// counts or with indices, and the dimension of the instances.
export function levels(meta, dim) {
  const out = [];
  for (let d = dim; out.length < most; d = out.at(-1).dim) {
    const name = meta.dimensions[d].name;
    const lengths = meta.variables.find((v) => v.dims.length === 1 && v.type !== "char" && attr(v, "sample_dimension") === name);
    const index = meta.variables.find((v) => v.dims.length === 1 && v.dims[0] === d && v.type !== "char" && attr(v, "instance_dimension") !== "");
    const of = lengths?.dims[0] ?? (index ? meta.dimensions.findIndex((o) => o.name === attr(index, "instance_dimension")) : -1);
    if (of < 0 || of === dim || out.some((l) => l.dim === of)) break;
    out.push({ v: lengths ?? index, counts: Boolean(lengths), dim: of });
  }
  return out;
}

// instancesOf returns the instance of each of n observations, or -1, from the values of the variable of a level.
export function instancesOf({ counts }, data, n, length) {
  const out = new Int32Array(n).fill(-1);
  if (counts) {
    for (let i = 0, at = 0; i < data.length && at < n; i++) {
      const end = Math.min(n, at + Math.max(0, Math.trunc(data[i]) || 0));
      out.fill(i, at, end);
      at = end;
    }
  } else for (let k = 0; k < n; k++) if (data[k] >= 0 && data[k] < length) out[k] = data[k];
  return out;
}

// group returns the observations of the instance of one of them: the range that has them all, and where they are in it, or
// null if they are all of it.
export function group(instances, at) {
  const wanted = instances[at];
  const from = instances.indexOf(wanted), to = instances.lastIndexOf(wanted) + 1;
  const places = [];
  for (let k = from; k < to; k++) if (instances[k] === wanted) places.push(k - from);
  return { from, to, instance: wanted, places: places.length === to - from ? null : places };
}

// pick returns some of the values of a series.
export function pick(s, places) {
  const [axis] = s.axes, of = (list) => places.map((i) => list[i]);
  const data = s.data.constructor.from(of(s.data)), known = data.filter(Number.isFinite);
  const [min, max] = [Math.min, Math.max].map((f) => (known.length > 0 ? known.reduce((a, b) => f(a, b)) : null));
  const cut = { ...axis, step: 1, at: places.map((i) => axis.start + i), values: of(axis.values), ...(axis.dates && { dates: of(axis.dates) }) };
  return { ...s, data, shape: [data.length], axes: [cut], min, max, missing: data.length - known.length };
}
