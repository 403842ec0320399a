//go:build !purego

package kernels

import (
	"encoding/binary"
	"math"
	"math/bits"
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
	both(t, func() any { x := make([]uint32, n); Subtract(x, y, other); return x })
	both(t, func() any { x := append([]uint32(nil), y...); Subtract(x, x, other); return x })
	for i := 0; i+2 <= n; i += 16 {
		mask := uint64(y[i])<<32 | uint64(y[i+1])
		both(t, func() any {
			var b [256]byte
			Stamp(&b, mask, y[i])
			return b
		})
		for _, src := range [][]uint32{y, y[i:]} {
			if len(src) >= bits.OnesCount64(^mask) {
				both(t, func() any {
					var e [65]uint32
					e[64] = uint32(Expand((*[64]uint32)(e[:]), src, mask))
					return e
				})
			}
		}
	}
	for i := 0; i+32 <= n; i += 32 {
		r := (*[32]uint32)(y[i:])
		for _, k := range []uint{0, 1, uint(i/32) % (MaxSplit + 1), MaxSplit} {
			both(t, func() any {
				var sym [32]byte
				low, or := Split(&sym, []byte("before"), r, k)
				if or >= 128 {
					clear(sym[:])
				}
				return append(append(low, byte(or), byte(or>>8), byte(or>>16), byte(or>>24)), sym[:]...)
			})
		}
		both(t, func() any { or, sum := Logs(r); return [2]uint32{or, sum} })
		for _, shift := range []uint{0, 1, uint(i/32) % 32} {
			both(t, func() any {
				var u [34]uint32
				u[32], u[33] = Classify((*[32]uint32)(u[:]), r, shift)
				return u
			})
		}
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

// TestJoin compares Join with its definition for every width.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for k := range uint(33) {
		for range 20 {
			var sym [32]byte
			low := make([]byte, 4*k+16)
			for i := range low {
				low[i] = byte(rng.Uint32())
			}
			shift := rng.UintN(32)
			var want, got [32]uint32
			for j := range want {
				sym[j] = byte(rng.Uint32())
				var v uint64
				for b := range k {
					p := uint(j)*k + b
					v |= uint64(low[p/8]>>(p%8)&1) << b
				}
				u := uint32(uint64(sym[j])<<k | v)
				want[j] = (u>>1 ^ -(u & 1)) << shift
			}
			if !Join(&got, &sym, low, k, shift) {
				require.True(t, !haveFast || k > maxJoin)
				continue
			}
			require.Equal(t, want, got, "k %d", k)
			require.False(t, Join(&got, &sym, low[:len(low)-1], k, shift), "reads after the end")
		}
	}
}

// TestDecode4 decodes random bits with a random complete code.
func TestDecode4(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		var table [1 << tableBits]uint16
		length := 1 + rng.IntN(tableBits)
		for i := range table {
			table[i] = uint16(i&(1<<length-1))<<8 | uint16(length)
		}
		src := make([]byte, 2000)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		n := rng.IntN(1000)
		if n*length/8 > 1800 {
			continue
		}
		start := [4]uint64{rng.Uint64N(64), rng.Uint64N(64), rng.Uint64N(64), rng.Uint64N(64)}
		both(t, func() any {
			var d [4][1000]byte
			p := start
			Decode4(d[0][:n], d[1][:n], d[2][:n], d[3][:n], src, &p, &table)
			return append(append(append(append(append(d[0][:n:n], d[1][:n]...), d[2][:n]...), d[3][:n]...), byte(p[0]), byte(p[1])), byte(p[2]), byte(p[3]))
		})
	}
}

// TestDecode8 compares eight strings decoded side by side and one by one.
func TestDecode8(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for length := 1; length <= tableBits; length++ {
		var table [1 << tableBits]uint16
		for i := range table {
			table[i] = uint16(i&(1<<length-1))<<8 | uint16(length)
		}
		src := make([]byte, 3000)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		var p [8]uint64
		for i := range p {
			p[i] = rng.Uint64N(8 * (3000 - 1024*11/8 - 9))
		}
		var got, want [8 << 10]byte
		after := p
		if !Decode8(&got, src, &after, &table) {
			require.False(t, haveFast)
			continue
		}
		for i := range p {
			require.Equal(t, Decode1(want[i<<10:(i+1)<<10], src, p[i], &table), after[i])
		}
		require.Equal(t, want, got)
		p[3] = 8 * (3000 - 1024*11/8)
		require.False(t, Decode8(&got, src, &p, &table), "reads after the end")
	}
}
