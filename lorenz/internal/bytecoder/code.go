package bytecoder

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// literalTime is about how many nanoseconds a literal takes.
const literalTime = 150

// Decode fills dst. It reports false if src is damaged, and after a stop.
func (m *Model) Decode(dst, src []byte, size, row int, stop *entropy.Stop) bool {
	m.reset(len(dst), size, row)
	c := arith.NewDecoder(src)
	last := m.recents()
	for at := 0; at < len(dst); {
		if c.Exhausted() || stop.After(literalTime) {
			return false
		}
		if m.repeat(&c, at, 0) == 0 {
			m.contexts(dst, at, last[0])
			dst[at] = m.literal(&c, at, 0)
			m.history = 0
			at++
			continue
		}
		n, dist, recent := m.token(&c, 0, 0, 0)
		if recent > 0 {
			dist = last[recent-1]
			last.use(recent-1, dist)
		} else {
			last.use(nRecent-1, dist)
		}
		if dist > at || n > len(dst)-at {
			return false
		}
		for end := at + n; at < end; {
			k := min(end-at, copied)
			for range k {
				dst[at] = dst[at-dist]
				at++
			}
			if stop.After(k) {
				return false
			}
		}
	}
	return c.Ended()
}

// copied is how many bytes are copied before a look whether to stop.
const copied = 1 << 20

// Encode appends src in modeBytes without the mode. depth bounds the search for
// repeats. It gives up when the result reaches limit bytes, or when more than one of
// share bytes is a literal, after the first 2048, since literals decode slowly. With
// share 0 any number may be literals.
func (m *Model) Encode(dst, src []byte, size, row, depth, limit, share int) ([]byte, bool) {
	m.reset(len(src), size, row)
	f := newFinder(src, size, depth)
	f.last = m.recents()
	start := len(dst)
	c := arith.NewEncoder(dst)
	literals := 0
	for at := 0; at < len(src); {
		if len(c.Buf)-start > limit || share > 0 && literals > 2048+at/share {
			return c.Buf[:start], false
		}
		t := f.next(at)
		if t.length == 0 {
			m.repeat(&c, at, 0)
			m.contexts(src, at, f.last[0])
			m.literal(&c, at, src[at])
			m.history = 0
			literals++
			at++
			continue
		}
		m.repeat(&c, at, 1)
		m.token(&c, t.length, t.dist, t.recent)
		if t.recent > 0 {
			f.last.use(t.recent-1, t.dist)
		} else {
			f.last.use(nRecent-1, t.dist)
		}
		at += t.length
	}
	return c.Finish(), true
}

// byteToken is a repeat, or with length 0 a literal.
type byteToken struct{ length, dist, recent int }

// finder finds repeats by hash chains.
type finder struct {
	src     []byte
	depth   int
	head    []int32
	prev    []int32
	known   int // positions in the chains
	last    recents
	literal int64 // estimated cost of a literal, as all costs in 1/1024 bits
	ahead   byteToken
	aheadAt int
	gain    int64 // of ahead
}

const finderBits = 16

func newFinder(src []byte, size, depth int) *finder {
	f := &finder{src: src, depth: depth, head: make([]int32, 1<<finderBits), prev: make([]int32, len(src)), aheadAt: -1}
	for i := range f.head {
		f.head[i] = -1
	}
	sum := int64(0)
	for k := range size {
		var freq [256]int
		n := 0
		for i := k; i < len(src); i += size {
			freq[src[i]]++
			n++
		}
		for _, c := range freq {
			if c > 0 {
				sum += int64(c) * (log2(n) - log2(c))
			}
		}
	}
	// At least a quarter of a bit, so that long repeats are always used.
	f.literal = max(sum/int64(max(len(src), 1))*2/5, 256)
	return f
}

// log2 returns the binary logarithm of v ≥ 1 in 1/1024, by interpolation. It uses
// integers so that every CPU makes the same choices.
func log2(v int) int64 {
	n := bits.Len(uint(v)) - 1
	return int64(n)<<10 + int64(uint64(v)<<10>>n) - 1<<10
}

func (f *finder) hash(at int) uint32 {
	s := f.src[at : at+4]
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) * 0x9E3779B1 >> (32 - finderBits)
}

// enter adds the positions before at to the chains.
func (f *finder) enter(at int) {
	for ; f.known < at && f.known+4 <= len(f.src); f.known++ {
		h := f.hash(f.known)
		f.prev[f.known] = f.head[h]
		f.head[h] = int32(f.known)
	}
}

// next returns the token at a position.
func (f *finder) next(at int) byteToken {
	t, gain := f.ahead, f.gain
	if f.aheadAt != at {
		t, gain = f.best(at)
	}
	f.aheadAt = -1
	if t.length == 0 || at+1 >= len(f.src) || t.length > 64 {
		return t
	}
	f.ahead, f.gain = f.best(at + 1)
	if f.gain > gain+f.literal {
		f.aheadAt = at + 1
		return byteToken{}
	}
	return t
}

// best returns the repeat that saves most at a position.
func (f *finder) best(at int) (t byteToken, gain int64) {
	f.enter(at)
	for i, d := range f.last {
		if n := f.match(at, d); n > 0 {
			if g := int64(n)*f.literal - int64(3+i)<<10 - log2(n); g > gain {
				t, gain = byteToken{n, d, i + 1}, g
			}
		}
	}
	if at+4 > len(f.src) {
		return t, gain
	}
	longest := 0
	p := f.head[f.hash(at)]
	for i := 0; i < f.depth && p >= 0; i++ {
		d := at - int(p)
		p = f.prev[p]
		if longest > 0 && at+longest < len(f.src) && f.src[at+longest] != f.src[at+longest-d] {
			continue
		}
		n := f.match(at, d)
		if n <= longest || n < minRepeat {
			continue
		}
		longest = n
		if g := int64(n)*f.literal - 8<<10 - log2(d) - log2(n); g > gain {
			t, gain = byteToken{n, d, 0}, g
		}
	}
	return t, gain
}

// match returns the length of the repeat from distance d.
func (f *finder) match(at, d int) int {
	if d > at {
		return 0
	}
	s := f.src[at:]
	from := f.src[at-d:]
	n := 0
	for n < len(s) && s[n] == from[n] {
		n++
	}
	return n
}
