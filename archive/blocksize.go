package archive

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// The size of blocks under PresetMax, and under PresetDefault in small images: docs/FORMAT.md,
// "Choices by trial".

const (
	otherShare  = 32      // the part of a sample that blocks of another size must save
	shorterFrom = 1 << 19 // bytes of a variable from which on shorter ones are tried
	sampledRun  = 1 << 12 // bytes that each record must have at least: others have no planes
	sampleEvery = 16      // longest blocks for each in a sample,
	mostSamples = 3       // of at most so many
)

// targets returns the sizes of blocks that are tried for variables of an image of size bytes, that of
// the preset first, and the length of a variable from which on they are.
func (o *WriteOptions) targets(size int64) (all []int64, from int64) {
	switch {
	case !o.ownBlock:
	case o.Preset == PresetMax:
		return []int64{o.Block, DefaultBlock, 64 << 10}, shorterFrom
	case o.Preset == PresetDefault && plan.Thorough(size):
		return []int64{o.Block, maxPresetBlock}, wholeTargets*o.Block + 1 // shorter ones may have one block: paysWhole
	}
	return nil, 0
}

// blockSizer chooses the size of the blocks of variables by samples of them. Its zero value has seen no
// variable.
type blockSizer struct {
	image    io.ReaderAt
	size     int64
	h        *cdf3.Header
	segments []unlimited.Segment
	shapes   map[int][]int64 // of the variables seen, nil for the shape of the preset
	memo     *encode.Memo    // of encoded blocks, or nil
	out      []byte
}

// options makes a plan have the shapes. It reads from image.
func (s *blockSizer) options(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) func(*plan.PlanOptions) {
	return func(po *plan.PlanOptions) {
		targets, least := o.targets(size)
		if targets == nil {
			return
		}
		if s.h == nil {
			s.image, s.size, s.h, s.shapes = image, size, h, map[int][]int64{}
			s.segments, _ = unlimited.Plan(h, size)
		}
		given := po.Shape
		po.Shape = func(n int) ([]int64, error) {
			shape, err := given(n)
			if shape != nil || err != nil {
				return shape, err
			}
			if named, _ := o.named(h.Vars[n].Name); named {
				return nil, nil
			}
			if shape, ok := s.shapes[n]; ok {
				return shape, nil
			}
			if h.Vars[n].Len >= least {
				shape, err = s.choose(ctx, n, o, targets)
			}
			s.shapes[n] = shape
			return shape, err
		}
	}
}

// choose returns a shape of blocks of another size for a variable if samples of it are clearly shorter
// in them, or nil.
func (s *blockSizer) choose(ctx context.Context, n int, o *WriteOptions, targets []int64) ([]int64, error) {
	v := &s.h.Vars[n]
	if g := s.segments[n]; g.Count > 1 && g.Len < sampledRun {
		return nil, nil
	}
	size := v.Type.Size()
	whole, err := plan.NewGeometry(v.Shape, plan.BlockShape(v.Shape, size, slices.Max(targets)), size)
	if err != nil {
		return nil, nil // planning it fails, too
	}
	samples := make([][]byte, min(mostSamples, 1+(whole.Blocks-1)/sampleEvery))
	for k := range samples {
		if samples[k], err = s.block(n, whole, int64(2*k+1)*whole.Blocks/int64(2*len(samples))); err != nil {
			return nil, err
		}
	}
	tries := []*WriteOptions{o}
	if o.Preset == PresetMax {
		quick := *o
		quick.Preset = PresetDefault // which encodes faster, but promises too much for some
		tries = []*WriteOptions{&quick, o}
	}
	target := int64(0)
	for _, o := range tries {
		if target, err = s.shortest(ctx, v, whole.Block, samples, o, targets); target == 0 || err != nil {
			return nil, err
		}
	}
	return plan.BlockShape(v.Shape, size, target), nil
}

// shortest returns the target of blocks in which samples of a variable are clearly shorter than in those of the
// first one, or 0. shape is that of each sample. A sample is cut into blocks as if it were a variable.
func (s *blockSizer) shortest(ctx context.Context, v *cdf3.Var, shape []int64, samples [][]byte, o *WriteOptions, targets []int64) (int64, error) {
	size := v.Type.Size()
	sums := make([]int64, len(targets))
	for i, target := range targets {
		g, err := plan.NewGeometry(shape, plan.BlockShape(shape, size, target), size)
		if err != nil {
			return 0, nil
		}
		c, err := o.chainFor(v.Name, v.Type, g)
		if err != nil {
			return 0, err
		}
		coder, err := coderFor(c, s.size)
		if err != nil {
			return 0, err
		}
		for _, raw := range samples {
			stored, err := storedLen(ctx, s.memo, &s.out, raw, coder, g)
			if err != nil {
				return 0, err
			}
			sums[i] += stored + g.Blocks*boundPerBlock
		}
	}
	best := slices.Index(sums, slices.Min(sums))
	if sums[best] >= sums[0]-sums[0]/otherShare {
		return 0, nil
	}
	return targets[best], nil
}

// block returns the bytes of a block of a variable, filled up as it is stored.
func (s *blockSizer) block(n int, g *plan.Geometry, b int64) ([]byte, error) {
	raw := make([]byte, g.BlockLen)
	off, have := g.At(b)
	at := int64(0)
	var err error
	s.segments[n].Runs(off, off+have, func(from, k int64) bool {
		err = ioat.ReadFull(s.image, raw[at:at+k], from)
		at += k
		return err == nil
	})
	if err != nil {
		return nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	g.Pad(raw, have)
	return raw, nil
}
