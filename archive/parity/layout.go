package parity

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
)

// Layout has the numbers that decide where each piece and each record is. Every record
// holds a copy of them.
type Layout struct {
	Size      int64 // length of the archive
	Off       int64 // archive offset of the entry's local header
	Piece     int64 // bytes of a piece
	perStripe int64 // successive pieces that belong to one group
	Groups    int64 // number of groups
	Data      int64 // pieces of a group
	Parity    int64 // records of a group
	parts     int64 // records of a group that suffice to restore its checksums
	Share     Share // as asked for; informative
}

// Range is a range of archive bytes.
type Range struct{ Off, Len int64 }

// Limits of docs/FORMAT.md, "Parity".
const (
	unit       = 64 // bytes; all shards are multiples of it
	maxPiece   = 1 << 16
	maxShards  = 1 << 16 // of one code
	maxGroup   = 1 << 27 // bytes of the pieces and the parity of a group
	maxEntry   = 1 << 16 // bytes of the entry, besides four times what it protects
	headLen    = 60      // of a record, before the checksums
	recordMore = headLen + crcLen
	crcLen     = 4
)

// The writer's policy of docs/FORMAT.md, "Annex A".
const (
	policyPiece = 2048 // bytes, unless the archive is small
	leastParity = 4    // records, so that a burst of 2/5 of their pieces leaves one
	partsOf     = 4    // a quarter of the records restores the checksums
)

// The same, of groups. Tests lower the numbers to get many groups.
var (
	policyShards int64 = 16384 // bounds the memory of a group
	policyStripe int64 = 32    // pieces, if there is more than one group
)

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// ceilPow2 returns the smallest power of two that is at least n.
func ceilPow2(n int64) int64 { return 1 << bits.Len64(uint64(n-1)) }

// choose returns the layout that protects n bytes, without Size and Off.
func choose(n int64, s Share) Layout {
	share := s.units()
	l := Layout{Share: s}
	small := min(n, policyPiece*10000*leastParity) // from there on, pieces have their full length
	l.Piece = min(max(unit*ceilDiv(small*share, unit*perWhole*leastParity), unit), policyPiece)
	pieces := max(1, ceilDiv(n, l.Piece))
	limit := int64(0)
	for m := int64(4); m < policyShards; m *= 2 {
		limit = max(limit, min(policyShards-m, m*perWhole/share))
	}
	l.Groups = 1
	if pieces <= limit {
		l.Data, l.perStripe = pieces, pieces
	} else {
		stripes := ceilDiv(pieces, policyStripe)
		l.Groups = ceilDiv(stripes, limit/policyStripe)
		l.Data, l.perStripe = policyStripe*ceilDiv(stripes, l.Groups), policyStripe
	}
	l.Parity = max(leastParity, ceilDiv(l.Data*share, perWhole))
	l.parts = max(1, l.Parity/partsOf)
	return l
}

// partLen is the length of a part of the coded checksums of a group.
func (l *Layout) partLen() int64 { return unit * ceilDiv(4*l.Data, unit*l.parts) }

func (l *Layout) recordLen() int64 { return recordMore + l.partLen() + l.Piece }

func (l *Layout) records() int64 { return l.Groups * l.Parity }

// entry is the entry, without its checksum.
func (l *Layout) entry() czip.ZipEntry {
	n := l.records() * l.recordLen()
	return czip.ZipEntry{Name: czip.ParityName, Stored: n, Size: n, Off: l.Off}
}

// end is the archive offset after the entry.
func (l *Layout) end() int64 {
	e := l.entry()
	return e.End()
}

// Bytes returns the archive bytes of the entry, with its local header.
func (l *Layout) Bytes() Range { return Range{l.Off, l.end() - l.Off} }

// covered is the number of bytes that the pieces cover: all but the entry.
func (l *Layout) covered() int64 { return l.Size - (l.end() - l.Off) }

// pieces is the number of pieces with at least one byte.
func (l *Layout) pieces() int64 { return ceilDiv(l.covered(), l.Piece) }

// rows is the number of stripes of a group.
func (l *Layout) rows() int64 { return l.Data / l.perStripe }

// stripe returns the number of a group's stripe in a row. Rows are shifted against each
// other, so that neither a burst nor damage at regular distances hits a group often.
func (l *Layout) stripe(group, row int64) int64 {
	return row*l.Groups + ((group-row)%l.Groups+l.Groups)%l.Groups
}

// record returns the number of a group's record in a row.
func (l *Layout) record(group, row int64) int64 {
	return row*l.Groups + ((group-row)%l.Groups+l.Groups)%l.Groups
}

// owner returns group and row of a stripe or a record.
func (l *Layout) owner(n int64) (group, row int64) {
	row = n / l.Groups
	return (n%l.Groups + row) % l.Groups, row
}

// recordOff returns the archive offset of a record.
func (l *Layout) recordOff(n int64) int64 {
	e := l.entry()
	return e.End() - e.Stored + n*l.recordLen()
}

// check checks the numbers of a record, which are claims.
func (l *Layout) check() error {
	switch {
	case l.Size < 0 || l.Size > 1<<61:
		return impossible("length of the archive", l.Size)
	case l.Off < 0 || l.Off > l.Size:
		return impossible("offset", l.Off)
	case l.Piece < unit || l.Piece > maxPiece || l.Piece%unit != 0:
		return impossible("length of a piece", l.Piece)
	case l.Data < 1 || l.Data > maxShards || l.Parity < 2 || l.Parity > maxShards || l.Data+ceilPow2(l.Parity) > maxShards || (l.Data+l.Parity)*l.Piece > maxGroup:
		return impossible("number of pieces in a group", l.Data)
	case l.Parity > max(leastParity, l.Data):
		return impossible("number of records in a group", l.Parity)
	case l.perStripe < 1 || l.perStripe > l.Data || l.Data%l.perStripe != 0:
		return impossible("length of a stripe", l.perStripe)
	case l.parts < 1 || l.parts >= l.Parity || l.parts+ceilPow2(l.Parity-l.parts) > maxShards:
		return impossible("number of parts", l.parts)
	case l.Groups < 1 || l.Groups > l.Size/(l.Parity*l.recordLen()):
		return impossible("number of groups", l.Groups)
	case l.end() > l.Size:
		return impossible("length of the entry", l.end()-l.Off)
	}
	if e := l.end() - l.Off; e > maxEntry && l.covered() < (e-maxEntry)/4 {
		return impossible("length of the entry", e)
	}
	n := ceilDiv(l.pieces(), l.perStripe)
	if l.perStripe > l.pieces() || n < l.Groups || ceilDiv(n, l.Groups) != l.rows() {
		return impossible("number of pieces", l.pieces())
	}
	return nil
}
