package cf

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Units are units of time since a reference time, in a calendar.
type Units struct {
	Calendar Calendar
	step     int64 // microseconds of a unit
	ref      Time
}

// ErrNotTime is wrapped by the errors of ParseUnits for units that do not have the form
// "UNIT since DATE".
var ErrNotTime = errors.New("not a time")

// units maps names of units to microseconds. Months and years of varying length are
// missing; the conventions advise against both.
var units = map[string]int64{}

func init() {
	for names, n := range map[string]int64{
		"microsecond microseconds microsec microsecs us":            1,
		"millisecond milliseconds millisec millisecs msec msecs ms": 1000,
		"second seconds sec secs s":                                 second,
		"minute minutes min mins":                                   minute,
		"hour hours hr hrs h":                                       hour,
		"day days d":                                                day,
		"week weeks":                                                7 * day,
	} {
		for _, name := range strings.Fields(names) {
			units[name] = n
		}
	}
}

// pattern is a regular expression, compiled when it is first used. Thus a program that uses none
// does not link package regexp.
type pattern struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// find returns the match of s and its groups, or nil.
func (p *pattern) find(s string) []string {
	p.once.Do(func() { p.re = regexp.MustCompile(p.text) })
	return p.re.FindStringSubmatch(s)
}

var (
	sincePattern = pattern{text: `(?i)^\s*(\w+)\s+since\s+(.*?)\s*$`}
	// The parts of a reference time: year, month, day, hour, minute, second, time zone.
	refPattern = pattern{text: `^([+-]?\d{1,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?` +
		`(?:(?:\s+|\s*[Tt])(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?(\s*(?:Z|z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?))?$`}
)

// yearLast is a reference time with the year in the place of the day. COARDS and CF do not allow it. CDO 2.1
// reads day, month, year. xarray 2023.01 reads month, day, year, but the day first if it is above 12. cftime
// 1.6 and UDUNITS 2.2 take 1-1-1970 for January 19 of the year 1. ncdump 4.9 prints an error.
var yearLast = pattern{text: `^(\d{1,2})-(\d{1,2})-(\d{4})(\D.*)?$`}

// yearFirst returns a reference time with the year first. For a year that comes last, it is what CDO and
// xarray agree on.
func yearFirst(s string) (string, error) {
	m := yearLast.find(s)
	if m == nil {
		return s, nil
	}
	first, _ := strconv.Atoi(m[1]) // two digits
	second, _ := strconv.Atoi(m[2])
	if first != second && first <= 12 {
		return "", fmt.Errorf("expected a date with the year first, found %q, in which programs take different numbers for the month", s)
	}
	return m[3] + "-" + m[2] + "-" + m[1] + m[4], nil
}

// ParseUnits parses units of time, such as "days since 1850-01-01 00:00:00", and the
// name of their calendar. Months are units only in the calendar 360_day, common years
// only in noleap. The reference time is UTC unless it ends with another offset. Its year comes first.
// In 1-1-1970 and 15-6-1970 it may come last, since CDO and xarray agree on their meaning.
func ParseUnits(text, calendar string) (*Units, error) {
	m := sincePattern.find(text)
	if m == nil {
		return nil, fmt.Errorf("cf: units %q: %w", text, ErrNotTime)
	}
	c, err := parseCalendar(calendar)
	if err != nil {
		return nil, err
	}
	u := &Units{Calendar: c}
	name := strings.ToLower(m[1])
	if u.step = units[name]; u.step == 0 {
		u.step = c.longUnit(name)
	}
	if u.step == 0 {
		return nil, fmt.Errorf("cf: units %q: expected microseconds, milliseconds, seconds, minutes, hours, days or weeks since a date, found %s: %w", text, m[1], ErrNotTime)
	}
	if u.ref, err = c.parseRef(m[2]); err != nil {
		return nil, fmt.Errorf("cf: units %q: %w", text, err)
	}
	return u, nil
}

// longUnit returns the length of months and years in calendars where it is fixed, else
// 0.
func (c Calendar) longUnit(name string) int64 {
	switch strings.TrimSuffix(name, "s") {
	case "month":
		if c == Day360 {
			return 30 * day
		}
	case "common_year":
		if c == NoLeap {
			return 365 * day
		}
	}
	return 0
}

// parseRef reads a reference time.
func (c Calendar) parseRef(s string) (Time, error) {
	given := s
	s, err := yearFirst(s)
	if err != nil {
		return 0, err
	}
	m := refPattern.find(s)
	// Without a space, cftime and UDUNITS take an offset after a date for the time of day.
	if m == nil || m[4] == "" && (strings.HasPrefix(m[7], "+") || strings.HasPrefix(m[7], "-")) {
		return 0, fmt.Errorf("expected a date and time, found %q", given)
	}
	var n [6]int64
	for i := range n {
		if n[i] = 0; i == 1 || i == 2 {
			n[i] = 1
		}
		if w, _, _ := strings.Cut(m[i+1], "."); w != "" {
			// Cannot fail: the pattern allows only a few digits.
			n[i], _ = strconv.ParseInt(w, 10, 64)
		}
	}
	d := Date{n[0], int(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), 0}
	if _, fraction, ok := strings.Cut(m[6], "."); ok {
		d.Micro, _ = strconv.Atoi((fraction + "000000")[:6])
	}
	t, err := c.Time(d)
	if err != nil {
		return 0, err
	}
	return t - Time(zone(strings.TrimSpace(m[7]))), nil
}

// zone returns a time zone, such as +01:00 or -5, in microseconds.
func zone(s string) int64 {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	h, m := digits, ""
	if len(digits) > 2 {
		h, m = digits[:len(digits)-2], digits[len(digits)-2:]
	}
	hours, _ := strconv.ParseInt(h, 10, 64)
	minutes, _ := strconv.ParseInt("0"+m, 10, 64)
	n := hours*hour + minutes*minute
	if s[0] == '-' {
		return -n
	}
	return n
}

// Time converts a number of units to a time, rounded to microseconds. ok is false for
// NaN and for times that are too far away.
func (u *Units) Time(x float64) (t Time, ok bool) {
	step := float64(u.step)
	high := x * step
	if !(math.Abs(high) < maxTime) {
		return 0, false
	}
	low := math.FMA(x, step, -high) // the rounding error of high
	whole := math.RoundToEven(high)
	t = u.ref + Time(whole) + Time(math.RoundToEven(high-whole+low))
	return t, t > -maxTime && t < maxTime
}

// Date converts a number of units to a date; see Time.
func (u *Units) Date(x float64) (d Date, ok bool) {
	t, ok := u.Time(x)
	if !ok {
		return Date{}, false
	}
	return u.Calendar.Date(t), true
}

// Number converts a time to a number of units.
func (u *Units) Number(t Time) float64 { return float64(t-u.ref) / float64(u.step) }

// UnitsOf returns the units of variable number v if its values are times, else an error
// that wraps ErrNotTime. Bounds of times inherit the units of their variable.
func UnitsOf(h *cdf3.Header, v int) (*Units, error) {
	w := &h.Vars[v]
	if w.Attr("units") == nil {
		for i := range h.Vars {
			p := &h.Vars[i]
			if i != v && (p.Attr("bounds").Text() == w.Name || p.Attr("climatology").Text() == w.Name) {
				w = p
				break
			}
		}
	}
	if w.Type == cdf3.Char {
		return nil, ErrNotTime
	}
	return ParseUnits(w.Attr("units").Text(), w.Attr("calendar").Text())
}
