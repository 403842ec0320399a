package layout

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
)

// The shapes of blocks, and the chain of the header, that samples or trials decide: docs/FORMAT.md, "Choices by
// trial".

const (
	wholeTargets = 4    // targets that a variable of one block may have
	wholeShare   = 32   // the part that one block must save
	wholeFar     = 100  // the part that must be numbers that recur only in one block, which is then taken at once,
	wholeFew     = 512  // and the part below which the effort fast decides whether it is tried
	wholeQuick   = 64   // the part that one block must save at that effort
	repeatSlice  = 1024 // bytes of a slice that may repeat, at least
	repeatShare  = 4    // the part of a longer variable that must repeat, and that one block must save

	otherShare  = 32      // the part of a sample that blocks of another size must save
	shorterFrom = 1 << 19 // bytes of a variable from which on shorter ones are tried
	sampledRun  = 1 << 12 // bytes that each record must have at least: others have no planes
	sampleEvery = 16      // longest blocks for each in a sample,
	mostSamples = 3       // of at most so many

	headShare = 16 // the part that a header as numbers must save
	headQuick = 2  // or be so many times shorter than by the fastest zstd
)

// shapes are the decided shapes of the blocks of variables, nil for the shape that follows from the target.
type shapes map[int][]int64

// setShapes sets the shapes of blocks of the variables that have blocks of their own and no shape yet. It
// remembers them in done.
func (m *measure) setShapes(o *Options, s *plan.Spec, done shapes) error {
	small := m.size < plan.SmallImage
	targets, least := o.targets(m.size)
	if !o.OwnBlock || targets == nil && !(small && o.Preset != Portable) {
		return nil
	}
	pooled := make([]bool, len(m.h.Vars))
	for _, p := range s.Pools {
		for _, n := range p.Vars {
			pooled[n] = true
		}
	}
	for n := range m.h.Vars {
		v := &m.h.Vars[n]
		if v.Len <= DefaultBlock || pooled[n] || s.Vars[n].Named || m.blocked[n] != unlimited.Blocked || len(v.Shape) > plan.MaxRank {
			continue
		}
		shape, ok := done[n]
		if !ok {
			var err error
			if shape, err = m.shapeOf(n, o, s, targets, least); err != nil {
				return err
			}
			done[n] = shape
		}
		s.Vars[n].Block = shape
	}
	return nil
}

// shapeOf decides the shape of the blocks of a variable.
func (m *measure) shapeOf(n int, o *Options, s *plan.Spec, targets []int64, least int64) ([]int64, error) {
	if m.size < plan.SmallImage {
		whole, err := m.paysWhole(n, o, s)
		if err != nil {
			return nil, err
		}
		if whole {
			return m.h.Vars[n].Shape, nil
		}
	}
	if targets == nil || m.h.Vars[n].Len < least {
		return nil, nil
	}
	return m.sampled(n, o, targets)
}

// paysWhole reports whether a variable of several blocks is clearly shorter in one, as when
// its values repeat those of earlier blocks.
func (m *measure) paysWhole(n int, o *Options, s *plan.Spec) (bool, error) {
	v := &m.h.Vars[n]
	if v.Len <= o.Block {
		return false, nil
	}
	share := int64(wholeShare)
	long := v.Len > wholeTargets*o.Block
	if long {
		if repeats, err := m.repeats(n); !repeats || err != nil {
			return false, err
		}
		share = repeatShare
	}
	size := v.Type.Size()
	var both [2]*plan.Geometry
	for i, block := range [][]int64{plan.BlockShape(v.Shape, size, o.Block), v.Shape} {
		var err error
		if both[i], err = plan.NewGeometry(v.Shape, block, size); err != nil {
			return false, err
		}
	}
	if both[0].Blocks < 2 {
		return false, nil
	}
	raw, err := m.raw(n)
	if err != nil {
		return false, err
	}
	// shorter reports whether one block is shorter with a chain by a part.
	shorter := func(chain func(g *plan.Geometry) (filters.Chain, error), part int64) (bool, error) {
		var lens [2]int64
		for i, g := range both {
			c, err := chain(g)
			if err != nil {
				return false, err
			}
			if lens[i], err = m.stored(raw, c, g); err != nil {
				return false, err
			}
		}
		return lens[1] < lens[0]-lens[0]/part, nil
	}
	if lorenz := s.Vars[n].Chain; !long && o.Preset == Default && len(lorenz) == 1 && lorenz[0].ID == filters.Lorenz {
		recurs := far(raw, size, both[0].BlockLen, v.Len)
		if recurs >= v.Len/wholeFar {
			return true, nil
		}
		if recurs < v.Len/wholeFew {
			quick := func(g *plan.Geometry) (filters.Chain, error) { return plan.Complete(Fast.Chain(v.Type), v.Type, g) }
			if ok, err := shorter(quick, wholeQuick); !ok || err != nil {
				return false, err
			}
		}
	}
	return shorter(func(g *plan.Geometry) (filters.Chain, error) { return s.ChainOf(v, n, g) }, share)
}

