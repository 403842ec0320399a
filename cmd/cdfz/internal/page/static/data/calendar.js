// Times and their six calendars, as package cf has them.

const second = 1000000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
const nanos = new Map();
for (const [names, n] of [["nanosecond nanoseconds nanosec nanosecs nsec nsecs ns", 1], ["microsecond microseconds microsec microsecs usec usecs us", 1e3],
  ["millisecond milliseconds millisec millisecs msec msecs ms", 1e6], ["second seconds sec secs s", 1e9], ["minute minutes min mins", 60e9],
  ["hour hours hr hrs h", 3600e9], ["day days d", 86400e9], ["week weeks", 7 * 86400e9], ["fortnight fortnights", 14 * 86400e9]]) for (const name of names.split(" ")) nanos.set(name, n);

// The words are those of files, which may be names of what objects have, such as constructor: so the lists are maps.
const calendars = new Map(Object.entries({ "": "standard", standard: "standard", gregorian: "standard", proleptic_gregorian: "proleptic_gregorian", julian: "julian", noleap: "noleap",
  no_leap: "noleap", "365_day": "noleap", all_leap: "all_leap", allleap: "all_leap", "366_day": "all_leap", "360_day": "360_day" }));

const common = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
const leapYear = [0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366];
const gregorianStart = -141427, julianOffset = -719164, gregorian1 = -719162;
const mod = (a, b) => ((a % b) + b) % b;

function isLeap(c, y) {
  const julian = mod(y, 4) === 0, gregorian = julian && (mod(y, 100) !== 0 || mod(y, 400) === 0);
  return { standard: gregorian || (julian && y < 1583), proleptic_gregorian: gregorian, julian, all_leap: true }[c] ?? false;
}

const yearDay = (c, y, m, d) => (c === "360_day" ? (m - 1) * 30 : (isLeap(c, y) ? leapYear : common)[m - 1]) + d - 1;

function yearStart(c, year) {
  const y = year - 1, floor = Math.floor;
  switch (c) {
    case "standard": return yearStart(year > 1582 ? "proleptic_gregorian" : "julian", year);
    case "proleptic_gregorian": return gregorian1 + 365 * y + floor(y / 4) - floor(y / 100) + floor(y / 400);
    case "julian": return julianOffset + 365 * y + floor(y / 4);
    case "noleap": return 365 * (year - 1970);
    case "all_leap": return 366 * (year - 1970);
  }
  return 360 * (year - 1970);
}

function dayNumber(c, y, m, d) {
  const most = c === "360_day" ? 30 : isLeap(c, y) ? leapYear[m] - leapYear[m - 1] : common[m] - common[m - 1];
  if (d < 1 || d > most) return null;
  const n = yearStart(c, y) + yearDay(c, y, m, d);
  if (c === "standard" && y === 1582 && (m > 10 || (m === 10 && d >= 5))) return m > 10 || d >= 15 ? n - 10 : null;
  return n;
}

function dayDate(c, n) {
  if (c === "standard") return dayDate(n < gregorianStart ? "julian" : "proleptic_gregorian", n);
  let year = { proleptic_gregorian: () => Math.floor((400 * (n - gregorian1)) / 146097), julian: () => Math.floor((4 * (n - julianOffset)) / 1461),
    noleap: () => 1970 + Math.floor(n / 365), all_leap: () => 1970 + Math.floor(n / 366), "360_day": () => 1970 + Math.floor(n / 360) }[c]();
  while (yearStart(c, year + 1) <= n) year++;
  const at = n - yearStart(c, year);
  let m = 1;
  while (m < 12 && yearDay(c, year, m + 1, 1) <= at) m++;
  return [year, m, at - yearDay(c, year, m, 1) + 1];
}

