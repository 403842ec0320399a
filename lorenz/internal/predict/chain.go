package predict

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// MaxChain is the most strides of a chain. Part of the format.
const MaxChain = 4

// integrate undoes a chain of differences in a window: for each stride, every element becomes
// the sum of itself and the element one stride before.
func integrate[T entropy.Lane](y []T, w Window, strides []int) {
	for q := range w.Columns() {
		start, width := w.Column(q)
		column := y[start : start+w.Planes()*width]
		for p := 0; p < len(column); p += width {
			cell := column[p : p+width]
			for _, s := range strides {
				switch {
				case w.Crosses(s):
				case s == 1:
					PrefixSum(cell)
				default:
					addStride(cell, s)
				}
			}
		}
		for _, s := range strides {
			if w.Crosses(s) {
				addStride(column, s/w.Plane*width)
			}
		}
	}
}

// PrefixSum replaces each element by the sum up to it.
func PrefixSum[T entropy.Lane](y []T) {
	if y, ok := any(y).([]uint32); ok {
		kernels.PrefixSum(y)
		return
	}
	var sum T
	for i, v := range y {
		sum += v
		y[i] = sum
	}
}

// addStride adds to each element the one s before it.
func addStride[T entropy.Lane](y []T, s int) {
	if s >= len(y) {
		return
	}
	if y, ok := any(y).([]uint32); ok {
		kernels.AddStride(y, s)
		return
	}
	from, to := y[:len(y)-s], y[s:]
	for len(from) >= 4 && len(to) >= 4 && s >= 4 {
		a, b := (*[4]T)(from), (*[4]T)(to)
		b[0] += a[0]
		b[1] += a[1]
		b[2] += a[2]
		b[3] += a[3]
		from, to = from[4:], to[4:]
	}
	to = to[:len(from)]
	for i, v := range from {
		to[i] += v
	}
}

// Differentiate returns the residuals of a block's values, in one of the buffers, which it
// grows, or with an empty chain the values themselves.
func Differentiate[T entropy.Lane](y []T, l Layout, strides []int, buf *[2][]T) []T {
	for i, s := range strides {
		to := entropy.Grow(buf[i&1], len(y))
		buf[i&1] = to
		if l.Crosses(s) {
			Subtract(to, y, s)
		} else {
			for p := 0; p < l.N; p += l.Plane {
				for c := 0; c < l.Plane; c += l.Cell {
					at, end := p+c, p+min(c+l.Cell, l.Plane)
					Subtract(to[at:end], y[at:end], s)
				}
			}
		}
		y = to
	}
	return y
}

// Subtract sets dst, as long as y, to the elements less the ones s before them.
func Subtract[T entropy.Lane](dst, y []T, s int) {
	s = min(s, len(y))
	copy(dst, y[:s])
	to, a, b := dst[s:], y[s:], y[:len(y)-s]
	if to, ok := any(to).([]uint32); ok {
		kernels.Subtract(to, any(a).([]uint32), any(b).([]uint32))
		return
	}
	to, b = to[:len(a)], b[:len(a)]
	for i, v := range a {
		to[i] = v - b[i]
	}
}
