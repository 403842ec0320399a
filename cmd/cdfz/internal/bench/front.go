package bench

import "slices"

// goal is a quantity that is weighed against the ratio. Larger is better.
type goal struct {
	n     int    // of the noise of a row
	key   string // in CSV and JSON
	value func(*benchRow) float64
}

var goals = []goal{
	{0, "write", func(r *benchRow) float64 { return r.Write }},
	{1, "read", func(r *benchRow) float64 { return r.Read }},
	{2, "point", func(r *benchRow) float64 {
		if r.Point <= 0 {
			return 0
		}
		return 1 / r.Point
	}},
}

// sameRatio is the relative difference of ratios that nobody would choose by.
const sameRatio = 1e-3

// front returns the Pareto front of rows for a goal: the rows that no other row beats.
func (g *goal) front(rows []benchRow) (out []int) {
	for i := range rows {
		beaten := func(by benchRow) bool { return g.beats(&by, &rows[i]) }
		if g.value(&rows[i]) > 0 && !slices.ContainsFunc(rows, beaten) {
			out = append(out, i)
		}
	}
	return out
}

// beats reports whether row a is clearly better than b in ratio or goal, and not clearly worse in
// the other.
func (g *goal) beats(a, b *benchRow) bool {
	ratio := a.Ratio / b.Ratio
	noise := 1 + a.noise[g.n] + b.noise[g.n]
	value := g.value(a) / g.value(b)
	switch {
	case ratio > 1+sameRatio:
		return value*noise >= 1
	case ratio*(1+sameRatio) >= 1:
		return value > noise
	}
	return false
}

// markFronts notes for each row on which fronts it lies.
func markFronts(rows []benchRow) {
	for i := range rows {
		rows[i].Front = []string{}
	}
	for k := range goals {
		for _, i := range goals[k].front(rows) {
			rows[i].Front = append(rows[i].Front, goals[k].key)
		}
	}
}
