//go:build !purego

package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// both runs f with and without the assembly.
func both(t *testing.T, f func() any) {
	t.Helper()
	if !haveFast {
		t.Log("this CPU has no AVX2 or BMI2")
		return
	}
	fast := f()
	haveFast = false
	defer func() { haveFast = true }()
	require.Equal(t, f(), fast)
}

// numbers returns random integers of every magnitude, and the largest and smallest.
func numbers(rng *rand.Rand, n int) []uint32 {
	y := make([]uint32, n)
	for i := range y {
		y[i] = rng.Uint32() >> rng.UintN(32)
		switch rng.UintN(8) {
		case 0:
			y[i] = -y[i]
		case 1:
			y[i] = []uint32{0, 1, math.MaxInt32, 1 << 31, math.MaxUint32}[rng.UintN(5)]
		}
	}
	return y
}

// check compares the assembly of all kernels with their Go code on the same numbers.
func check(t *testing.T, y []uint32, stride int, d float64) {
	n := len(y)
	raw := make([]byte, 4*n)
	for i, v := range y {
		binary.LittleEndian.PutUint32(raw[4*i:], v)
	}
	other := append([]uint32(nil), y...)
	for i := range other {
		other[i] = other[i]*0x9E3779B1 + 1
	}
	puts := map[string]func([]byte, []uint32){
		"put":     Put,
		"ordered": PutOrdered,
		"divided": func(dst []byte, y []uint32) { PutQuotients(dst, y, d) },
		"product": func(dst []byte, y []uint32) { PutProducts(dst, y, d) },
	}
	for _, f := range puts {
		both(t, func() any { b := make([]byte, 4*n+5); f(b, y); return b })
	}
	both(t, func() any { x := make([]uint32, n); Load(x, raw); return x })
	both(t, func() any { x := make([]uint32, n); Order(x, y); return x })
	both(t, func() any { x := append([]uint32(nil), y...); PrefixSum(x); return x })
	both(t, func() any { x := append([]uint32(nil), y...); AddStride(x, stride); return x })
	both(t, func() any { x := append([]uint32(nil), y...); SumAdd(x, other, uint32(stride)); return x })
	if s := 7 + stride; s < n {
		want := append([]uint32(nil), y...)
		PrefixSum(want)
		AddStride(want, s)
		both(t, func() any {
			x := append([]uint32(nil), y...)
			PrefixSum(x[:s])
			SumAdd(x[s:], x[:n-s], x[s-1])
			require.Equal(t, want, x)
			return x
		})
	}
	both(t, func() any { x := make([]uint32, n); Subtract(x, y, other); return x })
	both(t, func() any { x := append([]uint32(nil), y...); Subtract(x, x, other); return x })
	both(t, func() any { x := make([]uint32, len(raw)/32); Tops(x, raw); return x })
	both(t, func() any { b := append([]byte(nil), raw...); return append(b, SumBytes(b)) })
	both(t, func() any { count, over := Tally(raw); return append(count[:], over) })
	both(t, func() any { b := make([]byte, n/32); Zeros(b, y); return b })
	for i := range min(n, 3) {
		both(t, func() any { x := make([]uint64, n/64); return append(x, uint64(Equal(x, y, y[i]))) })
	}
	both(t, func() any { b := make([]byte, len(raw)/2); Pack2(b, raw); return b })
	both(t, func() any { b := make([]byte, len(raw)/4); Pack4(b, raw); return b })
	small := make([]byte, len(raw))
	for i, v := range raw {
		small[i] = v >> (4 + i%3)
	}
	both(t, func() any { b := make([]byte, len(raw)/2); Pack2(b, small); return b })
	both(t, func() any { b := make([]byte, len(raw)/4); Pack4(b, small); return b })
	if n > 0 {
		places := append([]uint32(nil), y...)
		for i := range places {
			if i%3 > 0 {
				places[i] %= uint32(n)
			}
		}
		both(t, func() any { b := make([]byte, 4*n+5); Lookup(b, places, raw[:max(4, len(raw)/8*4)]); return b })
	}
	checkFloats(t, y, other)
	checkIntegers(t, y, d)
	masks := make([]uint64, n/2)
	for i := range masks {
		masks[i] = []uint64{uint64(y[2*i])<<32 | uint64(y[2*i+1]), 0, ^uint64(0)}[i%5%3]
	}
	for _, src := range [][]uint32{y, y[:n/2]} {
		both(t, func() any {
			e := make([]uint32, 64*len(masks))
			done, used := Expand(e, src, masks)
			return append(e[:64*done], uint32(done), uint32(used))
		})
	}
	both(t, func() any {
		b := make([]byte, 256*len(masks)+3)
		return append(b, byte(Stamp(b, masks, uint32(d))))
	})
	for i := 0; i+32 <= n; i += 32 {
		r := (*[32]uint32)(y[i:])
		for _, k := range []uint{0, 1, uint(i/32) % (MaxSplit + 1), MaxSplit} {
			both(t, func() any {
				var sym [32]byte
				low, or := Split(&sym, []byte("before"), r, k)
				for j, v := range r {
					if v>>k >= 256 {
						sym[j] = 0
					}
				}
				return append(append(low, byte(or), byte(or>>8), byte(or>>16), byte(or>>24)), sym[:]...)
			})
		}
		both(t, func() any { or, sum := Logs(r); return [2]uint32{or, sum} })
		var prices [256]uint32
		copy(prices[:], y)
		for k := range uint(32) {
			both(t, func() any { return Price(r, k, &prices) })
		}
		back := []int{min(stride, i), i, i / 2, min(1, i), i / 3}
		for plus := range back {
			both(t, func() any { var d [32]uint32; Deltas(&d, y, i, back, plus); return d })
		}
		if far := []int{leastBack, max(i/2, leastBack), max(i, leastBack), max(i-1, leastBack)}; i >= leastBack {
			for plus := range far {
				var b Back
				b.Set(far[:plus], far[plus:])
				both(t, func() any {
					x := append([]uint32(nil), y...)
					Predict(x[:n-plus], i, &b, y[0], y[n-1])
					return x
				})
				both(t, func() any {
					x := append([]uint32(nil), y...)
					Predict(x[:i+plus], i, &b, y[0], 0)
					return x
				})
			}
		}
		if i+34 <= n {
			both(t, func() any { return Marks((*[34]uint32)(y[i:])) })
		}
		for _, shift := range []uint{0, 1, uint(i/32) % 32} {
			both(t, func() any {
				var u [34]uint32
				u[32], u[33] = Classify((*[32]uint32)(u[:]), r, shift)
				return u
			})
		}
	}
}

