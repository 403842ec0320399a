package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestRow compares the decoding of rows with one written from docs/LORENZ.md, section 17.
func TestRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		const most = 40
		n := 1 + rng.IntN(most)
		tables := 1 + rng.IntN(16)
		bounds := make([]int, tables-1)
		for i := range bounds {
			bounds[i] = 1 + rng.IntN(2047)
		}
		slices.Sort(bounds)
		slots := make([]uint32, tables*2048)
		for k := range tables {
			for at, class := uint32(0), uint32(0); at < 2048; class++ {
				size := min(1+rng.Uint32N(400), 2048-at)
				if class == 127 {
					size = 2048 - at
				}
				entry := (size - 1) << 11
				if class > 0 {
					entry |= (class + 254) << 22
				}
				for i := range size {
					slots[uint32(k)*2048+at+i] = entry | i
				}
				at += size
			}
		}
		mags := make([]float32, 4*16*(most+4))
		marks := make([]uint16, len(mags))
		for i := range mags {
			class := rng.Uint32N(128)
			if class > 0 {
				mags[i] = math.Float32frombits((class + 254) << 22)
			}
			marks[i] = uint16(rng.Uint32N(3)<<SignShift | class)
		}
		words := make([]byte, 2*(rng.IntN(16*n+33)))
		for i := range words {
			words[i] = byte(rng.Uint32())
		}
		s := Row{Slots: &slots[0], Left: len(words), N: n, Count: len(bounds)}
		for i := range s.Bounds {
			for q := range s.Bounds[i] {
				s.Bounds[i][q] = math.MaxInt16
				if i < len(bounds) {
					s.Bounds[i][q] = Bound(bounds[i])
				}
			}
		}
		for i := range s.Signs[:27] {
			for k := range 3 {
				s.Signs[i] |= (1+rng.Uint32N(31))<<(5*k) | (1+rng.Uint32N(31))<<(5*k+16)
			}
		}
		if len(words) > 0 {
			s.Words = &words[0]
		}
		row := func(i int) int { return i*16*(most+4) + 32 }
		s.North, s.Below = &marks[row(1)], &marks[row(2)]
		sums := make([]float32, 16*(n+1))
		for i := range sums {
			sums[i] = float32(rng.IntN(1<<20)) * float32(uint(1)<<rng.IntN(50))
		}
		s.Sums = &sums[0]
		w, ww := float32(rng.IntN(256)), float32(rng.IntN(256))
		for i := range s.W {
			s.W[i], s.WW[i] = w, ww
		}
		for q := range 16 {
			s.States[q], s.West[q] = rng.Uint32()|1<<16, 5*rng.Uint32N(3)
			s.M1[q], s.M2[q] = mags[q], mags[16+q]
		}
		steps := n
		active := make([]uint16, 16*(n+1))
		for i := range active {
			active[i] = 0xffff
		}
		switch rng.IntN(3) {
		case 0:
			for i := range active {
				active[i] = -uint16(rng.IntN(2))
			}
			s.Active = &active[0]
		case 1:
			if steps++; steps > most {
				steps--
				s.N--
				if s.N == 0 {
					continue
				}
			}
			for q := range 1 + rng.IntN(15) {
				active[16*(steps-1)+q] = 0
			}
			s.Tail = &active[16*(steps-1)]
		}
		s.Mags, s.Marks = &mags[row(0)], &marks[row(0)]
		want := s
		wantMags, wantMarks := slice(s.Mags, 16*steps), slice(s.Marks, 16*steps)
		gotMags, gotMarks := make([]float32, 16*steps), make([]uint16, 16*steps)
		s.Mags, s.Marks = &gotMags[0], &gotMarks[0]
		done := s.Steps()
		if !haveFast {
			require.Zero(t, done)
			return
		}
		require.True(t, done == steps || s.Left < 32, "%d of %d steps", done, steps)
		slowSteps(&want, bounds, done, active, sums, wantMags, wantMarks)
		require.Equal(t, want.Left, s.Left)
		require.Equal(t, want.States, s.States)
		require.Equal(t, want.M1, s.M1)
		require.Equal(t, want.M2, s.M2)
		require.Equal(t, want.West, s.West)
		require.Equal(t, wantMags[:16*done], gotMags[:16*done])
		require.Equal(t, wantMarks[:16*done], gotMarks[:16*done])
	}
}

// slice returns n elements from one on.
func slice[T any](first *T, n int) []T { return unsafe.Slice(first, n) }

