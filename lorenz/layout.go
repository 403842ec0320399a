package lorenz

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

// whole is the layout of a block that is one cell.
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

// window is a part of a block: cells [q0, q1) of planes [p0, p1), stored one
// plane after the other without what is between them.
type window struct {
	layout
	p0, p1 int
	start  int // of the cells in a plane
	width  int // elements a plane
}

// full returns the window of the whole block.
func (l layout) full() window { return window{l, 0, l.n / l.plane, 0, l.plane} }

// window returns the smallest window that holds the elements [i, j) and what
// they depend on. deep tells that planes depend on earlier ones.
func (l layout) window(i, j int, deep bool) window {
	w := window{l, i / l.plane, (j-1)/l.plane + 1, 0, l.plane}
	if w.p1-w.p0 == 1 {
		lo, hi := i%l.plane/l.cell, (j-1)%l.plane/l.cell+1
		w.start = lo * l.cell
		w.width = min(hi*l.cell, l.plane) - w.start
	}
	if deep {
		w.p0 = 0
	}
	return w
}

func (w window) len() int { return (w.p1 - w.p0) * w.width }
