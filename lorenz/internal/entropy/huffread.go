package entropy

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// huffCode is a complete code: its symbols in ascending order, and the lengths of their words.
type huffCode struct {
	syms [256]uint8
	lens [256 + 8]uint8
	n    int

	count [maxCode + 1]int // words of each length
}

// last returns the largest symbol.
func (c *huffCode) last() int { return int(c.syms[c.n-1]) }

// steps are the changes of code lengths at the start of a bit string.
type steps struct {
	sums uint64 // the prefix sums of the changes, a byte each; the last one fills the other bytes
	n    uint8  // how many changes; 0 if the bits begin with no valid one
	bits uint8  // length of all in bits
	one  uint8  // length of the first in bits
}

const (
	stepBits = 9
	maxSteps = 5
)

// changes has the steps for each value of the next stepBits bits.
var changes = func() (t [1 << stepBits]steps) {
	for v := range t {
		d, sum := &t[v], 0
		for d.n < maxSteps {
			rest := v >> d.bits
			z := bits.TrailingZeros(uint(rest) | 1<<5)
			g := rest>>(z+1)&(1<<z-1) | 1<<z - 1
			if z >= 5 || g >= 2*maxCode || int(d.bits)+2*z+1 > stepBits {
				break
			}
			sum += g>>1 ^ -(g & 1)
			d.sums |= uint64(uint8(sum)) << (8 * d.n)
			d.n++
			d.bits += uint8(2*z + 1)
			if d.n == 1 {
				d.one = d.bits
			}
		}
		for i := d.n; i < 8; i++ {
			d.sums |= uint64(uint8(sum)) << (8 * i)
		}
	}
	return t
}()

// addBytes adds a number to each byte, modulo 256.
func addBytes(b uint64, n uint8) uint64 {
	const top = 0x8080808080808080
	m := uint64(n) * 0x0101010101010101
	return (b&^top + m&^top) ^ (b^m)&top
}

// read is the inverse of writeLengths. It reports whether the lengths are those of a complete
// code.
func (c *huffCode) read(r *bitReader) bool {
	last := int(r.get(8))
	n, on := 0, true
	v, left := uint64(0), 0 // bits read ahead
	for s := 0; s <= last; on = !on {
		const most = 8 // zeros of the number of a run of all symbols; with more, the run is too long
		if left < 2*most+1 {
			v, left = r.peek(), 56
		}
		z := bits.TrailingZeros64(v | 1<<(most+1))
		run := int(v>>(z+1)&(1<<z-1) | 1<<z)
		v >>= 2*z + 1
		left -= 2*z + 1
		r.pos += 2*z + 1
		if s == 0 && on {
			run--
		}
		if run > last+1-s {
			return false
		}
		if on {
			for i := s; i < s+run; i++ {
				c.syms[n&255] = uint8(i)
				n++
			}
		}
		s += run
	}
	if on { // the last run was one of absent symbols
		return false
	}
	c.n = n
	l := uint8(5)
	for i := 0; i < n; {
		if left < stepBits {
			v, left = r.peek(), 56
		}
		d := &changes[v&(1<<stepBits-1)]
		k, used := int(d.n), uint(d.bits)
		if k == 0 {
			return false
		}
		lens := addBytes(d.sums, l)
		binary.LittleEndian.PutUint64(c.lens[i:], lens)
		l = uint8(lens >> 56)
		if i+k > n {
			k, used = 1, uint(d.one)
			l = uint8(lens)
		}
		i += k
		v >>= used & 63
		left -= int(used)
		r.pos += int(used)
	}
	return c.histogram()
}

// lengthCounts has the summands of a packed histogram of code lengths. The histogram has a field of 9
// bits for each length: 1 to 7 in the first number, 8 to 11 in the second. A length outside of 1 to 11
// adds to the bits above all fields.
var lengthCounts = func() (t [256][2]uint64) {
	for l := range t {
		switch {
		case l >= 1 && l <= 7:
			t[l][0] = 1 << (9 * (l - 1))
		case l >= 8 && l <= maxCode:
			t[l][1] = 1 << (9 * (l - 8))
		default:
			t[l][1] = 1 << 36
		}
	}
	return t
}()

// histogram counts the words of each length. It reports whether the code is complete.
func (c *huffCode) histogram() bool {
	var a, b uint64
	for _, l := range c.lens[:c.n] {
		t := &lengthCounts[l]
		a, b = a+t[0], b+t[1]
	}
	sum := 0
	for l := 1; l <= maxCode; l++ {
		if l == 8 {
			a = b
		}
		k := int(a & (1<<9 - 1))
		a >>= 9
		c.count[l] = k
		sum += k << (maxCode - l)
	}
	return a == 0 && sum == tableSize
}

// huffTable is the decoding table of a stream.
type huffTable kernels.Table

