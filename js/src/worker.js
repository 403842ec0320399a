// A thread that decodes blocks.
import { decode } from "./filters.js";
import { use } from "./lorenz.js";

addEventListener("message", async ({ data }) => {
  if (data.module) use(data.module);
  try {
    let bytes = await decode(data.chain, data.mask, data.stored, data.n);
    if (bytes.byteLength !== bytes.buffer.byteLength) bytes = bytes.slice();
    postMessage({ task: data.task, bytes }, [bytes.buffer]);
  } catch (e) {
    postMessage({ task: data.task, error: { name: e.name, message: e.message } });
  }
});
