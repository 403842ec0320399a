package lorenz

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/lorenz/internal/adaptive"
	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
)

// Flags of a block in modeGroups. Bits 0 and 1 are the number of specials.
const (
	flagFloat   = 1 << 2 // float predictor instead of a chain
	flagUnused  = 1 << 3
	flagRepeats = 1 << 4
	flagCells   = 1 << 5
	flagPatches = 1 << 6
	flagWide    = 1 << 7 // lanes of 64 bits
)

// block is a parsed block in modeGroups.
type block struct {
	inverse
	predict.Layout
	size    int
	wide    bool
	ranged  bool // ranges can be decoded
	deep    bool // planes depend on earlier ones
	pred    predict.Predictor
	lz      bool
	tokens  *repeats.Reader // if lz
	mask    *masks.Reader
	masks   masks.Recent
	runs    entropy.NumberReader // of masks
	patchAt entropy.NumberReader // distances of patches
	patches []byte
	d32     []uint32 // of dictionaries
	d64     []uint64
	g       entropy.GroupReader
	buf     predict.Buffers

	stop   *entropy.Stop
	mode   byte                 // modeGroups, modeAdaptive, modeReferences or modeContexts
	codes  *entropy.GroupReader // of modeReferences
	refs   []uint32             // codes of references
	near   adaptive.Neighbours
	rows   contexts.Shape // of modeContexts
	opened bool           // its tables are read
	rest   entropy.Reader // what is coded as in modeAdaptive or modeContexts

	refSigns, refAdaptive bool // options of modeReferences
}

// begin prepares the decoding of a block.
func (b *block) begin(mode byte, stop *entropy.Stop) {
	b.mode, b.stop = mode, stop
	b.runs.Stop, b.patchAt.Stop, b.g.Stop, b.buf.Stop = stop, stop, stop, stop
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
	if flags&flagUnused != 0 || specials > masks.MaxSpecials || !allowed(t, b.kind, b.wide) {
		return false
	}
	if flags&flagCells != 0 {
		b.Plane, b.Cell = r.Int(n), r.Int(n)
		if !b.Valid() {
			return false
		}
	}
	b.predictor(r, flags)
	b.lz = flags&flagRepeats != 0
	b.ranged = !b.lz && (flags&flagCells != 0 || !b.pred.IsFloat() && len(b.pred.Chain) == 0)
	if flags&flagCells != 0 && !b.ranged || r.Bad {
		return false
	}
	b.near = near(p.Dims)
	if b.mode != modeGroups && b.lz {
		return false
	}
	switch b.mode {
	case modeAdaptive, modeReferences:
		b.ranged = false
		if flags&flagCells != 0 && (b.mode == modeReferences || b.Cell != b.Plane) {
			return false
		}
	case modeContexts:
		b.rows, b.opened = contexts.ShapeOf(p.Dims).Cut(b.Plane, b.Cell), false
		b.ranged, b.deep = b.rows.Ranged(), true // contexts lead to the planes before
		if !b.rows.Fits(len(r.Buf)) {
			return false
		}
	}
	b.specials(r, specials)
	if r.Bad {
		return false
	}
	b.params(r)
	b.readPatches(r, flags&flagPatches != 0)
	if r.Bad {
		return false
	}
	if b.mode == modeAdaptive || b.mode == modeContexts {
		b.rest = *r
		return true
	}
	m := b.mask.Rank(n)
	if b.mode == modeReferences {
		b.refer(r, m)
		if r.Bad {
			return false
		}
		if b.refAdaptive {
			b.rest = *r
			return true
		}
	}
	if b.lz {
		if b.tokens == nil {
			b.tokens = new(repeats.Reader)
		}
		b.tokens.Stop = b.stop
		if m = b.tokens.Open(r, m); r.Bad {
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
	b.runs.Open(r, r.Int(b.N+1))
	if r.Bad || !b.mask.Set(&b.runs, n, dist, b.N) {
		r.Bad = true
		return
	}
	b.masks.Keep(b.mask, stored[:len(stored)-len(r.Buf)], b.size)
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
	case mapDict:
		b.readDict(r)
	}
}

// readPatches reads the elements that are stored separately, if there are any.
func (b *block) readPatches(r *entropy.Reader, any bool) {
	count := 0
	if any && !r.Bad {
		count = r.Int(b.N)
	}
	b.patchAt.Open(r, count)
	b.patches = r.Bytes(count * b.size) // patch checks their places
}

// patch calls put for the patched elements in [from, from+n). It reports false if an element is patched
// twice or is outside of the block, and after a stop.
func (b *block) patch(from, n int, put func(e int, value []byte)) bool {
	at, k := 0, 0
	for i := range b.patchAt.Pieces() {
		piece := b.patchAt.Piece(i)
		if piece == nil {
			return false
		}
		for _, gap := range piece {
			if uint64(gap) >= uint64(b.N-at) || gap == 0 && k > 0 {
				return false
			}
			at += int(gap)
			if at >= from && at-from < n {
				put(at, b.patches[k*b.size:(k+1)*b.size])
			}
			k++
		}
	}
	return true
}

// maxDict bounds the entries of a dictionary, and so the memory for it. Part of the format.
const maxDict = 1 << 20

// readDict reads a dictionary: the number of entries, and the entries as a group
// stream of differences.
func (b *block) readDict(r *entropy.Reader) {
	count := r.Int(min(b.N, maxDict))
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
		readEntries(b, r, count, &b.d64)
	} else {
		readEntries(b, r, count, &b.d32)
	}
}

// readEntries sets the dictionary from an open group stream of count differences. It grows buf.
func readEntries[T lane](b *block, r *entropy.Reader, count int, buf *[]T) {
	b.dict = entropy.Grow(b.dict, count*b.size)
	entries := inverse{typ: b.typ, kind: mapOrder}
	const most = entropy.PieceGroups
	groups := b.g.Groups()
	y := entropy.Grow(*buf, min(groups, most)*entropy.GroupLen)
	*buf = y
	sum := T(0)
	for g := 0; g < groups; g += most {
		end := min(g+most, groups)
		if !entropy.DecodeGroups(&b.g, y, g, end) {
			r.Bad = true
			return
		}
		at := g * entropy.GroupLen
		y := y[:min(count, end*entropy.GroupLen)-at]
		y[0] += sum
		predict.PrefixSum(y)
		sum = y[len(y)-1]
		to := b.dict[at*b.size : (at+len(y))*b.size]
		switch y := any(y).(type) {
		case []uint32:
			entries.put32(to, y)
		case []uint64:
			entries.put64(to, y)
		}
	}
}