// repeats reports whether many slices of a variable along its first dimension are equal to
// earlier ones, as the months of a field that never changes.
func (m *measure) repeats(n int) (bool, error) {
	shape := m.h.Vars[n].Shape
	slice, repeated := m.h.Vars[n].Len/shape[0], int64(0)
	if slice < repeatSlice {
		return false, nil
	}
	raw, err := m.raw(n)
	if err != nil {
		return false, err
	}
	seen := map[xxh3.Uint128]bool{}
	for part := range slices.Chunk(raw, int(slice)) {
		if sum := xxh3.Hash128(part); seen[sum] {
			repeated++
		} else {
			seen[sum] = true
		}
	}
	return repeated*repeatShare >= shape[0], nil
}

// targets returns the sizes of blocks that are tried for variables of an image of size bytes, that of
// the preset first, and the length of a variable from which on they are.
func (o *Options) targets(size int64) (all []int64, from int64) {
	switch {
	case !o.OwnBlock:
	case o.Preset == Max:
		return []int64{o.Block, DefaultBlock, 64 << 10}, shorterFrom
	case o.Preset == Default && size < plan.SmallImage:
		return []int64{o.Block, MaxPresetBlock}, wholeTargets*o.Block + 1 // shorter ones may have one block: paysWhole
	}
	return nil, 0
}

// sampled returns a shape of blocks of another size for a variable if samples of it are clearly shorter
// in them, or nil.
func (m *measure) sampled(n int, o *Options, targets []int64) ([]int64, error) {
	v := &m.h.Vars[n]
	if g := m.segments[n]; g.Count > 1 && g.Len < sampledRun {
		return nil, nil
	}
	size := v.Type.Size()
	whole, err := plan.NewGeometry(v.Shape, plan.BlockShape(v.Shape, size, slices.Max(targets)), size)
	if err != nil {
		return nil, nil // planning it fails, too
	}
	samples := make([][]byte, min(mostSamples, 1+(whole.Blocks-1)/sampleEvery))
	for k := range samples {
		if samples[k], err = m.block(n, whole, int64(2*k+1)*whole.Blocks/int64(2*len(samples))); err != nil {
			return nil, err
		}
	}
	tries := []*Options{o}
	if o.Preset == Max {
		quick := *o
		quick.Preset = Default // which encodes faster, but promises too much for some
		tries = []*Options{&quick, o}
	}
	target := int64(0)
	for _, o := range tries {
		if target, err = m.shortest(v, whole.Block, samples, o, targets); target == 0 || err != nil {
			return nil, err
		}
	}
	return plan.BlockShape(v.Shape, size, target), nil
}

// shortest returns the target of blocks in which samples of a variable are clearly shorter than in those of the
// first one, or 0. shape is that of each sample. A sample is cut into blocks as if it were a variable.
func (m *measure) shortest(v *cdf3.Var, shape []int64, samples [][]byte, o *Options, targets []int64) (int64, error) {
	size := v.Type.Size()
	given, ok := o.Given(v.Name, len(v.Shape))
	if !ok {
		given = o.Preset.Chain(v.Type)
	}
	sums := make([]int64, len(targets))
	for i, target := range targets {
		g, err := plan.NewGeometry(shape, plan.BlockShape(shape, size, target), size)
		if err != nil {
			return 0, nil
		}
		c, err := plan.Complete(given, v.Type, g)
		if err != nil {
			return 0, err
		}
		for _, raw := range samples {
			stored, err := m.stored(raw, c, g)
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
func (m *measure) block(n int, g *plan.Geometry, b int64) ([]byte, error) {
	raw := make([]byte, g.BlockLen)
	off, have := g.At(b)
	if err := m.read(raw[:have], n, off); err != nil {
		return nil, err
	}
	g.Pad(raw, have)
	return raw, nil
}

// headAsNumbers returns the chain of a header of more than quickHead bytes as numbers of 4
// bytes, which all its parts are aligned to, if that is clearly shorter than plain, else nil. image holds the
// header.
func (m *measure) headAsNumbers(image []byte, o *Options, plain filters.Chain) (filters.Chain, error) {
	h := m.h
	if h.Len <= quickHead || h.Len > bestHead || h.Len%4 != 0 {
		return nil, nil
	}
	elements := []int64{h.Len / 4}
	g, err := plan.NewGeometry(elements, elements, 4)
	if err != nil {
		return nil, err
	}
	c, err := plan.Complete(o.Preset.Chain(cdf3.Int), cdf3.Int, g)
	if err == nil {
		plain, err = plain.Complete(filters.Block{Len: int(h.Len), Kind: filters.Text, Size: 1})
	}
	if err != nil {
		return nil, err
	}
	stored := func(c filters.Chain) (n int64) {
		if err == nil {
			n, err = m.stored(image[:h.Len], c, g)
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
