package cdl

import (
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
)

// timeUnits are the units of a time variable as ncdump understands them. They differ
// from those of package cf: ncdump counts hours in floating point, accepts months,
// seasons and years as units, and is lenient about the form of dates.
type timeUnits struct {
	calendar cf.Calendar
	hours    float64 // of a unit, or 0 if months is set
	divide   float64 // if not 0, the unit is an hour divided by this
	months   float64 // of a unit
	base     moment
	sep      byte // between date and time of day
}

// moment is a date and a time of day.
type moment struct {
	year       int64
	month, day int
	hour       float64
}

// before reports whether m is before o.
func (m moment) before(o moment) bool {
	switch {
	case m.year != o.year:
		return m.year < o.year
	case m.month != o.month:
		return m.month < o.month
	case m.day != o.day:
		return m.day < o.day
	}
	return m.hour < o.hour
}

// The change from the Julian to the Gregorian calendar, and the reference for
// differences.
var (
	lastJulian     = moment{1582, 10, 5, 0}
	firstGregorian = moment{1582, 10, 15, 0}
	epoch          = moment{1979, 1, 1, 0}
)

const (
	dayMicros   = 86400e6
	julianEpoch = -13 // days from 1970-01-01 of the Gregorian calendar to that of the Julian
)

// timeUnits returns the units of variable i, or nil if its values are not times. Bounds
// of times have the units of their variable.
func (d *dumper) timeUnits(i int, bounds bool) *timeUnits {
	if !d.o.Times {
		return nil
	}
	if bounds {
		if d.bounds == nil {
			d.bounds = lastBounds(d.h)
		}
		if d.bounds.of >= 0 && d.bounds.name == cString(d.h.Vars[i].Name) {
			i = d.bounds.of
		}
	}
	v := &d.h.Vars[i]
	a := attr(v.Attrs, "units")
	if a == nil || a.Type != cdf3.Char {
		return nil
	}
	calendar, ok := timeCalendar(attr(v.Attrs, "calendar"))
	if !ok {
		return nil
	}
	u := parseTimeUnits(cString(string(a.Values)))
	if u != nil {
		u.calendar, u.sep = calendar, ' '
		if d.o.ISO {
			u.sep = 'T'
		}
	}
	return u
}

// bounds is the value of a bounds attribute.
type bounds struct {
	name string // of the variable that holds the bounds
	of   int    // number of the variable with the attribute, or -1
}

// lastBounds returns the last bounds attribute of a file. ncdump forgets the others.
func lastBounds(h *cdf3.Header) *bounds {
	b := &bounds{of: -1}
	for i := range h.Vars {
		if a := attr(h.Vars[i].Attrs, "bounds"); a != nil && (a.Type == cdf3.Char || a.Len == 0) {
			*b = bounds{cString(string(a.Values)), i}
		}
	}
	return b
}

// timeCalendars lists calendars in the order of ncdump, which picks the first one that
// begins with the text of the attribute.
var timeCalendars = []struct {
	name string
	c    cf.Calendar
}{
	{"gregorian", cf.Standard}, {"standard", cf.Standard}, {"proleptic_gregorian", cf.ProlepticGregorian},
	{"noleap", cf.NoLeap}, {"no_leap", cf.NoLeap}, {"365_day", cf.NoLeap},
	{"allleap", cf.AllLeap}, {"all_leap", cf.AllLeap}, {"366_day", cf.AllLeap},
	{"360_day", cf.Day360}, {"julian", cf.Julian},
}

// timeCalendar returns the calendar named by an attribute, or Standard for unknown
// names. ok is false for the calendar "none", which has no years.
func timeCalendar(a *cdf3.Attr) (c cf.Calendar, ok bool) {
	if a == nil || a.Type != cdf3.Char || a.Len == 0 {
		return cf.Standard, true
	}
	name := strings.ToLower(cString(string(a.Values)))
	for _, t := range timeCalendars {
		if strings.HasPrefix(t.name, name) {
			return t.c, true
		}
	}
	return cf.Standard, !strings.HasPrefix("none", name)
}

const (
	maxUnit = 63 // length of a unit that ncdump reads
	maxBase = 47 // length of a date or a time of day that it reads
)

