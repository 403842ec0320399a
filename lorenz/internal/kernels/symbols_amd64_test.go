//go:build !purego

package kernels

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// lowOf returns the absolute value of a residual, and how many low bits it has.
func lowOf(v uint32) (x uint32, n int) {
	x = uint32(max(int64(int32(v)), -int64(int32(v))))
	return x, max(bits.Len32(x)-2, 0)
}

// TestSymbols compares what makes symbols of residuals with definitions, or with Go.
func TestSymbols(t *testing.T) {
	if !haveFast {
		t.Skip("this CPU has no AVX2 or BMI2")
	}
	rng := rand.New(rand.NewPCG(1, 8))
	for range 300 {
		steps := 1 + rng.IntN(40)
		var starts [16]int
		for q := range starts {
			starts[q] = q * (steps + rng.IntN(2))
		}
		slices.Sort(starts[:])
		line := numbers(rng, starts[15]+steps+16)
		mags, marks := make([]float32, 16*(steps+8)), make([]uint16, 16*(steps+8))
		require.True(t, Classes(mags, marks, line, &starts, steps))
		for q, from := range starts {
			for j := range steps {
				v := line[from+j]
				x, low := lowOf(v)
				class := x
				if x > 1 {
					class = uint32(2*(low+1)) | x>>low&1
				}
				sign := uint16(1)
				if v != 0 {
					sign = uint16(2 - v>>31*2)
				}
				require.Equal(t, sign<<SignShift|uint16(class), marks[16*j+q], "%x", v)
				mag := float32(0)
				if class > 0 {
					mag = math.Float32frombits((class + 254) << 22)
				}
				require.Equal(t, mag, mags[16*j+q], "%x", v)
			}
		}
		n := 16 * steps
		active := make([]uint16, n)
		for i := range active {
			active[i] = -uint16(rng.IntN(2))
		}
		before := mags[rng.IntN(n):][:16]
		both(t, func() any {
			mags, marks := slices.Clone(mags), slices.Clone(marks)
			Cover(mags, marks, active, slices.Clone(before))
			return []any{mags, marks}
		})
		sums := make([]float32, n)
		for i := range sums {
			sums[i] = float32(rng.IntN(1<<20)) * float32(uint(1)<<rng.IntN(30))
		}
		w, ww := float32(rng.IntN(256)), float32(rng.IntN(256))
		both(t, func() any {
			dst := make([]uint16, n)
			Expectations(dst, sums, mags, before, w, ww)
			return dst
		})
		var factors [4][16]uint16
		for i, f := range []uint16{243, 81, 27, 9} {
			for q := range factors[i] {
				factors[i][q] = f
			}
		}
		north, below := make([]uint16, n+16), make([]uint16, n)
		for i := range north {
			north[i], below[i%n] = uint16(rng.IntN(3)<<SignShift|rng.IntN(128)), uint16(rng.IntN(3)<<SignShift|rng.IntN(128))
		}
		both(t, func() any {
			dst := make([]uint16, n)
			Sides(dst, marks, north, below, &factors)
			return dst
		})
		a, b := make([]int16, rng.IntN(200)), make([]int16, 200)
		for i := range b {
			b[i] = int16(rng.IntN(128))
			if i < len(a) {
				a[i] = int16(rng.IntN(128))
			}
		}
		both(t, func() any { return Dot(a, b) })

		bounds, count := [15][16]int16{}, rng.IntN(16)
		var limits []int
		for range count {
			limits = append(limits, rng.IntN(2048))
		}
		slices.Sort(limits)
		for k := range bounds {
			for q := range bounds[k] {
				bounds[k][q] = math.MaxInt16
				if k < count {
					bounds[k][q] = int16(limits[k])
				}
			}
		}
		y, want := make([]uint16, n), make([]uint16, n)
		for i := range y {
			y[i] = uint16(rng.IntN(2048))
			marks[i] |= uint16(rng.IntN(2) * Hidden)
			context, _ := slices.BinarySearch(limits, int(y[i])) // those that are below
			if want[i] = uint16(context)<<7 | marks[i]&127; marks[i]&Hidden != 0 {
				want[i] = Certain
			}
		}
		require.True(t, Symbols(y, marks, &bounds, count))
		require.Equal(t, want, y)
	}
}

