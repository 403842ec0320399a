package layout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// The numbers of docs/FORMAT.md, "Thresholds of the layouts" and "Choices by trial", for images below 8 MiB.
const (
	viewExtra     = 32  // the share of a smaller archive that a view may cost,
	viewExtraBase = 512 // and these bytes

	longerShare = 50       // the part of an archive that longer blocks of pools must save
	longFrom    = 16 << 10 // images above these bytes are tried with such blocks under the preset default
	LongPool    = 1 << 20  // the target size of such blocks,
	longestPool = 4 << 20  // and of those that are tried if they save that part

	farFrom  = 512 << 10 // images from these bytes on have longer blocks at once
	farMany  = 40        // if this part of them are numbers that recur only there,
	farFew   = 4000      // and if this part does not recur, they are not tried
	farDense = 16        // in archives of at least this part of the image
)

// Choose plans the archive of an image that is not in memory.
func Choose(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *Options) (*write.Draft, error) {
	c := &chooser{o: o, m: newMeasure(ctx, image, size, h, nil), shapes: shapes{}}
	d, err := c.view()
	if d != nil || err != nil {
		return d, err
	}
	d, err = c.draft(plan.Pooled)
	if errors.Is(err, plan.ErrMetadata) {
		return c.draft(plan.Single)
	}
	return d, err
}

// chooser finds the layout of one image.
type chooser struct {
	o          *Options
	m          *measure
	small      []byte // the image, if it is below 8 MiB
	poolTarget int64  // of blocks of pools; 0: that of the preset
	shapes     shapes // decided under the preset
}

// draft plans the archive in a layout, with all that trials decide.
func (c *chooser) draft(lay plan.Layout) (*write.Draft, error) {
	m := c.m
	s := c.o.Spec(m.h, m.size, lay)
	if lay == plan.Single {
		return write.NewDraft(m.ctx, m.h, m.size, s, lay)
	}
	if lay == plan.Pooled {
		s.Pools = plan.Pools(m.ctx, m.h, m.blocked, s, c.poolTarget)
		for _, p := range s.Pools {
			p.Chain = c.o.PoolChain(p.Values)
		}
	}
	if c.small != nil {
		// Errors occur again when the block is written.
		if c.o.Preset == Default || c.o.Preset == Max {
			if head, err := m.headAsNumbers(c.small, c.o, s.Head); err == nil && head != nil {
				s.Head, s.Joined = head, 0 // for blocks of the header's length
			}
		}
		var err error
		if s.Pools, err = poolsThatPay(m.h, s, s.Pools, m); err != nil {
			return nil, err
		}
	}
	if err := m.setShapes(c.o, s, c.shapes); err != nil {
		return nil, err
	}
	return write.NewDraft(m.ctx, m.h, m.size, s, lay)
}

// view plans an archive with a Zarr view, if one is wanted and worth its cost. It returns nil otherwise.
func (c *chooser) view() (*write.Draft, error) {
	m := c.m
	chosen := len(c.o.Chains) > 0 || c.o.All != nil
	for _, lay := range c.o.Views {
		// Planning reports unknown filters, even if no block gets them.
		if !c.o.Forced && !chosen && leastWithView(m.h, m.size, lay) > ViewWorth(lay, m.size) {
			continue
		}
		d, err := c.draft(lay)
		if err != nil && (c.o.Forced || !errors.Is(err, plan.ErrMetadata)) {
			return nil, err
		}
		if err == nil {
			ok, err := c.o.paysView(m.ctx, d, m.image)
			if err != nil {
				return nil, err
			}
			if ok {
				return d, nil
			}
		}
	}
	return nil, nil
}

// made is an archive in memory.
type made struct {
	*write.Result
	draft *write.Draft
	bytes []byte
}

// smaller is a chooser for one image in memory. It makes archives in several layouts, to find the smallest.
type smaller struct {
	chooser
	ctx  context.Context
	w    write.Options
	sums image.Sums // of the image, the SHA-256 alone
	last *made      // by pooled
	*smallBuffers
}

// smallBuffers is memory that the next image can use.
type smallBuffers struct {
	source      []byte // the image
	values, out []byte // of trials
	archive     bytes.Buffer
}

// smallBufferPool recycles the memory for images of up to recycledImage bytes.
var smallBufferPool = sync.Pool{New: func() any { return new(smallBuffers) }}

const recycledImage = 256 << 10