const since = /^\s*(.*?)\s+since(?:\s+(.*?)|([-+\d].*?))?\s*$/is;
const from = /^\s*(.*?)\s*(?:\s(?:after|from|ref)\s|@)\s*([-+\d].*?)\s*$/is;
const absolute = /^\s*(?:day|month|year)s?\s+as\s+%Y/i;
const step = /^(?:([\d.]+(?:[eE][-+]?\d+)?)\s*)?(\p{L}\w*)$/u;
const datePattern = /^(?:([-+]?\d{1,6})-(\d{1,2})(?:-(\d{1,2}))?|([-+]?\d{1,4})|([-+]?\d{4})(\d{1,2})(\d{1,2})?)(\D.*)?$/;
const clock = new RegExp("^(?:(?:\\s+|T)(?:(\\d{1,2})(?::(\\d{1,2})(?::(\\d{1,2}(?:\\.\\d*)?))?)?|(\\d{2})(\\d{2})(\\d{2}(?:\\.\\d*)?)?)" +
  "|[^-+\\d\\s](\\d{1,2}):(\\d{1,2})(?::(\\d{1,2}(?:\\.\\d*)?))?)?" +
  "(?:\\s*([Zz]|[Uu][Tt][Cc]|[Uu][Tt]|[Gg][Mm][Tt]|[-+]\\d{1,2}(?::\\d{1,2})?|[-+]\\d{3,4})|\\s+(\\d{1,2}(?::\\d{1,2}(?::00)?)?|\\d{3,4}))?$");
const zone = /^([-+]?)(?:(\d{1,2}):(\d{1,2})(?::00)?|(\d{1,2})|(\d{1,2})(\d{2}))$/;

function yearFirst(s) {
  let m = /^(\d{4})\/(\d{1,2})\/(\d{1,2})(\D.*)?$/.exec(s);
  if (m) return `${m[1]}-${m[2]}-${m[3]}${m[4] ?? ""}`;
  m = /^(\d{1,2})-(\d{1,2})-(\d{4})(\D.*)?$/.exec(s);
  if (!m) return s;
  if (Number(m[1]) !== Number(m[2]) && Number(m[1]) <= 12) return null; // programs take different numbers for the month
  return `${m[3]}-${m[2]}-${m[1]}${m[4] ?? ""}`;
}

// instant returns the microseconds since 1970 of a date, with or without a time and an offset, or null.
function instant(c, text) {
  const ref = yearFirst(text);
  const d = ref !== null && datePattern.exec(ref);
  const k = d && clock.exec(d[8] ?? "");
  if (!k) return null;
  const int = (...parts) => Number(parts.find((p) => p !== undefined && p !== "") ?? 0);
  const one = (...parts) => Number(parts.find((p) => p !== undefined && p !== "") ?? 1);
  const [whole, fraction = ""] = (k[3] ?? k[6] ?? k[9] ?? "").split(".");
  let year = int(d[1], d[4], d[5]);
  const month = one(d[2], d[6]), dayOf = one(d[3], d[7]), h = int(k[1], k[4], k[7]), min = int(k[2], k[5], k[8]);
  let sec = int(whole), leap = 0;
  const micro = Number((fraction + "000000").slice(0, 6));
  if (year < 0 && (c === "standard" || c === "julian")) year++; // these have no year 0
  if (sec === 60 && min === 59 && h === 23) [sec, leap] = [59, second];
  if (Math.abs(year) > 100000 || month < 1 || month > 12 || h > 23 || min > 59 || sec > 59) return null;
  const n = dayNumber(c, year, month, dayOf);
  if (n === null) return null;
  let offset = 0;
  const z = zone.exec(k[10] ?? k[11] ?? "");
  if (z) {
    const zh = int(z[2], z[4], z[5]), zm = int(z[3], z[6]);
    if (zh > 23 || zm > 59 || z[5] === "0") return null;
    offset = (zh * hour + zm * minute) * (z[1] === "-" ? -1 : 1);
  }
  const noClock = (k[1] ?? k[4] ?? k[7] ?? "") === "";
  if (noClock && (k[11] !== undefined || offset !== 0)) return null;
  return BigInt(n) * BigInt(day) + BigInt(h * hour + min * minute + sec * second + micro + leap - offset);
}

