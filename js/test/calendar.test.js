// Dates of the six calendars: those that a person writes, as numbers of the file's units.
import assert from "node:assert/strict";
import { test } from "node:test";
import { daysOf, nearest, numberOf, parseUnits } from "../../cmd/cdfz/internal/page/static/data/calendar.js";

test("dates as numbers", () => {
  const of = (calendar, units = "days since 2000-01-01") => (text) => numberOf(parseUnits(units, calendar), text);
  assert.equal(of("standard")("2000-03-01"), 60);
  assert.equal(of("noleap")("2000-03-01"), 59);
  assert.equal(of("noleap")("2000-02-29"), null);
  assert.equal(of("all_leap")("2001-02-29"), 366 + 59);
  assert.equal(of("360_day")("2000-02-30"), 59);
  assert.equal(of("360_day")("2000-01-31"), null);
  assert.equal(of("julian")("1900-02-29") !== null, true);
  assert.equal(of("proleptic_gregorian")("1900-02-29"), null);
  assert.equal(of("standard")("1582-10-10"), null, "the days that the Gregorian calendar left out");
  assert.equal(of("standard", "hours since 2000-01-01 06:00")("2000-01-01 12:30"), 6.5);
  assert.equal(of("standard", "hours since 2000-01-01 06:00")("2000-01-01T00:00:00"), -6);
  assert.equal(of("standard")("2000"), 0);
  assert.equal(of("standard")("2000-02"), 31);
  assert.equal(of("standard", "days since 1-1-1")("2001-01-01"), 730487);
  assert.equal(of("standard")("yesterday"), null);
  for (const calendar of ["none", "constructor", "__proto__"]) assert.equal(parseUnits("days since 2000-01-01", calendar).date, null, calendar);
  for (const unit of ["constructor", "__proto__"]) assert.equal(parseUnits(`${unit} from 2000-01-01`, "")?.date ?? null, null, unit);
});

test("a number and its date", () => {
  for (const calendar of ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"]) {
    for (const units of ["days since 1850-01-01", "hours since 0001-01-01", "seconds since 1970-01-01 12:00", "6 hours since 1990-05-05"]) {
      const u = parseUnits(units, calendar);
      for (const x of [0, 1, 59, 366, 1234.5, 1e6, -77]) {
        const text = u.date(x);
        if (/\./.test(text)) continue;
        assert.ok(Math.abs(numberOf(u, text) - x) < 1e-6, `${calendar} ${units} ${x} ${text}`);
      }
    }
  }
});

test("days of months", () => {
  assert.equal(daysOf("360_day", 2001, 2).length, 30);
  assert.equal(daysOf("noleap", 2000, 2).length, 28);
  assert.equal(daysOf("standard", 2000, 2).length, 29);
  assert.equal(daysOf("julian", 1900, 2).length, 29);
  assert.equal(daysOf("standard", 1582, 10).length, 21);
});

test("the nearest value", () => {
  assert.equal(nearest([3, NaN, 1, 2], 1.4), 2);
  assert.equal(nearest([NaN], 1), -1);
  assert.equal(nearest([10, 5, 0], 7.5), 0, "the first of two");
});
