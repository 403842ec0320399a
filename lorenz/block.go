package lorenz

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
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
	predict.Layout
	size       int
	wide       bool
	ranged     bool // ranges can be decoded
	deep       bool // planes depend on earlier ones
	pred       predict.Predictor
	transposed int
	lz         bool
	tokens     repeats.Tokens
	mask       *masks.Reader
	masks      masks.Recent
	patchAt    []uint64 // elements
	patches    []byte
	g          entropy.GroupReader
	buf        predict.Buffers

	side entropy.Stream
	nums []uint64
	syms []byte

	mode     byte     // modeGroups, modeAdaptive or modeReferences
	refs     []uint32 // codes of references
	refSigns bool
	near     adaptive.Neighbours
	rest     entropy.Reader // the residuals of modeAdaptive
	spans    []adaptive.Span
}

// parse reads a block up to its residuals.
func (b *block) parse(p *Params, n int, src []byte) bool {
	t := p.Type
	r := &entropy.Reader{Buf: src}
	flags := r.Byte()
	b.typ, b.size, b.Layout = t, t.Size(), predict.Whole(n)
	b.kind = r.Byte()
	b.wide = flags&flagWide != 0
	specials := int(flags & 3)
	if specials > masks.MaxSpecials || !allowed(t, b.kind, b.wide) {
		return false
	}
	if flags&flagCells != 0 {
		b.Plane, b.Cell = r.Int(n), r.Int(n)
		if !b.Valid() {
			return false
		}
	}
	b.predictor(r, flags)
	b.transposed = 0
	if flags&flagTransposed != 0 {
		b.transposed = r.Int(n)
		if b.transposed == 0 || specials > 0 {
			return false
		}
	}
	b.lz = flags&flagRepeats != 0
	b.ranged = !b.lz && b.transposed == 0 && (flags&flagCells != 0 || !b.pred.IsFloat() && len(b.pred.Chain) == 0)
	if flags&flagCells != 0 && !b.ranged || r.Bad {
		return false
	}
	b.near = near(p.Dims)
	if b.mode != modeGroups {
		b.ranged = false
		if b.lz || b.transposed > 0 || flags&flagCells != 0 && (b.mode == modeReferences || b.Cell != b.Plane) {
			return false
		}
	}
	b.specials(r, specials)
	if r.Bad {
		return false
	}
	b.params(r)
	b.patchAt = b.patchAt[:0]
	if flags&flagPatches != 0 && !r.Bad {
		b.readPatches(r)
	}
	if r.Bad {
		return false
	}
	if b.mode == modeAdaptive {
		b.rest = *r
		return true
	}
	m := b.mask.Rank(n)
	if b.mode == modeReferences {
		b.refer(r, m)
		if r.Bad {
			return false
		}
	}
	if b.lz {
		if m = b.repeats(r, m); r.Bad {
			return false
		}
	}
	width := 32
	if b.wide {
		width = 64
	}
	b.g.Open(r, m, width)
	return !r.Bad && len(r.Buf) == 0
}

// predictor reads the chain or the float predictor.
func (b *block) predictor(r *entropy.Reader, flags byte) {
	b.pred.Read(r, flags&flagFloat != 0, b.Layout)
	if r.Bad || b.pred.IsFloat() && (!b.typ.float() || b.kind != mapOrder) {
		r.Bad = true
		return
	}
	b.deep = b.pred.Deep(b.Layout)
}

// numbers reads a stream of count numbers.
func (b *block) numbers(r *entropy.Reader, dst []uint64, count int) []uint64 {
	b.side.Read(r, count)
	if r.Bad {
		return dst[:0]
	}
	dst, syms, ok := b.side.Numbers(dst, b.syms)
	b.syms = syms
	r.Bad = r.Bad || !ok
	return dst
}

