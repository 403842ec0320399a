package cf

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Units are units of time since a reference time, in a calendar.
type Units struct {
	Calendar Calendar
	step     int64 // nanoseconds of a unit
	ref      Time
}

// ErrNotTime is wrapped by the errors of ParseUnits for units that do not have the form
// "UNIT since DATE". Other errors are about times that cannot be read.
var ErrNotTime = errors.New("not a time")

// Nanoseconds of units.
const (
	nanosecond = 1
	nanoDay    = 1000 * day
)

// units maps names of units to nanoseconds. Months and years of varying length are
// missing; the conventions advise against both.
var units = map[string]int64{}

func init() {
	for names, n := range map[string]int64{
		"nanosecond nanoseconds nanosec nanosecs nsec nsecs ns":     nanosecond,
		"microsecond microseconds microsec microsecs usec usecs us": 1000,
		"millisecond milliseconds millisec millisecs msec msecs ms": 1000 * 1000,
		"second seconds sec secs s":                                 1000 * second,
		"minute minutes min mins":                                   1000 * minute,
		"hour hours hr hrs h":                                       1000 * hour,
		"day days d":                                                nanoDay,
		"week weeks":                                                7 * nanoDay,
		"fortnight fortnights":                                      14 * nanoDay,
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
	sincePattern = pattern{text: `(?is)^\s*(.*?)\s+since(?:\s+(.*?)|([-+\d].*?))?\s*$`}
	// The other words of UDUNITS before a reference time. They mean other things, too.
	fromPattern = pattern{text: `(?is)^\s*(.*?)\s*(?:\s(?:after|from|ref)\s|@)\s*([-+\d].*?)\s*$`}
	// A time as a number such as 20190131.5, as CDO writes it.
	absolutePattern = pattern{text: `(?i)^\s*(?:day|month|year)s?\s+as\s+%Y`}
	stepPattern     = pattern{text: `^(?:([\d.]+(?:[eE][-+]?\d+)?)\s*)?(\pL\w*)$`}
	// The parts of a reference date: year, month, day. Without hyphens, the year has four digits.
	datePattern = pattern{text: `^(?:([-+]?\d{1,6})-(\d{1,2})(?:-(\d{1,2}))?|([-+]?\d{1,4})|([-+]?\d{4})(\d{1,2})(\d{1,2})?)(\D.*)?$`}
	// What comes after the date: a time of day with its parts, as UDUNITS reads it in two notations and as cftime
	// reads it after any character, and a time zone with and without a sign.
	clockPattern = pattern{text: `^(?:(?:\s+|T)` +
		`(?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?|(\d{2})(\d{2})(\d{2}(?:\.\d*)?)?)` +
		`|[^-+\d\s](\d{1,2}):(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?` +
		`(?:\s*((?i:Z|UTC|UT|GMT)|[-+]\d{1,2}(?::\d{1,2})?|[-+]\d{3,4})|\s+(\d{1,2}(?::\d{1,2}(?::00)?)?|\d{3,4}))?$`}
	zonePattern = pattern{text: `^([-+]?)(?:(\d{1,2}):(\d{1,2})(?::00)?|(\d{1,2})|(\d{1,2})(\d{2}))$`}
)

// yearLast is a reference time with the year in the place of the day. COARDS and CF do not allow it. CDO 2.1
// reads day, month, year. xarray 2023.01 reads month, day, year, but the day first if it is above 12. cftime
// 1.6 and UDUNITS 2.2 take 1-1-1970 for January 19 of the year 1. ncdump 4.9 prints an error.
var (
	yearLast = pattern{text: `^(\d{1,2})-(\d{1,2})-(\d{4})(\D.*)?$`}
	slashes  = pattern{text: `^(\d{4})/(\d{1,2})/(\d{1,2})(\D.*)?$`} // as xarray and ncdump read them
)

// yearFirst returns a reference time with the year first. For a year that comes last, it is what CDO and
// xarray agree on.
func yearFirst(s string) (string, error) {
	if m := slashes.find(s); m != nil {
		return m[1] + "-" + m[2] + "-" + m[3] + m[4], nil
	}
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
// only in noleap. The reference time is UTC unless it ends with another offset, with or without a
// sign: east of Greenwich is positive. Its year comes first.
// In 1-1-1970 and 15-6-1970 it may come last, since CDO and xarray agree on their meaning.
// Years before 1 are those of cftime and UDUNITS: in the standard and the Julian calendar, -1 comes
// before 1. It reads what UDUNITS or cftime reads, with the meaning in UDUNITS if they differ, but no text
// that cftime ignores, and no dates that versions of UDUNITS read differently.
func ParseUnits(text, calendar string) (*Units, error) {
	unit, ref, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("cf: units %q: %w", text, err)
	}
	u := &Units{}
	if u.Calendar, err = parseCalendar(calendar); err != nil {
		return nil, err
	}
	if u.step, err = u.Calendar.parseStep(unit); err != nil {
		return nil, fmt.Errorf("cf: units %q: %w", text, err)
	}
	if u.ref, err = u.Calendar.parseRef(ref); err != nil {
		return nil, fmt.Errorf("cf: units %q: %w", text, err)
	}
	return u, nil
}

// split splits units of time into the unit and the reference time.
func split(text string) (unit, ref string, err error) {
	if m := sincePattern.find(text); m != nil {
		return m[1], m[2] + m[3], nil
	}
	if m := fromPattern.find(text); m != nil {
		if w := stepPattern.find(m[1]); w != nil && units[strings.ToLower(w[2])] != 0 {
			return m[1], m[2], nil
		}
	}
	if absolutePattern.find(text) != nil {
		return "", "", errors.New("expected a unit since a date, found dates as numbers")
	}
	return "", "", ErrNotTime
}

// parseStep returns the length of a unit, which may have a factor: 10 minutes.
func (c Calendar) parseStep(unit string) (int64, error) {
	m := stepPattern.find(unit)
	if m == nil {
		return 0, unknownUnit(unit)
	}
	name := strings.ToLower(m[2])
	n := units[name]
	if n == 0 {
		n = c.longUnit(name)
	}
	if n == 0 {
		return 0, unknownUnit(unit)
	}
	if m[1] == "" {
		return n, nil
	}
	x, err := strconv.ParseFloat(m[1], 64)
	const most = 1 << 60
	if x *= float64(n); err != nil || !(x >= 1 && x < most) || x != math.Trunc(x) {
		return 0, fmt.Errorf("expected a factor that gives nanoseconds, found %s", m[1])
	}
	return int64(x), nil
}

func unknownUnit(unit string) error {
	return fmt.Errorf("expected nanoseconds to weeks since a date, found %q", unit)
}

// longUnit returns the length of months and years in calendars where it is fixed, else
// 0.
func (c Calendar) longUnit(name string) int64 {
	switch strings.TrimSuffix(name, "s") {
	case "month":
		if c == Day360 {
			return 30 * nanoDay
		}
	case "common_year":
		if c == NoLeap {
			return 365 * nanoDay
		}
	}
	return 0
}

// parseRef reads a reference time.
func (c Calendar) parseRef(s string) (Time, error) {
	bad := fmt.Errorf("expected a date and time, found %q", s)
	s, err := yearFirst(s)
	if err != nil {
		return 0, err
	}
	date := datePattern.find(s)
	if date == nil {
		return 0, bad
	}
	m := clockPattern.find(date[8])
	if m == nil {
		return 0, bad
	}
	// Cannot fail: the patterns allow only a few digits. An empty text is 0.
	number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
	part := func(s string) int64 {
		if s == "" {
			return 1
		}
		return number(s)
	}
	seconds, fraction, _ := strings.Cut(m[3]+m[6]+m[9], ".")
	d := Date{number(date[1] + date[4] + date[5]), int(part(date[2] + date[6])), int(part(date[3] + date[7])),
		int(number(m[1] + m[4] + m[7])), int(number(m[2] + m[5] + m[8])), int(number(seconds)), int(number((fraction + "000000")[:6]))}
	if d.Year < 0 && (c == Standard || c == Julian) {
		d.Year++ // these have no year 0
	}
	var leap Time
	if d.Second == 60 && d.Minute == 59 && d.Hour == 23 {
		d.Second, leap = 59, second
	}
	t, err := c.Time(d)
	if err != nil {
		return 0, err
	}
	offset, ok := zone(m[10] + m[11])
	switch noClock := m[1]+m[4]+m[7] == ""; {
	case !ok || noClock && m[11] != "":
		return 0, bad
	case noClock && offset != 0:
		// UDUNITS 2.2 takes -06:00 for a time of day, cftime and xarray for an offset, later versions of UDUNITS for neither.
		return 0, fmt.Errorf("expected a time of day before the time zone, found %q, which programs take for different times", s)
	}
	return t + leap - Time(offset), nil
}

// zone returns a time zone, such as +01:00, -5 or 0:00, in microseconds. ok is false for zones beyond a day, and for
// three digits that begin with 0: programs take 053 for 53 minutes or for five hours.
func zone(s string) (offset int64, ok bool) {
	m := zonePattern.find(s)
	if m == nil {
		return 0, true // none, or a name of UTC
	}
	hours, _ := strconv.ParseInt(m[2]+m[4]+m[5], 10, 64) // a few digits
	minutes, _ := strconv.ParseInt("0"+m[3]+m[6], 10, 64)
	if hours > 23 || minutes > 59 || m[5] == "0" {
		return 0, false
	}
	offset = hours*hour + minutes*minute
	if m[1] == "-" {
		offset = -offset
	}
	return offset, true
}

// Time converts a number of units to a time, rounded to microseconds. ok is false for
// NaN and for times that are too far away.
func (u *Units) Time(x float64) (t Time, ok bool) {
	if u.step%1000 != 0 {
		n := math.RoundToEven(x * float64(u.step) / 1000)
		if !(math.Abs(n) < maxTime) {
			return 0, false
		}
		t = u.ref + Time(n)
		return t, t > -maxTime && t < maxTime
	}
	step := float64(u.step / 1000)
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
func (u *Units) Number(t Time) float64 { return float64(t-u.ref) / (float64(u.step) / 1000) }

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

// IsTime reports whether a variable declares its values as times or durations, whatever its units are: by
// axis or standard_name, with units of time.
func IsTime(v *cdf3.Var) bool {
	if v.Attr("axis").Text() != "T" && v.Attr("standard_name").Text() != "time" {
		return false
	}
	return units[strings.ToLower(strings.TrimSpace(v.Attr("units").Text()))] != 0
}

// Equal reports whether numbers in both units mean the same times, however they are spelled.
func (u *Units) Equal(v *Units) bool { return *u == *v }

// Convert converts a number of units u to units v of the same calendar. exact is false if the calendars
// differ, or if no float64 is the result.
func (u *Units) Convert(x float64, v *Units) (y float64, exact bool) {
	n := new(big.Rat).SetFloat64(x)
	if n == nil || u.Calendar != v.Calendar { // nil: not finite
		return 0, false
	}
	n.Mul(n, new(big.Rat).SetInt64(u.step))
	apart := big.NewInt(int64(u.ref - v.ref)) // cannot overflow: see maxTime
	n.Add(n, new(big.Rat).SetInt(apart.Mul(apart, big.NewInt(1000))))
	return n.Quo(n, new(big.Rat).SetInt64(v.step)).Float64()
}
