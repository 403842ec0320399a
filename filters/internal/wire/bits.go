package wire

// BitWriter appends numbers of any width, most significant bit first.
type BitWriter struct {
	Buf []byte
	acc uint64 // the last n bits are not yet in Buf
	n   uint
}

// Put appends the low width bits of v. The width is at most 64, and the other bits of v
// are 0.
func (w *BitWriter) Put(v uint64, width uint) {
	if width > 32 {
		w.Put(v>>32, width-32)
		v, width = v&(1<<32-1), 32
	}
	w.acc = w.acc<<width | v
	for w.n += width; w.n >= 8; {
		w.n -= 8
		w.Buf = append(w.Buf, byte(w.acc>>w.n))
	}
}

// Align fills the last byte with zeros.
func (w *BitWriter) Align() {
	if w.n > 0 {
		w.Put(0, 8-w.n)
	}
}

// BitReader reads what [BitWriter] writes. Beyond the end it reads zeros.
type BitReader struct {
	p   []byte
	acc uint64 // the low n bits have not been read yet
	n   uint
	// over counts the bits in acc that are beyond the end, read or not.
	over uint64
}

// NewBitReader returns a reader of p.
func NewBitReader(p []byte) BitReader { return BitReader{p: p} }

// Get reads a number of at most 64 bits.
func (r *BitReader) Get(width uint) uint64 {
	if width > 32 {
		hi := r.Get(width - 32)
		return hi<<32 | r.Get(32)
	}
	r.fill(width)
	r.n -= width
	return r.acc >> r.n & (1<<width - 1)
}

// Zeros reads bits up to and including the next 1 and returns the number of zeros before
// it, or a larger number than max if there are more.
func (r *BitReader) Zeros(max int) int {
	for z := 0; z <= max; z++ {
		if r.Get(1) == 1 {
			return z
		}
	}
	return max + 1
}

// Past reports whether more bits were read than there are.
func (r *BitReader) Past() bool { return r.over > uint64(r.n) }

// Rest returns the number of bytes that have not been touched.
func (r *BitReader) Rest() int { return len(r.p) + int(r.n/8) - int(r.over/8) }

// fill makes sure that there are n bits, at most 32, in acc.
func (r *BitReader) fill(n uint) {
	for r.n < n {
		var b byte
		if len(r.p) > 0 {
			b, r.p = r.p[0], r.p[1:]
		} else {
			r.over += 8
		}
		r.acc = r.acc<<8 | uint64(b)
		r.n += 8
	}
}
