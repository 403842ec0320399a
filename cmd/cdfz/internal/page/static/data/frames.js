// The frames of an animation: every step-th index from first to last.

export const count = ({ first, last, step }) => Math.floor((last - first) / step) + 1;

// after returns the index of the frame after an index, which need not be that of a frame, or null after the last one.
export function after(f, n) {
  if (n < f.first) return f.first;
  const next = f.first + (Math.floor((n - f.first) / f.step) + 1) * f.step;
  return next <= f.last ? next : f.loop ? f.first : null;
}

// before returns the index of the frame before an index, or null.
export function before(f, n) {
  const end = f.first + (count(f) - 1) * f.step;
  if (n > end) return end;
  const next = f.first + (Math.ceil((n - f.first) / f.step) - 1) * f.step;
  return next >= f.first ? next : f.loop ? end : null;
}

// distance returns after how many frames that of an index follows the frame n, or undefined if it does not.
export function distance(f, n, index) {
  if (index < f.first || index > f.last || (index - f.first) % f.step !== 0) return undefined;
  const at = (index - f.first) / f.step, from = Math.floor((n - f.first) / f.step);
  return at >= from ? at - from : f.loop ? at - from + count(f) : undefined;
}

// ahead returns the indices of the next frames: at most most, and each once.
export function ahead(f, n, most) {
  const out = [];
  for (let k = after(f, n); k !== null && out.length < Math.min(most, count(f)) && k !== out[0]; k = after(f, k)) out.push(k);
  return out;
}

// parse reads frames such as 0:100:5, whose end is not among them, of n indices. null means that they are wrong.
export function parse(text, n) {
  const [, first, end, step] = /^(\d+):(\d+)(?::(\d+))?$/.exec(text) ?? [];
  const f = { first: Number(first), last: Number(end) - 1, step: Number(step ?? 1) };
  return f.first < f.last && f.last < n && f.step > 0 && f.step <= f.last - f.first ? f : null;
}

// text writes frames as parse reads them.
export const text = ({ first, last, step }) => `${first}:${last + 1}${step > 1 ? `:${step}` : ""}`;
