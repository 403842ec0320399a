package layout

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/observer"
	"github.com/cdfz-format/cdfz/unlimited"
)

// measure finds out how long blocks of an image are when they are encoded.
type measure struct {
	ctx      context.Context
	image    io.ReaderAt
	small    []byte // the same, if it is in memory
	size     int64
	h        *cdf3.Header
	memo     *encode.Memo // of encoded blocks, or nil
	segments []unlimited.Segment
	blocked  []unlimited.Reason

	values, out, padded []byte // memory for the next
}

func newMeasure(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, memo *encode.Memo) *measure {
	m := &measure{ctx: ctx, image: image, size: size, h: h, memo: memo}
	m.segments, m.blocked = unlimited.Plan(h, size)
	return m
}

// raw returns the row-major bytes of variables that can be blocked, until it is called again.
func (m *measure) raw(vars ...int) ([]byte, error) {
	total := int64(0)
	for _, n := range vars {
		total += m.segments[n].Size()
	}
	m.values = slices.Grow(m.values[:0], int(total))[:total]
	at := int64(0)
	for _, n := range vars {
		k := m.segments[n].Size()
		if err := m.read(m.values[at:at+k], n, 0); err != nil {
			return nil, err
		}
		at += k
	}
	return m.values, nil
}

// read reads bytes of a variable from a place in its row-major order.
func (m *measure) read(p []byte, n int, off int64) error {
	if m.small != nil {
		copy(p, m.segments[n].Cut(m.small, 0, off, off+int64(len(p))))
		return nil
	}
	at := 0
	var err error
	m.segments[n].Runs(off, off+int64(len(p)), func(from, k int64) bool {
		err = ioat.ReadFull(m.image, p[at:at+int(k)], from)
		at += int(k)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("archive: reading the image: %w", err)
	}
	return nil
}

// stored is the length of the stored bytes of all blocks of an array.
func (m *measure) stored(raw []byte, c filters.Chain, g *plan.Geometry) (int64, error) {
	coder, err := filters.NewCoder(c)
	if err != nil {
		return 0, err
	}
	coder = coder.Observed(observer.Of[filters.Observer](m.ctx), "")
	sum := int64(0)
	for b := range g.Blocks {
		if err := m.ctx.Err(); err != nil {
			return 0, err
		}
		off, n := g.At(b)
		block := raw[off : off+n]
		if n < g.BlockLen {
			m.padded = slices.Grow(m.padded[:0], int(g.BlockLen))[:g.BlockLen]
			g.Pad(m.padded, int64(copy(m.padded, block)))
			block = m.padded
		}
		k, err := m.memo.Len(coder, &m.out, block)
		if err != nil {
			return 0, err
		}
		sum += int64(k)
	}
	return sum, nil
}

// ofVars is the length of the stored bytes of variables, one after another.
func (m *measure) ofVars(vars []int, c filters.Chain, g *plan.Geometry) (int64, error) {
	raw, err := m.raw(vars...)
	if err != nil {
		return 0, err
	}
	return m.stored(raw, c, g)
}
