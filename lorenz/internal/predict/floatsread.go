package predict

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Buffers are the buffers of Restore. The zero value is ready. They must not be used
// concurrently.
type Buffers struct {
	sums32 []float32
	sums64 []float64
}

// restoreFloats replaces residuals by the bits of the values. Rows at the same place of
// several cells do not depend on each other, and are restored side by side.
func restoreFloats[T entropy.Lane](b *Buffers, f Float, y []T, w Window) {
	switch y := any(y).(type) {
	case []uint32:
		if f.Row < leastRow {
			f.restoreShort(y, w)
			return
		}
		b.sums32 = entropy.Grow(b.sums32, kernels.Rows*f.Row)
		f.eachRows(w, func(rows []row) { f.rows32(y, b.sums32, rows) })
	case []uint64:
		b.sums64 = entropy.Grow(b.sums64, f.Row)
		f.eachRows(w, func(rows []row) { f.rows64(y, b.sums64, rows) })
	}
}

// row is a row of a cell in a window.
type row struct {
	at, n        int // first element, elements
	back         int // distance of P in the window
	north, plane bool
}

// eachRows visits all rows of a window, up to kernels.Rows at once that do not depend on each
// other. Few are shorter than others.
func (f Float) eachRows(w Window, visit func([]row)) {
	var rows [kernels.Rows]row
	planes := f.Plane / w.Plane // of the distance of P
	k := 0
	for p := range w.Planes() {
		for r := 0; r < w.Cell; r += f.Row {
			for q := range w.Columns() {
				start, width := w.Column(q)
				if r >= width {
					break
				}
				rows[k] = row{start + p*width + r, min(f.Row, width-r), planes * width, r > 0, f.Deep() && p >= planes}
				if k++; k == len(rows) {
					visit(rows[:k])
					k = 0
				}
			}
			if k > 0 && f.Kind != WW { // the rows that follow may depend on these
				visit(rows[:k])
				k = 0
			}
		}
	}
	if k > 0 {
		visit(rows[:k])
	}
}

// rows32 restores rows of floats. buf has room for them.
func (f Float) rows32(y []uint32, buf []float32, at []row) {
	v := floatsOf[float32](y)
	var rows [kernels.Rows][]uint32
	var sums [kernels.Rows][]float32
	for i, a := range at {
		rows[i], sums[i] = y[a.at:a.at+a.n], buf[i*f.Row:i*f.Row+a.n]
		if f.Kind == WW {
			continue
		}
		f.Plane = a.back
		addends(f, sums[i], v, a.at, 0, a.north, a.plane)
		if f.Kind == NP {
			kernels.Deviate(rows[i], sums[i])
		}
	}
	switch f.Kind {
	case NP:
	case WW:
		kernels.Extend(rows[:len(at)])
	default:
		kernels.Follow(rows[:len(at)], sums[:len(at)])
	}
}

// rows64 restores rows of doubles. buf has room for one.
func (f Float) rows64(y []uint64, buf []float64, at []row) {
	for _, a := range at {
		row := y[a.at : a.at+a.n]
		sums := buf[:len(row)]
		f.Plane = a.back
		addends(f, sums, floatsOf[float64](y), a.at, 0, a.north, a.plane)
		var p, pp float64
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
	}
}
