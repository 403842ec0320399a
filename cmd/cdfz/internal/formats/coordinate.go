package formats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// valueRange is a coordinate value or a range of them, both ends included, as written
// by the user. Whether 2001 is a number or a year depends on the coordinate.
type valueRange struct {
	lo, hi  string // "" if open
	isRange bool
	step    int64
}

const numberPattern = `[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`

var (
	pointPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:` + cf.DatePattern + `|` + numberPattern + `)$`)
	})
	rangePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(` + cf.DatePattern + `|` + numberPattern + `)?\s*:\s*(` + cf.DatePattern + `|` + numberPattern + `)?(?:\s*:\s*(\d{1,18}))?$`)
	})
	yearPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[+-]?\d{4}$`)
	})
)

// parseValues parses the part of a selection after NAME=.
func parseValues(s string) (valueRange, error) {
	s = strings.TrimSpace(s)
	if pointPattern().MatchString(s) {
		return valueRange{lo: s, hi: s, step: 1}, nil
	}
	m := rangePattern().FindStringSubmatch(s)
	if m == nil {
		return valueRange{}, fmt.Errorf("expected a number, a date such as 2001-05, or a range FROM:TO of them, found %q", s)
	}
	v := valueRange{lo: m[1], hi: m[2], isRange: true, step: 1}
	if m[3] != "" {
		// Cannot fail: the pattern allows only a few digits.
		v.step, _ = strconv.ParseInt(m[3], 10, 64)
		if v.step == 0 {
			return valueRange{}, errors.New("expected a step of at least 1, found 0")
		}
	}
	return v, nil
}

// Cell is the coordinate value that a selection of a single value has taken.
type Cell struct {
	Dim   string      // name of the dimension
	Asked string      // the value as the user wrote it
	Index int64       // in the dimension
	Value json.Number // of the coordinate
	Time  string      // the same in ISO 8601, "" if the coordinate is not a time
	Same  bool        // the value equals the requested one
}

// String names the value and the index.
func (c *Cell) String() string {
	value := c.Time
	if value == "" {
		value = c.Value.String()
	}
	return fmt.Sprintf("%s=%s (index %d)", quoted(c.Dim), value, c.Index)
}

// taken is the part of a dimension that a selection by value takes.
type taken struct {
	axis
	cell *Cell  // of a single value
	cut  string // how a range differs from the requested one
}

// resolve looks the values up in the coordinate variable of a dimension. If nearest is not
// set, values outside of the axis are an error.
func (r valueRange) resolve(ctx context.Context, src slab.Source, dim int, nearest bool) (taken, error) {
	h := src.Header()
	name := quoted(h.Dims[dim].Name)
	num, ok := coordVar(h, dim)
	if !ok {
		return taken{}, fmt.Errorf("dimension %s has no coordinate variable; select it by index", name)
	}
	v := &h.Vars[num]
	if v.Type == cdf3.Char {
		return taken{}, fmt.Errorf("coordinate variable %s holds text; select dimension %s by index", name, name)
	}
	p, err := cf.NewPacking(v)
	if err != nil {
		return taken{}, err
	}
	c := &coordinate{ctx: ctx, array: src.Array(num), packing: p, n: v.Shape[0], name: name, dim: h.Dims[dim].Name, nearest: nearest}
	if c.units, err = cf.UnitsOf(h, num); err == nil {
		return r.byTime(c)
	}
	if !errors.Is(err, cf.ErrNotTime) || cf.IsTime(v) {
		c.noTime = err
	}
	c.circle = cf.IsLongitude(v)
	return r.byNumber(c)
}

// coordinate is a coordinate variable.
type coordinate struct {
	ctx     context.Context
	array   slab.Array
	packing *cf.Packing
	units   *cf.Units // of times
	noTime  error     // why the values are times that cannot be read
	n       int64     // values
	name    string    // for messages
	dim     string    // the same as it is
	circle  bool      // values that are 360 apart are the same
	nearest bool      // of the options
}

// coordLen is the number of coordinate values held in memory.
const coordLen = 1 << 16

// each calls f with the values in order until it returns an error.
func (c *coordinate) each(f func(i int64, x float64) error) error {
	buf := make([]float64, min(c.n, coordLen))
	for at := int64(0); at < c.n; at += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), c.n-at)]
		if err := cf.ReadInto(c.ctx, c.array, b, slab.Sel{Start: []int64{at}, Count: []int64{int64(len(b))}}, c.packing); err != nil {
			return readError{fmt.Errorf("coordinate variable %s: %w", c.name, err)}
		}
		for k, x := range b {
			if err := f(at+int64(k), x); err != nil {
				return err
			}
		}
	}
	return nil
}

// number formats a value of the coordinate.
func (c *coordinate) number(x float64) string {
	bits := 64
	if c.packing.Type == cdf3.Float {
		bits = 32
	}
	return string(appendFloat(nil, x, bits, csvStyle(&Options{})))
}

// time formats a time of the coordinate.
func (c *coordinate) time(t cf.Time) string { return c.units.Calendar.Date(t).String() }

// byNumber resolves numbers.
func (r valueRange) byNumber(c *coordinate) (taken, error) {
	number := func(s string, open float64) (float64, error) {
		if s == "" {
			return open, nil
		}
		x, err := strconv.ParseFloat(s, 64)
		if c.noTime != nil && (err != nil || yearPattern().MatchString(s)) {
			hint := ""
			if err == nil { // a year, or a number of the units
				hint = fmt.Sprintf("; write %s.0 for the number", s)
			}
			return 0, fmt.Errorf("%s: the times cannot be read, and %s may be a date: %w%s", c.name, s, c.noTime, hint)
		}
		if err != nil {
			return 0, fmt.Errorf("expected a number for %s, found %s", c.name, s)
		}
		if c.packing.Type == cdf3.Float {
			x = float64(float32(x)) // the precision of the coordinate
		}
		return x, nil
	}
	lo, err := number(r.lo, math.Inf(-1))
	if err != nil {
		return taken{}, err
	}
	hi, err := number(r.hi, math.Inf(1))
	if err != nil {
		return taken{}, err
	}
	values := func(f func(int64, float64) error) error {
		return c.each(func(i int64, x float64) error {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil
			}
			return f(i, x)
		})
	}
	a := &search[float64]{coordinate: c, each: values, text: c.number}
	if c.circle {
		a.turn = 360
	}
	if !r.isRange {
		return a.point(lo, r.lo)
	}
	return a.span(lo, hi, r)
}

// byTime resolves dates, and numbers in the units of the coordinate.
func (r valueRange) byTime(c *coordinate) (taken, error) {
	values := func(f func(int64, cf.Time) error) error {
		return c.each(func(i int64, x float64) error {
			if t, ok := c.units.Time(x); ok {
				return f(i, t)
			}
			return nil
		})
	}
	period := func(s string, open cf.Time) (cf.Period, error) {
		if s == "" {
			return cf.Period{Start: open, End: open, Instant: true}, nil
		}
		if x, err := strconv.ParseFloat(s, 64); err == nil && !yearPattern().MatchString(s) {
			t, ok := c.units.Time(x)
			if !ok {
				return cf.Period{}, fmt.Errorf("%s: %s is too far away", c.name, s)
			}
			return cf.Period{Start: t, End: t + 1, Instant: true}, nil
		}
		return c.units.Calendar.ParsePeriod(s)
	}
	lo, err := period(r.lo, math.MinInt64/2)
	if err != nil {
		return taken{}, err
	}
	hi, err := period(r.hi, math.MaxInt64/2)
	if err != nil {
		return taken{}, err
	}
	a := &search[cf.Time]{coordinate: c, each: values, text: c.time}
	if !r.isRange && lo.Instant {
		return a.point(lo.Start, r.lo)
	}
	if lo.Start > hi.Start {
		lo, hi = hi, lo
	}
	t, err := a.span(lo.Start, hi.End-1, r)
	if err == nil && !r.isRange && t.count == 0 {
		err = fmt.Errorf("%s has no time in %s; add a time of day for the nearest one, as in %sT00", c.name, r.lo, dayOf(r.lo))
	}
	return t, err
}

// dayOf extends a year or a month to its first day.
func dayOf(s string) string {
	for strings.Count(s[1:], "-") < 2 {
		s += "-01"
	}
	return s
}
