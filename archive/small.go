package archive

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
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Archives of images below 8 MiB, which are made in memory.

const (
	viewExtra     = 32  // the share of a smaller archive that a view may cost,
	viewExtraBase = 512 // and these bytes

	longerShare = 50       // the part of an archive that longer blocks of pools must save
	longFrom    = 16 << 10 // images above these bytes are tried with such blocks under PresetDefault
	longestPool = 4 << 20  // these are tried if long ones save that part
)

// made is an archive in memory.
type made struct {
	*Result
	bytes []byte
	plan  []byte // as it is stored
}

// smallWriter archives one image in memory, in several layouts, to find the smallest.
type smallWriter struct {
	ctx   context.Context
	o     *WriteOptions
	h     *cdf3.Header
	image []byte
	sums  image.Sums // of the image, the SHA-256 alone
	memo  *encode.Memo

	*smallBuffers
	segments []unlimited.Segment
	last     *made        // by pooled
	whole    map[int]bool // whether a variable has one block, for those examined so far
	sizes    blockSizer
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

// writeSmall makes archives of several layouts in memory and writes the smallest.
func writeSmall(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*Result, error) {
	s := &smallWriter{ctx: ctx, o: o, h: h, memo: encode.NewMemo(), smallBuffers: smallBufferPool.Get().(*smallBuffers)}
	if size <= recycledImage {
		defer smallBufferPool.Put(s.smallBuffers)
	}
	s.source = slices.Grow(s.source[:0], int(size))[:size]
	s.image = s.source
	if err := ioat.ReadFull(image, s.image, 0); err != nil {
		return nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	s.sizes.memo = s.memo
	sum := sha256.Sum256(s.image)
	s.sums.SHA256 = hex.EncodeToString(sum[:])
	best, err := s.best()
	if err != nil {
		return nil, err
	}
	if o.Preset == PresetMax {
		if best, err = s.most(best); err != nil {
			return nil, err
		}
	}
	if err := fault.WriteFull(dst, best.bytes); err != nil {
		return nil, err
	}
	return best.Result, nil
}

// most returns the smallest of an archive under PresetMax, those whose pools have longer blocks, and one under
// PresetDefault.
func (s *smallWriter) most(best *made) (*made, error) {
	long, d := *s.o, *s.o
	long.poolBlock = long.Block
	if d.Preset = PresetDefault; d.ownBlock {
		d.Block = DefaultBlock
	}
	tries := []*WriteOptions{&long, &d}
	for i := 0; i < len(tries); i++ {
		if tries[i].Preset != s.o.Preset {
			s.whole, s.sizes = nil, blockSizer{memo: s.memo}
		}
		s.o = tries[i]
		m, err := s.best()
		if err != nil {
			return nil, err
		}
		if i == 0 && long.ownBlock && m.Size < best.Size-best.Size/longerShare {
			longest := long
			longest.poolBlock = longestPool
			tries = []*WriteOptions{&long, &longest, &d}
		}
		if m.Size < best.Size {
			best = m
		}
	}
	return best, nil
}

func (s *smallWriter) write(d *draft) (*made, error) {
	d.memo = s.memo
	s.archive.Reset()
	res, err := d.write(s.ctx, &s.archive, bytes.NewReader(s.image), &s.sums)
	if err != nil {
		return nil, err
	}
	return &made{res, bytes.Clone(s.archive.Bytes()), d.front[0].Payload}, nil
}

// view plans an archive with a view, or returns nil if a view is not worth its bytes.
func (s *smallWriter) view() (*draft, error) {
	return chooseView(s.ctx, bytes.NewReader(s.image), int64(len(s.image)), s.h, s.o, s.fitted)
}

// best makes the archive in the layout that the user has chosen, or that is the best.
func (s *smallWriter) best() (*made, error) {
	if s.o.Zarr.forced() {
		view, err := s.view()
		if err != nil {
			return nil, err
		}
		return s.write(view)
	}
	size := int64(len(s.image))
	best, err := s.smallest(size)
	if err != nil {
		return nil, err
	}
	view, err := s.view()
	if view == nil || err != nil {
		return best, err
	}
	m, err := s.write(view)
	if err != nil || m.Size <= min(size+slack, best.Size+best.Size/viewExtra+viewExtraBase) {
		return m, err
	}
	return best, nil
}

// smallest makes the archive in the layouts without a view that may be the smallest.
func (s *smallWriter) smallest(size int64) (*made, error) {
	best, err := s.pooled(size)
	if err != nil {
		return nil, err
	}
	if best != nil && size > longFrom && s.o.Preset == PresetDefault && s.o.ownBlock && s.o.poolBlock == 0 {
		if best, err = s.longer(best); err != nil {
			return nil, err
		}
	}
	if best != nil && best.Size <= size+slack && size > s.o.Preset.mostSingle() {
		return best, nil
	}
	d, err := newDraft(s.ctx, s.h, size, s.o, plan.Single)
	if err != nil {
		return nil, err
	}
	m, err := s.write(d)
	if err != nil || best == nil || m.Size < best.Size {
		return m, err
	}
	return best, nil
}

// longer returns the archive with longer blocks of pools, or the longest, if they save enough, else best.
func (s *smallWriter) longer(best *made) (*made, error) {
	given := s.o
	defer func() { s.o = given }()
	for _, target := range []int64{plan.LongPool, longestPool} {
		long := *given
		long.poolBlock = target
		s.o = &long
		m, err := s.pooled(int64(len(s.image)))
		if err != nil || m == nil || m.Size >= best.Size-best.Size/longerShare {
			return best, err
		}
		best = m
	}
	return best, nil
}

// mostSingle is the longest image that is tried as one block.
func (p Preset) mostSingle() int64 {
	if p == PresetMax {
		return quickHead
	}
	return 0
}

// pooled makes the archive in the layout Pooled, or returns nil if that is impossible. If the plan is the
// last one, its archive is, too.
func (s *smallWriter) pooled(size int64) (*made, error) {
	d, err := newDraft(s.ctx, s.h, size, s.o, plan.Pooled, s.fitted, s.trials)
	if errors.Is(err, plan.ErrMetadata) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.last == nil || !bytes.Equal(s.last.plan, d.front[0].Payload) {
		s.last, err = s.write(d)
	}
	return s.last, err
}

// trials lets a plan have the pools only that pay.
func (s *smallWriter) trials(o *plan.PlanOptions) {
	o.Trial = func(vars []int, c filters.Chain, g *plan.Geometry) (int64, error) {
		return s.storedLen(s.raw(vars...), c, g)
	}
}
