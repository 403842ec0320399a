package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// report is the result of a run.
type report struct {
	*run.Report
	presets []preset
	peers   []peer
	units   []*unit
}

// margin is how much larger than with the best peer a unit may be: 1 %.
const margin = 1.01

// group is a set of units with separate geometric means.
type group struct {
	name string
	in   func(*unit) bool
}

var (
	fileGroups = []group{
		{"all", (*unit).whole},
		{classOther, hasClass(classOther)},
		{classSmall, hasClass(classSmall)},
		{classMesh, hasClass(classMesh)},
		{classText, hasClass(classText)},
	}
	varGroups = []group{
		{"all", func(u *unit) bool { return !u.whole() }},
		{"zstd19<20", func(u *unit) bool { return !u.whole() && u.stored["zstd-19"]*20 > u.size }},
		{"float", hasType(cdf3.Float)},
		{"double", hasType(cdf3.Double)},
		{"integer", func(u *unit) bool {
			return !u.whole() && u.typ != cdf3.Float && u.typ != cdf3.Double && u.typ != cdf3.Char
		}},
		{"char", hasType(cdf3.Char)},
	}
)

func (r *report) sort() {
	slices.SortFunc(r.units, func(a, b *unit) int {
		if a.whole() != b.whole() {
			if a.whole() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.num, b.num))
	})
}

// write writes all tables. Data has the sizes of all units with all presets and peers.
func (r *report) write() {
	r.sort()
	names := make([]string, len(r.presets))
	for i, p := range r.presets {
		names[i] = p.name
	}
	r.Printf("Ratios of %s and its peers\n", strings.Join(names, ", "))
	for _, part := range []struct {
		title  string
		groups []group
	}{{"Whole files", fileGroups}, {"Variables", varGroups}} {
		units := r.in(part.groups[0])
		if len(units) == 0 {
			continue
		}
		title := fmt.Sprintf("%s: %d, %d bytes", part.title, len(units), total(units))
		r.Printf("\n%s\n%s\n", title, strings.Repeat("=", len(title)))
		r.Printf("\nGeometric means of the ratio, and times by which %s is smaller\n\n", names[0])
		r.means(part.groups, names)
		r.behind(units, names[0])
		r.Printf("\nRatio of each\n\n")
		r.each(units, names)
	}
	r.data(names)
}

// means adds a line for each preset and peer. By group, it lists the geometric means of the ratio
// and of the first preset's advantage, over the units that the peer accepts.
func (r *report) means(groups []group, names []string) {
	columns := []string{"%s", "units %d", "ratio %.3f"}
	for _, g := range groups {
		columns = append(columns, fmt.Sprintf("x %s (%d) %%.3f", g.name, len(r.in(g))))
	}
	t := r.Table(columns...)
	first := func(u *unit) int64 { return u.stored[names[0]] }
	line := func(name string, stored func(*unit) int64) {
		n, ratio := mean(r.in(groups[0]), func(u *unit) int64 { return u.size }, stored)
		if n == 0 {
			return
		}
		row := []any{name, n, ratio}
		for _, g := range groups {
			if n, x := mean(r.in(g), stored, first); n > 0 {
				row = append(row, x)
			} else {
				row = append(row, "-")
			}
		}
		t.Row(row...)
	}
	for _, name := range r.columns(r.units, names) {
		line(name, func(u *unit) int64 { return u.stored[name] })
	}
	line("best of peers", func(u *unit) int64 { _, best := r.best(u); return best })
}

// behind lists the units for which a peer is better by more than the margin.
func (r *report) behind(units []*unit, name string) {
	type row struct {
		u    *unit
		best string
		x    float64
	}
	var rows []row
	for _, u := range units {
		if best, size := r.best(u); size > 0 {
			if x := float64(u.stored[name]) / float64(size); x > margin {
				rows = append(rows, row{u, best, x})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.x, a.x) })
	r.Printf("\nThe best of all peers is better than %s by more than 1 %% on %d of %d (%.0f %%)\n\n",
		name, len(rows), len(units), 100*float64(len(rows))/float64(len(units)))
	for _, w := range rows {
		r.Printf("%7.3f  %-22s  %s\n", w.x, w.best, describe(w.u))
	}
}

func describe(u *unit) string {
	if u.whole() {
		return fmt.Sprintf("%s (%s)", u, strings.Join(u.classes, ", "))
	}
	return fmt.Sprintf("%s (%s %v)", u, u.typ, u.shape)
}

// columns returns the presets, and the peers that have figures for units.
func (r *report) columns(units []*unit, names []string) []string {
	names = slices.Clone(names)
	for _, p := range r.peers {
		if slices.ContainsFunc(units, func(u *unit) bool { return u.stored[p.name] > 0 }) {
			names = append(names, p.name)
		}
	}
	return names
}

// each adds the ratios of every unit.
func (r *report) each(units []*unit, names []string) {
	names = r.columns(units, names)
	columns := []string{"%s", "bytes %d", "best %s"}
	for _, name := range names {
		columns = append(columns, name+" %.3f")
	}
	t := r.Table(columns...)
	for _, u := range units {
		best, _ := r.best(u)
		row := []any{u.String(), u.size, best}
		for _, name := range names {
			if n := u.stored[name]; n > 0 {
				row = append(row, float64(u.size)/float64(n))
			} else {
				row = append(row, "-")
			}
		}
		t.Row(row...)
	}
}

// data sets the table of sizes.
func (r *report) data(names []string) {
	columns := []string{"file %s", "variable %s", "type %s", "shape %s", "class %s", "sum %s", "bytes %d"}
	for _, p := range r.peers {
		names = append(names, p.name)
	}
	for _, name := range names {
		columns = append(columns, name+" %d")
	}
	r.Data = run.NewTable(columns...)
	for _, u := range r.units {
		row := []any{u.file, u.name, nil, shape(u.shape), strings.Join(u.classes, ","), u.sum, u.size}
		if !u.whole() {
			row[2] = u.typ.String()
		}
		for _, name := range names {
			if n := u.stored[name]; n > 0 {
				row = append(row, n)
			} else {
				row = append(row, nil)
			}
		}
		r.Data.Row(row...)
	}
}

func (r *report) in(g group) []*unit {
	var units []*unit
	for _, u := range r.units {
		if g.in(u) {
			units = append(units, u)
		}
	}
	return units
}

// best returns the peer with the smallest size for a unit, or "" and 0 if none ran.
func (r *report) best(u *unit) (name string, size int64) {
	for _, p := range r.peers {
		if n := u.stored[p.name]; n > 0 && (size == 0 || n < size) {
			name, size = p.name, n
		}
	}
	return name, size
}

// mean returns the geometric mean of a/b over the n units that have both.
func mean(units []*unit, a, b func(*unit) int64) (n int, m float64) {
	sum := 0.0
	for _, u := range units {
		if x, y := a(u), b(u); x > 0 && y > 0 {
			sum += math.Log(float64(x) / float64(y))
			n++
		}
	}
	return n, math.Exp(sum / float64(max(n, 1)))
}

func total(units []*unit) (n int64) {
	for _, u := range units {
		n += u.size
	}
	return n
}

func hasType(t cdf3.Type) func(*unit) bool {
	return func(u *unit) bool { return !u.whole() && u.typ == t }
}