// Small makes archives of an image below 8 MiB in several layouts in memory and writes the smallest.
func Small(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *Options, w *write.Options) (*write.Result, *write.Draft, error) {
	b := smallBufferPool.Get().(*smallBuffers)
	b.source = slices.Grow(b.source[:0], int(size))[:size]
	if err := ioat.ReadFull(image, b.source, 0); err != nil {
		return nil, nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	s := &smaller{ctx: ctx, w: *w, smallBuffers: b}
	s.w.Memo = encode.NewMemo(ctx)
	s.chooser = chooser{o: o, small: b.source, shapes: shapes{}, m: newMeasure(ctx, bytes.NewReader(b.source), size, h, s.w.Memo)}
	s.m.small, s.m.values, s.m.out = b.source, b.values, b.out
	sum := sha256.Sum256(s.small)
	s.sums.SHA256 = hex.EncodeToString(sum[:])
	best, err := s.best()
	if err == nil && o.Preset == Max {
		best, err = s.smallestUnderMax(best)
	}
	if err == nil {
		err = fault.WriteFull(dst, best.bytes)
	}
	if size <= recycledImage {
		b.values, b.out = s.m.values, s.m.out
		smallBufferPool.Put(b)
	}
	if err != nil {
		return nil, nil, err
	}
	return best.Result, best.draft, nil
}

// smallestUnderMax returns the smallest of an archive under the preset max, those whose pools have longer blocks,
// and one under the preset default.
func (s *smaller) smallestUnderMax(best *made) (*made, error) {
	given := s.o
	longer := func(target int64) (m *made, err error) {
		s.poolTarget = target
		return s.best()
	}
	m, err := longer(given.Block)
	if err != nil {
		return nil, err
	}
	pays := given.OwnBlock && m.Size < best.Size-best.Size/longerShare
	best = shorter(best, m)
	if pays {
		if m, err = longer(longestPool); err != nil {
			return nil, err
		}
		best = shorter(best, m)
	}
	d := *given
	if d.Preset = Default; d.OwnBlock {
		d.Block = DefaultBlock
	}
	s.o, s.poolTarget, s.shapes = &d, 0, shapes{}
	if m, err = s.best(); err != nil {
		return nil, err
	}
	return shorter(best, m), nil
}

// shorter returns the shorter one of two archives, the first if they are equally long.
func shorter(a, b *made) *made {
	if b.Size < a.Size {
		return b
	}
	return a
}

func (s *smaller) write(d *write.Draft) (*made, error) {
	s.archive.Reset()
	res, err := d.Image(s.ctx, &s.archive, bytes.NewReader(s.small), &s.sums, &s.w)
	if err != nil {
		return nil, err
	}
	return &made{res, d, bytes.Clone(s.archive.Bytes())}, nil
}

// best makes the archive in the layout that the user has chosen, or that is the best.
func (s *smaller) best() (*made, error) {
	if s.o.Forced {
		view, err := s.view()
		if err != nil {
			return nil, err
		}
		return s.write(view)
	}
	best, err := s.smallest()
	if err != nil {
		return nil, err
	}
	view, err := s.view()
	if view == nil || err != nil {
		return best, err
	}
	m, err := s.write(view)
	if err != nil || m.Size <= min(s.m.size+slack, best.Size+best.Size/viewExtra+viewExtraBase) {
		return m, err
	}
	return best, nil
}

// smallest makes the archive in the layouts without a view that may be the smallest.
func (s *smaller) smallest() (*made, error) {
	size := s.m.size
	best, err := s.pools()
	if err != nil {
		return nil, err
	}
	if best != nil && best.Size <= size+slack && size > s.o.Preset.mostSingle() {
		return best, nil
	}
	d, err := s.draft(plan.Single)
	if err != nil {
		return nil, err
	}
	m, err := s.write(d)
	if err != nil || best == nil || m.Size < best.Size {
		return m, err
	}
	return best, nil
}

// pools makes the archive in the layout Pooled. Under the preset default, the blocks of pools become longer while that
// saves enough.
func (s *smaller) pools() (*made, error) {
	if s.m.size <= longFrom || s.o.Preset != Default || !s.o.OwnBlock || s.poolTarget != 0 {
		return s.pooled()
	}
	defer func() { s.poolTarget = 0 }()
	targets := []int64{0, LongPool, longestPool}
	far := s.m.size / farFew // bytes of numbers that recur in longer blocks only
	if s.m.size >= farFrom {
		var err error
		if far, err = s.m.farInPools(s.o, DefaultBlock, LongPool); err != nil {
			return nil, err
		}
		if far >= s.m.size/farMany {
			targets = targets[1:]
		}
	}
	var best *made
	for _, s.poolTarget = range targets {
		if best != nil && far < s.m.size/farFew && best.Size >= s.m.size/farDense {
			break
		}
		m, err := s.pooled()
		if err != nil || m == nil || best != nil && m.Size >= best.Size-best.Size/longerShare {
			return best, err
		}
		best = m
	}
	return best, nil
}

// mostSingle is the longest image that is tried as one block.
func (p Preset) mostSingle() int64 {
	if p == Max {
		return quickHead
	}
	return 0
}

// pooled makes the archive in the layout Pooled, or returns nil if that is impossible. If the plan is the
// last one, its archive is, too.
func (s *smaller) pooled() (*made, error) {
	d, err := s.draft(plan.Pooled)
	if errors.Is(err, plan.ErrMetadata) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.last == nil || !bytes.Equal(s.last.draft.Front[0].Payload, d.Front[0].Payload) {
		s.last, err = s.write(d)
	}
	return s.last, err
}