// reversed has the bits of its indices in reverse order.
var reversed = func() (t [tableSize]uint16) {
	for i := range t {
		t[i] = bits.Reverse16(uint16(i)) >> (16 - maxCode)
	}
	return t
}()

// fill builds the decoding table of a complete code. The words of one length
// fill the start of the table, which is doubled for each further bit.
func (t *huffTable) fill(c *huffCode) {
	var first, last [16]int // places in order of the next words, from both ends
	for l := 1; l <= maxCode; l++ {
		last[l] = first[l] + c.count[l]
		first[l+1] = last[l]
	}
	// Symbols are placed alternately from both ends, so that the CPU can overlap two chains of
	// dependent updates.
	var order [256]uint8 // by length and symbol
	for i, j := 0, c.n-1; i <= j; i, j = i+1, j-1 {
		l, m := c.lens[i]&15, c.lens[j]&15
		order[first[l]&255] = c.syms[i&255]
		first[l]++
		last[m]--
		order[last[m]&255] = c.syms[j&255]
	}
	k, code, size := 0, uint32(0), 1 // code is followed by zeros up to the longest word
	for l := 1; l <= maxCode; l++ {
		copy(t[size:2*size], t[:size])
		size *= 2
		for _, s := range order[k : k+c.count[l]] {
			t[reversed[code%tableSize]] = uint16(s)<<8 | uint16(l)
			code += tableSize >> l
		}
		k += c.count[l]
	}
}

// decode8 decodes eight adjacent chunks of full length side by side, if there is assembly for
// that. start has the bytes of body at which they start and where the last one ends. end is set to
// the bits of body at which their code words end.
func decode8(dst, body []byte, start, end []int, t *huffTable) bool {
	var p [8]uint64
	for i := range p {
		p[i] = uint64(8 * start[i])
	}
	if !kernels.Decode8((*[8 * ChunkSyms]byte)(dst), body, &p, (*kernels.Table)(t)) {
		return false
	}
	for i := range p {
		end[i] = int(p[i])
	}
	return true
}

// longest is the most bytes that the code words of a chunk can take.
const longest = ChunkSyms * maxCode / 8

// job is a chunk, or its first symbols.
type job struct {
	dst   []byte
	start int // in src
	from  int // the byte of src from which end counts
	end   *int
	table *huffTable
}

// done sets end to the bit at which the code words end.
func (j *job) done(p uint64) { *j.end = int(p) - 8*j.from }

// huffReader decodes chunks side by side. It has buffers.
type huffReader struct {
	jobs   []job
	spare  [4 * ChunkSyms]byte
	padded [4 * (longest + 8)]byte
}

// run decodes all jobs. Their code words are in src, which may end in them.
func (h *huffReader) run(src []byte) {
	for at := 0; at < len(h.jobs); at += 4 {
		h.four(src, h.jobs[at:min(at+4, len(h.jobs))])
	}
	h.jobs = h.jobs[:0]
}

// four runs up to four jobs.
func (h *huffReader) four(src []byte, jobs []job) {
	if len(jobs) == 1 && jobs[0].start+longest+8 <= len(src) {
		j := &jobs[0]
		j.done(kernels.Decode1(j.dst, src, uint64(8*j.start), (*kernels.Table)(j.table)))
		return
	}
	near := false
	for i := range jobs {
		near = near || jobs[i].start+longest+8 > len(src)
	}
	var start, p [4]uint64 // in bits
	var tables [4]*kernels.Table
	var finished [4]bool
	for i := range p {
		j := &jobs[min(i, len(jobs)-1)]
		p[i], tables[i] = uint64(8*j.start), (*kernels.Table)(j.table)
		if near { // the end of the block: read zeros after it
			part := h.padded[i*(longest+8) : (i+1)*(longest+8)]
			clear(part[copy(part[:longest], src[j.start:]):])
			p[i] = uint64(8 * i * (longest + 8))
		}
		start[i] = p[i]
	}
	body := src
	if near {
		body = h.padded[:]
	}
	for at, left := 0, len(jobs); left > 0; {
		// Up to the end of the next job. Finished jobs continue, and their output is discarded.
		next := ChunkSyms
		for i, j := range jobs {
			if !finished[i] {
				next = min(next, len(j.dst))
			}
		}
		if n := (next - at) / 5 * 5; n > 0 {
			kernels.Decode4(h.spare[at:], n, body, &p, &tables)
			at += n
		}
		for i := range jobs {
			if j := &jobs[i]; !finished[i] && len(j.dst) == next {
				k := copy(j.dst[:at], h.spare[i*ChunkSyms:])
				j.done(uint64(8*j.start) - start[i] + kernels.Decode1(j.dst[k:], body, p[i], tables[i]))
				finished[i] = true
				left--
			}
		}
	}
}
