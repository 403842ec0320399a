package report

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// Parity describes the parity of an archive.
type Parity struct {
	Percent float64 `json:"percent"`
	Off     int64   `json:"off"`
	Len     int64   `json:"len"`
	Pieces  int64   `json:"pieces"`
	Records int64   `json:"records"`
	Damaged int64   `json:"damaged"` // pieces and records that were damaged
	Healed  int64   `json:"healed"`  // those that repair has written
	Rebuilt bool    `json:"rebuilt"` // repair has computed the parity again from intact data
	Lost    []Part  `json:"lost"`    // bytes that cannot be healed
	// Unknown are bytes whose checksums are lost.
	Unknown []Part `json:"unknown"`
	// Kept are bytes that the parity contradicts, but that other checksums confirm.
	Kept []Part `json:"kept"`
	// Heals is whether repair would make the archive whole. Only verify sets it, for damaged archives.
	Heals *bool `json:"heals,omitempty"`

	share  parity.Share
	header bool // the local header of the parity was damaged
	after  bool // repair has to cut off bytes after the archive
	again  bool // repair would compute the parity again
}

// Part is a range of archive bytes.
type Part struct {
	Off int64 `json:"off"`
	Len int64 `json:"len"`
}

// newParity returns the report for JSON, or nil.
func newParity(r *parity.Report) *Parity {
	if r == nil {
		return nil
	}
	e := r.Bytes()
	p := &Parity{share: r.Share, Percent: float64(r.Share), Off: e.Off, Len: e.Len, Pieces: r.Pieces, Records: r.Records,
		Damaged: r.BadPieces + r.BadRecords, Healed: r.Healed, header: r.Header, Lost: parts(r.Lost), Unknown: parts(r.Unknown), Kept: []Part{}}
	return p
}

func parts(list []parity.Range) []Part {
	out := make([]Part, len(list))
	for i, r := range list {
		out[i] = Part(r)
	}
	return out
}

// Healed returns the report of what repair did, or nil without parity.
func Healed(h *repair.Healed) *Parity {
	p := newParity(h.Parity)
	if p != nil {
		p.Rebuilt, p.Kept = h.Rebuilt, parts(h.Kept)
	}
	return p
}

// Verified returns the report of the parity of a file that was verified, or nil.
// o is nil if the archive is intact.
func Verified(r *verify.Report, o *repair.Outlook) *Parity {
	found := r.Parity
	if found == nil && o != nil {
		found = o.Parity
	}
	p := newParity(found)
	if o != nil {
		p.Heals, p.after, p.again, p.Kept = &o.Whole, o.After > 0, o.Rebuilt, parts(o.Kept)
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
	return fmt.Sprintf("%s: %s", display.Count(n, "byte"), text[min(2, len(text)):])
}

// contradicted describes intact bytes that parity contradicts.
func contradicted(list []Part) (text, them string) {
	n := int64(0)
	for _, r := range list {
		n += r.Len
	}
	if them = "them"; n == 1 {
		them = "it"
	}
	count := display.Count(n, "byte")
	return strings.Replace(Ranges(list), count, strings.Replace(count, " ", " intact ", 1), 1), them
}

// Text describes what was healed, for the report of a repair.
func (p *Parity) Text() string {
	text := ""
	switch {
	case p == nil:
		return ""
	case p.Healed > 0:
		text = fmt.Sprintf(", %s healed from parity", display.Count(p.Healed, "piece"))
	}
	if p.header {
		text += ", local header of the parity repaired"
	}
	kept, _ := contradicted(p.Kept)
	switch {
	case p.Rebuilt && len(p.Kept) > 0:
		text += ", parity rebuilt, which contradicted " + kept
	case p.Rebuilt:
		text += ", parity rebuilt"
	case len(p.Kept) > 0:
		text += ", the parity contradicts " + kept
	}
	return text
}

// Hope describes what repair would do for a damaged archive.
func (p *Parity) Hope() string {
	heals := p.Heals != nil && *p.Heals
	repair := "repair"
	if p.after {
		repair = "repair -f"
	}
	text := fmt.Sprintf("parity of %s: %d of %d pieces are damaged", p.share, p.Damaged, p.Pieces+p.Records)
	if len(p.Kept) > 0 {
		kept, them := contradicted(p.Kept)
		text = fmt.Sprintf("parity of %s: it contradicts %s; %s keeps %s", p.share, kept, repair, them)
		switch {
		case heals && p.again:
			return text + " and makes the parity again"
		case heals:
			return text + " and heals all else"
		}
	}
	switch {
	case heals && p.again:
		return text + "; " + repair + " heals all and makes the parity again"
	case heals:
		return text + "; " + repair + " heals all"
	}
	if len(p.Lost) > 0 {
		text += "; it cannot heal " + Ranges(p.Lost)
	}
	if len(p.Unknown) > 0 {
		text += "; the checksums are lost of " + Ranges(p.Unknown)
	}
	if len(p.Lost) == 0 && len(p.Unknown) == 0 {
		text += "; it cannot heal the archive"
	}
	return text
}

// ParityBrief describes the parity of an archive without checking it.
type ParityBrief struct {
	Percent float64 `json:"percent"`
	Off     int64   `json:"off"`
	Len     int64   `json:"len"`

	share parity.Share
}

// DescribeParity returns nil for an archive without parity. Parity that is lost has a length of 0.
func DescribeParity(ctx context.Context, in *fileio.Input, f *archive.File) (*ParityBrief, error) {
	if info, _ := f.Info(); !info.Parity {
		return nil, nil
	}
	s, err := parity.Find(ctx, in.R, in.Size, nil)
	switch {
	case errors.Is(err, parity.ErrLost):
		return &ParityBrief{}, nil
	case err != nil || s == nil:
		return nil, err
	}
	b := s.Bytes()
	return &ParityBrief{float64(s.Share), b.Off, b.Len, s.Share}, nil
}

// Share is the amount of parity that was asked for. It is 0 if the parity is lost.
func (b *ParityBrief) Share() parity.Share {
	if b.Len == 0 {
		return 0
	}
	return min(max(b.share, 0.01), parity.MaxShare) // a claim
}

// Brief is the share of the parity, "lost", or "-" for none.
func (b *ParityBrief) Brief() string {
	switch {
	case b == nil:
		return "-"
	case b.Len == 0:
		return "lost"
	}
	return b.share.String()
}

// Text describes the parity in a table.
func (b *ParityBrief) Text() string {
	if b.Len == 0 {
		return "lost"
	}
	return fmt.Sprintf("%s, %s", b.share, display.Size(b.Len))
}
