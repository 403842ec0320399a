// Selections in the words of cdfz get, by index: SST[0, :, 10:20].
import { text } from "../src/bytes.js";

const known = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, "\\": 92, "'": 39, '"': 34 };
const hex = { x: 2, u: 4, U: 8 };

// nameAt reads a name from a place: its bytes, and where it ends. Escapes are those of Go; names may be in quotes.
function nameAt(s) {
  const out = [], quotes = s[0] === '"';
  const put = (character) => out.push(...new TextEncoder().encode(character));
  let at = quotes ? 1 : 0;
  for (; at < s.length && s[at] !== (quotes ? '"' : "["); ) {
    const character = String.fromCodePoint(s.codePointAt(at));
    at += character.length;
    if (character !== "\\") {
      put(character);
      continue;
    }
    const c = s[at++] ?? "", digits = s.slice(at, at + (hex[c] ?? 0));
    if (/^[0-7]{3}/.test(s.slice(at - 1))) {
      out.push(parseInt(s.slice(at - 1, at + 2), 8) & 255);
      at += 2;
    } else if (hex[c] && digits.length === hex[c] && /^[\da-f]+$/i.test(digits) && parseInt(digits, 16) <= 0x10ffff) {
      if (c === "x") out.push(parseInt(digits, 16));
      else put(String.fromCodePoint(parseInt(digits, 16)));
      at += digits.length;
    } else if (known[c] !== undefined) out.push(known[c]);
    else if (c !== "" && !/[a-z0-9]/i.test(c)) put(c);
    else throw new RangeError(`expected an escape such as \\n or \\x2f in the name, found \\${c}`);
  }
  if (quotes && at++ >= s.length) throw new RangeError(`expected " at the end of the name`);
  return { bytes: Uint8Array.from(out), end: at };
}

/**
 * parse returns the number of the variable that a selection names, and a word for each of its dimensions: an index or
 * {start, stop, step}, as Variable.get takes them.
 */
export function parse(header, selection) {
  const s = selection.trim();
  const { bytes, end } = nameAt(s);
  const num = header.vars.findIndex((v) => v.nameBytes.length === bytes.length && v.nameBytes.every((x, i) => x === bytes[i]));
  if (num < 0) throw new RangeError(`expected a variable, such as ${header.vars[0]?.name ?? "x"}, and indices in brackets, found ${text(bytes) || "none"}`);
  const m = /^\s*(?:\[([^\]]*)\]\s*)?$/.exec(s.slice(end));
  if (!m) throw new RangeError(`expected indices in brackets after the name, found ${s.slice(end)}`);
  const rank = header.vars[num].dims.length;
  const parts = (m[1] ?? "").trim() === "" ? [] : m[1].replace(/,\s*$/, "").split(",").map((w) => w.trim());
  const wide = parts.indexOf("..."), given = parts.length - (wide >= 0 ? 1 : 0);
  if (given > rank) throw new RangeError(`expected at most ${rank} indices or ranges, found ${given}`);
  if (wide >= 0) parts.splice(wide, 1, ...new Array(rank - given).fill(":"));
  while (parts.length < rank) parts.push(":");
  return { num, words: parts.map(word) };
}

function word(w) {
  const r = /^(?:(-?\d+)|(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(\d+)?)?)$/.exec(w);
  if (!r) throw new RangeError(`expected an index or a range such as 10:20, found ${w || "none"}`);
  const n = (x) => (x === undefined ? undefined : Number(x));
  return r[1] !== undefined ? Number(r[1]) : { start: n(r[2]), stop: n(r[3]), step: n(r[4]) };
}