// parseTimeUnits parses "UNIT since DATE TIME". It returns nil if ncdump does not take
// the text for a unit of time.
func parseTimeUnits(s string) *timeUnits {
	unit, s := token(s)
	s, ok := strings.CutPrefix(skipSpace(s), "since")
	date, rest := token(s)
	if unit == "" || len(unit) > maxUnit || !ok || date == "" {
		return nil
	}
	clock, _ := token(rest)
	if at := strings.IndexByte(date, 'T'); at == 0 {
		date, clock = "1979", ""
	} else if at > 0 {
		clock, _ = token(skipSpace(s)[at+1:])
		date = date[:at]
	}
	u := &timeUnits{base: parseMoment(cut(date) + " " + cut(clock))}
	lower := strings.ToLower(unit)
	is := func(prefix, short string) bool {
		return strings.HasPrefix(lower, prefix) || short != "" && lower == short
	}
	switch {
	case is("sec", "s"):
		u.divide = 3600
	case is("min", "mn"):
		u.divide = 60
	case is("hour", "hr"):
		u.hours = 1
	case is("day", "dy"):
		u.hours = 24
	case is("week", "wk"):
		u.hours = 168
	case is("month", "mo"):
		u.months = 1
	case is("season", ""):
		u.months = 3
	case is("year", "yr"):
		u.months = 12
	default:
		return nil
	}
	return u
}

func cut(s string) string { return s[:min(len(s), maxBase)] }

// parseMoment parses a date and a time of day up to the first part that makes no sense.
func parseMoment(s string) moment {
	m := moment{month: 1, day: 1}
	year, s, ok := scanInt(s)
	if !ok {
		return m
	}
	m.year = year
	for _, to := range []*int{&m.month, &m.day} {
		rest, found := strings.CutPrefix(s, "-")
		n, rest, ok := scanInt(rest)
		if !found || !ok {
			return m
		}
		*to, s = int(int16(n)), rest
	}
	hour, s, ok := scanInt(skipSpace(s))
	if !ok || hour < 0 || hour > 23 {
		return m
	}
	m.hour = float64(hour)
	s, found := strings.CutPrefix(s, ":")
	minute, s, ok := scanInt(s)
	if !found || !ok || minute < 0 || minute > 59 {
		return m
	}
	m.hour += float64(minute) / 60
	s, found = strings.CutPrefix(s, ":")
	second, ok := scanFloat(s)
	if !found || !ok || second < 0 || second > 60 {
		return m
	}
	m.hour += second / 3600
	return m
}

// atHours returns the hours since 1970 in a calendar other than Standard.
func atHours(c cf.Calendar, m moment) (float64, bool) {
	month := m.month
	if month < 1 || month > 12 {
		month = 1
	}
	t, err := c.Time(cf.Date{Year: m.year, Month: month, Day: 1})
	if err != nil {
		return 0, false
	}
	days := int64(t) / dayMicros
	if c == cf.Julian {
		days += julianEpoch
	}
	return float64(days+int64(m.day)-1)*24 + m.hour, true
}

// atMoment is the inverse of atHours.
func atMoment(c cf.Calendar, hours float64) (moment, bool) {
	const far = 30e6 // days, some 80,000 years
	days := math.Floor(hours / 24)
	if !(math.Abs(days) < far) {
		return moment{}, false
	}
	m := moment{hour: hours - float64(days*24)}
	if m.hour >= 24 {
		days++
		m.hour -= 24
	}
	n := int64(days)
	if c == cf.Julian {
		n -= julianEpoch
	}
	d := c.Date(cf.Time(n * dayMicros))
	m.year, m.month, m.day = d.Year, d.Month, d.Day
	return m, true
}

// add adds hours to a moment of a calendar other than Standard. It computes relative to
// the epoch, because rounding depends on it.
func add(c cf.Calendar, m moment, hours float64) (moment, bool) {
	zero, ok1 := atHours(c, epoch)
	at, ok2 := atHours(c, m)
	if !ok1 || !ok2 {
		return m, false
	}
	return atMoment(c, zero+((at-zero)+hours))
}

// hoursBetween returns a-b in hours, also computed relative to the epoch.
func hoursBetween(c cf.Calendar, a, b moment) (float64, bool) {
	zero, ok1 := atHours(c, epoch)
	x, ok2 := atHours(c, a)
	y, ok3 := atHours(c, b)
	return (x - zero) - (y - zero), ok1 && ok2 && ok3
}

// moment converts a value. ok is false for times that are too far away.
func (u *timeUnits) moment(x float64) (moment, bool) {
	if u.months != 0 {
		return u.addMonths(x)
	}
	hours := u.hours * x
	if u.divide != 0 {
		hours = x / u.divide
	}
	switch {
	case u.calendar != cf.Standard:
		at, ok := atHours(u.calendar, u.base)
		if !ok {
			return moment{}, false
		}
		return atMoment(u.calendar, at+hours)
	case u.base.before(firstGregorian):
		until, ok := hoursBetween(cf.Julian, lastJulian, u.base)
		switch {
		case !ok:
			return moment{}, false
		case hours <= until:
			return add(cf.Julian, u.base, hours)
		}
		return add(cf.ProlepticGregorian, firstGregorian, hours-until)
	}
	since, ok := hoursBetween(cf.ProlepticGregorian, firstGregorian, u.base)
	switch {
	case !ok:
		return moment{}, false
	case hours > since:
		return add(cf.ProlepticGregorian, u.base, hours)
	}
	return add(cf.Julian, lastJulian, hours-since)
}

