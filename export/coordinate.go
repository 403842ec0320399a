package export

import (
	"cmp"
	"context"
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

// resolve looks the values up in the coordinate variable of a dimension.
func (r valueRange) resolve(ctx context.Context, src Source, dim int) (axis, error) {
	h := src.Header()
	name := quoted(h.Dims[dim].Name)
	num, ok := coordVar(h, dim)
	if !ok {
		return axis{}, fmt.Errorf("dimension %s has no coordinate variable; select it by index", name)
	}
	v := &h.Vars[num]
	if v.Type == cdf3.Char {
		return axis{}, fmt.Errorf("coordinate variable %s holds text; select dimension %s by index", name, name)
	}
	p, err := cf.NewPacking(v)
	if err != nil {
		return axis{}, err
	}
	c := &coordinate{ctx: ctx, array: src.Array(num), packing: p, n: v.Shape[0], name: name}
	if c.units, err = cf.UnitsOf(h, num); err == nil {
		return r.byTime(c)
	}
	return r.byNumber(c)
}

// coordinate is a coordinate variable.
type coordinate struct {
	ctx     context.Context
	array   slab.Array
	packing *cf.Packing
	units   *cf.Units // of times
	n       int64     // values
	name    string
}

// coordLen is the number of coordinate values held in memory.
const coordLen = 1 << 16

// each calls f with the values in order until it returns an error.
func (c *coordinate) each(f func(i int64, x float64) error) error {
	buf := make([]float64, min(c.n, coordLen))
	for at := int64(0); at < c.n; at += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), c.n-at)]
		if err := cf.ReadInto(c.ctx, c.array, b, slab.Sel{Start: []int64{at}, Count: []int64{int64(len(b))}}, c.packing); err != nil {
			return fmt.Errorf("coordinate variable %s: %w", c.name, err)
		}
		for k, x := range b {
			if err := f(at+int64(k), x); err != nil {
				return err
			}
		}
	}
	return nil
}

// byNumber resolves numbers.
func (r valueRange) byNumber(c *coordinate) (axis, error) {
	number := func(s string, open float64) (float64, error) {
		if s == "" {
			return open, nil
		}
		x, err := strconv.ParseFloat(s, 64)
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
		return axis{}, err
	}
	hi, err := number(r.hi, math.Inf(1))
	if err != nil {
		return axis{}, err
	}
	values := func(f func(int64, float64) error) error {
		return c.each(func(i int64, x float64) error {
			if math.IsNaN(x) {
				return nil
			}
			return f(i, x)
		})
	}
	if !r.isRange {
		return nearest(values, lo, c.name, r.lo)
	}
	return between(values, min(lo, hi), max(lo, hi), r.step, c.name)
}

// byTime resolves dates, and numbers in the units of the coordinate.
func (r valueRange) byTime(c *coordinate) (axis, error) {
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
		return axis{}, err
	}
	hi, err := period(r.hi, math.MaxInt64/2)
	if err != nil {
		return axis{}, err
	}
	if !r.isRange && lo.Instant {
		return nearest(values, lo.Start, c.name, r.lo)
	}
	if lo.Start > hi.Start {
		lo, hi = hi, lo
	}
	a, err := between(values, lo.Start, hi.End-1, r.step, c.name)
	if err == nil && !r.isRange && a.count == 0 {
		err = fmt.Errorf("%s has no time in %s; add a time of day for the nearest one, as in %sT00", c.name, r.lo, dayOf(r.lo))
	}
	return a, err
}

// dayOf extends a year or a month to its first day.
func dayOf(s string) string {
	for strings.Count(s[1:], "-") < 2 {
		s += "-01"
	}
	return s
}

// nearest finds the value nearest to x. Of two equally near values it picks the larger,
// and of equal values the first.
func nearest[T cf.Time | float64](each func(func(int64, T) error) error, x T, name, text string) (axis, error) {
	best, at := T(0), int64(-1)
	var far T
	err := each(func(i int64, y T) error {
		d := y - x
		if y < x {
			d = x - y
		}
		if at < 0 || d < far || d == far && y > best {
			best, at, far = y, i, d
		}
		return nil
	})
	if err == nil && at < 0 {
		err = fmt.Errorf("coordinate variable %s has no value near %s", name, text)
	}
	return axis{start: at, count: 1, delta: 1}, err
}

// between finds the values from lo to hi, which must be consecutive.
func between[T cmp.Ordered](each func(func(int64, T) error) error, lo, hi T, step int64, name string) (axis, error) {
	first, last := int64(-1), int64(-1)
	err := each(func(i int64, y T) error {
		switch {
		case y < lo || y > hi:
			return nil
		case first < 0:
			first = i
		case last != i-1:
			return fmt.Errorf("the values of %s in this range are not consecutive: indices %d and %d; select it by index", name, last, i)
		}
		last = i
		return nil
	})
	a := axis{delta: step, keep: true}
	if first >= 0 {
		a.start, a.count = first, (last-first)/step+1
	}
	if a.count <= 1 {
		a.delta = 1
	}
	return a, err
}
