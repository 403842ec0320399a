package archive

import (
	"bytes"
	"context"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Choices that depend on the bytes of a small image: docs/FORMAT.md,
// "Choices by trial".

const (
	wholeTargets = 4    // targets that a variable of one block may have
	wholeShare   = 32   // the part that one block must save
	repeatSlice  = 1024 // bytes of a slice that may repeat, at least
	repeatShare  = 4    // the part of a longer variable that must repeat, and that one block must save
	headShare    = 16   // the part that a header as numbers must save
	headQuick    = 2    // or be so many times shorter than by the fastest zstd
)

// fitted sets what the bytes of the image decide: the chain of the header and the variables that
// have one block.
func (s *smallWriter) fitted(o *plan.PlanOptions) {
	if s.o.Preset == PresetFast || s.o.Preset == PresetPortable {
		return
	}
	// Errors occur again when the block is written.
	if c, err := s.headAsNumbers(o.Head); err == nil && c != nil {
		o.Head, o.Joined = c, 0 // for blocks of the header's length
	}
	if s.whole == nil {
		s.whole = map[int]bool{}
	}
	s.sizes.options(s.ctx, bytes.NewReader(s.image), int64(len(s.image)), s.h, s.o)(o)
	given := o.Shape
	o.Shape = func(n int) ([]int64, error) {
		w, ok := s.whole[n]
		if !ok {
			var err error
			if w, err = s.paysWhole(n); err != nil {
				return nil, err
			}
			s.whole[n] = w
		}
		if w {
			return s.h.Vars[n].Shape, nil
		}
		return given(n)
	}
}

// raw returns the row-major bytes of variables that can be blocked, until it is called again.
func (s *smallWriter) raw(vars ...int) []byte {
	if s.segments == nil {
		s.segments, _ = unlimited.Plan(s.h, int64(len(s.image)))
	}
	s.values = s.values[:0]
	for _, n := range vars {
		g := s.segments[n]
		g.Runs(0, g.Size(), func(at, n int64) bool {
			s.values = append(s.values, s.image[at:at+n]...)
			return true
		})
	}
	return s.values
}

// headAsNumbers returns the chain of a header of more than quickHead bytes as numbers of 4
// bytes, which all its parts are aligned to, if that is clearly shorter than plain, else nil.
func (s *smallWriter) headAsNumbers(plain filters.Chain) (filters.Chain, error) {
	if s.h.Len <= quickHead || s.h.Len > bestHead || s.h.Len%4 != 0 {
		return nil, nil
	}
	elements := []int64{s.h.Len / 4}
	g, err := plan.NewGeometry(elements, elements, 4)
	if err != nil {
		return nil, err
	}
	c, err := s.o.Preset.Chain(cdf3.Int)
	if err == nil {
		c, err = complete(c, cdf3.Int, g)
	}
	if err == nil {
		plain, err = plain.Complete(filters.Block{Len: int(s.h.Len), Kind: filters.Text, Size: 1})
	}
	if err != nil {
		return nil, err
	}
	stored := func(c filters.Chain) (n int64) {
		if err == nil {
			n, err = s.storedLen(s.image[:s.h.Len], c, g)
		}
		return n
	}
	n := stored(c)
	// The encoder of plain takes much memory, and is not needed if a quick one shows that the
	// numbers are far shorter.
	if quick := stored(filters.Chain{{ID: filters.Zstd, Params: []uint32{fastLevel}}}); n > quick/headQuick {
		if k := stored(plain); n >= k-k/headShare {
			return nil, err
		}
	}
	return c, err
}

// paysWhole reports whether a variable of several blocks is clearly shorter in one, as when
// its values repeat those of earlier blocks.
func (s *smallWriter) paysWhole(n int) (bool, error) {
	v := &s.h.Vars[n]
	named, _ := s.o.named(v.Name)
	if named || !s.o.ownBlock || v.Len <= s.o.Block {
		return false, nil
	}
	share := int64(wholeShare)
	if v.Len > wholeTargets*s.o.Block {
		if !s.repeats(n) {
			return false, nil
		}
		share = repeatShare
	}
	size := v.Type.Size()
	var lens [2]int64
	var raw []byte
	for i, block := range [][]int64{plan.BlockShape(v.Shape, size, s.o.Block), v.Shape} {
		g, err := plan.NewGeometry(v.Shape, block, size)
		if err != nil {
			return false, err
		}
		if i == 0 {
			if g.Blocks < 2 {
				return false, nil
			}
			raw = s.raw(n)
		}
		c, err := s.o.chainFor(v.Name, v.Type, g)
		if err != nil {
			return false, err
		}
		if lens[i], err = s.storedLen(raw, c, g); err != nil {
			return false, err
		}
	}
	return lens[1] < lens[0]-lens[0]/share, nil
}

// repeats reports whether many slices of a variable along its first dimension are equal to
// earlier ones, as the months of a field that never changes.
func (s *smallWriter) repeats(n int) bool {
	shape := s.h.Vars[n].Shape
	slice, repeated := s.h.Vars[n].Len/shape[0], int64(0)
	if slice < repeatSlice {
		return false
	}
	seen := map[xxh3.Uint128]bool{}
	for part := range slices.Chunk(s.raw(n), int(slice)) {
		if sum := xxh3.Hash128(part); seen[sum] {
			repeated++
		} else {
			seen[sum] = true
		}
	}
	return repeated*repeatShare >= shape[0]
}

// storedLen is the length of the stored bytes of all blocks of an array of the image.
func (s *smallWriter) storedLen(raw []byte, c filters.Chain, g *plan.Geometry) (int64, error) {
	coder, err := coderFor(c, int64(len(s.image)))
	if err != nil {
		return 0, err
	}
	return storedLen(s.ctx, s.memo, &s.out, raw, coder, g)
}

// coderFor returns the coder of a chain for blocks of an image of size bytes.
func coderFor(c filters.Chain, size int64) (*filters.Coder, error) {
	coder, err := filters.NewCoder(c)
	if err == nil && plan.Thorough(size) {
		coder = coder.Thorough()
	}
	return coder, err
}

// storedLen is the length of the stored bytes of all blocks of an array. out is memory for one of them.
func storedLen(ctx context.Context, memo *encode.Memo, out *[]byte, raw []byte, coder *filters.Coder, g *plan.Geometry) (int64, error) {
	var padded []byte
	sum := int64(0)
	for b := range g.Blocks {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		off, n := g.At(b)
		block := raw[off : off+n]
		if n < g.BlockLen {
			padded = slices.Grow(padded[:0], int(g.BlockLen))[:g.BlockLen]
			g.Pad(padded, int64(copy(padded, block)))
			block = padded
		}
		k, err := memo.Len(coder, out, block)
		if err != nil {
			return 0, err
		}
		sum += int64(k)
	}
	return sum, nil
}
