package main

import "math/bits"

// A small compressor, so that vectors have deflate streams with matches. It is simple on purpose:
// its output must never change.

// bitString collects numbers, lowest bit first (RFC 1951, 3.1.1).
type bitString struct {
	out []byte
	acc uint64
	n   uint
}

func (b *bitString) add(v uint64, n uint) {
	b.acc |= v << b.n
	for b.n += n; b.n >= 8; b.n -= 8 {
		b.out = append(b.out, byte(b.acc))
		b.acc >>= 8
	}
}

// word adds a Huffman code word, which begins with its highest bit.
func (b *bitString) word(v, n uint) { b.add(uint64(bits.Reverse32(uint32(v))>>(32-n)), n) }

func (b *bitString) bytes() []byte {
	if b.n > 0 {
		b.add(0, 8-b.n)
	}
	return b.out
}

// symbol adds a literal or a length in the fixed code (RFC 1951, 3.2.6).
func (b *bitString) symbol(y uint) {
	switch {
	case y < 144:
		b.word(0x30+y, 8)
	case y < 256:
		b.word(0x190+y-144, 9)
	case y < 280:
		b.word(y-256, 7)
	default:
		b.word(0xc0+y-280, 8)
	}
}

const longestMatch = 258

// match adds a length and a distance (RFC 1951, 3.2.5).
func (b *bitString) match(n, dist uint) {
	switch {
	case n == longestMatch:
		b.symbol(285)
	case n < 11:
		b.symbol(254 + n)
	default:
		extra := uint(bits.Len(n-3)) - 3
		b.symbol(257 + 4*(extra+1) + (n-3)>>extra&3)
		b.add(uint64(n-3)&(1<<extra-1), extra)
	}
	if dist < 5 {
		b.word(dist-1, 5)
		return
	}
	extra := uint(bits.Len(dist-1)) - 2
	b.word(2*(extra+1)+(dist-1)>>extra&1, 5)
	b.add(uint64(dist-1)&(1<<extra-1), extra)
}

// squeezed returns a deflate stream of one block with the fixed code.
func squeezed(p []byte) []byte {
	var b bitString
	b.add(1|1<<1, 3) // the last block, of the fixed code
	last := map[[3]byte]int{}
	for i := 0; i < len(p); {
		n, from := 0, 0
		if i+3 <= len(p) {
			if at, ok := last[[3]byte(p[i:])]; ok && i-at <= 1<<15 {
				for from = at; i+n < len(p) && n < longestMatch && p[from+n] == p[i+n]; n++ {
				}
			}
		}
		end := i + 1
		if n >= 3 {
			b.match(uint(n), uint(i-from))
			end = i + n
		} else {
			b.symbol(uint(p[i]))
		}
		for ; i < end; i++ {
			if i+3 <= len(p) {
				last[[3]byte(p[i:])] = i
			}
		}
	}
	b.symbol(256)
	return b.bytes()
}

// blanks returns a deflate stream of a text and n times 258 blanks after it, in 2 bits for each 258. Its
// second block has a code of blanks, matches and the end alone (RFC 1951, 3.2.7).
func blanks(text string, n int) []byte {
	var b bitString
	b.out = rawDeflate([]byte(text))
	b.out[0] = 0 // not the last block
	b.add(1|2<<1, 3)
	b.add(286-257, 5) // codes of literals and lengths
	b.add(0, 5)       // one distance
	b.add(18-4, 4)    // code lengths
	// The lengths of the codes of the code lengths 1, 2 and 18, which are 2, 2 and 1, in the order
	// 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1.
	for _, n := range []uint64{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2} {
		b.add(n, 3)
	}
	zeros := func(n uint64) { b.word(0, 1); b.add(n-11, 7) }
	one, two := func() { b.word(2, 2) }, func() { b.word(3, 2) }
	zeros(32)
	two() // blank
	zeros(138)
	zeros(85)
	two() // end
	zeros(28)
	one() // length 258
	one() // distance 1
	b.word(2, 2)
	for range n {
		b.word(0, 1)
		b.word(0, 1)
	}
	b.word(3, 2)
	return b.bytes()
}
