package trees

import (
	"math"
	"math/rand/v2"

	"github.com/cdfz-format/cdfz/cdf3"
)

// maker makes a file.
type maker struct {
	*cdf3.Builder
	r *rand.Rand
	n int // number of the file
}

// add adds a variable with its values. attrs are names and texts in turn.
func (m *maker) add(name string, t cdf3.Type, dims []int, values, fill any, attrs ...string) {
	v := m.Var(name, t, dims...).Values(values)
	for i := 0; i < len(attrs); i += 2 {
		v.Attr(attrs[i], attrs[i+1])
	}
	if fill != nil {
		v.Attr("_FillValue", fill)
	}
}

// round returns the multiple of a decimal step that is nearest.
func round(x, perUnit float64) float64 { return math.Round(x*perUnit) / perUnit }

// walk is a slowly varying series around 0.
func (m *maker) walk(n int, step, pull float64) []float64 {
	out := make([]float64, n)
	x := 0.0
	for i := range out {
		x += m.r.NormFloat64()*step - x*pull
		out[i] = x
	}
	return out
}
