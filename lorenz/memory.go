package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
	"github.com/cdfz-format/cdfz/lorenz/internal/parts"
)

// Memory returns an upper bound on the bytes that a new [Decoder] allocates for any block with these
// parameters, valid or not, in addition to the bytes of the block (docs/LORENZ.md, section 14). It is
// at most 5 bytes for each element, or 9 for elements of 8 bytes, and 64 MiB.
func (p Params) Memory() int64 {
	count, err := p.check()
	if err != nil {
		return 0
	}
	n, size := int64(count), int64(p.Type.Size())
	lane := max(size, 4)
	memory := n*(lane+1) + leastMemory
	// Buffers for pieces of streams: values, symbols, and numbers too large for a symbol. Streams of
	// references have buffers of the same size.
	piece := min(n, entropy.PieceGroups*entropy.GroupLen)
	memory += piece*(lane+4) + 2*entropy.PieceMemory(piece)
	if n > piece {
		memory += mostPeeked * lane
	}
	memory += min(n, maxDict)*size + piece*lane
	memory += adaptive.Memory(n, near(p.Dims)) + contexts.Memory(contexts.ShapeOf(p.Dims), int(size))
	memory += matches.Memory(n * size)
	rows, _ := p.stack()
	return memory + parts.Memory(rows)
}

// leastMemory is for buffers of fixed size, mainly tables of Huffman codes.
const leastMemory = 1 << 20
