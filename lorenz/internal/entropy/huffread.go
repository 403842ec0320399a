package entropy

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// huffTable maps the next maxCode bits of a stream to their first symbol (high byte)
// and the length of its code word (low byte).
type huffTable [tableSize]uint16

// fill builds the decoding table of a complete code. The words of one length
// fill the start of the table, which is doubled for each further bit.
func (t *huffTable) fill(lens *[256]uint8) {
	var count [maxCode + 1]int
	for _, l := range lens {
		count[l]++
	}
	var at [maxCode + 2]int
	for l := 1; l <= maxCode; l++ {
		at[l+1] = at[l] + count[l]
	}
	var order [256]uint8 // by length and symbol
	for s, l := range lens {
		if l > 0 {
			order[at[l]] = uint8(s)
			at[l]++
		}
	}
	k, code, size := 0, 0, 1
	for l := 1; l <= maxCode; l++ {
		copy(t[size:2*size], t[:size])
		size *= 2
		for _, s := range order[k : k+count[l]] {
			t[code] = uint16(s)<<8 | uint16(l)
			// The next word: codes are stored from their highest bit on.
			if rest := code ^ (size - 1); rest != 0 {
				bit := 1 << (bits.Len(uint(rest)) - 1)
				code = code&(bit-1) | bit
			}
		}
		k += count[l]
	}
}

// longest is the most bytes that the code words of a chunk can take.
const longest = ChunkSyms * maxCode / 8

// huffReader decodes chunks. It has buffers for decoded symbols that are not needed.
type huffReader struct {
	spare  [ChunkSyms]byte
	padded [4 * (longest + 8)]byte
}

// decode8 decodes eight adjacent chunks of full length side by side, if there is assembly
// for that. Its arguments are those of decode.
func (h *huffReader) decode8(dst, body []byte, start, end []int, t *huffTable) bool {
	var p [8]uint64
	for i := range p {
		p[i] = uint64(8 * start[i])
	}
	if !kernels.Decode8((*[8 * ChunkSyms]byte)(dst), body, &p, (*[tableSize]uint16)(t)) {
		return false
	}
	for i := range p {
		end[i] = int(p[i])
	}
	return true
}

// decode decodes up to four adjacent chunks side by side to dst. start has the
// bytes of body at which they start and where the last one ends. end is set to
// the bits of body at which their code words end.
func (h *huffReader) decode(dst, body []byte, start, end []int, t *huffTable) {
	n := len(end)
	var out [4][]byte
	var from, p [4]uint64 // in bits
	near := start[n-1]+longest+8 > len(body)
	for i := range out {
		if i >= n {
			out[i], from[i] = h.spare[:], from[0]
			continue
		}
		out[i] = dst[i*ChunkSyms : min((i+1)*ChunkSyms, len(dst))]
		from[i] = uint64(8 * start[i])
		if near { // the end of the block: read zeros after it
			part := h.padded[i*(longest+8) : (i+1)*(longest+8)]
			clear(part[copy(part[:longest], body[start[i]:start[i+1]]):])
			from[i] = uint64(8 * i * (longest + 8))
		}
	}
	if near {
		body = h.padded[:]
	}
	p = from
	m := len(out[n-1])
	if n == 1 {
		p[0] = kernels.Decode1(out[0], body, p[0], (*[tableSize]uint16)(t))
	} else {
		kernels.Decode4(out[0][:m], out[1][:m], out[2][:m], out[3][:m], body, &p, (*[tableSize]uint16)(t))
	}
	end[n-1] = 8*start[n-1] + int(p[n-1]-from[n-1])
	if n > 1 && m < ChunkSyms { // the last one is shorter than the others
		for i := range out {
			if i >= n-1 {
				out[i], p[i] = h.spare[:], p[0]
			} else {
				out[i] = out[i][m:]
			}
		}
		k := ChunkSyms - m
		kernels.Decode4(out[0], out[1][:k], out[2][:k], out[3][:k], body, &p, (*[tableSize]uint16)(t))
	}
	for i := range n - 1 {
		end[i] = 8*start[i] + int(p[i]-from[i])
	}
}