/** parseUnits reads units of time: null if they are none, and bad if they cannot be read. Otherwise date returns the text of a number's date. */
export function parseUnits(text, calendar) {
  const bad = { date: null };
  let unit, ref;
  let m = since.exec(text);
  if (m) [unit, ref] = [m[1], (m[2] ?? "") + (m[3] ?? "")];
  else {
    m = from.exec(text);
    const w = m && step.exec(m[1]);
    if (!w || !nanos.has(w[2].toLowerCase())) return absolute.test(text) ? bad : null;
    [unit, ref] = [m[1], m[2]];
  }
  const c = calendars.get(calendar.trim().toLowerCase());
  if (c === undefined) return bad;
  const s = step.exec(unit);
  if (!s) return bad;
  const name = s[2].toLowerCase();
  let nano = nanos.has(name) ? nanos.get(name) : /^months?$/.test(name) && c === "360_day" ? 30 * 86400e9 : /^common_years?$/.test(name) && c === "noleap" ? 365 * 86400e9 : 0;
  if (nano === 0) return bad;
  if (s[1]) {
    nano *= Number(s[1]);
    if (!(nano >= 1 && nano < 2 ** 60 && Number.isInteger(nano))) return bad;
  }
  const reference = instant(c, ref);
  if (reference === null) return bad;
  return { date: (x) => date(c, reference, nano, x), reference, nano, calendar: c };
}

const maxTime = 367n * 100000n * BigInt(day);

// even rounds to the nearest integer, halves to even.
function even(x) {
  const f = Math.floor(x), r = x - f;
  return r < 0.5 || (r === 0.5 && f % 2 === 0) ? f : f + 1;
}

// low returns the rounding error of a × b, exactly.
function low(a, b, product) {
  const split = (x) => {
    const t = 134217729 * x, h = t - (t - x);
    return [h, x - h];
  };
  const [ah, al] = split(a), [bh, bl] = split(b);
  return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
}

function date(c, reference, nano, x) {
  let n;
  if (nano % 1000 !== 0) {
    const y = even((x * nano) / 1000);
    if (!(Math.abs(y) < Number(maxTime))) return "";
    n = BigInt(y);
  } else {
    const us = nano / 1000, high = x * us;
    if (!(Math.abs(high) < Number(maxTime))) return "";
    const whole = even(high);
    n = BigInt(whole) + BigInt(even(high - whole + low(x, us, high)));
  }
  const t = reference + n;
  if (t <= -maxTime || t >= maxTime) return "";
  const d = BigInt(day);
  let q = t / d;
  if (t % d < 0n) q--;
  const within = Number(t - q * d);
  const [year, m, dd] = dayDate(c, Number(q));
  const pad = (v, w = 2) => String(v).padStart(w, "0");
  const micro = within % second;
  return `${year < 0 ? "-" : ""}${pad(Math.abs(year), 4)}-${pad(m)}-${pad(dd)}T${pad(Math.floor(within / hour))}:${pad(Math.floor(within / minute) % 60)}:${pad(Math.floor(within / second) % 60)}${micro ? `.${pad(micro, 6)}` : ""}`;
}


/** numberOf returns the value, in units that parseUnits has read, of a date that a person has written, or null if the calendar has no such date. */
export function numberOf(units, text) {
  const t = instant(units.calendar, text.trim());
  if (t === null) return null;
  const away = (t - units.reference) * 1000n, whole = away / BigInt(units.nano); // nanoseconds
  return Number(whole) + Number(away - whole * BigInt(units.nano)) / units.nano;
}

/** daysOf returns the days that a month of a calendar has. */
export function daysOf(calendar, year, month) {
  const y = year < 0 && (calendar === "standard" || calendar === "julian") ? year + 1 : year;
  return Array.from({ length: 31 }, (_, i) => i + 1).filter((d) => dayNumber(calendar, y, month, d) !== null);
}

/** nearest returns the index of the value that is next to another one, or -1 if there are none. */
export function nearest(values, x) {
  let best = -1;
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i]) && (best < 0 || Math.abs(values[i] - x) < Math.abs(values[best] - x))) best = i;
  return best;
}
