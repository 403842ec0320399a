// The package for node: index.js, with threads of node. package.json names it under the condition "node", so that bundles
// for browsers have nothing of it.
import os from "node:os";
import { Worker } from "node:worker_threads";
import { use } from "./pool.js";

export * from "./index.js";

// A thread that has no block does not keep node from ending.
use((address, answered, failed) => {
  const options = { name: "cdfz", execArgv: [] };
  const w = address === undefined ? new Worker(new URL("./worker_node.js", import.meta.url), options) : new Worker(address.startsWith("file:") ? new URL(address) : address, options);
  w.unref();
  w.on("message", (data) => {
    w.unref();
    answered(data);
  });
  w.on("error", failed);
  w.on("exit", (code) => failed(new Error(`it ended with code ${code}`)));
  const post = (message, transfer) => {
    w.ref();
    w.postMessage(message, transfer);
  };
  return { post, end: () => w.terminate() };
}, os.availableParallelism?.() ?? os.cpus().length);
