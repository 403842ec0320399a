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
		return n + int64(len(header)) + 12<<largeHash + fixed
	}
	return n + int64(len(header)) + 12<<smallHash + fixed
}

// fixed is for the other probabilities.
const fixed = 64 << 10

// work is how long a byte takes, in nanoseconds.
const work = 100

// Decode fills dst from the bytes of a block. It reports whether they are valid. It also reports false after a stop.
func (d *Decoder) Decode(dst, src []byte, stop *entropy.Stop) bool {
	if len(dst) > MaxLen || len(src) < 2 {
		return false
	}
	unit := int(src[1])
	before, ok := Dictionary(src[0]).bytes()
	if !ok || unit < 1 || unit > MaxUnit {
		return false
	}
	b, base := dst, len(before)
	if base > 0 {
		d.whole = append(entropy.Grow(d.whole, base+len(dst))[:0], before...)
		b = d.whole[:base+len(dst)]
	}
	m := &d.model
	m.reset(unit, len(dst))
	c := arith.NewDecoder(src[2:])
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
	if base > 0 {
		copy(dst, b[base:])
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
