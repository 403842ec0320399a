package headers

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// reader is a range decoder. Past the end it reads zeros and sets over.
type reader struct {
	src  []byte
	at   int
	rng  uint32
	code uint32
	over bool
}

func (r *reader) fill() {
	r.rng <<= 8
	r.code <<= 8
	if r.at < len(r.src) {
		r.code |= uint32(r.src[r.at])
		r.at++
	} else {
		r.over = true
	}
}

func (r *reader) bit(p *prob) uint32 {
	if r.rng < topRange {
		r.fill()
	}
	bound := r.rng >> probBits * uint32(*p)
	if r.code < bound {
		r.rng = bound
		*p += (1<<probBits - *p) >> probMove
		return 0
	}
	r.rng -= bound
	r.code -= bound
	*p -= *p >> probMove
	return 1
}

// tree reads a number of some bits, the highest first. p[0] is not used. It is faster than calls of bit, and most bits are
// in trees.
func (r *reader) tree(p []prob, v, end uint32) uint32 {
	rng, code := r.rng, r.code
	for v < end {
		if rng < topRange {
			r.rng, r.code = rng, code
			r.fill()
			rng, code = r.rng, r.code
		}
		q := &p[v]
		c := uint32(*q)
		if bound := rng >> probBits * c; code < bound {
			rng = bound
			*q = prob(c + (1<<probBits-c)>>probMove)
			v <<= 1
		} else {
			rng -= bound
			code -= bound
			*q = prob(c - c>>probMove)
			v = v<<1 | 1
		}
	}
	r.rng, r.code = rng, code
	return v - end
}

// reverse reads a number of some bits, the lowest first.
func (r *reader) reverse(p []prob, n int) uint32 {
	v := r.tree(p, 1, 1<<n)
	return bits.Reverse32(v) >> (32 - n)
}

// direct reads bits without a model, the highest first.
func (r *reader) direct(n int) uint32 {
	v := uint32(0)
	for range n {
		if r.rng < topRange {
			r.fill()
		}
		r.rng >>= 1
		v <<= 1
		if r.code >= r.rng {
			r.code -= r.rng
			v |= 1
		}
	}
	return v
}

func (r *reader) len(l *lens) int {
	switch {
	case r.bit(&l.choice) == 0:
		return minMatch + int(r.tree(l.low[:], 1, lowLens))
	case r.bit(&l.choice2) == 0:
		return minMatch + lowLens + int(r.tree(l.mid[:], 1, lowLens))
	}
	return minMatch + 2*lowLens + int(r.tree(l.high[:], 1, highLens))
}

// dist reads the distance of a match, less 1.
func (r *reader) dist(m *model, n int) uint32 {
	slot := r.tree(m.slot[lenState(n)][:], 1, 1<<slotBits)
	if slot < startModel {
		return slot
	}
	more := int(slot>>1) - 1
	d := (2 | slot&1) << more
	if slot < fullSlots {
		return d + r.reverse(m.special[d-slot:], more)
	}
	d += r.direct(more-alignBits) << alignBits
	return d + r.reverse(m.align[:], alignBits)
}

// decode appends n bytes to dst.
func (m *model) decode(dst, src []byte, n int, dict string) ([]byte, error) {
	if len(src) < 5 || src[0] != 0 {
		return nil, wire.Damaged("header: expected an LZMA stream, found none")
	}
	r := &reader{src: src, at: 5, rng: 1<<32 - 1, code: uint32(src[1])<<24 | uint32(src[2])<<16 | uint32(src[3])<<8 | uint32(src[4])}
	begin := len(dst)
	end := begin + n
	state, reps := uint32(0), [4]uint32{} // distances less 1
	before := func(d uint32) byte {       // the byte d+1 before the end of dst
		if i := len(dst) - 1 - int(d); i >= begin {
			return dst[i]
		} else if i -= begin; i >= -len(dict) {
			return dict[len(dict)+i]
		}
		return 0 // at the start, without a dictionary
	}
	for len(dst) < end {
		if r.over {
			break
		}
		if r.bit(&m.match[state]) == 0 {
			p, v := m.literals(before(0)), uint32(1)
			if state >= literalStates {
				other := uint32(before(reps[0]))
				for v < 0x100 {
					b := other >> 7 & 1
					other <<= 1
					bit := r.bit(&p[(1+b)<<8+v])
					v = v<<1 | bit
					if b != bit {
						break
					}
				}
			}
			if v < 0x100 {
				v = r.tree(p[:], v, 0x100)
			}
			dst = append(dst, byte(v))
			state = afterLiteral(state)
			continue
		}
		k := 0
		if r.bit(&m.rep[state]) == 0 {
			k = r.len(&m.lens)
			reps = [4]uint32{r.dist(m, k), reps[0], reps[1], reps[2]}
			state = afterMatch(state)
		} else {
			short := false
			if r.bit(&m.rep0[state]) == 0 {
				short = r.bit(&m.rep0Long[state]) == 0
			} else if d := reps[1]; r.bit(&m.rep1[state]) == 0 {
				reps = [4]uint32{d, reps[0], reps[2], reps[3]}
			} else if d := reps[2]; r.bit(&m.rep2[state]) == 0 {
				reps = [4]uint32{d, reps[0], reps[1], reps[3]}
			} else {
				reps = [4]uint32{reps[3], reps[0], reps[1], reps[2]}
			}
			if short {
				k, state = 1, afterShort(state)
			} else {
				k, state = r.len(&m.repLens), afterRep(state)
			}
		}
		have := len(dst) - begin
		switch {
		case int64(reps[0]) >= int64(have)+int64(len(dict)):
			return nil, wire.Damaged("header: expected a distance of at most %d, found %d", have+len(dict), int64(reps[0])+1)
		case k > end-len(dst):
			return nil, wire.Damaged("header: expected a match of at most %d bytes, found %d", end-len(dst), k)
		}
		d := int(reps[0]) + 1
		if d > have {
			from := len(dict) - (d - have)
			j := min(k, len(dict)-from)
			dst = append(dst, dict[from:from+j]...)
			k -= j
		}
		for k > 0 {
			from := len(dst) - d
			j := min(k, d)
			dst = append(dst, dst[from:from+j]...)
			k -= j
		}
	}
	if r.rng < topRange {
		r.fill()
	}
	if r.over || r.at != len(src) || r.code != 0 || len(dst) != end {
		return nil, wire.Damaged("header: the LZMA stream does not end with its %d bytes", len(src))
	}
	return dst, nil
}
