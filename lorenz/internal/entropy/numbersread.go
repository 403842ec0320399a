package entropy

// PieceNumbers is how many numbers of a stream are decoded at once. Streams are decoded in pieces
// because a constant stream claims any count in two bytes.
const PieceNumbers = 32 * ChunkSyms

// NumberReader decodes a stream of numbers piece by piece. It keeps the piece that it decoded last.
// The zero value is an empty stream.
type NumberReader struct {
	Stop *Stop
	s    Stream
	syms []byte
	vals []uint32
	have int // the number of the piece in vals plus one; 0 for none
}

// Open parses a stream of count numbers.
func (n *NumberReader) Open(r *Reader, count int) {
	n.have = 0
	if r.Bad {
		n.s.count = 0
		return
	}
	n.s.Read(r, count)
	if r.Bad {
		n.s.count = 0
	}
}

// Count returns how many numbers there are.
func (n *NumberReader) Count() int { return n.s.count }

// Pieces returns how many pieces there are.
func (n *NumberReader) Pieces() int { return (n.s.count + PieceNumbers - 1) / PieceNumbers }

// Piece decodes piece i. All have PieceNumbers numbers, except for the last one. The result is valid
// until the next call. It is nil if the stream is damaged or has a number above 2^32-1, which no
// stream needs, and after a stop.
func (n *NumberReader) Piece(i int) []uint32 {
	if n.have == i+1 {
		return n.vals
	}
	n.have = 0
	at := i * PieceNumbers
	count := min(n.s.count-at, PieceNumbers)
	n.vals, n.syms = Grow(n.vals, count), Grow(n.syms, count)
	if n.Stop.After(count) || !n.s.numbers(n.vals, n.syms, at/ChunkSyms) {
		return nil
	}
	n.have = i + 1
	return n.vals
}

// numbers decodes numbers from chunk c0 on. syms is a buffer of the length of dst.
func (s *Stream) numbers(dst []uint32, syms []byte, c0 int) bool {
	n := (len(dst) + ChunkSyms - 1) / ChunkSyms
	if !s.decode(syms, c0, c0+n) {
		return false
	}
	for i := range n {
		c, lo, hi := c0+i, i*ChunkSyms, min((i+1)*ChunkSyms, len(dst))
		if s.method&streamExtra == 0 {
			to := dst[lo:hi]
			for j, y := range syms[lo:hi] {
				if y >= maxSym {
					return false
				}
				to[j] = uint32(y)
			}
			continue
		}
		r := bitReader{buf: s.body[:s.off[c+1]], pos: s.end[c]}
		for j, y := range syms[lo:hi] {
			v := uint32(y)
			if y >= maxSym {
				if y > lenBase+32 {
					return false
				}
				k := uint(y) - lenBase - 1
				v = 1<<k | uint32(r.get(k))
			}
			dst[lo+j] = v
		}
		if (r.pos+7)>>3 != s.off[c+1] {
			return false
		}
	}
	return true
}

// SymbolReader decodes a stream of symbols without extra bits piece by piece.
type SymbolReader struct {
	s   Stream
	at  int // symbols before the next piece
	buf []byte
}

// Open parses a stream of count symbols.
func (n *SymbolReader) Open(r *Reader, count int) {
	n.at = 0
	n.s.Read(r, count)
	r.Bad = r.Bad || n.s.method&streamExtra != 0
}

// Piece decodes the next piece. It returns nil at the end of the stream, and if that is damaged. The
// result is valid until the next call.
func (n *SymbolReader) Piece() []byte {
	count := min(n.s.count-n.at, PieceNumbers)
	if count == 0 {
		return nil
	}
	n.buf = Grow(n.buf, count)
	c := n.at / ChunkSyms
	if !n.s.decode(n.buf, c, c+(count+ChunkSyms-1)/ChunkSyms) {
		return nil
	}
	n.at += count
	return n.buf
}

// Ended reports whether all pieces were decoded.
func (n *SymbolReader) Ended() bool { return n.at == n.s.count }
