package opening

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/future"
	"github.com/cdfz-format/cdfz/internal/observer"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// earlyHeader is a netCDF header that another goroutine decodes while the plan is parsed. Nil means
// that none does.
type earlyHeader struct {
	cancel context.CancelFunc
	header *future.Future[*cdf3.Header]
}

// Plan and header are decoded at the same time if their stored lengths are at least these, which
// are those of a thousand variables in a view. Shorter ones are decoded before another goroutine
// has started.
const (
	parallelPlan   = 16 << 10
	parallelHeader = 4 << 10
)

// beginHeader starts to decode the header. It returns nil if header or plan are short or the plan
// does not start as expected.
func beginHeader(ctx context.Context, stored, rest []byte, m *plan.Manifest) *earlyHeader {
	if len(stored) < parallelPlan || len(rest) < parallelHeader {
		return nil
	}
	h, ok := plan.PeekHead(ctx, stored)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	return &earlyHeader{cancel, future.Go(func() (*cdf3.Header, error) {
		scratch := recycled.Get(h.First)
		defer func() { recycled.Put(scratch) }()
		return decodeHeader(ctx, &scratch, h, 0, m.Header, rest)
	})}
}

// end waits for the header of a plan.
func (e *earlyHeader) end(l *plan.Resolved) (*cdf3.Header, error) {
	if e == nil {
		return nil, nil
	}
	defer e.cancel()
	h, err := e.header.Get()
	var b *fault.BlockError
	if errors.As(err, &b) {
		b.Block = l.RestFirst // unknown until now
	}
	return h, err
}

// stop ends the decoding of a header that is not needed.
func (e *earlyHeader) stop() {
	if e != nil {
		e.cancel()
		_, _ = e.header.Get()
	}
}

// DecodeHeader decodes block 0 of the rest and parses the netCDF header in it. It returns the
// decoded block, too, or nil if that is the stored bytes.
func DecodeHeader(ctx context.Context, l *plan.Resolved, at plan.Place, stored []byte) (h *cdf3.Header, first []byte, err error) {
	h, err = decodeHeader(ctx, &first, l.Head(), l.RestFirst, at, stored)
	return h, first, err
}

// decodeHeader is DecodeHeader with the head of the plan and the number of the block. The block
// is decoded into the memory of scratch, which is replaced if it is too short.
func decodeHeader(ctx context.Context, scratch *[]byte, f plan.Head, block int64, at plan.Place, stored []byte) (*cdf3.Header, error) {
	fail := func(err error) (*cdf3.Header, error) {
		return nil, &fault.BlockError{Block: block, StoredOff: at.Off, Err: Corrupt(err)}
	}
	if err := at.Check(czip.RestPrefix+"0", stored); err != nil {
		return fail(err)
	}
	raw := stored
	if whole := uint32(1<<len(f.Chain) - 1); at.Mask != whole {
		if f.First > plan.MaxFirst {
			return fail(fmt.Errorf("%d bytes: expected exclusion mask %x, found %x", f.First, whole, at.Mask))
		}
		c, err := filters.NewDecoder(f.Chain)
		if err != nil {
			return fail(err)
		}
		if int64(cap(*scratch)) < f.First {
			*scratch = make([]byte, f.First)
		}
		raw = (*scratch)[:f.First]
		if err := c.Observed(observer.Of[filters.Observer](ctx), "(header)").Decode(raw, stored, at.Mask); Refused(err) {
			return nil, fmt.Errorf("archive: chain of the header: %w", err)
		} else if err != nil {
			return fail(err)
		}
	} else if int64(len(stored)) != f.First {
		return fail(fmt.Errorf("expected %d bytes, found %d", f.First, len(stored)))
	}
	h, err := cdf3.ReadBytes(ctx, raw, f.Image.Size)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return fail(err)
	}
	if h.Len != f.Image.Header {
		return fail(fmt.Errorf("expected a netCDF header of %d bytes, found %d", f.Image.Header, h.Len))
	}
	return h, nil
}
