package cf

import (
	"fmt"
	"strings"
)

// Calendar is a calendar of the CF conventions.
type Calendar uint8

// The calendars.
const (
	Standard           Calendar = iota // Julian up to 1582-10-04, then Gregorian from 1582-10-15 on
	ProlepticGregorian                 // Gregorian for all years
	Julian                             // a leap year every four years
	NoLeap                             // no leap years
	AllLeap                            // leap years only
	Day360                             // twelve months of 30 days
)

var calendarNames = [...]string{"standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"}

// String returns the calendar's name in the CF conventions.
func (c Calendar) String() string { return calendarNames[c] }

// parseCalendar reads the value of a calendar attribute. Empty means Standard.
func parseCalendar(name string) (Calendar, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "", "standard", "gregorian":
		return Standard, nil
	case "proleptic_gregorian":
		return ProlepticGregorian, nil
	case "julian":
		return Julian, nil
	case "noleap", "no_leap", "365_day":
		return NoLeap, nil
	case "all_leap", "allleap", "366_day":
		return AllLeap, nil
	case "360_day":
		return Day360, nil
	}
	return 0, fmt.Errorf("cf: unknown calendar %q", name)
}

// Days before each month, in years without and with a 29th of February.
var (
	commonYear = [13]int64{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}
	leapYear   = [13]int64{0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}
)

// Numbers of days, counted from 1970-01-01 of the Gregorian calendar.
const (
	gregorianStart = -141427 // 1582-10-15, the first day of the Gregorian calendar
	julianOffset   = -719164 // 0001-01-01 of the Julian calendar
	gregorian1     = -719162 // 0001-01-01 of the proleptic Gregorian calendar
)

// leap reports whether a year has a 29th of February. For Standard, the rules in force
// on that day apply.
func (c Calendar) leap(year int64) bool {
	julian := year%4 == 0
	gregorian := julian && (year%100 != 0 || year%400 == 0)
	switch c {
	case Standard:
		return gregorian || julian && year < 1583
	case ProlepticGregorian:
		return gregorian
	case Julian:
		return julian
	case AllLeap:
		return true
	}
	return false
}

// monthDays returns the number of days of a month, 1 to 12.
func (c Calendar) monthDays(year int64, month int) int {
	switch {
	case c == Day360:
		return 30
	case c.leap(year):
		return int(leapYear[month] - leapYear[month-1])
	}
	return int(commonYear[month] - commonYear[month-1])
}

// yearDay returns the number of days in a year before a date.
func (c Calendar) yearDay(year int64, month, day int) int64 {
	switch {
	case c == Day360:
		return int64(month-1)*30 + int64(day-1)
	case c.leap(year):
		return leapYear[month-1] + int64(day-1)
	}
	return commonYear[month-1] + int64(day-1)
}

// yearStart returns the number of the first day of a year.
func (c Calendar) yearStart(year int64) int64 {
	y := year - 1
	switch c {
	case Standard:
		if year > 1582 {
			return ProlepticGregorian.yearStart(year)
		}
		return Julian.yearStart(year)
	case ProlepticGregorian:
		return gregorian1 + 365*y + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400)
	case Julian:
		return julianOffset + 365*y + floorDiv(y, 4)
	case NoLeap:
		return 365 * (year - 1970)
	case AllLeap:
		return 366 * (year - 1970)
	}
	return 360 * (year - 1970)
}

// dayNumber returns the number of the day of a date. month must be 1 to 12. ok is false
// if the calendar does not have the day.
func (c Calendar) dayNumber(year int64, month, day int) (n int64, ok bool) {
	if day < 1 || day > c.monthDays(year, month) {
		return 0, false
	}
	n = c.yearStart(year) + c.yearDay(year, month, day)
	if c == Standard && year == 1582 && (month > 10 || month == 10 && day >= 5) {
		return n - 10, month > 10 || day >= 15
	}
	return n, true
}

// dayDate returns the date of a day.
func (c Calendar) dayDate(n int64) (year int64, month, day int) {
	switch {
	case c == Standard && n < gregorianStart:
		return Julian.dayDate(n)
	case c == Standard:
		return ProlepticGregorian.dayDate(n)
	}
	// The estimate is never late, and at most a year early.
	switch c {
	case ProlepticGregorian:
		year = floorDiv(400*(n-gregorian1), 146097)
	case Julian:
		year = floorDiv(4*(n-julianOffset), 1461)
	case NoLeap:
		year = 1970 + floorDiv(n, 365)
	case AllLeap:
		year = 1970 + floorDiv(n, 366)
	default:
		year = 1970 + floorDiv(n, 360)
	}
	for c.yearStart(year+1) <= n {
		year++
	}
	at := n - c.yearStart(year)
	month = 1
	for month < 12 && c.yearDay(year, month+1, 1) <= at {
		month++
	}
	return year, month, int(at-c.yearDay(year, month, 1)) + 1
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
