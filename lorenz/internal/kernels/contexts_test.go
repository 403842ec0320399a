package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestRow compares the decoding of rows with one written from docs/LORENZ.md, section 17.
func TestRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		const most = 40
		n := 1 + rng.IntN(most)
		var lut [2048]uint32
		tables := uint32(1 + rng.IntN(16))
		slots := make([]uint32, tables*2048)
		for i := range lut {
			lut[i] = uint32(i) * tables / 2048 * 2048
		}
		for k := range tables {
			for at, class := uint32(0), uint32(0); at < 2048; class++ {
				size := min(1+rng.Uint32N(400), 2048-at)
				if class == 127 {
					size = 2048 - at
				}
				for i := range size {
					slots[k*2048+at+i] = size<<20 | i<<8 | class
				}
				at += size
			}
		}
		var signs [81 * 4]uint32
		for i := range signs {
			if signs[i] = 1 + rng.Uint32N(31); i%4 == 0 {
				signs[i] = 32
			}
		}
		mags := make([]float32, 4*16*(most+4))
		marks := make([]uint16, len(mags))
		for i := range mags {
			class := rng.Uint32N(128)
			if class > 0 {
				mags[i] = math.Float32frombits((class + 254) << 22)
			}
			marks[i] = uint16(rng.Uint32N(3)<<8 | class)
		}
		words := make([]byte, 2*(rng.IntN(16*n+17)))
		for i := range words {
			words[i] = byte(rng.Uint32())
		}
		s := Row{Lut: &lut, Slots: &slots[0], Signs: &signs, Left: len(words), N: n, Taps: rng.IntN(11)}
		if len(words) > 0 {
			s.Words = &words[0]
		}
		row := func(i int) int { return i*16*(most+4) + 32 }
		s.North, s.Below = &marks[row(1)], &marks[row(2)]
		for i := range s.Taps {
			s.From[i] = &mags[row(1+rng.IntN(3))+16*(rng.IntN(5)-2)]
		}
		for i := range s.Factors {
			s.Factors[i] = float32(rng.IntN(256))
		}
		for q := range 16 {
			s.States[q], s.West[q] = rng.Uint32()|1<<16, 27*rng.Uint32N(3)
			s.M1[q], s.M2[q] = mags[q], mags[16+q]
		}
		var active []uint16
		if rng.IntN(2) == 0 {
			active = make([]uint16, 16*n)
			for i := range active {
				active[i] = -uint16(rng.IntN(2))
			}
			s.Active = &active[0]
		}
		s.Mags, s.Marks = &mags[row(0)], &marks[row(0)]
		want := s
		wantMags, wantMarks := slice(s.Mags, 16*n), slice(s.Marks, 16*n)
		gotMags, gotMarks := make([]float32, 16*n), make([]uint16, 16*n)
		s.Mags, s.Marks = &gotMags[0], &gotMarks[0]
		done := s.Steps()
		if !haveFast {
			require.Zero(t, done)
			return
		}
		require.True(t, done == n || s.Left < 32, "%d of %d steps", done, n)
		used := len(words)
		slowSteps(&want, done, active, wantMags, wantMarks)
		used -= want.Left
		require.Equal(t, want.Left, s.Left)
		require.Equal(t, want.States, s.States)
		require.Equal(t, want.M1, s.M1)
		require.Equal(t, want.M2, s.M2)
		require.Equal(t, want.West, s.West)
		require.Equal(t, wantMags[:16*done], gotMags[:16*done])
		require.Equal(t, wantMarks[:16*done], gotMarks[:16*done])
		require.LessOrEqual(t, used, len(words))
	}
}

// slice returns n elements from one on.
func slice[T any](first *T, n int) []T { return unsafe.Slice(first, n) }

