// Workers that decode blocks. Without workers (in node, from file://, or where a policy forbids them) blocks are decoded
// in this thread.
import * as errors from "./errors.js";
import { decode } from "./filters.js";
import { compile } from "./lorenz.js";

let workers = null; // all of the page's, or [] if there can be none
let serial = 0;
const waiting = new Map(); // by number of the task
const queue = [];

const most = Math.max(1, Math.min(8, globalThis.navigator?.hardwareConcurrency ?? 1));
const small = 32 << 10; // bytes that are decoded sooner than they are sent

function fail(w, error) {
  // A worker that cannot be loaded or that runs out of memory: its task is done here, as are all later ones if none is left.
  w.terminate();
  workers = workers.filter((other) => other !== w);
  const task = waiting.get(w.task);
  waiting.delete(w.task);
  if (!task) return;
  if (w.proved) task.reject(new errors.UnsupportedError(`a worker stopped: ${error}`));
  else decode(...task.args).then(task.resolve, task.reject);
  if (workers.length === 0) for (const other of queue.splice(0)) decode(...other.args).then(other.resolve, other.reject);
}

function start() {
  try {
    const w = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "cdfz" });
    w.task = 0;
    w.proved = false;
    w.addEventListener("message", ({ data }) => {
      w.proved = true;
      const task = waiting.get(data.task);
      waiting.delete(data.task);
      w.task = 0;
      next();
      if (data.error) task.reject(new (errors[data.error.name] ?? Error)(data.error.message));
      else task.resolve(data.bytes);
    });
    w.addEventListener("error", (e) => {
      e.preventDefault();
      fail(w, e.message);
    });
    workers.push(w);
    return w;
  } catch {
    return null;
  }
}

async function next() {
  const free = () => workers.find((w) => w.task === 0);
  while (queue.length > 0) {
    const w = free() ?? (workers.length < most ? start() : undefined);
    if (w === null && workers.length === 0) {
      for (const task of queue.splice(0)) decode(...task.args).then(task.resolve, task.reject);
      return;
    }
    if (!w) return;
    const task = queue.shift();
    w.task = ++serial;
    waiting.set(w.task, task);
    const [chain, mask, stored, n] = task.args;
    const copy = stored.slice(); // it may share its buffer with other blocks
    w.postMessage({ task: w.task, module: w.proved ? null : task.module, chain, mask, stored: copy, n }, [copy.buffer]);
  }
}

/** run decodes a block, as decode of filters.js does. */
export async function run(chain, mask, stored, n, threads = true) {
  const slow = chain.some((f, i) => !((mask >>> i) & 1) && f.id !== 2);
  if (!threads || !slow || n < small || typeof Worker === "undefined" || typeof document === "undefined") return decode(chain, mask, stored, n);
  workers ??= [];
  const module = await compile().catch(() => null);
  return new Promise((resolve, reject) => {
    queue.push({ args: [chain, mask, stored, n], module, resolve, reject });
    next();
  });
}
