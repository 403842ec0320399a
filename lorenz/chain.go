package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
)

// maxChain is the most strides of a chain.
const maxChain = 4

// integrate undoes a chain of differences: for each stride, every element becomes the
// sum of itself and the element one stride before.
func integrate[T lane](y []T, w window, strides []int) {
	for q := range w.columns() {
		start, width := w.column(q)
		column := y[start : start+w.planes()*width]
		for p := 0; p < len(column); p += width {
			cell := column[p : p+width]
			for _, s := range strides {
				switch {
				case w.crosses(s):
				case s == 1:
					prefixSum(cell)
				default:
					addStride(cell, s)
				}
			}
		}
		for _, s := range strides {
			if w.crosses(s) {
				addStride(column, s/w.plane*width)
			}
		}
	}
}

// prefixSum replaces each element by the sum up to it.
func prefixSum[T lane](y []T) {
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
func addStride[T lane](y []T, s int) {
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

// differentiate returns the residuals of a block's values, in one of the buffers or
// with an empty chain the values themselves.
func differentiate[T lane](y []T, l layout, strides []int, buf *[2][]T) []T {
	for i, s := range strides {
		to := entropy.Grow(buf[i&1], len(y))
		buf[i&1] = to
		if l.crosses(s) {
			subStride(to, y, s)
		} else {
			for p := 0; p < l.n; p += l.plane {
				for c := 0; c < l.plane; c += l.cell {
					at, end := p+c, p+min(c+l.cell, l.plane)
					subStride(to[at:end], y[at:end], s)
				}
			}
		}
		y = to
	}
	return y
}

// subStride sets dst to the elements less the ones s before them.
func subStride[T lane](dst, y []T, s int) {
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

// term is a product in a chain's expansion: the residual of an element includes the
// value at offset, negated or not.
type term struct {
	offset int
	inCell int // the part of the offset within a cell
	neg    bool
	one    bool // with a stride of 1
}

// terms appends the terms of a chain to t, which is empty. The first term is the
// element itself.
func (l layout) terms(t []term, strides []int) []term {
	t = append(t, term{})
	for _, s := range strides {
		for _, x := range t {
			in := 0
			if !l.crosses(s) {
				in = s
			}
			t = append(t, term{x.offset + s, x.inCell + in, !x.neg, x.one || s == 1})
		}
	}
	return t
}

// fill sets the masked elements to the predictions of the chain, so that their
// residuals are 0.
func fill[T lane](y []T, l layout, strides []int, m *masks.Mask) {
	if len(m.Runs) == 0 {
		return
	}
	var buf [1 << maxChain]term
	terms := l.terms(buf[:0], strides)[1:]
	ones := 0
	for _, s := range strides {
		if s == 1 {
			ones++
		}
	}
	back, inCell := 0, 0 // how far the terms lead
	for _, t := range terms {
		back, inCell = max(back, t.offset), max(inCell, t.inCell)
	}
	set := func(y []T, i int, from *neighbours) {
		if len(y)-i < 4 || ones > 1 || !extrapolate(y, i, from, ones == 1) {
			kernels.Predict(y, i, from.plus(), from.minus(), 0)
		}
	}
	var all, some neighbours
	all.set(terms)
	var valid [1 << maxChain]term
	for _, r := range m.Runs {
		for i, end := int(r.Start), int(r.End); i < end; {
			at := i % l.plane % l.cell
			cell := min(i-at+l.cell, i-i%l.plane+l.plane, end)
			if at >= inCell && i >= back {
				set(y[:cell], i, &all)
				i = cell
			}
			for i < cell {
				// In this piece all elements have the same neighbours.
				n, k := cell-i, 0
				for _, t := range terms {
					missing := max(t.inCell-at, t.offset-i)
					if missing <= 0 {
						valid[k] = t
						k++
					} else {
						n = min(n, missing)
					}
				}
				some.set(valid[:k])
				set(y[:i+n], i, &some)
				i, at = i+n, at+n
			}
		}
	}
}

// neighbours are the distances of the terms from which a value is predicted. Those that are added
// come first, and in each part those without a stride of 1.
type neighbours struct {
	dist      [1 << maxChain]int
	n, added  int
	far, away int // without a stride of 1: added and subtracted
}

func (b *neighbours) set(terms []term) {
	*b = neighbours{}
	put := func(neg, one bool) {
		for _, t := range terms {
			if t.neg == neg && t.one == one {
				b.dist[b.n] = t.offset
				b.n++
			}
		}
	}
	put(true, false)
	b.far = b.n
	put(true, true)
	b.added = b.n
	put(false, false)
	b.away = b.n - b.added
	put(false, true)
}

func (b *neighbours) plus() []int     { return b.dist[:b.added] }
func (b *neighbours) minus() []int    { return b.dist[b.added:b.n] }
func (b *neighbours) farPlus() []int  { return b.dist[:b.far] }
func (b *neighbours) farMinus() []int { return b.dist[b.added:][:b.away] }

// extrapolate sets the elements from i to the end of y to their predictions. With one, the chain has
// a stride of 1, so the residuals of the other strides are the same for all elements from the one
// before. It returns false if these are not all defined.
func extrapolate[T lane](y []T, i int, from *neighbours, one bool) bool {
	plus, minus := from.farPlus(), from.farMinus()
	var c T
	if ones := from.n - len(plus) - len(minus); one && ones > 0 {
		if 2*ones != from.n+1 {
			return false
		}
		c = y[i-1]
		for _, d := range plus {
			c -= y[i-1-d]
		}
		for _, d := range minus {
			c += y[i-1-d]
		}
	}
	kernels.Predict(y, i, plus, minus, c)
	return true
}

// layout is how predictors see the elements of a block: planes of equal size,
// each cut into cells. Only the last cell of a plane may be shorter. Strides
// below the length of a cell stay within a cell, larger ones are multiples of
// the plane and lead to the same cell of an earlier plane. So a cell can be
// decoded from the same cell of the planes before it.
type layout struct {
	n     int // elements
	plane int // elements of a plane, divides n
	cell  int // elements of a cell
}

// whole returns the layout of a block that is one cell.
func whole(n int) layout { return layout{n, n, n} }

// valid reports whether the layout can be that of n elements.
func (l layout) valid() bool {
	return l.plane > 0 && l.n%l.plane == 0 && l.cell > 0 && l.cell <= l.plane
}

// crosses reports whether a stride leads to another plane.
func (l layout) crosses(stride int) bool { return stride >= l.cell }

// allows reports whether a stride keeps to the rules.
func (l layout) allows(stride int) bool {
	return stride > 0 && stride < l.n && (stride < l.cell || stride%l.plane == 0)
}

// window is a part of a block: cells [q0, q1) of planes [p0, p1). Its elements are stored
// column by column: a column is the same cell of all its planes, one after the other.
type window struct {
	layout
	p0, p1 int
	start  int // of the cells in a plane
	width  int // elements a plane
}

// full returns the window of the whole block.
func (l layout) full() window { return window{l, 0, l.n / l.plane, 0, l.plane} }

// window returns the smallest window that holds the elements [i, j) and those they
// depend on. deep means that planes depend on earlier ones.
func (l layout) window(i, j int, deep bool) window {
	w := window{l, i / l.plane, (j-1)/l.plane + 1, 0, l.plane}
	if w.planes() == 1 {
		lo, hi := i%l.plane/l.cell, (j-1)%l.plane/l.cell+1
		w.start = lo * l.cell
		w.width = min(hi*l.cell, l.plane) - w.start
	}
	if deep {
		w.p0 = 0
	}
	return w
}

func (w window) planes() int  { return w.p1 - w.p0 }
func (w window) len() int     { return w.planes() * w.width }
func (w window) columns() int { return (w.width + w.cell - 1) / w.cell }

// allPlanes reports whether the columns are adjacent in the order of the residuals.
func (w window) allPlanes() bool { return w.planes() == w.n/w.plane }

// column returns where column q is stored, and the length of its cells.
func (w window) column(q int) (start, width int) {
	c := q * w.cell
	return c * w.planes(), min(w.cell, w.width-c)
}