// slowSteps decodes steps.
func slowSteps(s *Row, steps int, active []uint16, mags []float32, marks []uint16) {
	words := unsafe.Slice(s.Words, s.Left)
	slots := slice(s.Slots, 16*2048)
	north, below := slice(s.North, 16*steps), slice(s.Below, 16*steps)
	west := slice((*uint16)(unsafe.Add(unsafe.Pointer(s.North), -32)), 16*steps+16)
	for i := range 16 * steps {
		q := i % 16
		if active != nil && active[i] == 0 {
			mags[i], marks[i] = s.M1[q], 1<<8
			s.M2[q], s.West[q] = s.M1[q], 27
			continue
		}
		v := float32(0)
		for k := range s.Taps {
			v += float32(s.Factors[2+k] * slice(s.From[k], 16*steps)[i])
		}
		v += float32(s.Factors[1] * s.M2[q])
		v++
		v += float32(s.Factors[0] * s.M1[q])
		x := s.States[q]
		e := slots[s.Lut[math.Float32bits(v)>>19-2032]+x%2048]
		class := e & 255
		x = e>>20*(x>>11) + e>>8&4095
		p := s.Signs[4*(s.West[q]+9*uint32(north[i]>>8)+3*uint32(below[i]>>8)+uint32(west[i]>>8))+min(class, 2)]
		sign := uint32(0)
		if z := x % 32; z < p {
			x = p*(x>>5) + z
		} else {
			x = (32-p)*(x>>5) + z - p
			sign = 2
		}
		s.M2[q], s.M1[q] = s.M1[q], 0
		if class == 0 {
			sign = 1
		} else {
			s.M1[q] = math.Float32frombits((class + 254) << 22)
		}
		if x < 1<<16 {
			x = x<<16 | uint32(words[0]) | uint32(words[1])<<8
			words = words[2:]
		}
		s.States[q], s.West[q] = x, 27*sign
		mags[i], marks[i] = s.M1[q], uint16(sign<<8|class)
	}
	s.Left = len(words)
}

// TestLowBits compares low bits, and the order of marks, with simple loops.
func TestLowBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 400 {
		n := 1 + rng.IntN(100)
		low := make([]byte, rng.IntN(400))
		for i := range low {
			low[i] = byte(rng.Uint32())
		}
		most, t0 := rng.IntN(58), uint(rng.IntN(20))
		marks := make([]uint16, n)
		for i := range marks {
			class := rng.Uint32N(uint32(2*most + 4))
			marks[i] = uint16(class)
			if class > 0 {
				marks[i] |= uint16(rng.Uint32N(2) * 2 << 8)
			} else {
				marks[i] |= 1 << 8
			}
		}
		pos := rng.IntN(30)
		at := pos
		want := make([]uint64, n)
		ends := make([]int, n+1)
		ends[0] = pos
		for i, m := range marks {
			class := uint64(m & 255)
			x := class
			if class >= 4 {
				b := uint(class)>>1 - 1
				x = (2 + class&1) << b
				for k := t0; k < b; k++ {
					if at>>3 < len(low) {
						x |= uint64(low[at>>3]>>(at&7)&1) << k
					}
					at++
				}
			}
			if want[i] = x; m < 256 {
				want[i] = -x
			}
			ends[i+1] = at
		}
		check := func(done, end int, mask uint64, got func(i int) uint64) {
			require.Equal(t, ends[done], end)
			require.LessOrEqual(t, end, max(8*len(low), pos))
			for i := range done {
				require.Equal(t, want[i]&mask, got(i), "%d of %d", i, n)
			}
		}
		if most <= 30 {
			dst := make([]uint32, n)
			done, end := LowBits32(dst, marks, low, pos, int(t0), max(most, 1))
			check(done, end, math.MaxUint32, func(i int) uint64 { return uint64(dst[i]) })
		}
		dst := make([]uint64, n)
		done, end := LowBits64(dst, marks, low, pos, int(t0), max(most, 1))
		check(done, end, math.MaxUint64, func(i int) uint64 { return dst[i] })
		// Stripes.
		seg := 8 + rng.IntN(30)
		all := make([]uint16, 16*seg)
		var starts [16]int
		for i := range all {
			all[i] = uint16(rng.Uint32())
		}
		for q := range starts {
			starts[q] = q * (seg + 1)
		}
		order := make([]uint16, 16*(seg+1))
		if Stripes(order, &starts, all, seg) {
			for q, start := range starts {
				for j := range seg {
					require.Equal(t, all[16*j+q], order[start+j])
				}
			}
		} else {
			require.False(t, haveFast)
		}
	}
}
