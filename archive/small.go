package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Archives of images below 8 MiB, which are made in memory.

const (
	tryAll        = 256 << 10 // bytes of an image that is archived in every layout without a view
	viewExtra     = 32        // the share of a smaller archive that a view may cost,
	viewExtraBase = 512       // and these bytes
)

// made is an archive in memory.
type made struct {
	*Result
	bytes []byte
}

// smallWriter archives one image in memory, in several layouts, to find the smallest.
type smallWriter struct {
	ctx   context.Context
	o     *WriteOptions
	h     *cdf3.Header
	image []byte
	sum   [32]byte // SHA-256 of the image
}

// writeSmall makes archives of several layouts in memory and writes the smallest.
func writeSmall(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*Result, error) {
	s := &smallWriter{ctx: ctx, o: o, h: h, image: make([]byte, size)}
	if err := ioat.ReadFull(image, s.image, 0); err != nil {
		return nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	s.sum = sha256.Sum256(s.image)
	view, err := chooseView(ctx, bytes.NewReader(s.image), size, h, o)
	if err != nil {
		return nil, err
	}
	var best *made
	if view != nil && o.Zarr.forced() {
		best, err = s.write(view)
	} else {
		best, err = s.smallest(view)
	}
	if err != nil {
		return nil, err
	}
	if err := fault.WriteFull(dst, best.bytes); err != nil {
		return nil, err
	}
	return best.Result, nil
}

func (s *smallWriter) write(d *draft) (*made, error) {
	var buf bytes.Buffer
	res, err := d.write(s.ctx, &buf, bytes.NewReader(s.image), s.sum[:])
	if err != nil {
		return nil, err
	}
	return &made{res, buf.Bytes()}, nil
}

// smallest makes the archive in the layouts that come into question.
func (s *smallWriter) smallest(view *draft) (*made, error) {
	size := int64(len(s.image))
	var best *made
	try := func(lay format.Layout, more ...func(*format.PlanOptions)) error {
		d, err := newDraft(s.ctx, s.h, size, s.o, lay, more...)
		if errors.Is(err, format.ErrMetadata) && lay != format.Single {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := s.write(d)
		if err == nil && (best == nil || m.Size < best.Size) {
			best = m
		}
		return err
	}
	if err := try(format.Pooled, s.trials); err != nil {
		return nil, err
	}
	// Chains that the user chose are for the blocks of variables, which other layouts
	// have fewer of.
	all := size <= tryAll && len(s.o.Filters) == 0
	if all {
		if err := try(format.Pooled, func(o *format.PlanOptions) { o.NoPools = true }); err != nil {
			return nil, err
		}
	}
	if all || best == nil || best.Size > size+slack {
		if err := try(format.Single); err != nil {
			return nil, err
		}
	}
	if view != nil {
		m, err := s.write(view)
		if err != nil || m.Size <= min(size+slack, best.Size+best.Size/viewExtra+viewExtraBase) {
			return m, err
		}
	}
	return best, nil
}

// trials lets a plan have the pools only that pay.
func (s *smallWriter) trials(o *format.PlanOptions) {
	segs, _ := unlimited.Plan(s.h, int64(len(s.image)))
	o.Trial = func(vars []int, c filters.Chain, g *format.Geometry) (int64, error) {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		raw := make([]byte, 0, g.RawLen)
		for _, n := range vars {
			segs[n].Runs(0, segs[n].Size(), func(at, n int64) bool {
				raw = append(raw, s.image[at:at+n]...)
				return true
			})
		}
		return storedLen(raw, c, g)
	}
}

// storedLen is the length of the stored bytes of all blocks of an array.
func storedLen(raw []byte, c filters.Chain, g *format.Geometry) (int64, error) {
	coder, err := filters.NewCoder(c)
	if err != nil {
		return 0, err
	}
	block := make([]byte, g.BlockLen)
	var out []byte
	sum := int64(0)
	for b := range g.Blocks {
		off, n := g.At(b)
		g.Pad(block, int64(copy(block, raw[off:off+n])))
		if out, _, err = coder.Encode(out[:0], block); err != nil {
			return 0, err
		}
		sum += int64(len(out))
	}
	return sum, nil
}
