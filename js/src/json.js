// The rules for JSON of section 5.1, which JSON.parse does not check: members that occur twice, all digits of
// integers, unpaired surrogates.
import { need, UnsupportedError } from "./errors.js";
import { utf8, utf8Length } from "./bytes.js";

/** Other is a number that is not an integer of the format, such as 1.0 or -1. */
export class Other {
  constructor(text) {
    this.text = text;
  }
}

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const integer = /^(?:0|[1-9][0-9]*)$/;
// Strings without escapes or control characters, which most are.
const plain = /[^"\\\u0000-\u001f]*/y;
const deepest = 80; // more than the format allows anywhere

/**
 * parse returns the value of a text: objects are Maps, integers are numbers or, beyond 2^53, bigints.
 * Each member of the outermost object is given to member as soon as it is read. codecBytes of the result
 * returns how many bytes of JSON the value of a member called codec has.
 */
export function parse(bytes, what, member) {
  const s = utf8(bytes);
  need(s !== null, `${what}: not UTF-8`);
  const spans = new Map();
  let at = 0;
  const fail = (wanted) => need(false, `${what}: expected ${wanted} at character ${at}, found ${JSON.stringify(s.slice(at, at + 20))}`);
  const skip = () => {
    space.lastIndex = at;
    space.exec(s);
    at = space.lastIndex;
  };
  const take = (c) => {
    if (s[at] !== c) fail(`"${c}"`);
    at++;
  };
  const string = () => {
    take('"');
    let out = "";
    for (;;) {
      plain.lastIndex = at;
      plain.exec(s);
      out += s.slice(at, plain.lastIndex);
      at = plain.lastIndex;
      if (s[at] === '"') break;
      if (s[at] !== "\\") fail("a character of a string");
      const short = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[s[at + 1]];
      if (short !== undefined) {
        out += short;
        at += 2;
        continue;
      }
      const hex = /^\\u([0-9a-fA-F]{4})/.exec(s.slice(at, at + 6));
      if (!hex) fail("an escaped character");
      out += String.fromCharCode(parseInt(hex[1], 16));
      at += 6;
    }
    at++;
    if (/[\ud800-\udfff]/.test(out)) need(!/[\ud800-\udfff]/u.test(out), `${what}: an unpaired surrogate`);
    return out;
  };
  const value = (depth) => {
    need(depth <= deepest, `${what}: more than ${deepest} levels`);
    skip();
    switch (s[at]) {
      case "{": {
        const out = new Map();
        at++;
        skip();
        if (s[at] === "}") return at++, out;
        for (;;) {
          skip();
          const name = string();
          need(!out.has(name), `${what}: member ${JSON.stringify(name.slice(0, 80))} occurs twice`);
          skip();
          take(":");
          skip();
          const from = at;
          const x = value(depth + 1);
          const to = at;
          if (name === "codec") spans.set(x, () => utf8Length(s.slice(from, to)));
          out.set(name, x);
          if (depth === 0) member?.(name, x);
          skip();
          if (s[at] === "}") return at++, out;
          take(",");
        }
      }
      case "[": {
        const out = [];
        at++;
        skip();
        if (s[at] === "]") return at++, out;
        for (;;) {
          out.push(value(depth + 1));
          skip();
          if (s[at] === "]") return at++, out;
          take(",");
        }
      }
      case '"':
        return string();
    }
    for (const [word, x] of [["true", true], ["false", false], ["null", null]]) {
      if (s.startsWith(word, at)) return (at += word.length), x;
    }
    number.lastIndex = at;
    const found = number.exec(s);
    if (!found || found[0] === "") fail("a value");
    at = number.lastIndex;
    if (!integer.test(found[0])) return new Other(found[0]);
    const x = Number(found[0]);
    return Number.isSafeInteger(x) ? x : BigInt(found[0]);
  };
  const out = value(0);
  skip();
  need(at === s.length, `${what}: bytes after the JSON`);
  return { value: out, codecBytes: (x) => spans.get(x)?.() ?? 0 };
}

/** levels returns the levels of objects and lists in a value. */
export function levels(x) {
  const inner = x instanceof Map ? [...x.values()] : Array.isArray(x) ? x : [];
  return 1 + inner.reduce((n, y) => Math.max(n, levels(y)), 0);
}

const M63 = 2n ** 63n - 1n;

/** uint checks an integer and returns it as a number if it has no more than 53 bits, else as a bigint. */
export function uint(x, what, top = M63) {
  if (!((typeof x === "number" || typeof x === "bigint") && x <= top)) need(false, `${what}: expected an integer from 0 to ${top}, found ${shown(x)}`);
  return x;
}

const shown = (x) => (x instanceof Other ? x.text : x instanceof Map ? "an object" : Array.isArray(x) ? "a list" : typeof x === "bigint" ? String(x) : JSON.stringify(x) ?? "nothing").slice(0, 40);

/** safe returns an integer as a number. Sizes beyond 2^53 are refused: nothing of them could be read anyway. */
export function safe(x, what) {
  if (x > Number.MAX_SAFE_INTEGER) throw new UnsupportedError(`${what}: expected at most 2^53, found ${x}`);
  return Number(x);
}

/** members checks an object and returns it with undefined for what is absent. */
export function members(x, what, required, optional = "") {
  if (!(x instanceof Map)) need(false, `${what}: expected an object, found ${shown(x)}`);
  const out = {};
  const names = required.split(" ");
  const all = optional === "" ? names : names.concat(optional.split(" "));
  let known = 0;
  for (const m of all) {
    const y = x.get(m);
    need(y !== null, `${what}: ${m} is null`);
    if (y !== undefined) known++;
    out[m] = y;
  }
  for (const m of names) need(out[m] !== undefined, `${what}: ${m} is missing`);
  if (x.size > known) {
    need(x.size - known <= 32, `${what}: more than 32 unknown members`);
    for (const [m, y] of x) need(all.includes(m) || levels(y) <= 32, `${what}: ${m} has more than 32 levels`);
  }
  return out;
}

/** string checks a string of at most so many bytes. */
export function string(x, what, most = 255) {
  if (!(typeof x === "string" && (x.length * 3 <= most || utf8Length(x) <= most))) need(false, `${what}: expected a string of at most ${most} bytes, found ${shown(x)}`);
  return x;
}

/** digits checks a string of hexadecimal digits, n of them, or any even number if n is 0. */
export function digits(x, what, n) {
  if (!(typeof x === "string" && /^[0-9a-f]*$/.test(x) && (n > 0 ? x.length === n : x.length % 2 === 0))) need(false, `${what}: expected ${n || "pairs of"} hexadecimal digits, found ${shown(x)}`);
  return x;
}

/** list checks a list. */
export function list(x, what) {
  if (!Array.isArray(x)) need(false, `${what}: expected a list, found ${shown(x)}`);
  return x;
}
