package cataloguefile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/cf"
)

// date is a date of any calendar, which may end after any of its parts: year, month, day, hour, minute,
// second, microsecond. Dates of different calendars are compared by these numbers.
type date []int64

var datePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + cf.DatePattern + `$`) })

// parseDate reads an ISO 8601 date.
func parseDate(s string) (date, error) {
	if !datePattern().MatchString(s) {
		return nil, fmt.Errorf("expected a date such as 1987, 1987-05 or 1987-05-16T12:00, found %q", s)
	}
	sign := int64(1)
	if s[0] == '-' {
		sign = -1
	}
	var d date
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if len(d) == 6 { // the digits of a fraction
			w = (w + "00000")[:6]
		}
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, err // not possible: the pattern allows few digits
		}
		d = append(d, n)
	}
	d[0] *= sign
	for i, bounds := range [...][2]int64{1: {1, 12}, 2: {1, 31}, 3: {0, 23}, 4: {0, 59}, 5: {0, 59}} {
		if i > 0 && i < len(d) && (d[i] < bounds[0] || d[i] > bounds[1]) {
			return nil, fmt.Errorf("there is no date %s", s)
		}
	}
	return d, nil
}

// compare compares two dates as far as both go: 1987 equals every date in it.
func (d date) compare(o date) int {
	n := min(len(d), len(o))
	return slices.Compare(d[:n], o[:n])
}

// Times are the dates from From to To, both included as far as they go: a year includes its last day. Either
// may be nil for all.
type Times struct{ from, to date }

// ParseTimes reads a date, which stands for all that it covers, or FROM..TO. Either end of a range may be
// left out.
func ParseTimes(s string) (*Times, error) {
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		to = from
	} else if from == "" && to == "" {
		return nil, fmt.Errorf("expected FROM..TO, found %q", s)
	}
	t := new(Times)
	for _, x := range []struct {
		text string
		d    *date
	}{{from, &t.from}, {to, &t.to}} {
		if x.text == "" && isRange {
			continue
		}
		var err error
		if *x.d, err = parseDate(x.text); err != nil {
			return nil, err
		}
	}
	if t.from != nil && t.to != nil && t.from.compare(t.to) > 0 {
		return nil, fmt.Errorf("expected FROM..TO, found %s after %s", from, to)
	}
	return t, nil
}

// meets reports whether a row has times among these.
func (t *Times) meets(r *Row) bool {
	start, err := parseDate(r.TimeStart)
	if err != nil {
		return false
	}
	end, err := parseDate(r.TimeEnd)
	if err != nil {
		return false
	}
	return (t.from == nil || t.from.compare(end) <= 0) && (t.to == nil || start.compare(t.to) <= 0)
}
