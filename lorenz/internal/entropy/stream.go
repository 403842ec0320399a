package entropy

import (
	"math/bits"
)

// A stream is a sequence of byte symbols, some of which are followed by extra
// bits. It is cut into chunks of ChunkSyms symbols. A chunk is a bit string of
// whole bytes: the code words of its symbols, then their extra bits, so that
// decoding can start at every chunk.
const ChunkSyms = 1024

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

// stream appends a stream of symbols. Without symbols it is empty.
func (w *StreamWriter) stream(syms []byte, ext []extra) {
	if len(syms) == 0 {
		return
	}
	var freq [256]uint32
	histogram(&freq, syms)
	method := byte(streamHuff)
	var lens [256]uint8
	var head bitWriter
	if int(freq[syms[0]]) == len(syms) {
		method = streamConst
	} else {
		n := codeLengths(&lens, &freq)
		writeLengths(&head, &lens)
		head.align()
		if (n+7)/8+len(head.buf) >= len(syms) {
			method = streamRaw
		}
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
		w.Dst = append(w.Dst, head.buf...)
	}
	w.chunks(syms, ext, method, &lens)
}

// chunks appends the table of chunk lengths and the chunks.
func (w *StreamWriter) chunks(syms []byte, ext []extra, method byte, lens *[256]uint8) {
	var codes [256]uint16
	canonical(&codes, lens)
	bw := bitWriter{buf: w.body[:0]}
	w.lens = w.lens[:0]
	for at := 0; at < len(syms); at += ChunkSyms {
		end := min(at+ChunkSyms, len(syms))
		start := len(bw.buf)
		switch method &^ streamExtra {
		case streamRaw:
			bw.buf = append(bw.buf, syms[at:end]...)
		case streamHuff:
			bw.symbols(syms[at:end], &codes, lens)
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
func (w *bitWriter) symbols(syms []byte, codes *[256]uint16, lens *[256]uint8) {
	acc, n, buf := w.acc, w.n, w.buf
	for len(syms) >= 4 {
		acc |= uint64(codes[syms[0]]) << n
		n += uint(lens[syms[0]])
		acc |= uint64(codes[syms[1]]) << n
		n += uint(lens[syms[1]])
		acc |= uint64(codes[syms[2]]) << n
		n += uint(lens[syms[2]])
		acc |= uint64(codes[syms[3]]) << n
		n += uint(lens[syms[3]])
		syms = syms[4:]
		k := n >> 3
		buf = append(buf, byte(acc), byte(acc>>8), byte(acc>>16), byte(acc>>24), byte(acc>>32), byte(acc>>40), byte(acc>>48))
		buf = buf[:len(buf)-7+int(k)]
		acc >>= 8 * k
		n &= 7
	}
	w.acc, w.n, w.buf = acc, n, buf
	for _, s := range syms {
		w.put(uint64(codes[s]), uint(lens[s]))
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
	var odd [256]uint32
	for len(syms) >= 2 {
		freq[syms[0]]++
		odd[syms[1]]++
		syms = syms[2:]
	}
	for _, s := range syms {
		freq[s]++
	}
	for i, f := range odd {
		freq[i] += f
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
