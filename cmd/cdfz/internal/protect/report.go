package protect

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// Report describes the parity of an archive.
type Report struct {
	Percent float64 `json:"percent"`
	Off     int64   `json:"off"`
	Len     int64   `json:"len"`
	Pieces  int64   `json:"pieces"`
	Records int64   `json:"records"`
	Damaged int64   `json:"damaged"` // pieces and records that were damaged
	Healed  int64   `json:"healed"`  // those that repair has written
	Rebuilt bool    `json:"rebuilt"` // repair has made the parity again from intact data
	Lost    []Part  `json:"lost"`    // bytes that cannot be healed
	// Unknown are bytes whose checksums are lost.
	Unknown []Part `json:"unknown"`

	share  parity.Share
	header bool // the local header of the parity was damaged
}

// Part is a range of archive bytes.
type Part struct {
	Off int64 `json:"off"`
	Len int64 `json:"len"`
}

// NewReport returns the report for JSON, or nil.
func NewReport(r *parity.Report) *Report {
	if r == nil {
		return nil
	}
	e := r.Bytes()
	p := &Report{share: r.Share, Percent: r.Share.Percent(), Off: e.Off, Len: e.Len, Pieces: r.Pieces, Records: r.Records,
		Damaged: r.BadPieces + r.BadRecords, Healed: r.Healed, header: r.Header, Lost: []Part{}, Unknown: []Part{}}
	for _, l := range r.Lost {
		p.Lost = append(p.Lost, Part(l))
	}
	for _, l := range r.Unknown {
		p.Unknown = append(p.Unknown, Part(l))
	}
	return p
}

// listedParts bounds the ranges that a message lists; --json has them all.
const listedParts = 20

// Ranges lists ranges of bytes.
func Ranges(list []Part) string {
	text, n := "", int64(0)
	for i, r := range list {
		if n += r.Len; i < listedParts {
			text += fmt.Sprintf(", %d to %d", r.Off, r.Off+r.Len)
		}
	}
	if more := len(list) - listedParts; more > 0 {
		text += fmt.Sprintf(" and %d more ranges", more)
	}
	return fmt.Sprintf("%d bytes: %s", n, text[min(2, len(text)):])
}

// Text describes what was healed, for the report of a repair.
func (p *Report) Text() string {
	text := ""
	switch {
	case p == nil:
		return ""
	case p.Healed > 0:
		text = fmt.Sprintf(", %s healed from parity", cli.Count(p.Healed, "piece"))
	}
	if p.header {
		text += ", local header of the parity repaired"
	}
	if p.Rebuilt {
		text += ", parity rebuilt"
	}
	return text
}

// Add adds what was healed before.
func (p *Report) Add(before *Report) {
	if before != nil {
		p.Healed += before.Healed
		p.Damaged = max(p.Damaged, before.Damaged)
		p.header = p.header || before.header
	}
}

// Changed reports whether healing has changed the archive.
func (p *Report) Changed() bool { return p != nil && (p.Healed > 0 || p.header || p.Rebuilt) }

// Hope describes what repair could heal.
func (p *Report) Hope() string {
	text := fmt.Sprintf("parity of %s: %d of %d pieces are damaged", p.share, p.Damaged, p.Pieces+p.Records)
	if len(p.Lost) == 0 && len(p.Unknown) == 0 {
		return text + "; repair heals all"
	}
	if len(p.Lost) > 0 {
		text += "; it cannot heal " + Ranges(p.Lost)
	}
	if len(p.Unknown) > 0 {
		text += "; the checksums are lost of " + Ranges(p.Unknown)
	}
	return text
}

// Brief describes the parity of an archive without checking it.
type Brief struct {
	Percent float64 `json:"percent"`
	Off     int64   `json:"off"`
	Len     int64   `json:"len"`

	share parity.Share
}

// Describe returns nil for an archive without parity. Parity that is lost has a length of 0.
func Describe(ctx context.Context, in *cli.Input, f *archive.File) (*Brief, error) {
	if info, _ := f.Info(); !info.Parity {
		return nil, nil
	}
	s, err := parity.Find(ctx, in.R, in.Size, nil)
	switch {
	case errors.Is(err, parity.ErrLost):
		return &Brief{}, nil
	case err != nil || s == nil:
		return nil, err
	}
	b := s.Bytes()
	return &Brief{s.Share.Percent(), b.Off, b.Len, s.Share}, nil
}

// Text describes the parity in a table.
func (b *Brief) Text() string {
	if b.Len == 0 {
		return "lost"
	}
	return fmt.Sprintf("%s, %s", b.share, cli.Size(b.Len))
}
