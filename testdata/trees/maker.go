package trees

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/cdfz-format/cdfz/cdf3"
)

// maker collects a header and values.
type maker struct {
	h      cdf3.Header
	values [][]byte
	r      *rand.Rand
	n      int // number of the file
}

func (m *maker) dim(name string, n int) int {
	m.h.Dims = append(m.h.Dims, cdf3.Dim{Name: name, Len: int64(n)})
	return len(m.h.Dims) - 1
}

func text(name, value string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
}

func (m *maker) global(name, value string) { m.h.Attrs = append(m.h.Attrs, text(name, value)) }

// add adds a variable with its values. attrs are names and texts in turn.
func (m *maker) add(name string, t cdf3.Type, dims []int, values []byte, fill any, attrs ...string) {
	v := cdf3.Var{Name: name, Type: t, DimIDs: dims}
	for i := 0; i < len(attrs); i += 2 {
		v.Attrs = append(v.Attrs, text(attrs[i], attrs[i+1]))
	}
	if fill != nil {
		b, _ := binary.Append(nil, binary.BigEndian, fill)
		v.Attrs = append(v.Attrs, cdf3.Attr{Name: "_FillValue", Type: t, Len: 1, Values: b})
	}
	m.h.Vars = append(m.h.Vars, v)
	m.values = append(m.values, values)
}

// encode returns values as they are in a file.
func encode[T any](values []T) []byte {
	b, err := binary.Append(nil, binary.BigEndian, values)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return b
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
