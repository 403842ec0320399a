package predict

import (
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// leastRow is the length from which rows are restored side by side. A shorter row takes less time than
// the calls for that.
const leastRow = 14

// restoreShort is restoreFloats for short rows of 32 bits, one after the other. The CPU overlaps rows that
// do not depend on each other. It reports false after a stop.
func (f Float) restoreShort(b *Buffers, y []uint32, w Window) bool {
	v := floatsOf[float32](y)
	planes := f.Plane / w.Plane // of the distance of P
	for p := range w.Planes() {
		for r := 0; r < w.Cell; r += f.Row {
			for q := range w.Columns() {
				start, width := w.Column(q)
				if r >= width {
					break
				}
				at := start + p*width + r
				f.shortRow(y, v, row{at, min(f.Row, width-r), planes * width, r > 0, f.Deep() && p >= planes})
				if b.Stop.After(f.Row) {
					return false
				}
			}
		}
	}
	return true
}

// shortRow restores a short row. v are the same elements as y, as floats.
func (f Float) shortRow(y []uint32, v []float32, a row) {
	row := y[a.at : a.at+a.n]
	var w, ww float32
	switch {
	case f.Kind == WW:
		for i, r := range row {
			u := kernels.Restore(r, w+float32(w-ww))
			row[i] = u
			w, ww = math.Float32frombits(u), w
		}
	case f.Kind == WNP && a.north && a.plane:
		n, p, pn := v[a.at-f.Row:][:a.n], v[a.at-a.back:][:a.n], v[a.at-a.back-f.Row:][:a.n]
		var nw, pw, pnw float32
		for i, r := range row {
			u := kernels.Restore(r, w+float32(float32(n[i]-nw)+float32(float32(p[i]-pw)-float32(pn[i]-pnw))))
			row[i] = u
			w, nw, pw, pnw = math.Float32frombits(u), n[i], p[i], pn[i]
		}
	case f.Kind == NP:
		n, p, pn := zeros[:a.n], zeros[:a.n], zeros[:a.n]
		if a.north {
			n = v[a.at-f.Row:][:a.n]
		}
		if a.plane {
			p = v[a.at-a.back:][:a.n]
		}
		if a.north && a.plane {
			pn = v[a.at-a.back-f.Row:][:a.n]
		}
		for i, r := range row {
			row[i] = kernels.Restore(r, n[i]+float32(p[i]-pn[i]))
		}
	default: // the differences between the elements of one other row, if any
		x := zeros[:a.n]
		switch {
		case a.north && f.Kind != WP:
			x = v[a.at-f.Row:][:a.n]
		case a.plane && f.Kind != WN:
			x = v[a.at-a.back:][:a.n]
		}
		// The other difference of WNP is +0, which turns -0 into +0. To add -0 changes nothing.
		missing := float32(math.Copysign(0, -1))
		if f.Kind == WNP {
			missing = 0
		}
		var before float32
		for i, r := range row {
			u := kernels.Restore(r, w+float32(float32(x[i]-before)+missing))
			row[i] = u
			w, before = math.Float32frombits(u), x[i]
		}
	}
}

// zeros are the elements of a row outside of the block.
var zeros [leastRow]float32
