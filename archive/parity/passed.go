package parity

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"os"
	"slices"
	"sync"
)

// Passed collects the checksums of pieces from bytes that are read for another purpose. It is
// safe for concurrent use.
type Passed struct {
	l *Layout

	mu   sync.Mutex
	seen []pieces // in order, none touches the next
	sums []uint32 // by piece, or else in the file
	file *os.File
}

// pieces are the pieces from one number to another.
type pieces struct{ from, to int64 }

// passedPieces is the largest number of pieces whose checksums are kept in memory, those of
// about 2 GiB. Those of longer archives are in a temporary file. Tests lower it.
var passedPieces int64 = 1 << 20

// Passing returns a collector of checksums that the next Check uses. Check reads only those
// pieces that were not passed to it. The caller must close it.
func (s *Set) Passing() *Passed {
	p := &Passed{l: &s.Layout}
	if n := s.pieces(); n <= passedPieces {
		p.sums = make([]uint32, n)
	} else if f, err := os.CreateTemp("", "cdfz-pieces-*"); err == nil {
		os.Remove(f.Name()) // it disappears however the program ends
		p.file = f
	}
	s.passed = p
	return p
}

// Close removes the temporary file, if there is one.
func (p *Passed) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name()) // where open files cannot be removed
	}
}

// Borders returns the length of a piece, and the offsets in the archive such that a run of
// whole pieces begins at each, and at 0.
func (p *Passed) Borders() (piece int64, at []int64) {
	piece = p.l.Piece
	across := (piece - p.l.Off%piece) % piece // of the piece that the entry divides
	return piece, []int64{p.l.Off, p.l.end(), p.l.end() + across}
}

// Pass computes the checksums of the pieces in b, the bytes of the archive from off on. It skips
// pieces that b holds only in part.
func (p *Passed) Pass(off int64, b []byte) {
	cut := func(from, to int64) (int64, []byte) {
		lo, hi := max(from, off), min(to, off+int64(len(b)))
		if lo >= hi {
			return lo, nil
		}
		return lo, b[lo-off : hi-off]
	}
	at, part := cut(0, p.l.Off)
	p.pass(at, part)
	at, part = cut(p.l.end(), p.l.Size)
	p.pass(at-(p.l.end()-p.l.Off), part)
}

// pass takes the covered bytes b at off.
func (p *Passed) pass(off int64, b []byte) {
	first := ceilDiv(off, p.l.Piece)
	sums := make([]uint32, 0, int64(len(b))/p.l.Piece+1)
	for lo := first*p.l.Piece - off; lo < int64(len(b)); lo += p.l.Piece {
		piece := b[lo:min(lo+p.l.Piece, int64(len(b)))]
		sum := crc32.ChecksumIEEE(piece)
		if more := p.l.Piece - int64(len(piece)); more > 0 {
			if off+int64(len(b)) != p.l.covered() {
				break
			}
			sum = crc32.Update(sum, crc32.IEEETable, make([]byte, more))
		}
		sums = append(sums, sum)
	}
	if len(sums) > 0 {
		p.add(first, sums)
	}
}

// add keeps the checksums of successive pieces.
func (p *Passed) add(first int64, sums []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sums != nil:
		copy(p.sums[first:], sums)
	case p.file == nil:
		return
	default:
		b := make([]byte, 0, 4*len(sums))
		for _, s := range sums {
			b = binary.LittleEndian.AppendUint32(b, s)
		}
		if _, err := p.file.WriteAt(b, 4*first); err != nil {
			return // Check reads the pieces
		}
	}
	from, to := first, first+int64(len(sums))
	i, _ := slices.BinarySearchFunc(p.seen, from, func(s pieces, n int64) int { return cmp.Compare(s.to, n) })
	j := i
	for ; j < len(p.seen) && p.seen[j].from <= to; j++ {
		from, to = min(from, p.seen[j].from), max(to, p.seen[j].to)
	}
	p.seen = slices.Replace(p.seen, i, j, pieces{from, to})
}

// get returns how many of the n pieces from first on are alike: their checksums are known and
// now in sums, or they are not known. n must not exceed the length of sums. A nil Passed knows
// nothing.
func (p *Passed) get(sums []uint32, first, n int64) (alike int64, known bool) {
	if p == nil {
		return n, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, _ := slices.BinarySearchFunc(p.seen, first+1, func(s pieces, n int64) int { return cmp.Compare(s.to, n) })
	switch {
	case i == len(p.seen):
		return n, false
	case p.seen[i].from > first:
		return min(n, p.seen[i].from-first), false
	}
	n = min(n, p.seen[i].to-first)
	if p.sums != nil {
		copy(sums[:n], p.sums[first:])
		return n, true
	}
	b := make([]byte, 4*n)
	if _, err := p.file.ReadAt(b, 4*first); err != nil {
		return n, false
	}
	for i := range sums[:n] {
		sums[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return n, true
}
