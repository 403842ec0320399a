package predict

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Buffers are the buffers of Restore. The zero value is ready. They must not be used
// concurrently.
type Buffers struct {
	Stop   *entropy.Stop
	sums32 []float32
	sums64 []float64
}

// Long rows are restored in pieces of rowPiece elements, so that their sums take little memory.
const rowPiece = 1 << 12

// restoreFloats replaces residuals by the bits of the values. Rows at the same place of
// several cells do not depend on each other, and are restored side by side.
func restoreFloats[T entropy.Lane](b *Buffers, f Float, y []T, w Window) bool {
	switch y := any(y).(type) {
	case []uint32:
		if f.Row < leastRow {
			return f.restoreShort(b, y, w)
		}
		b.sums32 = entropy.Grow(b.sums32, kernels.Rows*min(f.Row, rowPiece+1))
		stopped := false
		wave := func(r row) bool {
			if !r.plane {
				r.back = 0
			}
			done := kernels.Wave(y, r.at, r.n, r.back)
			stopped = stopped || done && b.Stop.After(kernels.Rows*r.n)
			return done
		}
		return f.eachRows(w, wave, func(rows []row) bool { return !stopped && f.rows32(b, y, rows) }) && !stopped
	case []uint64:
		b.sums64 = entropy.Grow(b.sums64, min(f.Row, rowPiece))
		return f.eachRows(w, nil, func(rows []row) bool { return f.rows64(b, y, rows) })
	}
	return false
}

// row is a row of a cell in a window.
type row struct {
	at, n        int // first element, elements
	back         int // distance of P in the window
	north, plane bool
}

// eachRows visits all rows of a window, up to kernels.Rows at once that do not depend on each
// other. Few are shorter than others. It ends when visit reports false. If a cell has kernels.Rows rows
// that depend on the one before, and no other cell has, it asks wave, which may be nil, whether it does all
// of them; the argument is the first one.
func (f Float) eachRows(w Window, wave func(row) bool, visit func([]row) bool) bool {
	var rows [kernels.Rows]row
	planes := f.Plane / w.Plane // of the distance of P
	k := 0
	for p := range w.Planes() {
		for r := 0; r < w.Cell; r += f.Row {
			if start, width := w.Column(0); wave != nil && w.Columns() == 1 && r > 0 && width-r >= kernels.Rows*f.Row &&
				(f.Kind == WN || f.Kind == WNP && p >= planes) {
				if wave(row{start + p*width + r, f.Row, planes * width, true, f.Deep()}) {
					r += (kernels.Rows - 1) * f.Row
					continue
				}
			}
			for q := range w.Columns() {
				start, width := w.Column(q)
				if r >= width {
					break
				}
				rows[k] = row{start + p*width + r, min(f.Row, width-r), planes * width, r > 0, f.Deep() && p >= planes}
				if k++; k == len(rows) {
					if !visit(rows[:k]) {
						return false
					}
					k = 0
				}
			}
			if k > 0 && f.Kind != WW { // the rows that follow may depend on these
				if !visit(rows[:k]) {
					return false
				}
				k = 0
			}
		}
	}
	return k == 0 || visit(rows[:k])
}

// rows32 restores rows of floats. It reports false after a stop.
func (f Float) rows32(b *Buffers, y []uint32, at []row) bool {
	longest := 0
	for _, a := range at {
		longest = max(longest, a.n)
	}
	for col := 0; col < longest; col += rowPiece {
		f.piece32(b, y, at, col)
		if b.Stop.After(len(at) * min(longest, rowPiece)) {
			return false
		}
	}
	return true
}

// piece32 restores the elements of rows from column col on, at most rowPiece.
func (f Float) piece32(b *Buffers, y []uint32, at []row, col int) {
	v := floatsOf[float32](y)
	var rows [kernels.Rows][]uint32
	var sums [kernels.Rows][]float32
	k, size := 0, len(b.sums32)/kernels.Rows
	for _, a := range at {
		n := min(a.n-col, rowPiece)
		if n <= 0 {
			continue
		}
		first := a.at + col
		rows[k], sums[k] = y[first:first+n], b.sums32[k*size:k*size+n]
		f.Plane = a.back
		switch {
		case f.Kind == NP:
			addends(f, sums[k], v, first, col, a.north, a.plane)
			kernels.Deviate(rows[k], sums[k])
		case f.Kind == WW:
			if col > 0 { // the row goes on: the values before it are restored once more, as those of a new row
				rows[k] = y[first-2 : first+n]
				w := v[first-2]
				rows[k][0], rows[k][1] = residual(rows[k][0], 0), residual(rows[k][1], w+w)
			}
		case col == 0:
			addends(f, sums[k], v, first, 0, a.north, a.plane)
		default: // the same for the value before it
			rows[k], sums[k] = y[first-1:first+n], b.sums32[k*size:k*size+n+1]
			addends(f, sums[k][1:], v, first, col, a.north, a.plane)
			rows[k][0] = residual(rows[k][0], 0)
			sums[k][0] = 0
		}
		k++
	}
	switch f.Kind {
	case NP:
	case WW:
		kernels.Extend(rows[:k])
	default:
		kernels.Follow(rows[:k], sums[:k])
	}
}

// residual returns the residual of the float with the bits u, given its prediction.
func residual(u uint32, p float32) uint32 {
	return kernels.Ordered(u) - kernels.Ordered(math.Float32bits(kernels.Clamp(p)))
}

// rows64 restores rows of doubles. It reports false after a stop.
func (f Float) rows64(b *Buffers, y []uint64, at []row) bool {
	v := floatsOf[float64](y)
	for _, a := range at {
		f.Plane = a.back
		var p, pp float64
		for col := 0; col < a.n; col += rowPiece {
			first := a.at + col
			row := y[first : first+min(a.n-col, rowPiece)]
			sums := b.sums64[:len(row)]
			addends(f, sums, v, first, col, a.north, a.plane)
			for j, s := range sums {
				switch f.Kind {
				case NP:
				case WW:
					s = p + float64(p-pp)
				default:
					s = p + s
				}
				row[j] = kernels.Unordered(row[j] + kernels.Ordered(math.Float64bits(kernels.Clamp(s))))
				p, pp = math.Float64frombits(row[j]), p
			}
			if b.Stop.After(len(row)) {
				return false
			}
		}
	}
	return true
}