// TestPutLow compares the writing of low bits with single bits.
func TestPutLow(t *testing.T) {
	if !haveFast {
		t.Skip("this CPU has no AVX2 or BMI2")
	}
	rng := rand.New(rand.NewPCG(2, 8))
	for range 500 {
		r := numbers(rng, rng.IntN(100))
		for i, most := 0, rng.IntN(33); i < len(r); i++ {
			r[i] = uint32(int32(r[i]) >> most)
		}
		t0, n := uint(rng.IntN(3)*rng.IntN(12)), uint(rng.IntN(8))
		acc := rng.Uint64() & (1<<n - 1)
		dst, done, rest, left := PutLow(make([]byte, 3, 4*len(r)+11), r, t0, acc, n)
		require.Equal(t, len(r)&^7, done)
		pos, sum := 0, 0
		bit := func() (b uint64) {
			if at := 3 + pos/8; at < len(dst) {
				b = uint64(dst[at]) >> (pos % 8) & 1
			} else {
				b = rest >> (pos - 8*(len(dst)-3)) & 1
			}
			pos++
			return b
		}
		for k := range n {
			require.Equal(t, acc>>k&1, bit())
		}
		for _, v := range r[:done] {
			x, low := lowOf(v)
			sum += low
			for k := int(t0); k < low; k++ {
				require.EqualValues(t, x>>k&1, bit(), "%x", v)
			}
		}
		require.Equal(t, pos, 8*(len(dst)-3)+int(left))
		require.Zero(t, rest>>left)
		counted, low := LowCount(r)
		require.Equal(t, []int{done, sum}, []int{counted, low})
	}
}

// TestEncode compares the encoding of steps with the definition, at all numbers of slots and for states at the limits.
func TestEncode(t *testing.T) {
	if !haveFast {
		t.Skip("this CPU has no AVX2 or BMI2")
	}
	rng := rand.New(rand.NewPCG(3, 8))
	for range 300 {
		classes, signs := make([]uint64, Certain+1), make([]uint64, 81*9)
		for i := range classes {
			slots := min(2048, 1+rng.Uint32N(1<<rng.IntN(12)))
			classes[i] = Code(slots, rng.Uint32N(2049-slots))
		}
		for i := range signs {
			slots := 1 + rng.Uint32N(32)
			signs[i] = Code(slots, rng.Uint32N(33-slots))
		}
		classes[Certain], signs[0] = Code(2048, 0), Code(32, 0)
		n := 16 * (1 + rng.IntN(20))
		symbols, sides := make([]uint16, n), make([]uint16, n)
		for i := range symbols {
			symbols[i], sides[i] = uint16(rng.IntN(len(classes))), uint16(rng.IntN(len(signs)))
			if rng.IntN(8) == 0 {
				symbols[i], sides[i] = Certain, 0
			}
		}
		var states, want [16]uint32
		for q := range states {
			states[q] = []uint32{1 << 16, math.MaxUint32, 1 << 31, rng.Uint32() | 1<<16}[rng.IntN(4)]
		}
		want = states
		words := make([]byte, 2*n+16)
		start, ok := Encode(&states, symbols, sides, classes, signs, words, len(words))
		require.True(t, ok)
		at := len(words)
		for i := n - 1; i >= 0; i-- {
			x, class, sign := want[i%16], classes[symbols[i]], signs[sides[i]]
			if uint64(x) >= (class>>48)*(sign>>48)<<16 {
				at -= 2
				require.Equal(t, []byte{byte(x), byte(x >> 8)}, words[at:at+2])
				x >>= 16
			}
			for _, c := range []struct {
				code uint64
				all  uint32
			}{{sign, 32}, {class, 2048}} {
				slots, first := uint32(c.code>>48), uint32(c.code>>32)&0xffff
				x = x/slots*c.all + first + x%slots
			}
			want[i%16] = x
		}
		require.Equal(t, at, start)
		require.Equal(t, want, states)
	}
}
