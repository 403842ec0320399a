package formats

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
)

// search looks for values on an axis, whose values may be in any order.
type search[T cf.Time | float64] struct {
	*coordinate
	each func(func(i int64, y T) error) error
	text func(T) string
	turn T // values that differ by this are the same place; 0: no values are
	ends ends[T]
}

// ends are the two smallest and the two largest values of an axis.
type ends[T cf.Time | float64] struct {
	n                        int64
	min, second, last2, most T
}

func (e *ends[T]) add(y T) {
	switch {
	case e.n == 0:
		e.min, e.second, e.last2, e.most = y, y, y, y
	default:
		switch {
		case y < e.min:
			e.min, e.second = y, e.min
		case y > e.min && (y < e.second || e.second == e.min):
			e.second = y
		}
		switch {
		case y > e.most:
			e.most, e.last2 = y, e.most
		case y < e.most && (y > e.last2 || e.last2 == e.most):
			e.last2 = y
		}
	}
	e.n++
}

// rounding is the largest difference, in cells, of values that are meant to be the same.
const rounding = 1e-6

// low and high return the outer bounds of the cells at the ends of the axis: half of the
// distance to the next value beyond them.
func (e *ends[T]) low() T  { return e.min - half(e.second-e.min) }
func (e *ends[T]) high() T { return e.most + half(e.most-e.last2) }

func half[T cf.Time | float64](d T) T { return T(float64(d) / 2 * (1 + rounding)) }

// near returns y, or the same place so that it is as close to x as possible.
func (s *search[T]) near(y, x T) T {
	if s.turn == 0 {
		return y
	}
	return y + T(math.Round(float64(x-y)/float64(s.turn)))*s.turn
}

// outside reports whether all values from lo to hi lie beyond the cells of the axis.
func (s *search[T]) outside(lo, hi T) bool {
	from, to := s.ends.low(), s.ends.high()
	if s.turn == 0 {
		return hi < from || lo > to
	}
	if float64(hi-lo) >= float64(s.turn) {
		return false
	}
	// The first place of lo that is not before the axis, and whether the values end before.
	up := lo + T(math.Ceil(float64(from-lo)/float64(s.turn)))*s.turn
	return up > to && hi+(up-lo)-s.turn < from
}

// beyond is the error of values that lie outside of the axis.
func (s *search[T]) beyond(text string) error {
	if s.ends.n == 1 || s.ends.min == s.ends.most {
		return fmt.Errorf("%s=%s lies outside of the axis, which has only %s", s.name, text, s.text(s.ends.min))
	}
	return fmt.Errorf("%s=%s lies outside of the axis, which goes from %s to %s", s.name, text, s.text(s.ends.min), s.text(s.ends.most))
}

// point finds the value nearest to x. Of two equally near values it picks the larger, and
// of equal values the first.
func (s *search[T]) point(x T, text string) (taken, error) {
	t := taken{axis: axis{start: -1, count: 1, delta: 1}}
	var best, place, far T
	err := s.each(func(i int64, y T) error {
		s.ends.add(y)
		p := s.near(y, x)
		d := p - x
		if p < x {
			d = x - p
		}
		if t.start < 0 || d < far || d == far && p > place {
			best, place, t.start, far = y, p, i, d
		}
		return nil
	})
	switch {
	case err != nil:
		return t, err
	case t.start < 0:
		return t, fmt.Errorf("coordinate variable %s has no value near %s", s.name, text)
	case !s.nearest && s.outside(x, x):
		return t, s.beyond(text)
	}
	t.cell = s.cellOf(t.start, best, text)
	// The same longitude may be written as another number.
	t.cell.Same = same(best, x)
	return t, nil
}

// same reports whether two values differ only by rounding.
func same[T cf.Time | float64](a, b T) bool {
	if a == b {
		return true
	}
	d := math.Abs(float64(a - b))
	switch any(a).(type) {
	case cf.Time:
		return d <= 1000 // 1 ms
	}
	return d <= 1e-9*math.Max(math.Abs(float64(a)), math.Abs(float64(b)))
}