// checkFloats is check for the kernels of float predictors. a are the bits of floats.
func checkFloats(t *testing.T, a, b []uint32) {
	n := len(a) / 2
	v, w := make([]float32, len(a)), make([]float32, len(a))
	for i := range a {
		v[i], w[i] = math.Float32frombits(a[i]), math.Float32frombits(b[i]>>1) // of similar size
	}
	// The bits of a NaN are not specified.
	floats := func(f func(dst []float32)) {
		both(t, func() any {
			dst, out := make([]float32, n), make([]uint32, n)
			f(dst)
			for i, x := range dst {
				if out[i] = math.Float32bits(x); x != x {
					out[i] = 1
				}
			}
			return out
		})
	}
	if n > 0 {
		floats(func(dst []float32) { Steps(dst, v) })
		floats(func(dst []float32) { Corners(dst, v, w, v[n-1:]) })
		floats(func(dst []float32) { Across(dst, v, w, v[n:]) })
	}
	both(t, func() any { r := make([]uint32, n); Deviations(r, b, v[:n]); return r })
	both(t, func() any { r := append([]uint32(nil), b[:n]...); Deviate(r, v); return r })
	for rows := 1; rows <= Rows && n > 0; rows++ {
		m := n / rows
		for _, follow := range []bool{true, false} {
			both(t, func() any {
				r := append([]uint32(nil), b[:n]...)
				var y [][]uint32
				var s [][]float32
				for i := range rows {
					k := m
					if i == rows-1 {
						k = m - m/5
					}
					y, s = append(y, r[i*m:i*m+k]), append(s, w[i*m:])
				}
				if follow {
					Follow(y, s)
				} else {
					Extend(y)
				}
				return r
			})
		}
	}
}

