// What a thread does: it decodes blocks that arrive at a port.
import { decode } from "./filters.js";
import { provide } from "./lorenz.js";

/** answer answers the messages of pool.js. */
export function answer(port) {
  port.addEventListener("message", async ({ data }) => {
    if (data.module) provide(async () => data.module);
    try {
      let bytes = await decode(data.chain, data.mask, data.stored, data.n);
      if (bytes.byteLength !== bytes.buffer.byteLength) bytes = bytes.slice();
      port.postMessage({ bytes }, [bytes.buffer]);
    } catch (e) {
      port.postMessage({ error: { name: e.name, message: e.message } });
    }
  });
}
