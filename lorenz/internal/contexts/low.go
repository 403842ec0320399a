package contexts

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// residuals reads the low bits of a row and sets its residuals. zeros are the trailing zeros of all groups, or
// empty, at is the position of the first element, and most is the most low bits of a residual.
func residuals[T entropy.Lane](r []T, marks []uint16, zeros []uint8, at, most int, low *lowReader) {
	if len(zeros) == 0 {
		someResiduals(r, marks, 0, most, low)
		return
	}
	for len(r) > 0 {
		k := min(entropy.GroupLen-at%entropy.GroupLen, len(r))
		someResiduals(r[:k], marks, uint(zeros[at/entropy.GroupLen]), most, low)
		r, marks, at = r[k:], marks[k:], at+k
	}
}

// someResiduals is residuals for a part of a row with t trailing zeros.
func someResiduals[T entropy.Lane](r []T, marks []uint16, t uint, most int, low *lowReader) {
	for len(r) > 0 {
		done := 0
		switch r := any(r).(type) {
		case []uint32:
			done, low.pos = kernels.LowBits32(r, marks, low.buf, low.pos, int(t), most)
		case []uint64:
			done, low.pos = kernels.LowBits64(r, marks, low.buf, low.pos, int(t), most)
		}
		r, marks = r[done:], marks[done:]
		n := min(len(r), 8) // perhaps the others are for kernels again
		for i, mark := range marks[:n] {
			class := uint(mark & 0xff)
			x := T(class)
			if class >= 4 {
				b := class>>1 - 1
				x = T(2+class&1) << b
				if b > t {
					x += T(low.get(b-t)) << t
				}
			}
			neg := -T(1 - min(mark>>kernels.SignShift, 1))
			r[i] = (x ^ neg) - neg
		}
		r, marks = r[n:], marks[n:]
	}
}

// lowReader reads bits, zeros past the end.
type lowReader struct {
	buf []byte
	pos int
}

// get returns n bits, at most 62.
func (l *lowReader) get(n uint) uint64 {
	i, shift := l.pos>>3, uint(l.pos&7)
	l.pos += int(n)
	if i+9 <= len(l.buf) {
		v := binary.LittleEndian.Uint64(l.buf[i:]) >> shift
		if shift+n > 64 {
			v |= uint64(l.buf[i+8]) << (64 - shift)
		}
		return v & (1<<n - 1)
	}
	var part [16]byte
	if i < len(l.buf) {
		copy(part[:9], l.buf[i:])
	}
	v := binary.LittleEndian.Uint64(part[:])>>shift | uint64(part[8])<<(64-shift)
	return v & (1<<n - 1)
}

func (l *lowReader) ended() bool { return (l.pos+7)/8 == len(l.buf) }

// lowBits chooses whether groups have trailing zeros, and returns how many low bits there are, and zeros.
func (e *Encoder[T]) lowBits() int {
	plain := 0
	rest := e.r
	if r, ok := any(rest).([]uint32); ok {
		var done int
		done, plain = kernels.LowCount(r)
		rest = rest[done:]
	}
	for _, v := range rest {
		plain += int(lowOf(v))
	}
	e.zeros = e.zeros[:0]
	// Zeros at all places are as many as in a sample, unless they are few.
	const sampled = 256
	all := (len(e.r) + entropy.GroupLen - 1) / entropy.GroupLen
	for _, step := range []int{max(1, all/sampled), 1} {
		e.zeros = e.zeros[:0]
		count, sum := 0, 0
		e.eachGroup(step, func(from, to int) {
			or := T(0)
			for _, v := range e.r[from:to] {
				or |= v
			}
			t := uint8(0)
			if or != 0 {
				t = uint8(bits.TrailingZeros64(uint64(or)))
				count, sum = count+1, sum+int(t)
			} else if from > e.base && len(e.zeros) > 0 {
				t = e.zeros[len(e.zeros)-1]
			}
			e.zeros = append(e.zeros, t)
		})
		if 4*sum <= count {
			e.zeros = e.zeros[:0]
			return plain
		}
	}
	total, last, g := 0, 0, 0
	e.eachGroup(1, func(from, to int) {
		t := e.zeros[g]
		if from == e.base {
			last = 0
		}
		total += 2 + 2*max(int(t)-last, last-int(t))
		last = int(t)
		for _, v := range e.r[from:to] {
			total += max(int(lowOf(v))-int(t), 0)
		}
		g++
	})
	if total >= plain {
		e.zeros = e.zeros[:0]
		return plain
	}
	return total
}

// lowOf returns how many low bits a residual has.
func lowOf[T entropy.Lane](v T) uint {
	x := signed(v)
	return uint(max(bits.Len64(uint64(max(x, -x)))-2, 0))
}

// eachGroup visits the positions of every group of a step.
func (e *Encoder[T]) eachGroup(step int, visit func(from, to int)) {
	e.eachColumn(func() {
		n := e.base + e.shape.N()
		for at := e.base; at < n; at += step * entropy.GroupLen {
			visit(at, min(at+entropy.GroupLen, n))
		}
	})
}

// low writes the low bits of the column.
func (e *Encoder[T]) low(w *bitWriter, zeros []uint8) {
	r := e.r[e.base : e.base+e.shape.N()]
	if len(zeros) == 0 {
		putLow(w, r, 0)
		return
	}
	for i, t := range zeros {
		putLow(w, r[i*entropy.GroupLen:min((i+1)*entropy.GroupLen, len(r))], uint(t))
	}
}

// putLow writes low bits above t trailing zeros.
func putLow[T entropy.Lane](w *bitWriter, r []T, t uint) {
	w.reserve(len(r) * int(entropy.LaneBits[T]()) / 8)
	if narrow, ok := any(r).([]uint32); ok {
		var done int
		w.buf, done, w.acc, w.n = kernels.PutLow(w.buf, narrow, t, w.acc, w.n)
		r = r[done:]
	}
	for _, v := range r {
		b := lowOf(v)
		if b <= t {
			continue
		}
		x := signed(v)
		y := uint64(max(x, -x)) >> t & (1<<(b-t) - 1)
		if b -= t; b > 32 {
			w.quickly(y&(1<<32-1), 32)
			y, b = y>>32, b-32
		}
		w.quickly(y, b)
	}
}
