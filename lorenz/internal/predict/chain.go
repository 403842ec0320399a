package predict

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// MaxChain is the most strides of a chain. Part of the format.
const MaxChain = 4

// integrate undoes a chain of differences in a window: for each stride, every element becomes
// the sum of itself and the element one stride before. The order of the strides does not matter. It
// reports false after a stop.
func integrate[T entropy.Lane](stop *entropy.Stop, y []T, w Window, strides []int) bool {
	var in, across [MaxChain]int
	inner, planes, ones := in[:0], across[:0], 0
	for _, s := range strides {
		switch {
		case w.Crosses(s):
			planes = append(planes, s/w.Plane)
		case s == 1:
			ones++
		default:
			inner = append(inner, s)
		}
	}
	for q := range w.Columns() {
		start, width := w.Column(q)
		column := y[start : start+w.Planes()*width]
		for p := range w.Planes() {
			var earlier []T
			if len(planes) > 0 && p >= planes[0] {
				earlier = column[(p-planes[0])*width:][:width]
			}
			if !sumCell(stop, column[p*width:][:width], earlier, inner, ones) {
				return false
			}
		}
		for i, p := range planes {
			if i > 0 && !addStride(stop, column, p*width) {
				return false
			}
		}
	}
	return true
}

// cellPiece is how many elements are summed between two checks of stop.
const cellPiece = 1 << 20

// pieces calls f for the pieces of n elements, and reports false after a stop.
func pieces(stop *entropy.Stop, n int, f func(from, to int)) bool {
	for from := 0; from < n; from += cellPiece {
		to := min(from+cellPiece, n)
		f(from, to)
		if stop.After(to - from) {
			return false
		}
	}
	return true
}

// sumCell undoes the strides within a cell: those in inner, and ones strides of 1.
// If other is not nil, it also adds that cell. The first stride of 1 needs no separate pass, because
// it is undone together with another stride or while the other cell is added.
func sumCell[T entropy.Lane](stop *entropy.Stop, cell, other []T, inner []int, ones int) bool {
	if len(cell) > cellPiece {
		return sumLong(stop, cell, other, inner, ones)
	}
	last := 0 // the stride that is undone with one of 1
	if ones > 0 && other == nil && len(inner) > 0 && inner[0] >= leastPair && inner[0] < len(cell) {
		last, inner = inner[0], inner[1:]
	}
	for _, s := range inner {
		addStride(stop, cell, s)
	}
	for range ones - 1 {
		PrefixSum(cell)
	}
	switch {
	case ones == 0 && other != nil:
		add(cell, other)
	case ones == 0:
	case other != nil:
		sumAdd(cell, other, 0)
	case last > 0:
		PrefixSum(cell[:last])
		sumAdd(cell[last:], cell, cell[last-1])
	default:
		PrefixSum(cell)
	}
	return !stop.After(len(cell))
}

// sumLong is sumCell in pieces.
func sumLong[T entropy.Lane](stop *entropy.Stop, cell, other []T, inner []int, ones int) bool {
	for _, s := range inner {
		if !addStride(stop, cell, s) {
			return false
		}
	}
	for range ones {
		ok := pieces(stop, len(cell), func(from, to int) {
			if from > 0 {
				cell[from] += cell[from-1]
			}
			PrefixSum(cell[from:to])
		})
		if !ok {
			return false
		}
	}
	return other == nil || pieces(stop, len(cell), func(from, to int) { add(cell[from:to], other[from:]) })
}

// leastPair is the least stride for sumAdd.
const leastPair = 8

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

// sumAdd replaces each element of y by sum, plus all up to it, plus the one of from at the same
// place. from begins at least leastPair elements before y.
func sumAdd[T entropy.Lane](y, from []T, sum T) {
	if y, ok := any(y).([]uint32); ok {
		kernels.SumAdd(y, any(from).([]uint32), uint32(sum))
		return
	}
	from = from[:len(y)]
	for i, v := range y {
		sum += v
		y[i] = sum + from[i]
	}
}

// add adds to each element of y the one of from at the same place.
func add[T entropy.Lane](y, from []T) {
	if y, ok := any(y).([]uint32); ok {
		kernels.Add(y, any(from).([]uint32))
		return
	}
	from = from[:len(y)]
	for i, v := range from {
		y[i] += v
	}
}

// addStride adds to each element the one s before it. It reports false after a stop.
func addStride[T entropy.Lane](stop *entropy.Stop, y []T, s int) bool {
	return s >= len(y) || pieces(stop, len(y)-s, func(from, to int) { addBefore(y[from:to+s], s) })
}

// addBefore adds to each element the one s before it, if any.
func addBefore[T entropy.Lane](y []T, s int) {
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
