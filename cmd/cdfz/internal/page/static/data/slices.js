// Slices and series, each of which is read once while it is kept.
import * as api from "./api.js";
import { Kept } from "./kept.js";

const budget = 64 << 20; // bytes

// maxCells is the number of cells along an axis of a slice.
export const maxCells = 1024;

export const kept = new Kept(budget, (s) => (s.data?.byteLength ?? 0) + 16 * (s.axes ?? []).reduce((n, a) => n + a.values.length, 0) + 1000);

const keyOf = (...parts) => JSON.stringify(parts);

// values reads as api.values does. Its callers share the answers: what they write into one must be the same each time.
export async function values(file, num, words, max, signal, options = {}) {
  const s = await kept.read(keyOf(file, num, words, max, options), { file, num, words }, () => api.values(file, num, words, max, signal, options), signal);
  signal?.throwIfAborted();
  return s;
}

// holds reports whether values needs no request, or waits for one that is under way.
export const holds = (file, num, words, max, options = {}) => kept.has(keyOf(file, num, words, max, options));

// clear forgets all, because a file that is opened again may have changed.
export const clear = () => kept.clear();
