package lorenz

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzParams makes parameters of a block of moderate size.
func fuzzParams(ty, order byte, a, b, c uint16) Params {
	return Params{Type: types[int(ty)%len(types)], Order: Order(order & 1), Dims: []int{int(a)%40 + 1, int(b)%40 + 1, int(c)%40 + 1}}
}

// FuzzDecode decodes arbitrary bytes. The decoder must not panic, and decoded ranges
// must agree with the whole block.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(11, 11))
	for i, ty := range types {
		dims := []int{9, 10, 30}
		for _, noise := range []float64{0, 0.01, 3} {
			e, err := NewEncoder(Params{Type: ty, Dims: dims}, Level(i%int(Max+1)))
			require.NoError(f, err)
			enc, err := e.Encode(nil, field(ty, dims, noise, rng))
			require.NoError(f, err)
			f.Add(byte(i), byte(0), uint16(8), uint16(9), uint16(29), enc)
		}
	}
	for _, v := range append(storedVectors(f, "blocks"), storedVectors(f, "vectors")...) {
		dims := append([]int{1, 1, 1}, v.p.Dims...)
		dims = dims[len(dims)-3:]
		if slices.Max(dims) <= 40 {
			ty := byte(slices.Index(types, v.p.Type))
			f.Add(ty, byte(v.p.Order), uint16(dims[0]-1), uint16(dims[1]-1), uint16(dims[2]-1), v.enc)
		}
	}
	f.Add(byte(4), byte(1), uint16(0), uint16(0), uint16(0), []byte{modeGroups, 0, 0, 0})
	f.Fuzz(func(t *testing.T, ty, order byte, a, b, c uint16, src []byte) {
		p := fuzzParams(ty, order, a, b, c)
		d, err := NewDecoder(p)
		require.NoError(t, err)
		dst := make([]byte, d.n*d.size)
		if d.Decode(dst, src) != nil {
			return
		}
		for _, r := range [][2]int{{0, 1}, {d.n / 2, d.n/2 + 1}, {d.n / 3, d.n}, {d.n - 1, d.n}} {
			part := make([]byte, (r[1]-r[0])*d.size)
			require.NoError(t, d.DecodeRange(part, src, r[0], r[1]))
			require.True(t, bytes.Equal(part, dst[r[0]*d.size:r[1]*d.size]), "elements %v", r)
			first, err := NewDecoder(p) // d knows the block's mask
			require.NoError(t, err)
			require.NoError(t, first.DecodeRange(part, src, r[0], r[1]))
			require.True(t, bytes.Equal(part, dst[r[0]*d.size:r[1]*d.size]), "elements %v", r)
		}
		for _, stride := range p.strides() {
			length := stride/2 + 1
			checkRuns(t, d, src, dst, Runs{0, length, stride, 1 + (d.n-length)/stride})
			start := (d.n / stride / 2) * stride
			checkRuns(t, d, src, dst, Runs{start, 1, stride, d.n/stride - start/stride})
		}
	})
}

// FuzzRoundTrip encodes arbitrary elements, repeated to fill a block.
func FuzzRoundTrip(f *testing.F) {
	rng := rand.New(rand.NewPCG(12, 12))
	for i, ty := range types {
		data := field(ty, []int{8, 12}, 0.1, rng)
		f.Add(byte(i), byte(i), uint16(3), uint16(10), uint16(20), byte(i), data)
		f.Add(byte(i), byte(i), uint16(3), uint16(10), uint16(20), byte(i)|64, data)
	}
	f.Fuzz(func(t *testing.T, ty, order byte, a, b, c uint16, level byte, data []byte) {
		p := fuzzParams(ty, order, a, b, c)
		n, err := p.check()
		require.NoError(t, err)
		raw := make([]byte, n*p.Type.Size())
		for k := 0; k < len(raw) && len(data) > 0; {
			k += copy(raw[k:], data)
		}
		p.Stack = level&64 != 0
		e, err := NewEncoder(p, Level(level)%(Max+1))
		require.NoError(t, err)
		enc, err := e.Encode(nil, raw)
		require.NoError(t, err)
		require.LessOrEqual(t, len(enc), len(raw)+1)
		decodeAll(t, p, enc, raw)
	})
}
