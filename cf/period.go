package cf

import (
	"fmt"
	"strconv"
	"strings"
)

// Period is the time that a full or partial date covers, from Start to just before End.
type Period struct {
	Start, End Time
	// Instant is set if the date had a time of day. The period is then just Start.
	Instant bool
}

// DatePattern is a regular expression for the dates that ParsePeriod reads, for use
// inside larger ones.
const DatePattern = `[+-]?\d{4,6}(?:-\d{1,2}(?:-\d{1,2}(?:[Tt ]\d{1,2}(?::\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?[Zz]?)?)?)?`

var periodPattern = pattern{text: `^([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[Tt ](\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?[Zz]?)?)?)?$`}

// ParsePeriod reads an ISO 8601 date, which may end after the year, month, day, hour,
// minute or second: 2001, 2001-05, 2001-05-16, 2001-05-16T12:00.
func (c Calendar) ParsePeriod(s string) (Period, error) {
	m := periodPattern.find(s)
	if m == nil {
		return Period{}, fmt.Errorf("cf: expected a date such as 2001, 2001-05, 2001-05-16 or 2001-05-16T12:00, found %q", s)
	}
	n := [7]int64{1: 1, 2: 1}
	given := 0
	for i, w := range m[1:] {
		if w == "" {
			continue
		}
		if i == 6 {
			w = (w + "00000")[:6]
		}
		// Cannot fail: the pattern allows only a few digits.
		n[i], _ = strconv.ParseInt(strings.TrimPrefix(w, "+"), 10, 64)
		given = i + 1
	}
	d := Date{n[0], int(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), int(n[6])}
	start, err := c.Time(d)
	if err != nil {
		return Period{}, err
	}
	p := Period{Start: start, Instant: given > 3}
	switch given {
	case 1:
		p.End, err = c.Time(Date{Year: d.Year + 1, Month: 1, Day: 1})
	case 2:
		if d.Month++; d.Month > 12 {
			d.Year, d.Month = d.Year+1, 1
		}
		p.End, err = c.Time(d)
	default:
		p.End = start + Time([...]int64{day, hour, minute, second, 1}[given-3])
	}
	return p, err
}
