package parity

import (
	"context"
	"fmt"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// Report describes the damage of an archive with parity.
type Report struct {
	Layout
	Pieces     int64 // that the parity protects
	BadPieces  int64 // those whose bytes do not have their checksum
	Records    int64 // of the parity
	BadRecords int64
	Header     bool  // the local header of the entry is wrong
	missing    int64 // bytes by which the file is too short
	after      int64 // bytes after the archive
	// Damaged are the bytes of damaged pieces and records, in order. Lost are those among
	// them that cannot be healed. Unknown are the bytes of pieces whose checksums are lost,
	// which may be damaged or not.
	Damaged, Lost, Unknown []Range
	Healed                 int64 // pieces and records that Heal wrote
}

// Healable reports whether all damage can be healed.
func (r *Report) Healable() bool { return len(r.Lost) == 0 && len(r.Unknown) == 0 }

// Hit returns the number of pieces and records that have bytes in the given ranges.
func (r *Report) Hit(ranges []Range) int64 {
	e := r.entry()
	first, end := r.recordOff(0), e.End()
	hit := map[int64]bool{} // records are negative
	for _, x := range ranges {
		for off := x.Off; off < x.Off+x.Len; {
			switch {
			case off < r.Off:
				hit[off/r.Piece] = true
				off = min(r.Off, (off/r.Piece+1)*r.Piece)
			case off < first:
				off = first // the local header
			case off < end:
				n := (off - first) / r.recordLen()
				hit[-1-n] = true
				off = first + (n+1)*r.recordLen()
			default:
				n := (off - (end - r.Off)) / r.Piece
				hit[n] = true
				off = (n+1)*r.Piece + end - r.Off
			}
		}
	}
	return int64(len(hit))
}

// group is what is known about a group.
type group struct {
	table  []byte // checksums of the pieces, nil if they are lost
	parts  [][]byte
	have   int64  // parts
	bad    bitset // pieces, then records
	pieces int64  // bad pieces
	recs   int64  // bad records
}

type bitset []uint64

func (b bitset) set(i int64)      { b[i/64] |= 1 << (i % 64) }
func (b bitset) has(i int64) bool { return b[i/64]>>(i%64)&1 != 0 }

// checker checks and heals.
type checker struct {
	*Set
	ctx   context.Context
	c     *codes
	w     io.WriterAt // nil: only check
	known *Passed     // checksums of pieces that need not be read
	sums  []uint32    // buffer
	src   *source
	rep   *Report
	done  progress
	mu    sync.Mutex // of rep while groups are healed
}

// readRecords reads the records of a batch of n groups and restores the checksums of their
// pieces.
func (x *checker) readRecords(in func(g int64) *group, n int64) error {
	e := x.entry()
	w := newWindow(x.ctx, x.src, e.End(), min(searchWindow, n*x.recordLen()))
	for i := range x.records() {
		owner, row := x.owner(i)
		g := in(owner)
		if g == nil {
			continue
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		rec, ok, err := w.get(x.recordOff(i), x.recordLen())
		if err != nil {
			return err
		}
		var part []byte
		if ok {
			part, _, ok = x.split(rec, i)
		}
		if !ok {
			g.bad.set(x.Data + row)
			g.recs++
			continue
		}
		if g.have++; g.have <= x.parts {
			if g.parts == nil {
				g.parts = make([][]byte, x.Parity)
			}
			g.parts[row] = slices.Clone(part)
		}
		if g.have == x.parts {
			if g.table, err = x.c.restoreTable(g.parts); err != nil {
				return err
			}
			g.parts = nil
		}
	}
	return nil
}

// readPieces compares the pieces of groups with their checksums, in the order of the
// archive.
func (x *checker) readPieces(in func(g int64) *group) error {
	wanted := func(stripe int64) bool {
		owner, _ := x.owner(stripe)
		g := in(owner)
		return g != nil && g.table != nil
	}
	read := int64(searchWindow)
	if x.r.Gap() > 0 {
		read = remoteRun
	}
	buf := make([]byte, max(1, min(read/x.Piece, x.pieces()))*x.Piece)
	all := ceilDiv(x.pieces(), x.perStripe)
	for stripe := int64(0); stripe < all; stripe++ {
		if !wanted(stripe) {
			continue
		}
		first := stripe
		for stripe+1 < all && (stripe+2-first)*x.stripeBytes() <= read && wanted(stripe+1) {
			stripe++
		}
		end := min((stripe+1)*x.perStripe, x.pieces())
		for i := first * x.perStripe; i < end; i += int64(len(buf)) / x.Piece {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			if err := x.checkPieces(in, buf[:min(int64(len(buf)), (end-i)*x.Piece)], i); err != nil {
				return err
			}
		}
		x.done.add(min(end*x.Piece, x.covered()) - first*x.stripeBytes())
	}
	return nil
}

// remoteRun is the length of a read of a remote file.
const remoteRun = 8 << 20

// checkPieces checks pieces from number first on. b has room for them. It reads those whose
// checksums are not known.
func (x *checker) checkPieces(in func(g int64) *group, b []byte, first int64) error {
	n := int64(len(b)) / x.Piece
	x.sums = slices.Grow(x.sums[:0], int(n))[:n]
	for n > 0 {
		k, known := x.known.get(x.sums, first, n)
		if !known {
			if err := x.readSums(in, b[:k*x.Piece], first); err != nil {
				return err
			}
		}
		for i, sum := range x.sums[:k] {
			owner, row := x.owner((first + int64(i)) / x.perStripe)
			if sum != sumIn(in(owner).table, row*x.perStripe+(first+int64(i))%x.perStripe) {
				x.bad(in, first+int64(i))
			}
		}
		first, n = first+k, n-k
	}
	return nil
}

// bad marks a damaged piece.
func (x *checker) bad(in func(g int64) *group, piece int64) {
	owner, row := x.owner(piece / x.perStripe)
	g, i := in(owner), row*x.perStripe+piece%x.perStripe
	if !g.bad.has(i) {
		g.bad.set(i)
		g.pieces++
	}
}

// readSums reads pieces into b and computes their checksums.
func (x *checker) readSums(in func(g int64) *group, b []byte, first int64) error {
	err := x.src.read(b, first*x.Piece, func(off, k int64) {
		for i := off / x.Piece; i*x.Piece < off+k; i++ {
			x.bad(in, first+i)
		}
	})
	if err != nil {
		return err
	}
	for i := range int64(len(b)) / x.Piece {
		x.sums[i] = crc32.ChecksumIEEE(b[i*x.Piece : (i+1)*x.Piece])
	}
	return nil
}

// note adds the bytes of the bad pieces and records of a group to lists.
func (x *checker) note(n int64, g *group, lists ...*[]Range) {
	add := func(off, n int64) {
		for _, l := range lists {
			*l = appendRange(*l, Range{off, n})
		}
	}
	for i := range x.Data {
		if g.bad.has(i) {
			x.pieceSpans(n, i, add)
		}
	}
	for row := range x.Parity {
		if g.bad.has(x.Data + row) {
			add(x.recordOff(x.record(n, row)), x.recordLen())
		}
	}
}

// pieceSpans calls use for the archive ranges of a piece.
func (x *checker) pieceSpans(n, i int64, use func(off, n int64)) {
	_ = x.spans(x.pieceOff(n, i), x.Piece, func(_, off, n int64) error {
		use(off, n)
		return nil
	})
}

// pieceOff returns the offset of a piece in the covered bytes.
func (l *Layout) pieceOff(group, i int64) int64 {
	return (l.stripe(group, i/l.perStripe)*l.perStripe + i%l.perStripe) * l.Piece
}

// unknown adds all pieces of a group to the unknown ones.
func (x *checker) unknown(n int64) {
	for i := int64(0); i < x.Data; i += x.perStripe {
		_ = x.spans(x.pieceOff(n, i), x.stripeBytes(), func(_, off, n int64) error {
			x.rep.Unknown = appendRange(x.rep.Unknown, Range{off, n})
			return nil
		})
	}
}

// appendRange appends a range, or extends the last one: a list of all pieces of a large
// archive would take a lot of memory.
func appendRange(list []Range, r Range) []Range {
	if k := len(list); k > 0 && list[k-1].Off+list[k-1].Len == r.Off {
		list[k-1].Len += r.Len
		return list
	}
	return append(list, r)
}

// merged sorts ranges and joins those that touch.
func merged(list []Range) []Range {
	slices.SortFunc(list, func(a, b Range) int {
		switch {
		case a.Off < b.Off:
			return -1
		case a.Off > b.Off:
			return 1
		}
		return 0
	})
	out := list[:0]
	for _, r := range list {
		if k := len(out); k > 0 && r.Off <= out[k-1].Off+out[k-1].Len {
			out[k-1].Len = max(out[k-1].Len, r.Off+r.Len-out[k-1].Off)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// window reads records in long reads.
type window struct {
	ioat.Window
	bad []Range // in what the Window holds
}

// newWindow reads records of the entry that ends at end, so many bytes at once.
func newWindow(ctx context.Context, src *source, end, ahead int64) *window {
	w := &window{Window: ioat.Window{Size: min(end, src.size), Len: ahead}}
	w.R = ioat.Func(ctx, func(_ context.Context, p []byte, off int64) (int, error) {
		w.bad = w.bad[:0]
		if err := readHard(src.r, p, off, func(at, k int64) { w.bad = append(w.bad, Range{off + at, k}) }); err != nil {
			return 0, err
		}
		return len(p), nil
	})
	return w
}

// get returns n bytes at off, and whether they could be read.
func (w *window) get(off, n int64) ([]byte, bool, error) {
	if off+n > w.Size {
		return nil, false, nil
	}
	b, err := w.From(off, n)
	if err != nil {
		return nil, false, fmt.Errorf("archive: %w", err)
	}
	for _, r := range w.bad {
		if r.Off < off+n && off < r.Off+r.Len {
			return nil, false, nil
		}
	}
	return b[:n], true, nil
}

// Check compares all pieces and records with their checksums. Damage is in the report and no
// error.
func (s *Set) Check(ctx context.Context) (*Report, error) { return s.run(ctx, nil) }
