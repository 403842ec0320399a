package bench

import (
	"cmp"
	"slices"
)

// goal is a quantity that is weighed against the ratio. Larger is better.
type goal struct {
	key   string // in CSV and JSON
	title string // of the panel
	axis  string
	value func(*benchRow) float64
}

var goals = []goal{
	{"write", "writing", "MB/s", func(r *benchRow) float64 { return r.Write }},
	{"read", "reading all", "MB/s", func(r *benchRow) float64 { return r.Read }},
	{"point", "reading a random value", "values per second", func(r *benchRow) float64 {
		if r.Point <= 0 {
			return 0
		}
		return 1000 / r.Point
	}},
}

// front returns the Pareto front of rows for a goal, in order of falling ratio: the rows
// that no other row beats in both ratio and goal.
func (g *goal) front(rows []benchRow) (out []int) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rows[b].Ratio, rows[a].Ratio), cmp.Compare(g.value(&rows[b]), g.value(&rows[a])))
	})
	best := 0.0
	for _, i := range order {
		if y := g.value(&rows[i]); y > best {
			out, best = append(out, i), y
		}
	}
	return out
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
