// Downloads, which are made in the page.
import { shown } from "../../cmd/cdfz/internal/page/static/panels/format.js";
import { DamageError } from "../src/errors.js";
import * as classic from "./classic.js";
import * as formats from "./formats.js";
import { parse } from "./select.js";

/** maxFile is the most bytes of a file that is made in memory. */
export const maxFile = 256 << 20;

let made = null; // the address of the last download, which takes memory

function offer(parts, name) {
  if (made) URL.revokeObjectURL(made);
  made = URL.createObjectURL(new Blob(parts));
  return { href: made, name };
}

const baseName = (file) => shown(file).split("/").at(-1).replace(/\.cdfz$/, "");

/** part makes a download of a selection of an archive in a format of the page. */
export async function part(a, file, selection, format, unpacked, dates) {
  const { num, words } = parse(a.header, selection);
  const name = `${baseName(file).replace(/\.nc$/, "")}-${a.header.vars[num].name.replace(/[^\p{L}\p{N}_.-]/gu, "_")}.${format}`;
  if (format === "nc") {
    const line = `${new Date().toISOString().replace(/\.\d+/, "")} cdfz viewer ${shown(file)} '${selection}'`;
    return offer([await classic.file(a, num, words, { history: line.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "?"), unpacked, limit: maxFile })], name);
  }
  return offer(await formats[format](a, num, words, { unpacked, dates, selection, limit: maxFile }), name);
}

/** original makes a download of the netCDF file that the archive was made of, and compares its SHA-256 where browsers can, or has a note that they cannot. */
export async function original(a, file) {
  if (a.size > maxFile) throw new RangeError(`the file has ${a.size} bytes, and this page makes files of at most ${maxFile}: cdfz restore makes longer ones`);
  const bytes = await a.image(0, a.size);
  const sum = await globalThis.crypto?.subtle?.digest("SHA-256", bytes);
  if (sum && [...new Uint8Array(sum)].map((x) => x.toString(16).padStart(2, "0")).join("") !== a.sha256) throw new DamageError("the file has another SHA-256 than the archive says");
  const note = "The file was not compared with its SHA-256: browsers can do that on pages of https only.";
  return { ...offer([bytes], baseName(file)), ...(!sum && { note }) };
}