// addMonths adds whole months to the month of the base. Unless the count is 0, the
// result is the first day of a month.
func (u *timeUnits) addMonths(x float64) (moment, bool) {
	if x == 0 {
		return u.base, true
	}
	c := u.calendar
	if c == cf.Standard {
		c = cf.ProlepticGregorian
	}
	const tiny = 1e-10
	n := float64(u.months*x) + math.Copysign(tiny, x)
	at, ok := atHours(c, u.base)
	if !ok || !(math.Abs(n) < 1e6) {
		return moment{}, false
	}
	m, ok := atMoment(c, at)
	if !ok {
		return moment{}, false
	}
	months := int64(n) + int64(m.month) - 1
	years := months / 12
	if months%12 < 0 {
		years--
	}
	m = moment{m.year + years, int(months-12*years) + 1, 1, 0}
	if at, ok = atHours(c, m); !ok {
		return moment{}, false
	}
	return atMoment(c, at)
}

// append appends a value in quotes. Trailing parts of the time of day that are zero are
// left out. Values that are not times are written as numbers.
func (u *timeUnits) append(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return appendSpecial(dst, x)
	}
	m, ok := u.moment(x)
	if !ok || !m.valid() {
		return appendFloat64(dst, x, doubleDigits)
	}
	dst = append(dst, '"')
	dst = m.append(dst, u.sep)
	return append(dst, '"')
}

// appendAttr appends the value of an attribute, such as a fill value. For values that
// are not times, ncdump usually writes empty quotes.
func (u *timeUnits) appendAttr(dst []byte, x float64) []byte {
	if m, ok := u.moment(x); !math.IsNaN(x) && !math.IsInf(x, 0) && (!ok || !m.valid()) {
		return append(dst, `""`...)
	}
	return u.append(dst, x)
}

// valid reports whether a moment can be written.
func (m moment) valid() bool {
	return m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= 31 && m.hour >= 0 && m.hour <= 24
}

// append appends a moment, with the time of day as precise as needed.
func (m moment) append(dst []byte, sep byte) []byte {
	const (
		tinySecond = 0.5e-6
		tinyMinute = tinySecond / 60
		tinyHour   = tinyMinute / 60
	)
	hour := int(m.hour + tinyHour)
	rest := float64(60 * (m.hour - float64(hour)))
	minute := int(rest + tinyMinute)
	seconds := float64(60 * (rest - float64(minute)))
	second := int(seconds + tinySecond)
	year := m.year
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	dst = appendPadded(dst, year, 4)
	dst = appendPadded(append(dst, '-'), int64(m.month), 2)
	dst = appendPadded(append(dst, '-'), int64(m.day), 2)
	whole := float64(seconds-float64(second)) < tinySecond
	if whole && second == 0 && minute == 0 && hour == 0 {
		return dst
	}
	dst = appendPadded(append(dst, sep), int64(hour), 2)
	if whole && second == 0 && minute == 0 {
		return dst
	}
	dst = appendPadded(append(dst, ':'), int64(minute), 2)
	switch {
	case !whole:
		return appendFixed(append(dst, ':'), seconds)
	case second != 0:
		return appendPadded(append(dst, ':'), int64(second), 2)
	}
	return dst
}

// attrTimes writes the values of a numeric attribute of a time variable as a comment.
// One or two values follow the attribute; more begin a separate line.
func (d *dumper) attrTimes(a *cdf3.Attr) {
	if d.times == nil || a.Type == cdf3.Char || a.Len == 0 {
		return
	}
	size := a.Type.Size()
	col := 0
	for i := range a.Len {
		var text []byte
		text = d.times.appendAttr(text, toDouble(a.Type, a.Values[i*size:]))
		if i < a.Len-1 {
			text = append(text, ',')
		}
		col += 1 + len(text)
		switch {
		case a.Len > 2 && (i == 0 || col > d.maxLine+2):
			d.text("\n\t\t  // ")
			col = 16 + 2 + len(text) + len("// ")
		case i == 0:
			d.text(" // ")
		default:
			d.text(" ")
		}
		d.text(string(text))
	}
}

// toDouble converts a value of any type.
func toDouble(t cdf3.Type, b []byte) float64 {
	switch t {
	case cdf3.Float, cdf3.Double:
		return toFloat(t, b)
	case cdf3.Byte, cdf3.Short, cdf3.Int:
		return float64(int32(uint32(toInt(t, b))))
	case cdf3.Int64:
		return float64(int64(toInt(t, b)))
	}
	return float64(toInt(t, b))
}
