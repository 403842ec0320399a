package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cdfz-format/cdfz/bench/internal/tools"
	"github.com/cdfz-format/cdfz/cdf3"
)

// report is the result of a run.
type report struct {
	machine tools.Machine
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

func (r *report) writeText(out io.Writer) error {
	names := make([]string, len(r.presets))
	for i, p := range r.presets {
		names[i] = p.name
	}
	fmt.Fprintf(out, "Ratios of %s and its peers, %s\n%s\n%s\n", strings.Join(names, ", "), r.machine.Date, &r.machine, strings.Join(r.machine.Versions, "; "))
	for _, part := range []struct {
		title  string
		groups []group
	}{{"Whole files", fileGroups}, {"Variables", varGroups}} {
		units := r.in(part.groups[0])
		if len(units) == 0 {
			continue
		}
		title := fmt.Sprintf("%s: %d, %d bytes", part.title, len(units), total(units))
		fmt.Fprintf(out, "\n%s\n%s\n", title, strings.Repeat("=", len(title)))
		fmt.Fprintf(out, "\nGeometric means of the ratio, and times by which %s is smaller\n\n", names[0])
		if err := r.writeMeans(out, part.groups, names); err != nil {
			return err
		}
		r.writeBehind(out, units, names[0])
		fmt.Fprint(out, "\nRatio of each\n\n")
		if err := r.writeUnits(out, units, names); err != nil {
			return err
		}
	}
	return nil
}

// writeMeans writes a line for each preset and peer. By group, it lists the geometric
// means of the ratio and of the first preset's advantage, over the units that the peer
// accepts.
func (r *report) writeMeans(out io.Writer, groups []group, names []string) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\tunits\tratio\t")
	for _, g := range groups {
		fmt.Fprintf(tw, "x %s (%d)\t", g.name, len(r.in(g)))
	}
	fmt.Fprintln(tw)
	first := func(u *unit) int64 { return u.stored[names[0]] }
	line := func(name string, stored func(*unit) int64) {
		n, ratio := mean(r.in(groups[0]), func(u *unit) int64 { return u.size }, stored)
		if n == 0 {
			return
		}
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t", name, n, ratio)
		for _, g := range groups {
			if n, x := mean(r.in(g), stored, first); n > 0 {
				fmt.Fprintf(tw, "%.3f\t", x)
			} else {
				fmt.Fprint(tw, "-\t")
			}
		}
		fmt.Fprintln(tw)
	}
	for _, name := range names {
		line(name, func(u *unit) int64 { return u.stored[name] })
	}
	for _, p := range r.peers {
		line(p.name, func(u *unit) int64 { return u.stored[p.name] })
	}
	line("best of peers", func(u *unit) int64 { _, best := r.best(u); return best })
	return tw.Flush()
}

// writeBehind lists the units for which a peer is better by more than the margin.
func (r *report) writeBehind(out io.Writer, units []*unit, name string) {
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
	fmt.Fprintf(out, "\nThe best of all peers is better than %s by more than 1 %% on %d of %d (%.0f %%)\n\n",
		name, len(rows), len(units), 100*float64(len(rows))/float64(len(units)))
	for _, w := range rows {
		fmt.Fprintf(out, "%7.3f  %-22s  %s\n", w.x, w.best, describe(w.u))
	}
}

func describe(u *unit) string {
	if u.whole() {
		return fmt.Sprintf("%s (%s)", u, strings.Join(u.classes, ", "))
	}
	return fmt.Sprintf("%s (%s %v)", u, u.typ, u.shape)
}

// writeUnits writes the ratios of every unit.
func (r *report) writeUnits(out io.Writer, units []*unit, names []string) error {
	columns := slices.Clone(names)
	for _, p := range r.peers {
		if slices.ContainsFunc(units, func(u *unit) bool { return u.stored[p.name] > 0 }) {
			columns = append(columns, p.name)
		}
	}
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\tbytes\tbest\t%s\n", strings.Join(columns, "\t"))
	for _, u := range units {
		best, _ := r.best(u)
		fmt.Fprintf(tw, "%s\t%d\t%s", u, u.size, best)
		for _, c := range columns {
			if n := u.stored[c]; n > 0 {
				fmt.Fprintf(tw, "\t%.3f", float64(u.size)/float64(n))
			} else {
				fmt.Fprint(tw, "\t-")
			}
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// writeTSV writes the sizes of all units with all presets and peers.
func (r *report) writeTSV(out io.Writer) error {
	head := []string{"file", "variable", "type", "shape", "class", "sum", "bytes"}
	for _, p := range r.presets {
		head = append(head, p.name)
	}
	for _, p := range r.peers {
		head = append(head, p.name)
	}
	if _, err := fmt.Fprintln(out, strings.Join(head, "\t")); err != nil {
		return err
	}
	for _, u := range r.units {
		row := []string{u.file, u.name, "", shape(u.shape), strings.Join(u.classes, ","), u.sum, strconv.FormatInt(u.size, 10)}
		if !u.whole() {
			row[2] = u.typ.String()
		}
		for _, c := range head[len(row):] {
			size := ""
			if n := u.stored[c]; n > 0 {
				size = strconv.FormatInt(n, 10)
			}
			row = append(row, size)
		}
		if _, err := fmt.Fprintln(out, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return nil
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
