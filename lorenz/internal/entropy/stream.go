package entropy

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// A stream is a sequence of byte symbols, some of which are followed by extra
// bits. It is cut into chunks of ChunkSyms symbols. A chunk is a bit string of
// whole bytes: the code words of its symbols, then their extra bits, so that
// decoding can start at every chunk.
const ChunkSyms = 512

// How a stream codes its symbols: bits 0 and 1 of its first byte. Bit 2 is set
// if some symbol has extra bits.
const (
	streamConst = 0
	streamRaw   = 1
	streamHuff  = 2
	streamExtra = 4
)

// extra holds the bits after the symbol at position at: the low n bits of v, or v in
// nibble groups if n is 0.
type extra struct {
	v  uint64
	at int32
	n  uint8
}

// Values of a stream of numbers are symbols up to maxSym-1. Larger values have a symbol
// for their bit length, and the bits after the first one are extra bits.
const (
	maxSym  = 192
	lenBase = 184 // symbol = lenBase + bit length
)

// symbolOf returns the symbol of a number and the number of its extra bits.
func symbolOf(v uint64) (sym byte, n uint8) {
	if v < maxSym {
		return byte(v), 0
	}
	l := bits.Len64(v)
	return byte(lenBase + l), uint8(l - 1)
}

// StreamWriter holds the buffers for writing streams.
type StreamWriter struct {
	Dst   []byte
	lens  []int  // of chunks
	body  []byte // of chunks
	syms  []byte
	extra []extra
	code  code
}

// Numbers appends a stream of numbers.
func (w *StreamWriter) Numbers(v []uint64) {
	w.syms, w.extra = w.syms[:0], w.extra[:0]
	for i, x := range v {
		s, n := symbolOf(x)
		w.syms = append(w.syms, s)
		if n > 0 {
			w.extra = append(w.extra, extra{x &^ (1 << n), int32(i), n})
		}
	}
	w.stream(w.syms, w.extra)
}

// Symbols appends a stream of symbols without extra bits.
func (w *StreamWriter) Symbols(syms []byte) { w.stream(syms, nil) }

// code is how the symbols of a stream are coded.
type code struct {
	freq  [256]uint32
	lens  [256]uint8
	bits  int  // of all symbols
	one   bool // all symbols are the same
	head  bitWriter
	whole int // bytes of the code lengths that are full
}

// set chooses the code of symbols. There is at least one.
func (c *code) set(syms []byte) {
	histogram(&c.freq, syms)
	c.one = int(c.freq[syms[0]]) == len(syms)
	c.bits, c.whole, c.head.buf = 0, 0, c.head.buf[:0]
	if !c.one {
		c.bits = codeLengths(&c.lens, &c.freq)
		writeLengths(&c.head, &c.lens)
		c.whole = len(c.head.buf)
		c.head.align()
	}
}

// cost returns about how many bits the symbols and the code take.
func (c *code) cost() int { return c.bits + 8*c.whole }

// stream appends a stream of symbols. Without symbols it is empty.
func (w *StreamWriter) stream(syms []byte, ext []extra) {
	if len(syms) == 0 {
		return
	}
	w.code.set(syms)
	w.coded(syms, ext, &w.code)
}

// coded appends a stream of symbols with their code.
func (w *StreamWriter) coded(syms []byte, ext []extra, c *code) {
	method := byte(streamHuff)
	if c.one {
		method = streamConst
	} else if (c.bits+7)/8+len(c.head.buf) >= len(syms) {
		method = streamRaw
	}
	if len(ext) > 0 {
		method |= streamExtra
	}
	w.Dst = append(w.Dst, method)
	switch method {
	case streamConst, streamConst | streamExtra:
		w.Dst = append(w.Dst, syms[0])
		if len(ext) == 0 {
			return
		}
	case streamRaw:
		w.Dst = append(w.Dst, syms...)
		return
	case streamHuff, streamHuff | streamExtra:
		w.Dst = append(w.Dst, c.head.buf...)
	}
	w.chunks(syms, ext, method, &c.lens)
}

// chunks appends the table of chunk lengths and the chunks.
func (w *StreamWriter) chunks(syms []byte, ext []extra, method byte, lens *[256]uint8) {
	var words [256]kernels.Word
	if method&^streamExtra == streamHuff {
		canonical(&words, lens)
	}
	bw := bitWriter{buf: w.body[:0]}
	w.lens = w.lens[:0]
	for at := 0; at < len(syms); at += ChunkSyms {
		end := min(at+ChunkSyms, len(syms))
		start := len(bw.buf)
		switch method &^ streamExtra {
		case streamRaw:
			bw.buf = append(bw.buf, syms[at:end]...)
		case streamHuff:
			bw.symbols(syms[at:end], &words)
		}
		for len(ext) > 0 && int(ext[0].at) < end {
			if e := ext[0]; e.n > 0 {
				bw.put64(e.v, uint(e.n))
			} else {
				bw.nibbles(e.v)
			}
			ext = ext[1:]
		}
		bw.align()
		w.lens = append(w.lens, len(bw.buf)-start)
	}
	w.body = bw.buf
	w.Dst = appendLengths(w.Dst, w.lens)
	w.Dst = append(w.Dst, w.body...)
}

// symbols appends code words.
func (w *bitWriter) symbols(syms []byte, words *[256]kernels.Word) {
	buf := slices.Grow(w.buf, (len(syms)*maxCode+7)/8+8)
	n := len(syms) &^ 3
	done, acc, left := kernels.Words(buf[len(buf):cap(buf)], syms[:n], words, w.acc, w.n)
	w.buf, w.acc, w.n = buf[:len(buf)+done], acc, left
	for _, s := range syms[n:] {
		w.put(uint64(words[s]>>8), uint(words[s]&63))
	}
}

// appendLengths appends chunk lengths: the smallest, and if there are several,
// the width of the differences from it and these in width bits each.
func appendLengths(dst []byte, lens []int) []byte {
	lo, hi := lens[0], lens[0]
	for _, l := range lens {
		lo, hi = min(lo, l), max(hi, l)
	}
	dst = AppendUvarint(dst, uint64(lo))
	if len(lens) == 1 {
		return dst
	}
	width := uint(bits.Len(uint(hi - lo)))
	bw := bitWriter{buf: append(dst, byte(width))}
	for _, l := range lens {
		bw.put(uint64(l-lo), width)
	}
	bw.align()
	return bw.buf
}

// histogram counts the symbols.
func histogram(freq *[256]uint32, syms []byte) {
	var other [3][256]uint32 // equal symbols that follow each other do not wait for each other
	clear(freq[:])
	for len(syms) >= 8 {
		v := binary.LittleEndian.Uint64(syms)
		freq[byte(v)]++
		other[0][byte(v>>8)]++
		other[1][byte(v>>16)]++
		other[2][byte(v>>24)]++
		freq[byte(v>>32)]++
		other[0][byte(v>>40)]++
		other[1][byte(v>>48)]++
		other[2][byte(v>>56)]++
		syms = syms[8:]
	}
	for _, s := range syms {
		freq[s]++
	}
	for i := range freq {
		freq[i] += other[0][i] + other[1][i] + other[2][i]
	}
}

// AppendUvarint appends a LEB128 number.
func AppendUvarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}
