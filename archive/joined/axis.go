package joined

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// axis is a summary of the values of the joined coordinate variable, in bounded memory: how often each
// step occurs, and where.
type axis struct {
	n           int64
	first, last point
	steps       map[step]*places
}

// point is a value of a file.
type point struct {
	member string
	value  float64
}

// step is the kind of the difference of two values that follow each other.
type step struct {
	by     float64 // in five significant digits: seconds for times, else the units of the variable
	months int64   // if it is about so many months, else 0
	rest   bool    // all kinds beyond maxSteps with the sign of by, which is -1, 0 or 1
}

// places are the places of steps of one kind.
type places struct {
	count int64
	some  []pair // at most maxProblems
}

// pair are two values that follow each other.
type pair struct{ from, to point }

// maxSteps is the number of kinds of steps that are told apart. A regular axis has a few.
const maxSteps = 4096

func newAxis() *axis { return &axis{steps: map[step]*places{}} }

// put adds a step.
func (a *axis) put(s step, count int64, some ...pair) {
	p := a.steps[s]
	if p == nil && len(a.steps) >= maxSteps {
		// Values out of order, or that come twice, are errors, also of an axis that is irregular.
		s = step{by: float64(cmp.Compare(s.by, 0)), rest: true}
		p = a.steps[s]
	}
	if p == nil {
		p = &places{}
		a.steps[s] = p
	}
	p.count += count
	p.some = append(p.some, some[:min(len(some), maxProblems-len(p.some))]...)
}

// add adds the next value.
func (a *axis) add(p point, kind func(from, to float64) step) {
	if a.n++; a.n == 1 {
		a.first = p
	} else {
		a.put(kind(a.last.value, p.value), 1, pair{a.last, p})
	}
	a.last = p
}

// append adds the values of the next file.
func (a *axis) append(b *axis, kind func(from, to float64) step) {
	if b.n == 0 {
		return
	}
	if a.n == 0 {
		a.first = b.first
	} else {
		a.put(kind(a.last.value, b.first.value), 1, pair{a.last, b.first})
	}
	for _, s := range slices.SortedFunc(maps.Keys(b.steps), compareSteps) {
		a.put(s, b.steps[s].count, b.steps[s].some...)
	}
	a.n += b.n
	a.last = b.last
}

func compareSteps(s, t step) int {
	if s.rest != t.rest { // the rest comes last
		if s.rest {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(s.by, t.by), cmp.Compare(s.months, t.months))
}

// coordinate returns the number of the coordinate variable of the joined dimension in the first file. It
// returns -1 if the dimension is new, or has no such variable, or one of characters.
func (t *template) coordinate() int {
	if t.desc.New {
		return -1
	}
	n, ok := t.byVar[t.desc.Dim]
	if !ok || !t.joins[n] || len(t.first.Vars[n].DimIDs) != 1 || t.first.Vars[n].Type == cdf3.Char {
		return -1
	}
	return n
}

// unitsOf returns the units of the joined coordinate variable. They are nil if its values are not times, or
// with the error, if these cannot be read.
func (t *template) unitsOf() (*cf.Units, error) {
	n := t.coordinate()
	if n < 0 {
		return nil, nil
	}
	u, err := cf.UnitsOf(t.first, n)
	if errors.Is(err, cf.ErrNotTime) {
		return nil, nil
	}
	return u, err
}

// axisPiece is the number of values of a coordinate variable that are read at once.
const axisPiece = 1 << 15

// axisOf reads the joined coordinate variable of a file. It returns nil if coordinate finds no variable,
// and a *Problem as the error for a value that is not a number.
//
// With skip, such values are no error. kept are the indices of all others, in order.
func (t *template) axisOf(ctx context.Context, location string, f *archive.File, vars []int, convs map[int]*conversion, skip bool) (a *axis, kept []section, err error) {
	n := t.coordinate()
	if n < 0 {
		return nil, nil, nil
	}
	v, missing := f.Array(vars[n]), missingIn(&t.first.Vars[n])
	if c := convs[n]; c != nil {
		v = c.array(v)
	}
	total := v.Shape()[0]
	a = newAxis()
	buf := make([]float64, min(total, axisPiece))
	for at := int64(0); at < total; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), total-at)]
		if err := slab.Convert(ctx, v, buf, slab.Sel{Start: []int64{at}, Count: []int64{int64(len(buf))}}); err != nil {
			return nil, nil, err
		}
		for i, x := range buf {
			index := at + int64(i)
			switch what := t.noCoordinate(x, missing); {
			case what != "" && skip:
				continue
			case what != "":
				return nil, nil, &Problem{location, t.desc.Dim, fmt.Sprintf("expected numbers as coordinates, found %s at index %d", what, index)}
			}
			kept = addIndex(kept, index)
			a.add(point{location, x}, t.kind)
		}
	}
	return a, kept, nil
}

// section is a run of indices of a file.
type section struct{ start, n int64 }

