// The codec lorenz for Zarr stores that are not archives, as zarrita registers codecs.
import "./decoder.js";
import { checkParams, decode } from "./lorenz.js";
import { DamageError } from "./errors.js";

const numbers = { int8: 1, char: 2, int16: 3, int32: 4, float32: 5, float64: 6, uint8: 7, uint16: 8, uint32: 9, int64: 10, uint64: 11 };

/** Lorenz decodes blocks of the codec lorenz. zarrita calls it numcodecs.lorenz in stores of Zarr format 2, cdfz.lorenz in those of format 3. */
export class Lorenz {
  kind = "bytes_to_bytes";

  constructor(params) {
    this.params = params;
    this.size = checkParams(params);
  }

  static fromConfig(config) {
    const { version = 1, type, order = 0, shape } = config ?? {};
    const t = typeof type === "string" ? numbers[type] : type;
    if (!Array.isArray(shape)) throw new DamageError("lorenz: expected a codec with a shape");
    return new Lorenz([version, t, order, shape.length, ...shape]);
  }

  async decode(bytes) {
    return decode(this.params, bytes, this.size);
  }

  encode() {
    throw new Error("lorenz: this package only decodes; cdfz archive encodes");
  }
}
