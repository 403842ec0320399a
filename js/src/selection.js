// Which elements of an array a selection has, and copying them out of runs of bytes.

const bounds = ["start", "stop", "step"];

// isObject tells objects with members of their own from other values, such as texts, typed arrays, Maps and promises.
const isObject = (x) => Object.prototype.toString.call(x) === "[object Object]";

/**
 * resolve checks a selection of an array with a shape and with names of its dimensions: a list with a word for each
 * dimension, or an object with words by name. A word is an index, which drops the dimension, a list [start, stop] or
 * [start, stop, step], an object with one or more of these members, or null or undefined for all. Negative numbers count
 * from the end. Anything else is a RangeError or a TypeError: what was meant as a part is never read as all.
 */
export function resolve(selection, shape, names) {
  let words = selection ?? [];
  if (!Array.isArray(words)) {
    if (!isObject(words)) throw new TypeError(`expected a list of indices and ranges, or an object with them by dimension, found ${shown(words)}`);
    for (const name of Object.keys(words)) {
      if (!names.includes(name)) throw new RangeError(`expected one of the dimensions ${names.join(", ") || "(none)"}, found ${name}`);
    }
    words = names.map((name) => (Object.hasOwn(words, name) ? words[name] : null));
  }
  if (words.length > shape.length) throw new RangeError(`expected at most ${shape.length} indices or ranges, found ${words.length}`);
  const sel = { start: [], count: [], step: [], shape: [], dims: [] };
  shape.forEach((n, d) => {
    const w = words[d] ?? null;
    const where = `dimension ${names[d] ?? d} of length ${n}`;
    const whole = (x) => {
      if (!Number.isSafeInteger(x)) throw new RangeError(`${where}: expected an integer, found ${x}`);
      return x;
    };
    if (typeof w === "number" || typeof w === "bigint") {
      const i = whole(Number(w)) < 0 ? n + Number(w) : Number(w);
      if (i < 0 || i >= n) throw new RangeError(`${where}: expected an index below ${n}, found ${w}`);
      sel.start.push(i);
      sel.count.push(1);
      sel.step.push(1);
      return;
    }
    const [start = 0, stop = n, step = 1] = w === null ? [] : range(w, where);
    if (whole(step) < 1) throw new RangeError(`${where}: expected a step of at least 1, found ${step}`);
    const place = (x) => Math.min(n, Math.max(0, whole(x) < 0 ? n + x : x));
    const [a, b] = [place(start ?? 0), place(stop ?? n)];
    const count = Math.max(0, Math.ceil((b - a) / step));
    sel.start.push(a);
    sel.count.push(count);
    sel.step.push(count > 1 ? step : 1);
    sel.shape.push(count);
    sel.dims.push(d);
  });
  return sel;
}

// range returns start, stop and step of a word that is a range.
function range(w, where) {
  if (Array.isArray(w)) {
    if (w.length !== 2 && w.length !== 3) throw new RangeError(`${where}: expected [start, stop] or [start, stop, step], found a list of length ${w.length}`);
    return w;
  }
  if (!isObject(w)) throw new TypeError(`${where}: expected an index, [start, stop], [start, stop, step] or null, found ${shown(w)}`);
  const names = Object.keys(w);
  if (names.length === 0 || !names.every((name) => bounds.includes(name))) throw new RangeError(`${where}: expected an object with start, stop or step, found the members ${names.join(", ") || "(none)"}`);
  return bounds.map((name) => w[name] ?? undefined);
}

// shown writes a wrong argument in a message.
const shown = (x) => (typeof x === "object" ? Object.prototype.toString.call(x) : `the ${typeof x} ${String(x).slice(0, 40)}`);

/** Gather copies the selected elements of an array of a shape. */
export class Gather {
  constructor(shape, sel, size) {
    const r = shape.length;
    this.sel = sel;
    this.size = size;
    this.length = sel.count.reduce((a, b) => a * b, 1);
    this.stride = new Array(r);
    this.out = new Array(r);
    for (let d = r - 1, s = 1, o = 1; d >= 0; d--) {
      this.stride[d] = s;
      this.out[d] = o;
      s *= shape[d];
      o *= sel.count[d];
    }
    // From dimension tail on, the selection is one run.
    let tail = r;
    while (tail > 0 && sel.step[tail - 1] === 1) {
      tail--;
      if (sel.count[tail] !== shape[tail]) break;
    }
    this.tail = tail;
    this.run = 1;
    this.from = 0; // offset of the run in its row
    if (tail < r) {
      this.run = sel.count[tail] * this.stride[tail];
      this.from = sel.start[tail] * this.stride[tail];
    }
    // The first and the last element of the dimensions from d on.
    this.low = new Array(tail + 1);
    this.high = new Array(tail + 1);
    this.low[tail] = this.from;
    this.high[tail] = this.from + this.run;
    for (let d = tail - 1; d >= 0; d--) {
      this.low[d] = this.low[d + 1] + sel.start[d] * this.stride[d];
      this.high[d] = this.high[d + 1] + (sel.start[d] + (sel.count[d] - 1) * sel.step[d]) * this.stride[d];
    }
    if (this.length === 0) this.low[0] = this.high[0] = 0;
  }

  /** copy copies those of the elements low to high, whose bytes src has, to their places in dst. */
  copy(dst, src, low, high) {
    if (this.length > 0) this.#copy(dst, src, low, high, 0, 0, 0);
  }

  #copy(dst, src, low, high, d, p, o) {
    const { sel, size } = this;
    if (d === this.tail) {
      const start = p + this.from;
      const a = Math.max(start, low), b = Math.min(start + this.run, high);
      if (a < b) dst.set(src.subarray((a - low) * size, (b - low) * size), (o + a - start) * size);
      return;
    }
    const stride = this.stride[d], step = sel.step[d] * stride, first = p + sel.start[d] * stride;
    let i = Math.max(0, Math.floor((low - first - this.high[d + 1]) / step) + 1);
    const end = Math.min(sel.count[d], Math.ceil((high - first - this.low[d + 1]) / step));
    if (d === this.tail - 1 && this.run === 1 && size <= 8) {
      for (; i < end; i++) {
        const from = (first + i * step + this.from - low) * size, to = (o + i * this.out[d]) * size;
        for (let k = 0; k < size; k++) dst[to + k] = src[from + k];
      }
      return;
    }
    for (; i < end; i++) this.#copy(dst, src, low, high, d + 1, first + i * step, o + i * this.out[d]);
  }
}

/** neededBlocks returns the numbers of the blocks of a variable that hold selected elements, in order. */
export function neededBlocks(v, sel) {
  if (sel.count.some((n) => n === 0) || v.bytes === 0) return [];
  if (v.shape.length === 0) return [0];
  const out = [];
  const k = v.block[v.j];
  const walk = (d, at) => {
    const { start, count, step } = sel;
    if (d < v.j) {
      for (let i = 0; i < count[d]; i++) walk(d + 1, at * v.grid[d] + start[d] + i * step[d]);
      return;
    }
    let last = -1;
    for (let i = 0; i < count[d]; ) {
      const part = Math.floor((start[d] + i * step[d]) / k);
      if (part !== last) out.push(at * v.grid[d] + part);
      last = part;
      i = Math.max(i + 1, Math.ceil(((part + 1) * k - start[d]) / step[d]));
    }
  };
  walk(0, 0);
  return out;
}