// specials reads the mask.
func (b *block) specials(r *entropy.Reader, n int) {
	if n == 0 {
		b.mask = b.masks.None(b.N)
		return
	}
	m, length := b.masks.Find(r.Buf, n, b.size, b.N)
	if m != nil {
		b.mask = m
		r.Bytes(length)
		return
	}
	b.mask = b.masks.Next(b.N)
	stored := r.Buf
	for i := range n {
		b.mask.Patterns[i] = r.Bytes(b.size)
	}
	dist := r.Int(b.N - 1)
	b.nums = b.numbers(r, b.nums, r.Int(b.N+1))
	if r.Bad || !b.mask.Set(b.nums, n, dist, b.N) {
		r.Bad = true
		return
	}
	b.masks.Keep(b.mask, stored[:len(stored)-len(r.Buf)], b.size)
}

// repeats reads the repeats among m elements and returns how many are literals.
func (b *block) repeats(r *entropy.Reader, m int) int {
	t := &b.tokens
	count := r.Int(m)
	t.Lits = b.numbers(r, t.Lits, count)
	t.Lens = b.numbers(r, t.Lens, count)
	t.Dist = b.numbers(r, t.Dist, count)
	if r.Bad {
		return 0
	}
	m, ok := t.Resolve(m)
	r.Bad = !ok
	return m
}

// params reads the parameters of the transform.
func (b *block) params(r *entropy.Reader) {
	b.scale, b.divisor = 0, 0
	switch b.kind {
	case mapFix:
		q := r.Bytes(2)
		if q == nil {
			return
		}
		e := int(int16(binary.LittleEndian.Uint16(q)))
		if e < -1074 || e > 1023 {
			r.Bad = true
		}
		b.scale = math.Ldexp(1, e)
	case mapRatio:
		d := r.Uvarint(maxDivisor)
		if d == 0 {
			r.Bad = true
		}
		b.divisor = float64(d)
	case mapDict, mapMirror:
		b.readDict(r)
	}
}

// readPatches reads the elements that are stored separately.
func (b *block) readPatches(r *entropy.Reader) {
	count := r.Int(b.N)
	b.patchAt = b.numbers(r, b.patchAt, count)
	at := uint64(0)
	for i, gap := range b.patchAt {
		at += gap
		if gap >= uint64(b.N) || at >= uint64(b.N) || gap == 0 && i > 0 {
			r.Bad = true
			return
		}
		b.patchAt[i] = at
	}
	b.patches = r.Bytes(count * b.size)
}

// patch writes the elements that are stored separately. dst starts at element at.
func (b *block) patch(dst []byte, at int) {
	for i, e := range b.patchAt {
		if p := (int(e) - at) * b.size; p >= 0 && p < len(dst) {
			copy(dst[p:p+b.size], b.patches[i*b.size:])
		}
	}
}

// maxDict returns the most entries of a dictionary for n elements.
func maxDict(n int) int { return n }

// readDict reads a dictionary: the number of entries, and the entries as a group
// stream of differences.
func (b *block) readDict(r *entropy.Reader) {
	count := r.Int(maxDict(b.N))
	if count == 0 {
		r.Bad = true
		return
	}
	width := 32
	if b.size == 8 {
		width = 64
	}
	b.g.Open(r, count, width)
	if r.Bad || !b.g.Unsigned() {
		r.Bad = true
		return
	}
	if width == 64 {
		readEntries[uint64](b, r, count)
	} else {
		readEntries[uint32](b, r, count)
	}
}

// readEntries sets the dictionary from an open group stream of count differences.
func readEntries[T lane](b *block, r *entropy.Reader, count int) {
	groups := b.g.Groups()
	y := make([]T, groups*entropy.GroupLen)
	if !entropy.DecodeGroups(&b.g, y, 0, groups) {
		r.Bad = true
		return
	}
	predict.PrefixSum(y)
	y = y[:count]
	if b.kind == mapMirror {
		all := make([]T, 0, 2*count)
		for _, v := range slices.Backward(y) {
			all = append(all, ^v)
		}
		y = append(all, y...)
	}
	b.dict = entropy.Grow(b.dict, len(y)*b.size)
	entries := inverse{typ: b.typ, kind: mapOrder}
	switch y := any(y).(type) {
	case []uint32:
		entries.put32(b.dict, y)
	case []uint64:
		entries.put64(b.dict, y)
	}
}
