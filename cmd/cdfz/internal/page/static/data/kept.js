// What was read, kept up to a budget of bytes.

/** Kept holds promises of values by a text. size returns the bytes of a value. */
export class Kept {
  constructor(budget, size) {
    this.budget = budget;
    this.size = size;
    this.used = 0;
    this.map = new Map(); // the least recently used first
    this.due = null; // for the time of an animation: how soon what an entry is about is needed again, or undefined
  }

  has(key) {
    return this.map.has(key);
  }

  /**
   * read returns what is kept for a key, or reads it. about tells due what it is. A reader whose signal is aborted takes
   * nothing from others who wait for the same.
   */
  async read(key, about, make, signal) {
    const e = this.map.get(key);
    if (e) {
      this.map.delete(key);
      this.map.set(key, e);
      try {
        return await e.promise;
      } catch (failed) {
        if (failed.name !== "AbortError" || signal?.aborted) throw failed;
        if (this.map.get(key) === e) this.map.delete(key);
        return this.read(key, about, make, signal);
      }
    }
    const mine = { about, promise: make(), bytes: 0 };
    this.map.set(key, mine);
    try {
      const value = await mine.promise;
      if (this.map.get(key) === mine) {
        mine.bytes = this.size(value);
        this.used += mine.bytes;
        this.shrink();
      }
      return value;
    } catch (e) {
      if (this.map.get(key) === mine) this.map.delete(key);
      throw e;
    }
  }

  // shrink drops what is needed last until the rest is within the budget: in an animation the frames that are furthest
  // ahead, because one that goes round needs those just shown last; otherwise what was not used for longest.
  shrink() {
    if (this.used <= this.budget) return;
    const far = (e) => this.due?.(e.about) ?? Infinity;
    const list = [...this.map].filter(([, e]) => e.bytes > 0).map(([key, e], i) => ({ key, e, i, far: far(e) }));
    list.sort((a, b) => (a.far === b.far ? a.i - b.i : b.far - a.far));
    for (const { key, e } of list) {
      if (this.used <= this.budget) return;
      this.map.delete(key);
      this.used -= e.bytes;
    }
  }

  clear() {
    this.map.clear();
    this.used = 0;
  }
}
