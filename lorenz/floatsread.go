package lorenz

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// restorer has the buffers for undoing a float predictor.
type restorer struct {
	sums32 []float32
	sums64 []float64
}

// restoreFloats replaces residuals by the bits of the values. Rows at the same place of
// several cells do not depend on each other, and are restored side by side.
func restoreFloats[T lane](b *restorer, f floatPredictor, y []T, w window) {
	switch y := any(y).(type) {
	case []uint32:
		b.sums32 = entropy.Grow(b.sums32, kernels.Rows*f.row)
		f.eachRows(w, func(rows []row) { f.rows32(y, b.sums32, rows) })
	case []uint64:
		b.sums64 = entropy.Grow(b.sums64, f.row)
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
// other. Only the last one may be shorter.
func (f floatPredictor) eachRows(w window, visit func([]row)) {
	var rows [kernels.Rows]row
	planes := f.plane / w.plane // of the distance of P
	for p := range w.planes() {
		for r := 0; r < w.cell; r += f.row {
			k := 0
			for q := range w.columns() {
				start, width := w.column(q)
				if r >= width {
					break
				}
				rows[k] = row{start + p*width + r, min(f.row, width-r), planes * width, r > 0, f.deep() && p >= planes}
				if k++; k == len(rows) {
					visit(rows[:k])
					k = 0
				}
			}
			if k > 0 {
				visit(rows[:k])
			}
		}
	}
}

// rows32 restores rows of floats. buf has room for them.
func (f floatPredictor) rows32(y []uint32, buf []float32, at []row) {
	v := floatsOf[float32](y)
	var rows [kernels.Rows][]uint32
	var sums [kernels.Rows][]float32
	for i, a := range at {
		rows[i], sums[i] = y[a.at:a.at+a.n], buf[i*f.row:i*f.row+a.n]
		if f.kind == floatWW {
			kernels.Extend(rows[i])
			continue
		}
		f.plane = a.back
		addends(f, sums[i], v, a.at, 0, a.north, a.plane)
		if f.kind == floatNP {
			kernels.Deviate(rows[i], sums[i])
		}
	}
	if f.kind != floatNP && f.kind != floatWW {
		kernels.Follow(rows[:len(at)], sums[:len(at)])
	}
}

// rows64 restores rows of doubles. buf has room for one.
func (f floatPredictor) rows64(y []uint64, buf []float64, at []row) {
	for _, a := range at {
		row := y[a.at : a.at+a.n]
		sums := buf[:len(row)]
		f.plane = a.back
		addends(f, sums, floatsOf[float64](y), a.at, 0, a.north, a.plane)
		var p, pp float64
		for j, s := range sums {
			switch f.kind {
			case floatNP:
			case floatWW:
				s = p + float64(p-pp)
			default:
				s = p + s
			}
			row[j] = kernels.Unordered(row[j] + kernels.Ordered(math.Float64bits(kernels.Clamp(s))))
			p, pp = math.Float64frombits(row[j]), p
		}
	}
}
