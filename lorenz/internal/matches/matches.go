// Package matches codes bytes as literals and copies of earlier bytes, all with the range coder of package arith. It is
// the densest and slowest code for bytes: a literal takes about 80 ns. docs/LORENZ.md, section 12, specifies the bytes.
package matches

import (
	_ "embed"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
)

// MaxLen is the length of the longest block in bytes. Part of the format.
const MaxLen = 1 << 24

// dictionary is the vocabulary of netCDF headers, in the form of headers. Part of the format.
//
//go:embed dictionary1.bin
var dictionary []byte

// Form is how the elements of a block become the bytes that are coded.
type Form struct {
	Header bool   // the bytes may refer to the dictionary as if it came before them
	Unit   int    // length of a row of bytes that resemble each other, up to MaxUnit
	Table  []byte // the values, if the bytes are indices to them; else they are those of the elements
	Size   int    // bytes of an element
}

// Bounds of a form. Part of the format.
const (
	MaxUnit  = 8
	MaxTable = 256 // values
)

// The options of a block. Part of the format.
const (
	unitBits      = 7 // unit - 1
	hasDictionary = 8
	hasTable      = 16
	allOptions    = 31
)

// Kinds of steps. Part of the format.
const (
	literal = iota
	again   // a copy at one of the distances used last
	match   // a copy at another distance
	kinds
)

const (
	histories = kinds * kinds // kinds of the last two steps
	minAgain  = 1             // bytes of a copy
	minMatch  = 2
	recent    = 3
)

// step is a literal, or a copy of n bytes.
type step struct {
	n    int32
	kind uint8
	rank uint8  // again: which of the distances used last
	dist uint32 // match
}

// position is what a step depends on, apart from the bytes before it.
type position struct {
	history uint32
	last    [recent]uint32 // the distances used last, the latest first
}

func start(unit int) position {
	return position{last: [recent]uint32{1, uint32(unit), 2 * uint32(unit)}}
}

// after returns the position after a step.
func (p position) after(s step) position {
	p.history = (p.history*kinds + uint32(s.kind)) % histories
	switch {
	case s.kind == match:
		p.last = [recent]uint32{s.dist, p.last[0], p.last[1]}
	case s.kind == again && s.rank == 1:
		p.last = [recent]uint32{p.last[1], p.last[0], p.last[2]}
	case s.kind == again && s.rank == 2:
		p.last = [recent]uint32{p.last[2], p.last[0], p.last[1]}
	}
	return p
}

// next codes a step at byte at of b, where the block begins at byte base. An encoder gives the step. A decoder gets it, and
// a literal's byte in b.
func (m *model) next(c *arith.Coder, b []byte, base, at int, p *position, s step) step {
	h := p.history
	if c.Bit(&m.copies[h][m.column(at-base)], one(s.kind != literal)) == 0 {
		x := m.context(b, base, at, p)
		b[at] = byte(m.literal(c, &x, uint32(b[at])))
		return step{n: 1, kind: literal}
	}
	if c.Bit(&m.again[h], one(s.kind == again)) == 0 {
		n := m.lens[1].code(c, uint32(s.n)-minMatch)
		dist := m.dists[min(n, lengths-1)].code(c, s.dist-1)
		return step{n: bounded(n) + minMatch, kind: match, dist: uint32(bounded(dist)) + 1}
	}
	rank := c.Bit(&m.older[h], one(s.rank > 0))
	if rank > 0 {
		rank += c.Bit(&m.oldest[h], one(s.rank > 1))
	}
	return step{n: bounded(m.lens[0].code(c, uint32(s.n)-minAgain)) + minAgain, kind: again, rank: uint8(rank)}
}

// bounded keeps numbers that are too large for any block from becoming small ones.
func bounded(v uint32) int32 { return int32(min(v, 2*MaxLen)) }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
