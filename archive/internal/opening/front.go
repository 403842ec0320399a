package opening

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// openFront reads the plan and the netCDF header, with one read if little lies
// between them. keep is Options.KeepFirst.
func (a *Archive) openFront(ctx context.Context, r io.ReaderAt, have Section, keep bool) error {
	m := a.Man
	between := have
	if gap := m.Header.Off - m.Plan.Off - m.Plan.Len; gap <= maxFrontGap {
		from := Section{off: m.Plan.Off}
		var err error
		if from.b, err = have.Get(r, m.Plan.Off, m.Header.Off+m.Header.Len-m.Plan.Off); err != nil {
			return err
		}
		between = from
	}
	stored, err := between.Get(r, m.Plan.Off, m.Plan.Len)
	if err != nil {
		return err
	}
	rest, err := between.Get(r, m.Header.Off, m.Header.Len)
	if err != nil {
		return err
	}
	if stored, _, err = Sound(r, stored, m.Plan, m.Copies.Plan); err != nil {
		return err
	}
	rest, copied, err := Sound(r, rest, m.Header, m.Copies.Header)
	if err != nil {
		return err
	}
	h, err := ParseFront(ctx, stored, rest, m, a.Size, keep)
	if err != nil {
		return err
	}
	a.L, a.Header, a.First = h.L, h.Header, h.First
	if a.L.Blocks != m.Blocks || a.Index.Rows() != m.Blocks || a.L.Image.Size != m.Size {
		return fault.Corruptf("the plan has %d blocks for an image of %d bytes, the manifest %d for %d, and the index %d",
			a.L.Blocks, a.L.Image.Size, m.Blocks, m.Size, a.Index.Rows())
	}
	// The manifest has the place of this block. Its row in the index is for verifiers.
	row := blockidx.Row{Off: m.Header.Off, Len: m.Header.Len, Mask: m.Header.Mask, CRC: czip.CRC(rest)}
	if copied {
		row.Off = m.Copies.Header
	}
	a.Index.Replace(a.L.RestFirst, row)
	return nil
}

// Sound returns the stored bytes of a place, which were read, or those of its second copy
// at byte off if only these have the checksum. Off is 0 if there is no copy.
func Sound(r io.ReaderAt, have []byte, at plan.Place, off int64) (b []byte, copied bool, err error) {
	if off == 0 || at.Check("", have) == nil {
		return have, false, nil
	}
	b, err = Section{}.Get(r, off, at.Len)
	if err != nil || at.Check("", b) != nil {
		return have, false, err
	}
	return b, true, nil
}

// head holds the content of the front of an archive.
type head struct {
	L      *plan.Resolved
	Header *cdf3.Header
	First  []byte // block 0 of the rest, decoded, or nil
}

// planRatio is about how many times shorter plans are deflated.
const planRatio = 8

// keptFirst is the longest block 0 of the rest that is kept.
const keptFirst = 64 << 10

// ParseFront parses the stored bytes of the plan and of block 0 of the rest, in an
// archive of size bytes. keep is Options.KeepFirst.
func ParseFront(ctx context.Context, stored, rest []byte, m *plan.Manifest, size int64, keep bool) (*head, error) {
	if err := m.Plan.Check(czip.PlanName, stored); err != nil {
		return nil, err
	}
	early := beginHeader(ctx, stored, rest, m)
	memory := recycled.Get(planRatio * int64(len(stored))) // for the text of the plan and then for the header's block, which are not kept
	defer func() { recycled.Put(memory) }()
	scratch := &memory
	l, err := parsePlan(ctx, scratch, stored, m, size)
	if err != nil {
		early.stop()
		return nil, err
	}
	h := &head{L: l}
	h.Header, err = early.end(l)
	if early == nil {
		if keep && l.Rest.First <= keptFirst {
			scratch = &h.First
		}
		h.Header, err = decodeHeader(ctx, scratch, l.Head(), l.RestFirst, m.Header, rest)
	}
	if err == nil {
		err = l.SetHeader(ctx, h.Header)
	}
	return h, err
}

// parsePlan parses the stored bytes of a plan. scratch is memory for its text, and then may be
// that text, which the plan does not share.
func parsePlan(ctx context.Context, scratch *[]byte, stored []byte, m *plan.Manifest, size int64) (*plan.Resolved, error) {
	text, err := czip.InflateInto(ctx, *scratch, czip.PlanName, stored, min(czip.MetaSmall+czip.MaxInflate*m.Plan.Len, czip.MetaLimit(size, m.Header.Len)))
	if err != nil {
		return nil, err
	}
	l, err := plan.ParsePlan(ctx, text)
	if err == nil {
		*scratch = text
	}
	return l, err
}
