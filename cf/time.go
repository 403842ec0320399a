package cf

import (
	"context"
	"fmt"
	"time"

	"github.com/cdfz-format/cdfz/slab"
)

// Time is a point in time, in microseconds since 1970-01-01T00:00:00 of a calendar.
// Times of different calendars cannot be compared.
type Time int64

// maxYear bounds years, so that sums and differences of times do not overflow.
const maxYear = 100000

const (
	second = 1000000
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// maxTime is later than any time of the year maxYear.
const maxTime = 367 * maxYear * day

// Date is a date with a time of day. Years are astronomical: the year before 1 is 0.
type Date struct {
	Year                        int64
	Month, Day                  int
	Hour, Minute, Second, Micro int
}

// Time returns the time of a date. A date that the calendar does not have is an error.
func (c Calendar) Time(d Date) (Time, error) {
	if d.Year < -maxYear || d.Year > maxYear || d.Month < 1 || d.Month > 12 ||
		d.Hour < 0 || d.Hour > 23 || d.Minute < 0 || d.Minute > 59 || d.Second < 0 || d.Second > 59 || d.Micro < 0 || d.Micro >= second {
		return 0, fmt.Errorf("cf: there is no date %s", d)
	}
	n, ok := c.dayNumber(d.Year, d.Month, d.Day)
	if !ok {
		return 0, fmt.Errorf("cf: there is no date %s in calendar %s", d, c)
	}
	return Time(n*day + int64(d.Hour)*hour + int64(d.Minute)*minute + int64(d.Second)*second + int64(d.Micro)), nil
}

// Date returns the date of a time.
func (c Calendar) Date(t Time) Date {
	n := floorDiv(int64(t), day)
	in := int64(t) - n*day
	var d Date
	d.Year, d.Month, d.Day = c.dayDate(n)
	d.Hour, d.Minute, d.Second, d.Micro = int(in/hour), int(in/minute%60), int(in/second%60), int(in%second)
	return d
}

// UTC returns the time of Go with the same year, month, day and time of day. ok is false for a date that Go's calendar, which is
// Gregorian for all years, does not have: a 30th of February of Day360, or the 29th of a year that
// is a leap year only in another calendar.
func (d Date) utc() (t time.Time, ok bool) {
	t = time.Date(int(d.Year), time.Month(d.Month), d.Day, d.Hour, d.Minute, d.Second, d.Micro*1000, time.UTC)
	return t, t.Day() == d.Day
}

// timed is an array that knows its units of time, such as a variable of package archive.
type timed interface{ Units() (*Units, error) }

// Times reads a hyperslab of times. A nil u is the units of the variable if a is one of package
// archive. Missing times are the zero time. A date that Go's calendar does not have is an error:
// read such times with Read and Units.Date.
func Times(ctx context.Context, a slab.Array, s slab.Sel, u *Units) ([]time.Time, error) {
	if v, ok := a.(timed); ok && u == nil {
		var err error
		if u, err = v.Units(); err != nil {
			return nil, err
		}
	}
	if u == nil {
		return nil, fmt.Errorf("cf: an array without units: %w", ErrNotTime)
	}
	numbers, err := Read[float64](ctx, a, s, nil)
	if err != nil {
		return nil, err
	}
	times := make([]time.Time, len(numbers))
	for i, x := range numbers {
		if d, ok := u.Date(x); ok {
			if times[i], ok = d.utc(); !ok {
				return nil, fmt.Errorf("cf: %s of the calendar %s is no date of Go's calendar", d, u.Calendar)
			}
		}
	}
	return times, nil
}

// String returns the date in ISO 8601, such as 2001-05-16T12:00:00, with six decimals
// if there is a fraction of a second.
func (d Date) String() string { return string(d.Append(nil)) }

// Append appends the result of String to dst.
func (d Date) Append(dst []byte) []byte {
	year := d.Year
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	dst = fmt.Appendf(dst, "%04d-%02d-%02dT%02d:%02d:%02d", year, d.Month, d.Day, d.Hour, d.Minute, d.Second)
	if d.Micro != 0 {
		dst = fmt.Appendf(dst, ".%06d", d.Micro)
	}
	return dst
}
