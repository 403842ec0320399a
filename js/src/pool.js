// Threads that decode blocks: workers of a page, or of node (node.js). Where there are none (from file://, where a policy
// forbids them, or in a worker), blocks are decoded in this thread.
import { compile } from "./decoder.js";
import * as errors from "./errors.js";
import { decode } from "./filters.js";

const small = 32 << 10; // bytes that are decoded sooner than they are sent
const together = 64 << 20; // decoded bytes of the blocks in all threads, unless one has more: each needs about three times as much memory
const lorenz = 52723;

// start starts a thread of a page, and throws where there can be none.
function start(address, answered, failed) {
  const options = { type: "module", name: "cdfz" };
  const w = address === undefined ? new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "cdfz" }) : new Worker(address, options);
  w.addEventListener("message", ({ data }) => answered(data));
  for (const type of ["error", "messageerror"]) {
    w.addEventListener(type, (e) => {
      e.preventDefault();
      failed(e);
    });
  }
  return { post: (message, transfer) => w.postMessage(message, transfer), end: () => w.terminate() };
}

let system = typeof Worker === "undefined" || typeof document === "undefined" ? null : { start, most: globalThis.navigator?.hardwareConcurrency ?? 1 };

/**
 * use sets how threads are started, and how many there may be. start(address, answered, failed) returns {post, end}: post
 * sends a message, of which answered gets the answer.
 */
export function use(start, most) {
  system = { start, most };
}

const here = (task) => decode(...task.args).then(task.resolve, task.reject);

// Pool has threads whose script lies at an address, or beside this one. They stay.
class Pool {
  constructor(address) {
    this.address = address;
    this.most = Math.max(1, Math.min(8, system.most)); // 0 if there can be none
    this.threads = [];
    this.queue = [];
    this.bytes = 0; // of the blocks that threads have
  }

  add(task) {
    this.queue.push(task);
    this.next();
  }

  next() {
    while (this.queue.length > 0) {
      const [task] = this.queue;
      if (!task.signal?.aborted && this.most > 0) {
        if (this.bytes > 0 && this.bytes + task.n > together) return;
        const thread = this.threads.find((t) => !t.task) ?? this.more();
        if (!thread && this.most > 0) return;
        if (!thread) continue;
        this.queue.shift();
        this.give(thread, task);
        continue;
      }
      this.queue.shift();
      if (task.signal?.aborted) task.reject(task.signal.reason);
      else here(task);
    }
  }

  // more starts a thread, if there may be one more.
  more() {
    if (this.threads.length >= this.most) return null;
    const thread = { task: null, proved: false, module: false };
    try {
      Object.assign(thread, system.start(this.address, (data) => this.answered(thread, data), (e) => this.failed(thread, e)));
    } catch {
      this.most = this.threads.length;
      return null;
    }
    this.threads.push(thread);
    return thread;
  }

  give(thread, task) {
    thread.task = task;
    this.bytes += task.n;
    const [chain, mask, stored, n] = task.args;
    const copy = stored.slice(); // it may share its buffer with other blocks
    try {
      thread.post({ module: thread.module ? null : task.module, chain, mask, stored: copy, n }, [copy.buffer]);
      thread.module ||= task.module !== null;
    } catch (e) {
      this.failed(thread, e);
    }
  }

  // take takes its task from a thread.
  take(thread) {
    const { task } = thread;
    thread.task = null;
    if (task) this.bytes -= task.n;
    return task;
  }

  answered(thread, { bytes, error }) {
    thread.proved = true;
    const task = this.take(thread);
    if (error) task?.reject(new (errors[error.name] ?? Error)(error.message));
    else task?.resolve(bytes);
    this.next();
  }

  // failed is called for a thread that cannot be loaded, or that runs out of memory.
  failed(thread, e) {
    if (!this.threads.includes(thread)) return;
    this.threads = this.threads.filter((other) => other !== thread);
    thread.end();
    const task = this.take(thread);
    if (!thread.proved) {
      this.most = this.threads.length;
      if (task) here(task);
    } else task?.reject(new errors.UnsupportedError(`a thread stopped: ${e.message ?? e.type}`));
    this.next();
  }
}

const pools = new Map(); // by the address of their script

/**
 * run decodes a block, as decode of filters.js does. threads: false for this thread, true, or the address of the script of
 * threads. A signal that ends before a thread has the block ends that.
 */
export async function run(chain, mask, stored, n, { threads = true, signal } = {}) {
  const used = chain.filter((f, i) => !((mask >>> i) & 1));
  if (!threads || system === null || n < small || used.every((f) => f.id === 2)) return decode(chain, mask, stored, n);
  const address = threads === true ? undefined : String(threads);
  let module = null;
  try {
    if (used.some((f) => f.id === lorenz)) module = await compile();
  } catch {
    return decode(chain, mask, stored, n); // which tells why
  }
  if (!pools.has(address)) pools.set(address, new Pool(address));
  return new Promise((resolve, reject) => pools.get(address).add({ args: [chain, mask, stored, n], n, module, signal, resolve, reject }));
}