// checkIntegers compares Multiples and Numerators with their definitions, also for floats
// that have such integers.
func checkIntegers(t *testing.T, y []uint32, d float64) {
	n := len(y) - len(y)%8
	if !haveFast || n == 0 {
		return
	}
	quotients, products := append([]uint32(nil), y[:n]...), append([]uint32(nil), y[:n]...)
	for i := range n {
		if k := float64(int32(y[i]) >> 10); i%64 != 63 {
			quotients[i] = Ordered(math.Float32bits(float32(k / d)))
			products[i] = Ordered(math.Float32bits(float32(k / 4)))
		}
	}
	value := func(y uint32) float64 { return float64(math.Float32frombits(Unordered(y))) }
	run := func(y []uint32, step int, f func(k, y []uint32) int, want func(x float64) (float64, bool)) {
		k := make([]uint32, len(y))
		for at := 0; at+4 <= len(y); {
			done := f(k[at:], y[at:])
			for i, v := range y[at : at+done] {
				x, ok := want(value(v))
				require.True(t, ok && x == float64(int32(k[at+i])), "%v", value(v))
			}
			if at += done; at+step <= len(y) {
				all := true
				for _, v := range y[at : at+step] {
					_, ok := want(value(v))
					all = all && ok
				}
				require.False(t, all, "stops where all fit")
			}
			at++
		}
	}
	step := 8
	if d < 1 || float64(float32(d)) != d {
		step = len(y) + 1 // it may always stop
	}
	run(quotients, step, func(k, y []uint32) int { return Numerators(k, y, d) }, func(x float64) (float64, bool) {
		k := math.RoundToEven(x*d) + 0 // -0 becomes +0
		q := float64(float32(k / d))
		return k, math.Abs(k) < 1<<24 && math.Float64bits(q) == math.Float64bits(x)
	})
	run(products, 8, func(k, y []uint32) int { return Multiples(k, y, 4) }, func(x float64) (float64, bool) {
		k := x * 4
		return k, k == math.Trunc(k) && math.Abs(k) < 1<<31 && (k != 0 || !math.Signbit(x))
	})
}

// TestDeviate checks that Deviate undoes Deviations, whatever the predictions are.
func TestDeviate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	x, r, p := numbers(rng, 1000), make([]uint32, 1000), make([]float32, 1000)
	for i, v := range numbers(rng, 1000) {
		p[i] = math.Float32frombits(v)
	}
	Deviations(r, x, p)
	Deviate(r, p)
	require.Equal(t, x, r)
}

// TestTally compares Tally with its definition. Long runs of one byte fill the counters of the kernel.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for n := range 200 {
		b := make([]byte, n)
		if n > 150 {
			b = make([]byte, 100*n+n)
		}
		for i := range b {
			b[i] = [...]byte{byte(n), byte(rng.UintN(9)), byte(rng.Uint32())}[n%3]
		}
		var want [7]int
		sum := 0
		for _, c := range b {
			want[min(c, 6)]++
			sum += max(0, int(c)-5)
		}
		both(t, func() any {
			count, over := Tally(b)
			require.Equal(t, want, count)
			require.Equal(t, sum, over)
			return count
		})
	}
}

func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 70 {
		check(t, numbers(rng, n), 1+n%11, []float64{1, 3, 100, 1e-300, 0x1p-20, math.Inf(1)}[n%6])
	}
	check(t, numbers(rng, 5000), 360, 10)
	zeros := make([]uint32, 64)
	check(t, zeros, 8, 1)
}

func FuzzKernels(f *testing.F) {
	s := seeds.Of(f)
	s.Add("digits", []byte("01234567890123456789012345678901234567890123456789"), uint16(9), 100.0)
	s.Add("zeros", make([]byte, 256), uint16(1), 0.0)
	f.Fuzz(func(t *testing.T, b []byte, stride uint16, d float64) {
		if math.IsNaN(d) {
			return // the bits of a NaN that comes out are not specified
		}
		y := make([]uint32, len(b)/4)
		for i := range y {
			y[i] = binary.LittleEndian.Uint32(b[4*i:])
			if y[i] == 0 && (d == 0 || math.IsInf(d, 0)) {
				y[i] = 1
			}
		}
		check(t, y, 1+int(stride), d)
	})
}

