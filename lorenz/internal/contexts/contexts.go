// Package contexts codes residuals with probabilities that are fixed for a block: mode 8 of
// docs/LORENZ.md. The magnitudes around a residual choose one of a few tables, and 16 residuals
// are decoded at once.
package contexts

import (
	"math"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Part of the format.
const (
	stripes     = 16      // of a row
	leastRow    = 32      // elements of a row
	mostRow     = 1 << 20 // elements of a row, and of a plane of rows
	shortRow    = 64      // rows along the last dimension may be shorter only if the first one is no longer
	mostTables  = 16
	logSlots    = 11
	slots       = 1 << logSlots // of a table
	logSign     = 5
	signSlots   = 1 << logSign
	leastState  = 1 << 16
	mostLevel   = 39
	firstLevel  = 16
	octaves     = 2032 // E of the expectation 1
	expectRange = 2048 // E is below this
	hasZeros    = 1 << 0
)

// halo is how many columns on both sides of a row neighbours may be.
const halo = 2

// Shape is the arrangement of a block in rows, or that of one of its columns.
type Shape struct {
	dims   int // longer than 1, at most 3
	row    int // C, elements of a row
	rows   int
	plane  int  // R, rows of a plane
	turned bool // rows are along the first dimension

	// With cells, which are shorter than planes:
	cut   bool
	jump  int // elements of a plane, of those that are cut into cells
	cell  int // elements of a cell
	first int // of a column: its first element
	each  int // of a column: rows of its cell in a plane
}

// ShapeOf returns the rows of a block.
func ShapeOf(dims []int) Shape {
	var long []int
	n := 1
	for _, d := range dims {
		if n *= d; d > 1 {
			long = append(long, d)
		}
	}
	s := Shape{dims: min(len(long), 3), plane: 1}
	if len(long) == 0 {
		return s
	}
	first, last := long[0], long[len(long)-1]
	s.row = last
	if s.turned = last < shortRow && last < first; s.turned {
		s.row = first
	}
	if s.dims == 3 {
		s.plane = last
		if !s.turned {
			s.plane = long[len(long)-2]
		}
	}
	s.rows = n / s.row
	s.each = s.rows
	return s
}

// Cut returns the shape of a block with cells, whose columns are coded apart.
func (s Shape) Cut(plane, cell int) Shape {
	if cell < plane {
		s.cut, s.jump, s.cell = true, plane, cell
	}
	return s
}

// Valid reports whether blocks of this shape can have the mode.
func (s Shape) Valid() bool {
	if !s.cut {
		return s.row >= leastRow && s.plane <= mostRow/s.row
	}
	if s.turned || s.dims == 1 && s.jump < s.row || s.dims > 1 && (s.jump%s.row > 0 || s.cell%s.row > 0) {
		return false
	}
	return s.Column(0).Valid() && s.Column(s.Columns()-1).Valid()
}

// Fits reports whether a block of this shape can have the mode, and the rest of it this many bytes: each column takes
// up some of them.
func (s Shape) Fits(left int) bool {
	const least = 4*stripes + 2 // of a column: its states and its place
	return s.Valid() && (!s.cut || int64(s.Columns())*least <= int64(left))
}

// Ranged reports whether the elements of a column are in the order of its rows, so that the first ones can be decoded
// alone.
func (s Shape) Ranged() bool { return !s.turned }

// Unit returns the elements of which cells must have a multiple.
func (s Shape) Unit() int {
	if s.dims == 1 {
		return 1
	}
	return s.row
}

// Columns returns how many columns there are: 1 without cells.
func (s Shape) Columns() int {
	if !s.cut {
		return 1
	}
	return (s.jump-1)/s.cell + 1
}

// Column returns the shape of a column, which has the same cell of each plane.
func (s Shape) Column(q int) Shape {
	if !s.cut {
		return s
	}
	n := s.N()
	s.first = q * s.cell
	width := min(s.cell, s.jump-s.first)
	if s.dims == 1 {
		s.row = width
	}
	s.each = width / s.row
	s.rows = n / s.jump * s.each
	if s.dims == 3 {
		s.plane = max(min(s.plane, s.each), 2)
	}
	s.cut = false
	return s
}

// N returns the elements of a block or a column.
func (s Shape) N() int { return s.row * s.rows }

// at returns the first element of a row of a column, and the distance to the next.
func (s Shape) at(row int) (first, step int) {
	if s.turned {
		return row, s.rows
	}
	return s.first + row/s.each*s.jump + row%s.each*s.row, 1
}

// tap is a neighbour in an earlier row.
type tap struct {
	rows int // before the element's
	col  int // after the element's
}

// taps appends the neighbours in earlier rows, in the order of their weights.
func (s Shape) taps(t []tap) []tap {
	if s.dims < 2 {
		return t
	}
	t = append(t, tap{1, -2}, tap{1, -1}, tap{1, 0}, tap{1, 1}, tap{1, 2})
	if s.dims == 2 {
		return append(t, tap{2, -1}, tap{2, 0}, tap{2, 1})
	}
	p := s.plane
	return append(t, tap{p, -1}, tap{p, 0}, tap{p, 1}, tap{p + 1, 0}, tap{p - 1, 0})
}

// below returns how many rows before an element B is, the third sign of its context, or 0 if its
// sign is that of W alone.
func (s Shape) below() int {
	switch s.dims {
	case 2:
		return 2
	case 3:
		return s.plane
	}
	return 0
}

// signs returns how many sign contexts there are.
func (s Shape) signs() int {
	if s.dims == 1 {
		return 3
	}
	return 81
}

// before returns the row that is some rows before another one, or what takes its place.
func before(row, rows int) int {
	if rows > row {
		return row - 1
	}
	return row - rows
}

// mostTaps is the greatest number of neighbours in earlier rows.
const mostTaps = 10

// Signs of a residual.
const (
	negative = 0
	none     = 1
	positive = 2
)

// classOf returns the class of an absolute value.
func classOf(x uint64) uint8 {
	if x < 2 {
		return uint8(x)
	}
	l := bits.Len64(x)
	return uint8(2*(l-1)) | uint8(x>>(l-2)&1)
}

// lowBits returns the low bits of a class.
func lowBits(class uint8) uint {
	if class < 4 {
		return 0
	}
	return uint(class)>>1 - 1
}

// magnitude returns what a class weighs.
func magnitude(class uint8) float32 {
	if class == 0 {
		return 0
	}
	return math.Float32frombits((uint32(class) + 254) << 22)
}

// slotsOf returns the slots of a level.
func slotsOf(level int) int {
	if level < 4 {
		return level
	}
	return (4 + level&3) << (level>>2 - 1)
}

// weights are the weights of all neighbours.
type weights struct {
	w, ww uint8
	taps  [mostTaps]uint8
}

// signed returns a lane as a signed number.
func signed[T entropy.Lane](v T) int64 {
	shift := 64 - entropy.LaneBits[T]()
	return int64(uint64(v)<<shift) >> shift
}
