package szip

import (
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// encoder makes the choices of libaec (encode.c), so that streams are the same.
type encoder struct {
	coding
	w wire.BitWriter
	k int // of the last split, where the search for the next starts
	// run is the number of zero blocks that are not yet written, and whether the first
	// has the reference sample.
	run     int
	runRef  bool
	ref     uint32
	highest int // largest k
}

func newEncoder(dst []byte, bits int, p Params) *encoder {
	c := newCoding(bits, p)
	return &encoder{coding: c, w: wire.BitWriter{Buf: dst}, highest: 1<<c.idBits - 3}
}

// line encodes the samples of a line, which it changes.
func (e *encoder) line(line []uint32) {
	if e.neighbours {
		e.ref = line[0]
		e.differences(line)
	}
	blocks := len(line) / e.block
	for i := range blocks {
		block := line[i*e.block : (i+1)*e.block]
		hasRef := e.neighbours && i == 0
		if !zero(block) {
			e.flush(false)
			e.encode(block, hasRef)
			continue
		}
		if e.run++; e.run == 1 {
			e.runRef = hasRef
		}
		if i == blocks-1 || (i+1)%segment == 0 {
			e.flush(true)
		}
	}
}

func zero(block []uint32) bool {
	for _, v := range block {
		if v != 0 {
			return false
		}
	}
	return true
}

// differences replaces samples by their differences to the one before, which are folded
// so that small ones of either sign are small. The first becomes 0.
func (e *encoder) differences(line []uint32) {
	top := e.top()
	x := line[0]
	line[0] = 0
	for i := 1; i < len(line); i++ {
		v := line[i]
		switch {
		case v >= x && v-x <= x:
			line[i] = 2 * (v - x)
		case v >= x:
			line[i] = v
		case x-v <= top-x:
			line[i] = 2*(x-v) - 1
		default:
			line[i] = top - v
		}
		x = v
	}
}

// flush writes a run of zero blocks. end reports whether it reaches the end of a segment.
func (e *encoder) flush(end bool) {
	if e.run == 0 {
		return
	}
	e.w.Put(0, e.idBits+1)
	if e.runRef {
		e.w.Put(uint64(e.ref), uint(e.bits))
	}
	switch {
	case e.run >= restOfSegment && end:
		e.unary(restOfSegment - 1)
	case e.run >= restOfSegment:
		e.unary(uint64(e.run))
	default:
		e.unary(uint64(e.run - 1))
	}
	e.run = 0
}

// unary writes n zeros and a one.
func (e *encoder) unary(n uint64) {
	for ; n >= 32; n -= 32 {
		e.w.Put(0, 32)
	}
	e.w.Put(1, uint(n)+1)
}

// encode writes a block in the shortest form.
func (e *encoder) encode(block []uint32, hasRef bool) {
	n := e.block
	if hasRef {
		n--
	}
	split, pairs, stored := e.splitLen(block, n), e.pairsLen(block, n), uint64(n*e.bits)
	switch {
	case split < stored && split < pairs:
		e.w.Put(uint64(e.k+1), e.idBits)
		e.writeRef(hasRef)
		for _, v := range block[e.block-n:] {
			e.unary(uint64(v >> e.k))
		}
		for _, v := range block[e.block-n:] {
			e.w.Put(uint64(v)&(1<<e.k-1), uint(e.k))
		}
	case split >= stored && stored <= pairs:
		e.w.Put(1<<e.idBits-1, e.idBits)
		e.writeRef(hasRef)
		for _, v := range block[e.block-n:] {
			e.w.Put(uint64(v), uint(e.bits))
		}
	default:
		e.w.Put(1, e.idBits+1)
		e.writeRef(hasRef)
		for i := 0; i < e.block; i += 2 {
			s := uint64(block[i]) + uint64(block[i+1])
			e.unary(s*(s+1)/2 + uint64(block[i+1]))
		}
	}
}

func (e *encoder) writeRef(hasRef bool) {
	if hasRef {
		e.w.Put(uint64(e.ref), uint(e.bits))
	}
}

// pairsLen returns the length of the second extension in bits, or a huge one if it is
// longer than the n samples stored.
func (e *encoder) pairsLen(block []uint32, n int) uint64 {
	length := uint64(1)
	for i := 0; i < len(block); i += 2 {
		s := uint64(block[i]) + uint64(block[i+1])
		length += s*(s+1)/2 + uint64(block[i+1]) + 1
		if length > uint64(n*e.bits) {
			return math.MaxUint64
		}
	}
	return length
}

// splitLen sets k to the best split and returns its length in bits. The length has one
// minimum over k. The search starts from the last k.
func (e *encoder) splitLen(block []uint32, n int) uint64 {
	best, bestLen := e.k, uint64(math.MaxUint64)
	for k, up, turned := e.k, true, e.k == 0; ; {
		var unary uint64
		for _, v := range block {
			unary += uint64(v >> k)
		}
		length := unary + uint64(n*(k+1))
		more := length < bestLen
		if more {
			turned = turned || bestLen < math.MaxUint64
			best, bestLen = k, length
			// Another bit costs n and saves at most the unary part.
			if up {
				more = unary >= uint64(n) && k < e.highest
			} else {
				more = unary < uint64(n) && k > 0
			}
		}
		switch {
		case more && up:
			k++
		case more:
			k--
		case turned:
			e.k = best
			return bestLen
		default:
			k, up, turned = e.k-1, false, true
		}
	}
}