// TestJoin compares Join with its definition, for groups of all classes in two streams.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for most := range 35 {
		const n = 20
		class, zeros, starts := make([]byte, n), make([]byte, n), make([]int, n+1)
		for i := range class {
			class[i], zeros[i] = byte(rng.IntN(most+1)), byte(rng.IntN(32))
			starts[i+1] = starts[i] + 4*max(0, int(class[i])-5)
		}
		if rng.IntN(2) == 0 {
			zeros = nil
		}
		low, syms := random(starts[n]+rng.IntN(17)), random(2*32*n)
		state := func() *Groups {
			at := &Groups{Streams: [7]Joined{3: {0, n}, 6: {32 * n, 0}}}
			for c := range 32 {
				at.SetStream(c, 3+3*(c&1))
			}
			return at
		}
		at := state()
		d, places := make([]uint32, 32*n), make([]uint64, 2*n)
		Join(d, class, zeros, low, syms, places, at)
		if at.Group < n {
			c := class[at.Group]
			require.True(t, !haveFast || c > maxJoin+5 || c > 5 && starts[at.Group+1]+16 > len(low), "class %d", c)
		}
		require.Equal(t, starts[at.Group], at.Low)
		want, wantPlaces := state(), make([]uint64, 2*n)
		wantD := make([]uint32, 32*n)
		want.Group, want.Low = at.Group, at.Low
		for i, c := range class[:at.Group] {
			if c == 0 {
				continue
			}
			s := &want.Streams[3+3*(c&1)]
			wantPlaces[s.Place] = uint64(starts[i])<<32 | uint64(i)
			s.Place++
			k := max(0, int(c)-5)
			for j := range 32 {
				var v uint32
				for b := range k {
					p := j*k + b
					v |= uint32(low[starts[i]+p/8]>>(p%8)&1) << b
				}
				u := uint32(syms[s.Sym+j])<<k | v
				v = u>>1 ^ -(u & 1)
				if zeros != nil {
					v <<= zeros[i]
				}
				wantD[32*i+j] = v
			}
			s.Sym += 32
		}
		require.Equal(t, wantD, d)
		require.Equal(t, wantPlaces, places)
		require.Equal(t, want, at)
		require.True(t, at.Group == n || at.Group == 0 || d[32*at.Group] == 0, "wrote after the last group")
	}
}

// TestDecode4 decodes random bits with random complete codes.
func TestDecode4(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		var tables [4]*Table
		for k := range tables {
			tables[k] = new(Table)
			length := 1 + rng.IntN(TableBits)
			for i := range tables[k] {
				tables[k][i] = uint16(i&(1<<length-1))<<8 | uint16(length)
			}
		}
		src := make([]byte, 2000)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		n := 5 * rng.IntN(Apart/5+1)
		var start [4]uint64
		for i := range start {
			start[i] = rng.Uint64N(8 * 580)
		}
		both(t, func() any {
			var d [4 * Apart]byte
			p := start
			Decode4(d[:], n, src, &p, &tables)
			for i := range p { // what follows in each row is free
				clear(d[i*Apart+n : (i+1)*Apart])
				require.Equal(t, Decode1(make([]byte, n), src, start[i], tables[i]), p[i])
			}
			return append(d[:], byte(p[0]), byte(p[1]), byte(p[2]), byte(p[3]))
		})
	}
}

// TestWords compares words written side by side and one by one.
func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for n := range uint(200) {
		var words [256]Word
		for i := range words {
			length := 1 + rng.UintN(TableBits)
			words[i] = Word(rng.UintN(1<<length)<<8 | length)
		}
		syms := make([]byte, 4*(n/8))
		for i := range syms {
			syms[i] = byte(rng.Uint32())
		}
		left := n & 7
		acc := uint64(rng.UintN(1 << left))
		var want []byte
		bits, have := acc, left
		for _, s := range syms {
			bits |= uint64(words[s]>>8) << have
			for have += uint(words[s] & 63); have >= 8; have -= 8 {
				want = append(want, byte(bits))
				bits >>= 8
			}
		}
		both(t, func() any {
			dst := make([]byte, (len(syms)*TableBits+7)/8+8)
			done, rest, left := Words(dst, syms, &words, acc, left)
			require.Equal(t, want, append([]byte(nil), dst[:done]...))
			require.Equal(t, [2]uint64{bits, uint64(have)}, [2]uint64{rest, uint64(left)})
			return dst[:done]
		})
	}
}

// TestDecode8 compares eight strings decoded side by side and one by one.
func TestDecode8(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for length := 1; length <= TableBits; length++ {
		var table Table
		for i := range table {
			table[i] = uint16(i&(1<<length-1))<<8 | uint16(length)
		}
		src := make([]byte, 3000)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		var p [8]uint64
		for i := range p {
			p[i] = rng.Uint64N(8 * (3000 - Apart*11/8 - 9))
		}
		var got, want [8 * Apart]byte
		after := p
		if !Decode8(&got, src, &after, &table) {
			require.False(t, haveFast)
			continue
		}
		for i := range p {
			require.Equal(t, Decode1(want[i*Apart:(i+1)*Apart], src, p[i], &table), after[i])
		}
		require.Equal(t, want, got)
		p[3] = 8 * (3000 - Apart*11/8)
		require.False(t, Decode8(&got, src, &p, &table), "reads after the end")
	}
}
