package predict

import "github.com/cdfz-format/cdfz/lorenz/internal/entropy"

// Layout is how predictors see the elements of a block: planes of equal size,
// each cut into cells. Only the last cell of a plane may be shorter. Strides
// below the length of a cell stay within a cell, larger ones are multiples of
// the plane and lead to the same cell of an earlier plane. So a cell can be
// decoded from the same cell of the planes before it.
type Layout struct {
	N     int // elements
	Plane int // elements of a plane, divides N
	Cell  int // elements of a cell
}

// Whole returns the layout of a block that is one cell.
func Whole(n int) Layout { return Layout{n, n, n} }

// Valid reports whether the layout can be that of n elements.
func (l Layout) Valid() bool {
	return l.Plane > 0 && l.N%l.Plane == 0 && l.Cell > 0 && l.Cell <= l.Plane
}

// Crosses reports whether a stride leads to another plane.
func (l Layout) Crosses(stride int) bool { return stride >= l.Cell }

// Allows reports whether a stride keeps to the rules.
func (l Layout) Allows(stride int) bool {
	return stride > 0 && stride < l.N && (stride < l.Cell || stride%l.Plane == 0)
}

// Window is a part of a block: some adjacent cells of the planes [P0, P1). Its elements are
// stored column by column: a column is the same cell of all its planes, one after the other.
type Window struct {
	Layout
	P0, P1 int
	Start  int // of the cells in a plane
	Width  int // elements of the cells in a plane
}

// Full returns the window of the whole block.
func (l Layout) Full() Window { return Window{l, 0, l.N / l.Plane, 0, l.Plane} }

// Window returns the smallest window that holds the elements [i, j) and those they
// depend on. deep means that planes depend on earlier ones.
func (l Layout) Window(i, j int, deep bool) Window {
	w := Window{l, i / l.Plane, (j-1)/l.Plane + 1, 0, l.Plane}
	if w.Planes() == 1 {
		lo, hi := i%l.Plane/l.Cell, (j-1)%l.Plane/l.Cell+1
		w.Start = lo * l.Cell
		w.Width = min(hi*l.Cell, l.Plane) - w.Start
	}
	if deep {
		w.P0 = 0
	}
	return w
}

// Until shortens a window of a single plane to end at element j of the block: the elements before j do
// not depend on later ones.
func (w Window) Until(j int) Window {
	if w.Planes() == 1 {
		w.Width = j - w.P0*w.Plane - w.Start
	}
	return w
}

// Planes returns the number of planes.
func (w Window) Planes() int { return w.P1 - w.P0 }

// Len returns the number of elements.
func (w Window) Len() int { return w.Planes() * w.Width }

// Columns returns the number of columns.
func (w Window) Columns() int { return (w.Width + w.Cell - 1) / w.Cell }

// AllPlanes reports whether the columns are adjacent in the order of the residuals.
func (w Window) AllPlanes() bool { return w.Planes() == w.N/w.Plane }

// Column returns where column q is stored, and the length of its cells.
func (w Window) Column(q int) (start, width int) {
	c := q * w.Cell
	return c * w.Planes(), min(w.Cell, w.Width-c)
}

// EachPiece visits runs of elements that are adjacent in the block and in the columns [q0, q1):
// the first element, its place in the window, and how many. It ends when visit reports false, and
// reports false then and after a stop.
func (w Window) EachPiece(stop *entropy.Stop, q0, q1 int, visit func(e, at, n int) bool) bool {
	if w.Columns() == 1 && w.Width == w.Plane { // planes are adjacent
		return visit(w.P0*w.Plane, 0, w.Len())
	}
	if w.Planes() == 1 {
		start, _ := w.Column(q0)
		last, width := w.Column(q1 - 1)
		return visit(w.P0*w.Plane+w.Start+start, start, last+width-start)
	}
	short := 0 // pieces since the last check of stop
	for q := q0; q < q1; q++ {
		start, width := w.Column(q)
		for p := w.P0; p < w.P1; p++ {
			if !visit(p*w.Plane+w.Start+q*w.Cell, start+(p-w.P0)*width, width) {
				return false
			}
			if short++; short == piecesTried {
				if stop.After(piecesTried * pieceTime) {
					return false
				}
				short = 0
			}
		}
	}
	return true
}

// A piece takes about pieceTime nanoseconds, however short it is.
const (
	piecesTried = 1 << 10
	pieceTime   = 64
)
