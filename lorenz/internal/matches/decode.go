package matches

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Decoder decodes blocks. It keeps buffers between calls.
type Decoder struct {
	model model
	whole []byte // the dictionary and the block
}

// Memory returns how many bytes a decoder allocates at most for blocks of n bytes.
func Memory(n int64) int64 {
	switch {
	case n > MaxLen:
		return 0
	case n > smallLen:
		return n + int64(len(dictionary)) + 12<<largeHash + fixed
	}
	return n + int64(len(dictionary)) + 12<<smallHash + fixed
}

// fixed is for the other probabilities, and for those of contexts while these are few.
const fixed = 128 << 10

// work is how long a byte takes, in nanoseconds.
const work = 100

// Decode fills dst with elements of size bytes from the bytes of a block. It reports whether they are valid. It also
// reports false after a stop.
func (d *Decoder) Decode(dst, src []byte, size int, stop *entropy.Stop) bool {
	r := &entropy.Reader{Buf: src}
	options := r.Byte()
	var before, table []byte
	if options&hasDictionary != 0 {
		before = dictionary
	}
	n := len(dst)
	if options&hasTable != 0 {
		table = r.Bytes(r.Int(MaxTable) * size)
		n /= size
	}
	if r.Bad || options > allOptions || n > MaxLen {
		return false
	}
	b, base := dst, len(before)
	if options&(hasDictionary|hasTable) != 0 {
		d.whole = append(entropy.Grow(d.whole, base+n)[:0], before...)
		b = d.whole[:base+n]
	}
	if !d.steps(b, base, int(options&unitBits)+1, r.Buf, stop) {
		return false
	}
	if options&hasTable != 0 {
		return expand(dst, b[base:], table, size)
	}
	if base > 0 {
		copy(dst, b[base:])
	}
	return true
}

// expand replaces indices by the values of a table.
func expand(dst, indices, table []byte, size int) bool {
	for i, k := range indices {
		at := int(k) * size
		if at >= len(table) {
			return false
		}
		copy(dst[i*size:(i+1)*size], table[at:])
	}
	return true
}

// steps decodes the bytes of b from base on.
func (d *Decoder) steps(b []byte, base, unit int, src []byte, stop *entropy.Stop) bool {
	m := &d.model
	m.reset(unit, len(b)-base)
	c := arith.NewDecoder(src)
	p := start(unit)
	for at := base; at < len(b); {
		s := m.next(&c, b, base, at, &p, step{})
		if s.kind != literal {
			dist, n := int(p.after(s).last[0]), int(s.n)
			if dist > at || n > len(b)-at {
				return false
			}
			repeat(b, at, dist, n)
		}
		if c.Exhausted() || stop.After(work) {
			return false
		}
		p = p.after(s)
		at += int(s.n)
	}
	return c.Ended()
}

// repeat copies n bytes from dist before.
func repeat(b []byte, at, dist, n int) {
	to := b[at : at+n]
	for done := 0; done < n; { // the bytes that can be copied double each time
		done += copy(to[done:], b[at-dist:at+done])
	}
}
