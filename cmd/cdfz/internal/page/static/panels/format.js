// Text for numbers, coordinates and sizes.

// shown names a file in messages, pictures and files: an address without a name, a password and the query, which may have a
// signature, as cdfz writes it. Other names stay.
export function shown(file) {
  let u;
  try {
    u = new URL(file);
  } catch { // a name, or an address from the page's on
    return file.replace(/(\.(?:cdfz|parquet))[?#].*$/is, "$1");
  }
  if (!/^https?:$/.test(u.protocol) || !(u.username || u.password || u.search || u.hash)) return file;
  u.username = u.password = u.search = u.hash = "";
  return u.href;
}

// number writes a value with at most 6 digits, or a whole one with all.
export function number(x) {
  if (x === null || Number.isNaN(x)) return "missing";
  if (!Number.isFinite(x) || Number.isSafeInteger(x)) return String(x);
  return String(Number(x.toPrecision(6)));
}

// exact writes a value with the digits of its type.
export function exact(x, type) {
  if (x === null || Number.isNaN(x)) return "missing";
  if (type !== "float32") return String(x);
  for (let digits = 1; digits < 9; digits++) {
    const s = Number(x.toPrecision(digits));
    if (Math.fround(s) === x) return String(s);
  }
  return String(Number(x.toPrecision(9)));
}

// fine writes a value with the digits that tell it from one at a distance.
function fine(x, distance) {
  if (x === null || !Number.isFinite(x) || !(distance > 0)) return number(x);
  for (let digits = 1; digits <= 17; digits++) {
    const near = Number(x.toPrecision(digits));
    if (Math.abs(near - x) <= distance / 1000) return String(near);
  }
  return String(x);
}

// ticks writes values at ticks, with the digits that their distance needs.
export function ticks(values, units) {
  const step = Math.min(...values.slice(1).map((v, i) => Math.abs(v - values[i])).filter((s) => s > 0));
  const text = (v) => (Number.isFinite(step) ? fine(v, step) : plain(v));
  return values.map((v) => degrees(v, units, text) ?? text(v));
}

// plain writes a value of a coordinate that has no other next to it.
function plain(x) {
  if (x === null || !Number.isFinite(x)) return number(x);
  if (Number.isInteger(x)) return String(x);
  return Math.fround(x) === x ? exact(x, "float32") : String(Number(x.toPrecision(12)));
}

// every names the values that a step leaves: every 3rd time.
export function every(step, name) {
  const last = step % 100 >= 11 && step % 100 <= 13 ? 0 : step % 10;
  return `every ${step}${["th", "st", "nd", "rd"][last] ?? "th"} ${name}`;
}

// size writes a number of bytes.
export function size(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${i === 0 ? n : n.toPrecision(3)} ${units[i]}`;
}

const kindOf = (units) => /^degrees?_?(n|e)(orth|ast)?$/i.exec(units ?? "")?.[1].toLowerCase();

// isDegrees reports whether units are those of latitudes (n) or longitudes (e).
export const isDegrees = (units, kind) => kindOf(units) === kind;

// degrees writes a longitude or a latitude, and null for other units.
function degrees(value, units, text) {
  const kind = kindOf(units);
  if (!kind) return null;
  if (kind === "n") return `${text(Math.abs(value))}°${value < 0 ? "S" : value > 0 ? "N" : ""}`;
  const turned = ((((value + 180) % 360) + 360) % 360) - 180;
  if (Math.abs(turned) === 180 || turned === 0) return `${Math.abs(turned)}°`;
  return `${text(Math.abs(turned))}°${turned < 0 ? "W" : "E"}`;
}

// day shortens a date: midnight is left out.
export function day(date) {
  return date.replace(/T00:00:00$/, "").replace(/(T\d\d:\d\d):00$/, "$1").replace("T", " ");
}

// times writes dates at ticks: as much of their times as tells neighbours apart. Days are left
// out if all are the same, which is then the second result.
export function times(dates) {
  const text = (date, cut) => date.replace(/T.*/, (time) => ` ${time.slice(1, 1 + cut)}`).trim();
  const known = dates.filter((d) => d !== "");
  const cut = [0, 5, 8, 15].find((n) => known.every((d, i) => i === 0 || d === known[i - 1] || text(d, n) !== text(known[i - 1], n))) ?? 15;
  const day = known.length > 0 ? text(known[0], 0) : null;
  if (cut === 0 || known.some((d) => text(d, 0) !== day)) return { texts: dates.map((d) => text(d, cut)), day: null };
  return { texts: dates.map((d) => text(d, cut).slice(day.length + 1)), day };
}

// dateTicks writes the dates at ticks of an axis. The first has the day if all ticks are of one day, but not the axis, whose title
// then does not name it.
export function dateTicks(dates, all) {
  const { texts, day } = times(dates);
  return day === null || times(all).day !== null ? texts : texts.map((text, i) => (i === 0 ? `${day} ${text}` : text));
}

// indexOf returns the index of value number i of an axis.
export const indexOf = (axis, i) => axis.at?.[i] ?? axis.start + i * axis.step;

// coordinate writes the coordinate number i of an axis.
export function coordinate(axis, i) {
  if (axis.dates?.[i]) return day(axis.dates[i]);
  const v = axis.values[i];
  if (v === null || v === undefined) return `index ${indexOf(axis, i)}`;
  const gaps = [axis.values[i - 1], axis.values[i + 1]].filter((w) => w !== null && w !== undefined && w !== v).map((w) => Math.abs(w - v));
  const text = (x) => (gaps.length > 0 ? fine(x, Math.min(...gaps)) : plain(x));
  return degrees(v, axis.units, text) ?? (axis.units ? `${text(v)} ${axis.units}` : text(v));
}

// round returns about count round numbers between two values, on request whole ones.
export function round(low, high, count, whole = false) {
  const raw = Math.max((high - low) / count, high > low && whole ? 1 : 0);
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 3, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999 && (s !== 3 * power || power === 10) && (!whole || Number.isInteger(s))) ?? 10 * power;
  const out = [], first = Math.ceil(low / step - 1e-9) * step;
  // Steps that are too short for the digits of the values lead nowhere.
  for (let i = 0, x = first; x <= high + step * 1e-9 && i <= 20 * count; x = first + ++i * step) out.push(Math.abs(x) < step * 1e-9 ? 0 : Number(x.toPrecision(12)));
  return out.filter((x, i) => i === 0 || x > out[i - 1]);
}

// css returns a colour of the style sheet.
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
