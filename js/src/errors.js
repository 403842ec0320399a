// The errors of this package. All are subclasses of CdfzError.

/** CdfzError is any error of this package that is not a wrong argument or an abort. */
export class CdfzError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** DamageError: bytes of the archive are not what the format allows. Other parts may still be readable. */
export class DamageError extends CdfzError {}

/** UnsupportedError: not an archive, or one that needs something this package does not have. It is not damaged. */
export class UnsupportedError extends CdfzError {}

/** SourceError: the bytes could not be read: the network, the server, its CORS headers, or the file. */
export class SourceError extends CdfzError {}

/** ChangedError: the file is another one than when it was opened. Open it again. */
export class ChangedError extends SourceError {}

/** need throws a DamageError unless a condition holds. */
export function need(ok, what) {
  if (!ok) throw new DamageError(what);
}
