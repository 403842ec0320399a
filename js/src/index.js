// Reads cdfz archives of netCDF files in browsers and in node.
export { open } from "./archive.js";
export { store } from "./zarr.js";
export { Lorenz } from "./codec.js";
export { CdfzError, ChangedError, DamageError, SourceError, UnsupportedError } from "./errors.js";
