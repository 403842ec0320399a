/** A typed array of the type of a variable, in the order of the machine. Characters are bytes. */
export type Values = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array | BigInt64Array | BigUint64Array;

export type Type = "byte" | "char" | "short" | "int" | "float" | "double" | "ubyte" | "ushort" | "uint" | "int64" | "uint64";

/** Text without the NULs at its end, a number, a bigint of int64 and uint64, or a typed array if it has not one value. */
export type AttributeValue = string | number | bigint | Values;

/**
 * An index drops its dimension. Ranges are [start, stop] or [start, stop, step] or objects with one or more of these members.
 * null and undefined: all. Negative numbers count from the end. Anything else is a RangeError or a TypeError.
 */
export type Range = number | readonly [start: number | null | undefined, stop: number | null | undefined, step?: number] | { start?: number; stop?: number; step?: number } | null | undefined;

/** A word for each dimension, in order or by name. What is missing is taken whole. */
export type Selection = readonly Range[] | Record<string, Range>;

export interface OpenOptions {
  /** Bytes of decoded blocks that are kept. 128 MiB unless given. */
  cache?: number;
  /** The most bytes of a block that is decoded, 64 MiB unless given. Longer ones are an UnsupportedError. */
  maxBlock?: number;
  /**
   * false: no workers, everything in this thread. Where there can be none, it is always so. The address of cdfz/worker is for
   * bundles that have it in another place than beside them.
   */
  workers?: boolean | string | URL;
  /** Ends the opening. */
  signal?: AbortSignal;
  /** Of URLs: headers of all requests. Other than simple ones make browsers ask the server before each. */
  headers?: ConstructorParameters<typeof Headers>[0];
  /** Of URLs: as that of fetch. */
  credentials?: RequestInit["credentials"];
  /** Of URLs: used instead of fetch. */
  fetch?: typeof fetch;
  /** The most bytes of a file that a server that ignores ranges may send whole. 16 MiB unless given. */
  whole?: number;
}

export interface Dimension {
  readonly name: string;
  readonly length: number;
  readonly unlimited: boolean;
}

export interface Part {
  /** In row-major order. */
  readonly data: Values;
  readonly shape: number[];
  readonly dimensions: string[];
}

export interface Variable {
  readonly num: number;
  readonly name: string;
  readonly type: Type;
  /** Names of the dimensions, slowest first. */
  readonly dimensions: string[];
  /** Their numbers in the file. */
  readonly dims: number[];
  readonly shape: number[];
  /** Bytes of all values. */
  readonly bytes: number;
  readonly attributes: Record<string, AttributeValue>;
  /**
   * Reads a part, or all. Values are as stored: neither scaled nor compared with _FillValue. The signal ends requests
   * that no other call waits for. Damaged blocks are a DamageError of the parts that need them only.
   */
  get(selection?: Selection, options?: { signal?: AbortSignal }): Promise<Part>;
}

export interface Archive {
  /** Base name of the netCDF file, "" if unknown. Not safe as a path. */
  readonly name: string;
  /** Bytes of the netCDF file. */
  readonly size: number;
  /** SHA-256 of the netCDF file, in hexadecimal digits. */
  readonly sha256: string;
  readonly format: "CDF-1" | "CDF-2" | "CDF-5";
  readonly records: number;
  readonly dimensions: Dimension[];
  readonly attributes: Record<string, AttributeValue>;
  readonly variables: Variable[];
  /** Numbers of the variables whose values were rounded before they were archived. */
  readonly rounded: number[];
  /** What was read so far. */
  readonly source: { readonly size: number; readonly name: string; readonly requests: number; readonly bytes: number };
  /** The first variable of a name. */
  variable(name: string): Variable | undefined;
  /** Bytes of the original netCDF file. */
  image(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** Frees the memory for decoded blocks. */
  close(): void;
}

/** Opens an archive: two requests, three if its directory is long. Many readers may use an open archive at once. */
export function open(what: string | URL | Blob | ArrayBuffer | Uint8Array, options?: OpenOptions): Promise<Archive>;

/** A store of Zarr format 2 with all variables, as zarrita reads stores. Variables whose names addresses cannot have are called __vN. */
export function store(archive: Archive): { get(key: string, options?: { signal?: AbortSignal }): Promise<Uint8Array | undefined> };

/** The codec lorenz, as zarrita takes codecs. import "cdfz/register" registers it. */
export class Lorenz {
  readonly kind: "bytes_to_bytes";
  static fromConfig(config: { version?: number; type: number | string; order?: number; shape: number[] }): Lorenz;
  decode(bytes: Uint8Array): Promise<Uint8Array>;
  encode(): never;
}

/** Any error of this package, but for wrong arguments (RangeError, TypeError) and aborts. */
export class CdfzError extends Error {}
/** Bytes are not what the format allows. */
export class DamageError extends CdfzError {}
/** Not an archive, or one that needs what this package does not have. It is not damaged. */
export class UnsupportedError extends CdfzError {}
/** The bytes could not be read: network, server, CORS, file. */
export class SourceError extends CdfzError {}
/** The file has changed since it was opened. */
export class ChangedError extends SourceError {}
