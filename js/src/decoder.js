// The decoder of lorenz as WebAssembly, which threads get from here: only their page has it.
import { UnsupportedError } from "./errors.js";
import { inflateRaw } from "./inflate.js";
import { provide } from "./lorenz.js";
import wasm from "./lorenz_wasm.js";

let compiled = null;

/** compile returns the WebAssembly.Module of the decoder, which can be sent to threads. */
export function compile() {
  compiled ??= (async () => {
    const b = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
    try {
      return await WebAssembly.compile(inflateRaw(b, 1 << 20, "lorenz.wasm"));
    } catch (e) {
      compiled = null;
      throw new UnsupportedError(`WebAssembly cannot be used here: a Content-Security-Policy has to allow 'wasm-unsafe-eval', and SIMD is needed (browsers since 2023): ${e.message}`, { cause: e });
    }
  })();
  return compiled;
}

provide(compile);
