package lorenz

import (
	"encoding/binary"
	"math"
)

// Flags of a block in modeGroups. Bits 0 and 1 are the number of specials.
const (
	flagFloat      = 1 << 2 // float predictor instead of a chain
	flagTransposed = 1 << 3
	flagRepeats    = 1 << 4
	flagCells      = 1 << 5
	flagPatches    = 1 << 6
	flagWide       = 1 << 7 // lanes of 64 bits
)

// block is a parsed block in modeGroups.
type block struct {
	inverse
	layout
	size       int
	wide       bool
	ranged     bool // ranges can be decoded
	deep       bool // planes depend on earlier ones
	isFloat    bool
	float      floatPredictor
	chain      []int
	transposed int
	lz         bool
	tokens     tokens
	mask       mask
	patchAt    []uint64 // elements
	patches    []byte
	g          groupReader

	side stream
	nums []uint64
	syms []byte
}

// parse reads a block up to its group stream.
func (b *block) parse(t Type, n int, src []byte) bool {
	r := &byteReader{buf: src}
	flags := r.byte()
	b.typ, b.size, b.layout = t, t.Size(), whole(n)
	b.kind = r.byte()
	b.wide = flags&flagWide != 0
	specials := int(flags & 3)
	if specials > maxSpecials || !allowed(t, b.kind, b.wide) {
		return false
	}
	if flags&flagCells != 0 {
		b.plane, b.cell = r.int(n), r.int(n)
		if !b.valid() {
			return false
		}
	}
	b.predictor(r, flags)
	b.transposed = 0
	if flags&flagTransposed != 0 {
		b.transposed = r.int(n)
		if b.transposed == 0 || specials > 0 {
			return false
		}
	}
	b.lz = flags&flagRepeats != 0
	b.ranged = !b.lz && b.transposed == 0 && (flags&flagCells != 0 || !b.isFloat && len(b.chain) == 0)
	if flags&flagCells != 0 && !b.ranged || r.bad {
		return false
	}
	b.specials(r, specials)
	if r.bad {
		return false
	}
	b.params(r)
	b.patchAt = b.patchAt[:0]
	if flags&flagPatches != 0 && !r.bad {
		b.readPatches(r)
	}
	if r.bad {
		return false
	}
	m := b.mask.rank(n)
	if b.lz {
		m = b.tokens.read(b, r, m)
		if r.bad {
			return false
		}
	}
	width := 32
	if b.wide {
		width = 64
	}
	b.g.open(r, m, width)
	return !r.bad && len(r.buf) == 0
}

// predictor reads the chain or the float predictor.
func (b *block) predictor(r *byteReader, flags byte) {
	b.chain, b.deep = b.chain[:0], false
	b.isFloat = flags&flagFloat != 0
	if b.isFloat {
		b.float = floatPredictor{kind: int(r.byte()), row: r.int(b.n)}
		b.deep = b.float.deep()
		if b.deep {
			b.float.plane = r.int(b.n)
		}
		if !b.typ.float() || b.kind != mapOrder || !b.float.valid(b.layout) {
			r.bad = true
		}
		return
	}
	n := int(r.byte())
	if n > maxChain {
		r.bad = true
		return
	}
	for range n {
		s := r.int(b.n)
		if !b.allows(s) {
			r.bad = true
			return
		}
		b.deep = b.deep || b.crosses(s)
		b.chain = append(b.chain, s)
	}
}

// numbers reads a stream of count numbers.
func (b *block) numbers(r *byteReader, dst []uint64, count int) []uint64 {
	b.side.read(r, count)
	if r.bad {
		return dst[:0]
	}
	dst, syms, ok := b.side.numbers(dst, b.syms)
	b.syms = syms
	r.bad = r.bad || !ok
	return dst
}

// specials reads the mask.
func (b *block) specials(r *byteReader, n int) {
	b.mask.runs = b.mask.runs[:0]
	if n == 0 {
		return
	}
	for i := range n {
		b.mask.patterns[i] = r.bytes(b.size)
	}
	b.nums = b.numbers(r, b.nums, r.int(b.n+1))
	if r.bad || !b.mask.set(b.nums, n, b.n) {
		r.bad = true
	}
}

// params reads the parameters of the transform.
func (b *block) params(r *byteReader) {
	b.offset, b.scale, b.segment = 0, 0, 0
	switch b.kind {
	case mapFix:
		q := r.bytes(2)
		if q == nil {
			return
		}
		b.scale = math.Ldexp(1, int(int16(binary.LittleEndian.Uint16(q))))
	case mapRatio:
		b.segment = r.int(b.n)
		count := 1
		if b.segment > 0 {
			count = (b.n-1)/b.segment + 1
		}
		b.nums = b.numbers(r, b.nums, count)
		b.divs = b.divs[:0]
		for _, d := range b.nums {
			b.divs = append(b.divs, float64(d))
		}
	case mapDict:
		b.readDict(r)
	case mapScaled:
		b.scale = r.float()
	case mapLinear:
		b.scale = r.float()
		b.offset = r.float()
	}
}

// float reads a little-endian double.
func (r *byteReader) float() float64 {
	p := r.bytes(8)
	if p == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}

// readPatches reads the elements that are stored apart.
func (b *block) readPatches(r *byteReader) {
	count := r.int(b.n)
	b.patchAt = b.numbers(r, b.patchAt, count)
	at := uint64(0)
	for i, gap := range b.patchAt {
		at += gap
		if gap >= uint64(b.n) || at >= uint64(b.n) || gap == 0 && i > 0 {
			r.bad = true
			return
		}
		b.patchAt[i] = at
	}
	b.patches = r.bytes(count * b.size)
}

// patch writes the elements that are stored apart. dst starts at element at.
func (b *block) patch(dst []byte, at int) {
	for i, e := range b.patchAt {
		if p := (int(e) - at) * b.size; p >= 0 && p < len(dst) {
			copy(dst[p:p+b.size], b.patches[i*b.size:])
		}
	}
}