// cellOf describes a value of the axis.
func (s *search[T]) cellOf(i int64, y T, text string) *Cell {
	c := &Cell{Dim: s.dim, Asked: text, Index: i}
	switch y := any(y).(type) {
	case cf.Time:
		c.Time = s.time(y)
		c.Value = json.Number(s.number(s.units.Number(y)))
	case float64:
		c.Value = json.Number(s.number(y))
	}
	return c
}

// span finds the values from lo to hi, which must be consecutive.
func (s *search[T]) span(lo, hi T, r valueRange) (taken, error) {
	text := r.lo
	if r.isRange {
		text += ":" + r.hi
	}
	if r.isRange && (r.lo == "" || r.hi == "") {
		s.turn = 0 // an open range ends where the axis does
	}
	if lo > hi {
		if s.turn != 0 {
			return taken{}, fmt.Errorf("%s=%s: expected the western end first: %s=%s:%s eastwards, or %s=%s:%s",
				s.name, text, s.name, r.lo, s.text(hi+s.turn), s.name, r.hi, r.lo)
		}
		lo, hi = hi, lo
	}
	var runs []run[T]
	err := s.each(func(i int64, y T) error {
		s.ends.add(y)
		if !s.within(y, lo, hi) {
			return nil
		}
		n := len(runs)
		if n > 0 && runs[n-1].last == i-1 {
			runs[n-1].last, runs[n-1].to = i, y
			return nil
		}
		if n == 2 {
			return s.scattered(runs, i)
		}
		runs = append(runs, run[T]{i, i, y, y})
		return nil
	})
	t := taken{axis: axis{delta: r.step, keep: true}}
	switch {
	case err != nil:
		return t, err
	case s.ends.n > 0 && len(runs) == 0 && s.outside(lo, hi):
		if s.nearest {
			break
		}
		return t, s.beyond(text)
	case len(runs) == 2 && s.turn != 0 && runs[0].first == 0 && runs[1].last == s.n-1:
		a, b := runs[1], runs[0]
		return t, fmt.Errorf("%s=%s crosses the end of the axis, which goes from %s to %s; select %s=%s:%s and %s=%s:%s separately",
			s.name, text, s.text(b.from), s.text(a.to), s.name, s.text(a.from), s.text(a.to), s.name, s.text(b.from), s.text(b.to))
	case len(runs) == 2:
		return t, s.scattered(runs[:1], runs[1].first)
	}
	if len(runs) == 1 {
		t.start, t.count = runs[0].first, (runs[0].last-runs[0].first)/r.step+1
		t.cut = s.cut(lo, hi, r)
	}
	if t.count <= 1 {
		t.delta = 1
	}
	return t, nil
}

// run is a run of consecutive indices, with the values at its ends.
type run[T cf.Time | float64] struct {
	first, last int64
	from, to    T
}

func (s *search[T]) scattered(runs []run[T], next int64) error {
	return fmt.Errorf("the values of %s in this range are not consecutive: indices %d and %d; select it by index", s.name, runs[len(runs)-1].last, next)
}

// within reports whether a value, or the same place, lies in a range.
func (s *search[T]) within(y, lo, hi T) bool {
	if in := y >= lo && y <= hi; in || s.turn == 0 {
		return in
	}
	if float64(hi-lo) >= float64(s.turn) {
		return true
	}
	// Turns lose digits.
	eps := 1e-12 * float64(s.turn)
	if s.packing.Type == cdf3.Float {
		eps = 1e-7 * float64(s.turn)
	}
	turns := math.Ceil((float64(lo-y) - eps) / float64(s.turn))
	return turns != 0 && float64(y)+turns*float64(s.turn) <= float64(hi)+eps
}

// cut describes how a range is longer than the axis.
func (s *search[T]) cut(lo, hi T, r valueRange) string {
	if !r.isRange || (r.lo == "" || !s.outside(lo, lo)) && (r.hi == "" || !s.outside(hi, hi)) {
		return ""
	}
	return fmt.Sprintf("is cut to the axis: %s goes from %s to %s", s.name, s.text(s.ends.min), s.text(s.ends.most))
}
