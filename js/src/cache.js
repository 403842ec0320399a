// Decoded blocks, the least recently used of which go when a budget is used up.

/** Cache holds promises of bytes. */
export class Cache {
  constructor(budget) {
    this.budget = budget;
    this.used = 0;
    this.map = new Map();
  }

  get(key) {
    const e = this.map.get(key);
    if (e === undefined) return undefined;
    this.map.delete(key);
    this.map.set(key, e);
    return e.promise;
  }

  /** set adds what a promise will give. It takes no room until then. One that fails is forgotten. */
  set(key, promise) {
    const e = { promise, size: 0 };
    this.map.set(key, e);
    promise.then((b) => {
      if (this.map.get(key) !== e) return;
      e.size = b.byteLength;
      this.used += e.size;
      for (const [k, old] of this.map) {
        if (this.used <= this.budget) break;
        if (old.size === 0) continue;
        this.map.delete(k);
        this.used -= old.size;
      }
    }, () => {
      if (this.map.get(key) === e) this.map.delete(key);
    });
    return promise;
  }

  clear() {
    this.map.clear();
    this.used = 0;
  }
}
