package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Parity, written from section 19 of docs/FORMAT.md.

// layout has the numbers of a record.
type layout struct {
	size, off                           int // S, A
	piece, stripe, groups, data, rows   int // p, q, G, N, N/q
	parity, parts, share, partLen, from int // R, K, share, L, offset of the first record
	end                                 int // B

	local func(header []byte) // a fault of the local header
}

// lay completes a layout for a number of covered bytes.
func (l *layout) lay(covered int) {
	if l.groups == 1 {
		l.stripe = up(covered, l.piece)
	}
	l.rows = up(up(up(covered, l.piece), l.stripe), l.groups)
	l.data = l.rows * l.stripe
	l.partLen = 64 * up(4*l.data, 64*l.parts)
}

// up divides and rounds up.
func up(a, b int) int { return (a + b - 1) / b }

func (l *layout) recordLen() int { return 64 + l.partLen + l.piece }

// empty returns records of zeros. The checksum of all of them does not depend on their contents.
func (l *layout) empty() []byte {
	rec := make([]byte, l.recordLen())
	seal(rec)
	return bytes.Repeat(rec, l.groups*l.parity)
}

// seal sets the checksum of a record.
func seal(rec []byte) {
	n := len(rec) - 4
	binary.LittleEndian.PutUint32(rec[n:], crc32.ChecksumIEEE(rec[:n]))
}

// fill writes the records into a finished archive.
func (l *layout) fill(file []byte) {
	l.size = len(file)
	covered := append(bytes.Clone(file[:l.off]), file[l.end:]...)
	for g := range l.groups {
		var pieces [][]byte
		sums := make([]byte, l.parts*l.partLen)
		for row := range l.rows {
			s := row*l.groups + ((g-row)%l.groups+l.groups)%l.groups
			for k := range l.stripe {
				p := make([]byte, l.piece)
				if at := (s*l.stripe + k) * l.piece; at < len(covered) {
					copy(p, covered[at:])
				}
				binary.LittleEndian.PutUint32(sums[4*len(pieces):], crc32.ChecksumIEEE(p))
				pieces = append(pieces, p)
			}
		}
		var parts [][]byte
		for k := range l.parts {
			parts = append(parts, sums[k*l.partLen:][:l.partLen])
		}
		parts = append(parts, code(parts, l.parity-l.parts)...)
		for j, p := range code(pieces, l.parity) {
			t := j*l.groups + ((g-j)%l.groups+l.groups)%l.groups
			rec := append([]byte("cdfzpar\x01"), make([]byte, 24)...)
			for i, v := range []int{l.size, l.off, t} {
				binary.LittleEndian.PutUint64(rec[8+8*i:], uint64(v))
			}
			for _, v := range []int{l.piece, l.stripe, l.groups, l.data, l.parity, l.parts, l.share} {
				rec = binary.LittleEndian.AppendUint32(rec, uint32(v))
			}
			rec = append(append(append(rec, parts[j]...), p...), 0, 0, 0, 0)
			seal(rec)
			copy(file[l.from+t*l.recordLen():], rec)
		}
	}
}

// basis are the field elements of the bits of a symbol.
var basis = [16]uint16{0x0001, 0xacca, 0x3c0e, 0x163e, 0xc582, 0xed2e, 0x914c, 0x4012, 0x6c98, 0x10d8, 0x6a72, 0xb900, 0xfdb8, 0xfb34, 0xff38, 0x991e}

// element returns the field element of each symbol, symbol the reverse.
var element, symbol = func() (e, s [1 << 16]uint16) {
	for a := range e {
		for i, b := range basis {
			e[a] ^= b * uint16(a>>i&1)
		}
		s[e[a]] = uint16(a)
	}
	return e, s
}()

// times multiplies field elements.
func times(a, b uint16) uint16 {
	out, x := uint32(0), uint32(a)
	for ; b > 0; b >>= 1 {
		out ^= x * uint32(b&1)
		if x <<= 1; x>>16 != 0 {
			x ^= 0x1002d
		}
	}
	return uint16(out)
}

// inverse returns 1/a.
func inverse(a uint16) uint16 {
	out := uint16(1)
	for e := 1<<16 - 2; e > 0; e >>= 1 {
		if e&1 != 0 {
			out = times(out, a)
		}
		a = times(a, a)
	}
	return out
}

// code returns m parity shards.
func code(data [][]byte, m int) [][]byte {
	size := 1
	for size < m {
		size *= 2
	}
	out := make([][]byte, m)
	for i := range out {
		out[i] = make([]byte, len(data[0]))
	}
	for j, d := range data {
		x, w := element[size+j], uint16(1)
		for v := range size {
			w = times(w, x^element[v])
		}
		for i := range out {
			c := times(w, inverse(element[i]^x))
			for at := 0; at < len(d); at += 64 {
				for k := at; k < at+32; k++ {
					y := times(element[uint16(d[k])|uint16(d[k+32])<<8], c)
					out[i][k] ^= byte(symbol[y])
					out[i][k+32] ^= byte(symbol[y] >> 8)
				}
			}
		}
	}
	return out
}