// addIndex adds an index after all others.
func addIndex(list []section, index int64) []section {
	if last := len(list) - 1; last >= 0 && list[last].start+list[last].n == index {
		list[last].n++
		return list
	}
	return append(list, section{index, 1})
}

// missingIn returns the values that mean missing in a coordinate variable, sorted: those of its attributes, or
// netCDF's fill value.
func missingIn(v *cdf3.Var) []float64 {
	if p, _ := cf.NewPacking(v); p.HasMissing() {
		return cf.Missing[float64](p, v.Type)
	}
	if v.Type.Size() < 2 {
		return nil
	}
	a := cdf3.Attr{Type: v.Type, Len: 1, Values: v.Type.Fill()}
	return a.Float64s()
}

// noCoordinate describes a value that cannot be a coordinate, or returns "".
func (t *template) noCoordinate(x float64, missing []float64) string {
	const unset = 1e20 // of many programs
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return fmt.Sprint(x)
	case cf.Contains(missing, x):
		return fmt.Sprintf("the fill value %v", x)
	case x == unset || x == float64(float32(unset)):
		return fmt.Sprintf("%v, a fill value", x)
	}
	if t.units != nil {
		if _, ok := t.units.Time(x); !ok {
			return fmt.Sprintf("%v, which is no time", x)
		}
	}
	return ""
}

const (
	day   = 86400.0
	month = 365.2425 * day / 12
)

// kind returns the kind of a step.
func (t *template) kind(from, to float64) step {
	u := t.units
	if u == nil {
		return step{by: round(to - from)}
	}
	a, ok := u.Time(from)
	b, ok2 := u.Time(to)
	if !ok || !ok2 {
		return step{by: round(to - from)}
	}
	s := step{by: round(float64(b-a) / 1e6)}
	da, db := u.Calendar.Date(a), u.Calendar.Date(b)
	// Months and years differ in length, and the middles of months do, too.
	if m := (db.Year-da.Year)*12 + int64(db.Month-da.Month); m > 0 && math.Abs(s.by-float64(m)*month) <= 4*day {
		s.months = m
	}
	return s
}

// round returns five significant digits: hours counted in days, and values of type float, are not exact.
func round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64) // of what was formatted
	return y
}

// label returns a coordinate as text: a date if the units are known.
func (t *template) label(x float64) string {
	if t.units != nil {
		if d, ok := t.units.Date(x); ok {
			return d.String()
		}
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// text returns a step as text.
func (t *template) text(s step) string {
	by := math.Abs(s.by)
	plural := func(n float64, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return strconv.FormatFloat(n, 'g', 5, 64) + " " + unit
	}
	switch {
	case s.months > 0 && s.months%12 == 0:
		return plural(float64(s.months/12), "year")
	case s.months > 0:
		return plural(float64(s.months), "month")
	case t.units == nil:
		return strconv.FormatFloat(by, 'g', -1, 64)
	case by >= day:
		return plural(by/day, "day")
	case by >= 3600:
		return plural(by/3600, "hour")
	}
	return plural(by, "second")
}

// checkAxis returns the places where the coordinate variable is out of order, and those where a step is not
// the usual one.
func (t *template) checkAxis(a *axis) (wrong, gaps []*Problem) {
	kinds := slices.SortedFunc(maps.Keys(a.steps), compareSteps)
	var up, down, most int64
	months := map[int64]int64{}
	for _, s := range kinds {
		n := a.steps[s].count
		if months[s.months] += n; s.by > 0 {
			up += n
		} else if s.by < 0 {
			down += n
		}
	}
	var usual step
	for _, s := range kinds {
		if n := a.steps[s].count; !s.rest && n > most && (s.by > 0) == (up >= down) {
			most, usual = n, s
		}
	}
	// Most steps have as many months as the usual one, or it is not one of months.
	byMonths := usual.months > 0 && months[usual.months]*2 > a.n-1
	var more int64
	for _, s := range kinds {
		if s.rest && s.by != 0 && (s.by > 0) == (up >= down) {
			more = a.steps[s].count
			continue
		}
		for _, p := range a.steps[s].some {
			q := &Problem{member: p.to.member, variable: t.desc.Dim}
			from := t.label(p.from.value)
			if p.from.member != p.to.member {
				from += " in " + p.from.member
			}
			switch {
			case s.by == 0:
				q.text = fmt.Sprintf("overlap: %s comes twice, after %s", t.label(p.to.value), from)
				wrong = append(wrong, q)
			case (s.by > 0) != (up >= down):
				q.text = fmt.Sprintf("out of order or overlapping: %s comes after %s", t.label(p.to.value), from)
				wrong = append(wrong, q)
			case s != usual && !(byMonths && s.months == usual.months):
				q.text = fmt.Sprintf("gap: %s comes after %s, expected a step of %s, found %s", t.label(p.to.value), from, t.text(usual), t.text(s))
				gaps = append(gaps, q)
			}
		}
	}
	if more > 0 {
		gaps = append(gaps, &Problem{variable: t.desc.Dim, text: fmt.Sprintf("%d more steps of different lengths", more)})
	}
	return wrong, gaps
}
