// Package adaptive codes residuals one by one, with probabilities that follow
// the residuals around them: mode 4 of docs/LORENZ.md.
package adaptive

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Span is a run of elements whose residuals are coded. Those of other elements
// are 0.
type Span struct{ Start, End int }

// Neighbours are the distances of the element in the row before (North) and in
// the plane before (Below), both at least 3.
type Neighbours struct{ North, Below int }

// maxBelow is the greatest distance of a neighbour. It bounds what a decoder remembers. Part of the
// format.
const maxBelow = 1 << 20

// Valid reports whether blocks may have these neighbours.
func (n Neighbours) Valid() bool { return max(n.North, n.Below) <= maxBelow }

const (
	nInputs = 4  // contexts of a size
	nNodes  = 16 // decisions about a size

	mixStart = 1 << 16 * 3 / 10
	mixRate  = 6

	noisy = 3 // bits of an expected size from which on fewer contexts matter
)

// Powers of two that are at least as many as the values of contexts: of a size, of a sign and of the bit
// after the first.
const (
	maxContexts = 512
	nSigns      = 128
	nLeads      = 512
)

// Model decodes residuals in lanes of one width. It keeps its memory from block to block.
type Model[T entropy.Lane] struct{ model }

// model predicts the size and the sign of each residual. It has no parameter, since functions with one are
// compiled where they are used, and there the compiler does not inline those of package arith.
type model struct {
	near  Neighbours
	zero  [8]arith.Prob
	tz    [64 * 64]arith.Prob
	size  [nInputs][maxContexts][nNodes]arith.Prob
	mix   [noisy + 1][nNodes][nInputs]arith.Weight // weights of the contexts
	sign  [nSigns]arith.Prob
	lead  [nLeads]arith.Prob // the bit after the first
	low   lowBits
	pad   int     // elements before the first one of the window
	base  int     // the first element of the window
	mag   []uint8 // sizes in half octaves, of the window and of pad elements before it
	small []int8  // residuals, clamped to ±2
}

// begin prepares the sizes of a window of n residuals. Those before it are 0.
func (m *model) begin(n int, near Neighbours) {
	m.near, m.base = near, 0
	m.pad = near.North + near.Below + 4
	m.mag = entropy.Grow(m.mag, n+m.pad)
	m.small = entropy.Grow(m.small, n+m.pad)
	clear(m.mag[:m.pad])
	clear(m.small[:m.pad])
}

// Memory bounds the bytes that a new model allocates to decode n residuals.
func Memory(n int64, near Neighbours) int64 {
	// Blocks with greater distances have none of these residuals, but their parts may.
	pad := int64(min(near.North, maxBelow) + min(near.Below, maxBelow) + 4)
	return (min(n, max(pad, leastWindow))+pad)*2 + 512<<10
}

// leastWindow is the least length of the window of a longer block.
const leastWindow = 1 << 16

// place returns the index of element at in the window, which then also holds the n-1 elements after
// it. If necessary, the window moves forward and keeps the neighbours before the element. n is at most
// leastWindow.
func (m *model) place(at, n int) int {
	i := at - m.base + m.pad
	if i+n <= len(m.mag) {
		return i
	}
	from := i - m.pad
	copy(m.mag, m.mag[from:i])
	copy(m.small, m.small[from:i])
	m.base = at
	return m.pad
}

// reset also sets the probabilities to those at the start of a block of n residuals. They take more
// memory than a small block, so estimates do without them.
func (m *model) reset(n int, near Neighbours) {
	// The new part of the window is at least as long as the part that it keeps when it moves.
	m.begin(min(n, max(near.North+near.Below+4, leastWindow)), near)
	for i := range m.size {
		for j := range m.size[i] {
			arith.Reset(m.size[i][j][:])
		}
	}
	for z := range m.mix {
		for node := range m.mix[z] {
			m.mix[z][node] = [nInputs]arith.Weight{mixStart, mixStart, mixStart, mixStart}
			if z == noisy {
				m.mix[z][node] = [nInputs]arith.Weight{2 * mixStart, 2 * mixStart}
			}
		}
	}
	arith.Reset(m.zero[:])
	arith.Reset(m.tz[:])
	arith.Reset(m.sign[:])
	arith.Reset(m.lead[:])
}
