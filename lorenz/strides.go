package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

// strides returns the distances between neighbours in each dimension, smallest
// first, of the dimensions longer than 1.
func strides(dims []int) []int {
	var s []int
	at := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] > 1 {
			s = append(s, at)
			at *= dims[i]
		}
	}
	return s
}

// rows returns the distances between neighbours in all dimensions but the last.
func (s *shape) rows() []int {
	st := strides(s.dims)
	return st[min(len(st), 1):]
}

// near returns the neighbours that modeAdaptive assumes for a shape.
func near(dims []int) adaptive.Neighbours {
	st := strides(dims)
	switch {
	case len(st) < 2:
		return adaptive.Neighbours{North: 4, Below: 8}
	case len(st) == 2:
		return adaptive.Neighbours{North: max(st[1], 3), Below: max(2*st[1], 3)}
	}
	return adaptive.Neighbours{North: max(st[1], 3), Below: max(st[2], 3)}
}

// rowBytes returns the row of a shape, in bytes.
func rowBytes(dims []int, size int) int {
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] > 1 {
			return dims[i] * size
		}
	}
	return size
}

// spans returns the elements from a to b that are not masked.
func spans(dst []adaptive.Span, m *masks.Mask, a, b int) []adaptive.Span {
	dst = dst[:0]
	for _, r := range m.Runs[m.From(a):] {
		if int(r.Start) >= b {
			break
		}
		if a < int(r.Start) {
			dst = append(dst, adaptive.Span{Start: a, End: int(r.Start)})
		}
		a = int(r.End)
	}
	if a < b {
		dst = append(dst, adaptive.Span{Start: a, End: b})
	}
	return dst
}