// slowSteps decodes steps.
func slowSteps(s *Row, bounds []int, steps int, active []uint16, sums, mags []float32, marks []uint16) {
	words := unsafe.Slice(s.Words, s.Left)
	slots := slice(s.Slots, 16*2048)
	north, below := slice(s.North, 16*steps), slice(s.Below, 16*steps)
	west := slice((*uint16)(unsafe.Add(unsafe.Pointer(s.North), -32)), 16*steps+16)
	for i := range 16 * steps {
		q := i % 16
		if active[i] == 0 {
			mags[i], marks[i] = s.M1[q], 1<<SignShift
			s.M2[q], s.West[q] = s.M1[q], 5
			continue
		}
		v := sums[i] + s.WW[0]*s.M2[q]
		v++
		v += s.W[0] * s.M1[q]
		x := s.States[q]
		context := 0
		for context < len(bounds) && bounds[context] <= int(math.Float32bits(v)>>19)-2032 {
			context++
		}
		e := slots[context*2048+int(x%2048)]
		class := e>>22 - min(e>>22, 254)
		x = (e>>11&2047+1)*(x>>11) + e&2047
		sign := uint32(1)
		if class > 0 {
			p := s.Signs[9*(north[i]>>SignShift)+3*(below[i]>>SignShift)+west[i]>>SignShift] >> s.West[q]
			if class > 1 {
				p >>= 16
			}
			p &= 31
			if z := x % 32; z < p {
				x = p*(x>>5) + z
				sign = 0
			} else {
				x = (32-p)*(x>>5) + z - p
				sign = 2
			}
		}
		s.M2[q], s.M1[q] = s.M1[q], math.Float32frombits(e&(511<<22))
		if x < 1<<16 {
			x = x<<16 | uint32(words[0]) | uint32(words[1])<<8
			words = words[2:]
		}
		s.States[q], s.West[q] = x, 5*sign
		mags[i], marks[i] = s.M1[q], uint16(sign<<SignShift|class)
	}
	s.Left = len(words)
}

// TestNeighbours compares sums, ramps, edges and active elements with simple loops.
func TestNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		seg, longer := 2+rng.IntN(30), rng.IntN(16)
		steps := seg + min(longer, 1)
		stride := 16 * (steps + 4)
		mags, marks := make([]float32, stride), make([]uint16, stride)
		for i := range mags {
			mags[i], marks[i] = float32(rng.IntN(1<<20)), uint16(rng.Uint32())
		}
		size := func(q int) int {
			if q < longer {
				return seg + 1
			}
			return seg
		}
		value := func(q, j int) (float32, uint16) {
			switch {
			case q == 0 && j < 0:
				j = 0
			case j < 0:
				q--
				j += size(q)
			case q == 15 && j >= size(q):
				j = size(q) - 1
			case j >= size(q):
				j -= size(q)
				q++
			}
			return mags[32+16*j+q], marks[32+16*j+q]
		}
		copied, copiedMarks := slices.Clone(mags), slices.Clone(marks)
		Edges(copied, copiedMarks, 32, seg, longer)
		for q := range 16 {
			for j := -2; j < size(q)+2; j++ {
				m, mark := value(q, j)
				require.Equal(t, m, copied[32+16*j+q], "stripe %d, element %d of %d", q, j, size(q))
				require.Equal(t, mark, copiedMarks[32+16*j+q])
			}
		}
		n := rng.IntN(stride - 24)
		from := make([][]float32, rng.IntN(MostTaps+1))
		factors := make([]float32, len(from))
		want := make([]float32, n)
		for i := range from {
			from[i], factors[i] = mags[rng.IntN(16):], float32(rng.IntN(256))
			for k := range want {
				want[k] += factors[i] * from[i][k]
			}
		}
		got := make([]float32, n, n+8)
		Neighbours(got, from, factors)
		require.Equal(t, want, got)
		ramp := make([]uint32, n+8)
		Ramp(ramp, 77, n)
		for i, v := range ramp[:n] {
			require.EqualValues(t, 77+i, v)
		}
		masked := make([]uint64, 16*(seg+1)/64+3)
		for i := range masked {
			masked[i] = rng.Uint64()
		}
		var starts [16]int
		for q := range starts {
			starts[q] = 40 + q*(seg+1)
		}
		active := make([]uint16, 16*seg)
		if Active(active, masked, &starts, seg) {
			for i, a := range active {
				bit := starts[i%16] + i/16
				require.EqualValues(t, uint16(masked[bit>>6]>>(bit&63)&1)-1, a)
			}
		} else {
			require.False(t, haveFast && seg >= 8)
		}
	}
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
		most, t0 := rng.IntN(63), uint(rng.IntN(20))
		marks := make([]uint16, n)
		for i := range marks {
			class := rng.Uint32N(uint32(2*most + 4))
			marks[i] = uint16(class)
			if class > 0 {
				marks[i] |= uint16(rng.Uint32N(2) * 2 << SignShift)
			} else {
				marks[i] |= 1 << SignShift
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
			if want[i] = x; m>>SignShift == 0 {
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
