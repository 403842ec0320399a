package lorenz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/stretchr/testify/require"
)

// types are all element types.
var types = []Type{Int8, Char, Int16, Int32, Float32, Float64, Uint8, Uint16, Uint32, Int64, Uint64}

// someTypes returns all types, with -short one of each size.
func someTypes() []Type {
	if testing.Short() {
		return []Type{Char, Int16, Float32, Int64}
	}
	return types
}

// roundTrip encodes a block at each level, decodes it as a whole and in ranges,
// and returns the encoded lengths.
func roundTrip(t *testing.T, p Params, raw []byte) (sizes [Max + 1]int) {
	t.Helper()
	for level := Default; level <= Max; level++ {
		if level == Max && len(raw) > 20000 {
			break // slow
		}
		e, err := NewEncoder(p, level)
		require.NoError(t, err)
		enc, err := e.Encode([]byte("before"), raw)
		require.NoError(t, err)
		require.Equal(t, "before", string(enc[:6]))
		enc = enc[6:]
		require.LessOrEqual(t, len(enc), len(raw)+1)
		again, err := e.Encode(nil, raw)
		require.NoError(t, err)
		require.True(t, bytes.Equal(enc, again), "an encoder keeps no history")
		sizes[level] = len(enc)
		decodeAll(t, p, enc, raw)
	}
	return sizes
}

// decodeAll decodes a block as a whole and in ranges.
func decodeAll(t *testing.T, p Params, enc, raw []byte) {
	t.Helper()
	d, err := NewDecoder(p)
	require.NoError(t, err)
	got := make([]byte, len(raw))
	require.NoError(t, d.Decode(got, enc))
	if !bytes.Equal(raw, got) {
		at := 0
		for raw[at] == got[at] {
			at++
		}
		t.Fatalf("%v: byte %d of %d differs, header %v", p, at, len(raw), enc[:min(len(enc), 8)])
	}
	size, n := p.Type.Size(), len(raw)/p.Type.Size()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for k := range 12 {
		i := rng.IntN(n + 1)
		j := min(n, i+rng.IntN(1+n>>(k%8)))
		if k == 0 {
			i, j = n, n
		}
		part := bytes.Repeat([]byte{0xAA}, (j-i)*size)
		require.NoError(t, d.DecodeRange(part, enc, i, j))
		require.True(t, bytes.Equal(raw[i*size:j*size], part), "%v: elements %d to %d differ", p, i, j)
	}
	for _, stride := range p.strides() {
		for range 3 {
			length := 1 + rng.IntN(stride)
			start := rng.IntN(n - length + 1)
			count := 1 + rng.IntN(1+(n-start-length)/stride)
			checkRuns(t, d, enc, raw, Runs{start, length, stride, count})
		}
	}
}

// checkRuns compares runs of a block with those of the whole block.
func checkRuns(t *testing.T, d *Decoder, enc, raw []byte, r Runs) {
	t.Helper()
	var want []byte
	for k := range r.Count {
		want = append(want, raw[(r.Start+k*r.Stride)*d.size:][:r.Len*d.size]...)
	}
	got := bytes.Repeat([]byte{0xAA}, len(want))
	require.NoError(t, d.DecodeRuns(got, enc, r))
	require.True(t, bytes.Equal(want, got), "%v: %+v differs", d.p, r)
}

// strides returns the products of the trailing dimensions, the last one for all elements.
func (p Params) strides() (out []int) {
	n := 1
	for _, d := range slices.Backward(p.Dims) {
		if n *= d; n == 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// field fills a block with values like those of a smooth field with noise.
func field(t Type, dims []int, noise float64, rng *rand.Rand) []byte {
	n := 1
	for _, d := range dims {
		n *= d
	}
	row := 1
	if len(dims) > 0 {
		row = dims[len(dims)-1]
	}
	var b []byte
	for i := range n {
		x := 50 + 30*math.Sin(float64(i%row)/9) + 20*math.Cos(float64(i/row)/7) + noise*rng.NormFloat64()
		b = appendValue(b, t, x)
	}
	return b
}

// appendValue appends a number as a big-endian element.
func appendValue(b []byte, t Type, x float64) []byte {
	switch t {
	case Float32:
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
	case Float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(x))
	}
	v := uint64(int64(x))
	switch t.Size() {
	case 1:
		return append(b, byte(v))
	case 2:
		return binary.BigEndian.AppendUint16(b, uint16(v))
	case 4:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return binary.BigEndian.AppendUint64(b, v)
}

func TestSmallBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	lengths := []int{0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 100, 1000}
	if testing.Short() {
		lengths = []int{0, 1, 3, 32, 65}
	}
	for _, ty := range someTypes() {
		for _, n := range lengths {
			p := Params{Type: ty, Dims: []int{n}}
			roundTrip(t, p, field(ty, []int{n}, 0, rng))
			roundTrip(t, p, field(ty, []int{n}, 5, rng))
			roundTrip(t, p, make([]byte, n*ty.Size()))
			random := make([]byte, n*ty.Size())
			for i := range random {
				random[i] = byte(rng.Uint32())
			}
			roundTrip(t, p, random)
		}
	}
}

func TestScalar(t *testing.T) {
	roundTrip(t, Params{Type: Float64}, []byte{1, 2, 3, 4, 5, 6, 7, 8})
}

func TestShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	shapes := [][]int{{9000}, {90, 100}, {9, 30, 31}, {3, 4, 30, 31}, {2, 2, 3, 20, 30}, {3000, 3}, {3, 3000}, {200, 6, 8}}
	for i, ty := range types {
		for j, dims := range shapes {
			if testing.Short() && (i+j)%17 != 0 {
				continue
			}
			p := Params{Type: ty, Order: Order((i + j) % 2), Dims: dims}
			raw := field(ty, dims, 0.5, rng)
			if p.Order == LittleEndian {
				swap(raw, ty.Size())
			}
			sizes := roundTrip(t, p, raw)
			require.Less(t, sizes[Default], len(raw)*9/10, "%v", p)
		}
	}
}

// TestSpecialFloats spreads every kind of float over a field.
func TestSpecialFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	special := []uint64{
		0, 1 << 63, 1, 1<<63 | 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
		0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001,
		0xFFF7FFFFFFFFFFFF, 0x7FF8000000000123, 0xFFFFFFFFFFFFFFFF, 0x47EFFFFFE0000000, 0x4415AF1D78B58C40,
	}
	rates := []float64{0.0005, 0.02, 0.3, 1}
	if testing.Short() {
		rates = rates[1:2]
	}
	for _, ty := range []Type{Float32, Float64} {
		size := ty.Size()
		for _, rate := range rates {
			for _, runs := range []int{1, 50} {
				dims := []int{6, 20, 30}
				raw := field(ty, dims, 0.01, rng)
				for i := 0; i < len(raw)/size; {
					k := 1 + rng.IntN(runs)
					if rng.Float64() < rate {
						v := special[rng.IntN(len(special))]
						for j := i; j < min(i+k, len(raw)/size); j++ {
							if size == 8 {
								binary.BigEndian.PutUint64(raw[8*j:], v)
							} else {
								u := uint32(v>>32)&0xC0000000 | uint32(v>>29)&0x3FFFFFFF | uint32(v)&1
								binary.BigEndian.PutUint32(raw[4*j:], u)
							}
						}
					}
					i += k
				}
				roundTrip(t, Params{Type: ty, Dims: dims}, raw)
			}
		}
	}
}

// TestTransforms checks that data made for a transform is encoded with it.
func TestTransforms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	dims := []int{40, 100}
	walk := make([]float64, 4000)
	x := 1e5
	for i := range walk {
		x += math.Round(3000 * rng.NormFloat64())
		walk[i] = x
	}
	cases := []struct {
		name string
		kind byte
		ty   Type
		f    func(k float64) float64
	}{
		{"eighths", mapFix, Float32, func(k float64) float64 { return k / 8 }},
		{"thousands", mapFix, Float64, func(k float64) float64 { return k * 4096 }},
		{"hundredths", mapRatio, Float32, func(k float64) float64 { return k / 100 }},
		{"cents", mapRatio, Float64, func(k float64) float64 { return k / 100 }},
		{"navy", mapRatio, Float32, func(k float64) float64 { return k / 24400 }},
		{"single", mapSingle, Float64, func(k float64) float64 { return float64(float32(math.Exp(k / 1e4))) }},
		{"wide", mapFix, Float64, func(k float64) float64 { return k*1e9 + 1 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var raw []byte
			for _, k := range walk {
				raw = appendValue(raw, c.ty, c.f(k))
			}
			p := Params{Type: c.ty, Dims: dims}
			roundTrip(t, p, raw)
			// A few elements that do not fit become patches.
			for _, i := range []int{0, 17, 18, 3999} {
				copy(raw[i*c.ty.Size():], []byte{0x7F, 0xF1, 2, 3})
			}
			roundTrip(t, p, raw)
			e, _ := NewEncoder(p, Default)
			e.choices.contexts.tried = false
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			require.Equal(t, []byte{modeGroups, c.kind}, []byte{enc[0], enc[2]})
			require.NotZero(t, enc[1]&flagPatches)
		})
	}
}

func TestDictionary(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, ty := range someTypes() {
		var words []float64
		for range 40 {
			words = append(words, math.Exp(30*rng.Float64()))
		}
		var raw []byte
		for range 6000 {
			raw = appendValue(raw, ty, words[int(math.Abs(8*rng.NormFloat64()))%40])
		}
		sizes := roundTrip(t, Params{Type: ty, Dims: []int{60, 100}}, raw)
		require.Less(t, sizes[Default], 6000, "%v", ty)
	}
}

func TestRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, ty := range someTypes() {
		piece := make([]byte, 400*ty.Size())
		for i := range piece {
			piece[i] = byte(rng.Uint32())
		}
		var raw []byte
		for len(raw) < 20000*ty.Size() {
			a := rng.IntN(380) * ty.Size()
			raw = append(raw, piece[a:min(len(piece), a+(5+rng.IntN(60))*ty.Size())]...)
		}
		raw = raw[:20000*ty.Size()]
		sizes := roundTrip(t, Params{Type: ty, Dims: []int{20000}}, raw)
		require.Less(t, sizes[Default], len(raw)/3, "%v", ty)
	}
}

// TestMask checks fields with missing values.
func TestMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, ty := range someTypes() {
		for _, specials := range []int{1, 2} {
			if testing.Short() && specials == 1 {
				continue
			}
			dims := []int{4, 40, 50}
			raw := field(ty, dims, 0.3, rng)
			size := ty.Size()
			fills := [][]byte{appendValue(nil, ty, -1e34), appendValue(nil, ty, 120)}
			for i := 0; i < 4*40*50; {
				k := 1 + rng.IntN(40)
				if f := rng.IntN(4); f < specials {
					for j := i; j < min(i+k, 4*40*50); j++ {
						copy(raw[j*size:], fills[f])
					}
				}
				i += k
			}
			roundTrip(t, Params{Type: ty, Dims: dims}, raw)
		}
	}
}

// TestForced writes blocks with every predictor, layout and order, regardless of the
// encoder's choices.
func TestForced(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	dims := []int{6, 40, 48}
	n := 6 * 40 * 48
	step, next := 1, 0
	if testing.Short() {
		step = 29
	}
	layouts := []predict.Layout{predict.Whole(n), cells(n, n, 480), cells(n, n, 1000), cells(n, 1920, 1920), cells(n, 1920, 240), cells(n, 1920, 500), cells(n, 3840, 960), cells(n, 1, 1)}
	var preds []predict.Predictor
	for _, c := range chains(dims, n) {
		preds = append(preds, predict.Predictor{Chain: c})
	}
	for k := predict.WN; k <= predict.WW; k++ {
		preds = append(preds, predict.Predictor{Float: predict.Float{Kind: k, Row: 48, Plane: 1920}}, predict.Predictor{Float: predict.Float{Kind: k, Row: 48, Plane: 3840}})
	}
	for _, ty := range []Type{Float32, Float64} {
		raw := field(ty, dims, 0.1, rng)
		for i := range n / 2 { // zeros of both signs
			if rng.IntN(3) > 0 {
				copy(raw[i*ty.Size():], appendValue(nil, ty, math.Copysign(0, rng.Float64()-0.5)))
			}
		}
		masked := bytes.Clone(raw)
		fill := appendValue(nil, ty, 1e35)
		for i := 0; i < n; i += 1 + rng.IntN(300) {
			for range rng.IntN(90) {
				if i < n {
					copy(masked[i*ty.Size():], fill)
					i++
				}
			}
		}
		for _, raw := range [][]byte{raw, masked} {
			for _, pred := range preds {
				for _, l := range layouts {
					if !pred.Valid(l) {
						continue
					}
					if next++; next%step != 0 {
						continue
					}
					p := Params{Type: ty, Dims: dims}
					for _, repeats := range []bool{false, true} {
						if repeats && l.Cell != n {
							continue
						}
						if ty == Float32 {
							e, _ := NewEncoder(p, Default)
							loadBits32(entropy.Grow(e.c32.u, 0), nil, ty)
							e.c32.u = entropy.Grow(e.c32.u, n)
							loadBits32(e.c32.u, raw, ty)
							decodeAll(t, p, force(&e.c32, ty, dims, raw, pred, l, repeats), raw)
						} else {
							e, _ := NewEncoder(p, Default)
							e.c64.u = entropy.Grow(e.c64.u, n)
							loadBits64(e.c64.u, raw)
							decodeAll(t, p, force(&e.c64, ty, dims, raw, pred, l, repeats), raw)
						}
					}
				}
			}
		}
	}
}

// cells returns a layout of n elements.
func cells(n, plane, cell int) predict.Layout {
	return predict.Layout{N: n, Plane: plane, Cell: cell}
}

func force[T lane](c *coder[T], ty Type, dims []int, raw []byte, pred predict.Predictor, l predict.Layout, repeats bool) []byte {
	s := shape{typ: ty, size: ty.Size(), dims: dims, n: l.N, choices: choicesFor(Default, ty, len(raw))}
	findSpecials(&s, c)
	x := candidate[T]{mode: modeGroups, kind: mapOrder, y: lanesOf(nil, c.u, &s), u: c.u, pred: pred, cost: float64(l.N) * 20}
	return c.write(&s, nil, raw, &x, l, repeats)
}

func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	for _, ty := range someTypes() {
		dims := []int{30, 50}
		raw := field(ty, dims, 1, rng)
		p := Params{Type: ty, Dims: dims}
		e, _ := NewEncoder(p, Default)
		enc, err := e.Encode(nil, raw)
		require.NoError(t, err)
		d, _ := NewDecoder(p)
		got := make([]byte, len(raw))
		for i := range enc {
			require.ErrorIs(t, d.Decode(got, enc[:i]), ErrCorrupt)
		}
		require.Error(t, d.Decode(got, append(bytes.Clone(enc), 0)))
		for range 600 {
			bad := bytes.Clone(enc)
			for range 1 + rng.IntN(3) {
				bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
			}
			_ = d.Decode(got, bad) // neither panics nor hangs
			_ = d.DecodeRange(got[:10*ty.Size()], bad, 700, 710)
		}
	}
}

// TestGarbageSmall decodes random bytes as the smallest blocks, in every mode. The encoder
// does not use all modes for them.
func TestGarbageSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	for _, ty := range types {
		for _, dims := range [][]int{nil, {0}, {1}, {2}, {1, 3}, {2, 2}, {5}, {3, 3, 2}} {
			d, err := NewDecoder(Params{Type: ty, Dims: dims})
			require.NoError(t, err)
			got := make([]byte, d.n*d.size)
			for i := range 700 {
				bad := make([]byte, 1+rng.IntN(30))
				for k := range bad {
					bad[k] = byte(rng.Uint32()) >> rng.IntN(8)
				}
				bad[0] = byte(i % 7)
				_ = d.Decode(got, bad) // neither panics nor hangs
			}
		}
	}
}

func TestArguments(t *testing.T) {
	d, err := NewDecoder(Params{Type: Int16, Dims: []int{10}})
	require.NoError(t, err)
	require.Error(t, d.Decode(make([]byte, 19), []byte{0}))
	require.Error(t, d.DecodeRange(make([]byte, 2), nil, 0, 1))
	require.Error(t, d.DecodeRange(make([]byte, 2), []byte{0}, -1, 0))
	require.Error(t, d.DecodeRange(make([]byte, 4), []byte{0}, 9, 11))
	for _, r := range []Runs{{}, {-1, 1, 1, 1}, {10, 1, 1, 1}, {0, 2, 1, 2}, {0, 2, 5, 3}, {0, 0, 5, 1}, {0, 11, 0, 1}, {0, 1, math.MaxInt, 3}, {0, math.MaxInt, 1, 2}} {
		require.Error(t, d.DecodeRuns(make([]byte, 4), []byte{0}, r), "%+v", r)
	}
	require.Error(t, d.DecodeRuns(make([]byte, 6), []byte{0}, Runs{0, 2, 5, 2}))
	e, err := NewEncoder(Params{Type: Int16, Dims: []int{10}}, Default)
	require.NoError(t, err)
	_, err = e.Encode(nil, make([]byte, 21))
	require.Error(t, err)
	for _, p := range []Params{{}, {Type: 12}, {Type: Int8, Order: 2}, {Type: Int8, Dims: []int{-1}}, {Type: Int8, Dims: []int{1 << 20, 1 << 20}}} {
		_, err = NewDecoder(p)
		require.Error(t, err)
		_, err = NewEncoder(p, Default)
		require.Error(t, err)
	}
	_, err = NewEncoder(Params{Type: Int8}, 9)
	require.Error(t, err)
}

func TestParams(t *testing.T) {
	p := Params{Type: Float32, Order: LittleEndian, Dims: []int{1, 1, 30, 40}}
	v, err := p.Uint32s()
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 5, 1, 2, 30, 40}, v)
	q, err := ParseParams(v)
	require.NoError(t, err)
	require.Equal(t, Params{Type: Float32, Order: LittleEndian, Dims: []int{30, 40}}, q)
	for _, bad := range [][]uint32{nil, {1, 5, 0}, {2, 5, 0, 0}, {1, 0, 0, 0}, {1, 12, 0, 0}, {1, 256 + 5, 0, 0}, {1, 5, 2, 0}, {1, 5, 0, 1}, {1, 5, 0, 1, 1 << 31}, {1, 5, 0, 2, 1 << 20, 1 << 20}} {
		_, err := ParseParams(bad)
		require.Error(t, err, fmt.Sprint(bad))
	}
	for _, empty := range [][]uint32{{1, 5, 0, 1, 0}, {1, 5, 0, 3, 0, 1 << 20, 1 << 20}, {1, 5, 0, 3, 1 << 20, 1 << 20, 0}} {
		p, err := ParseParams(empty)
		require.NoError(t, err, fmt.Sprint(empty))
		d, err := NewDecoder(p)
		require.NoError(t, err)
		require.NoError(t, d.Decode(nil, []byte{modeRaw}))
		for _, mode := range []byte{modeConst, modeGroups, modeAdaptive, modeReferences, modeText, modeParts} {
			require.ErrorIs(t, d.Decode(nil, []byte{mode, 0, 0, 0}), ErrCorrupt)
		}
	}
}

// TestFixedAfterRatio encodes multiples of 1/4, and few of 1/256. A sample suggests
// hundredths, which too many values are not.
func TestFixedAfterRatio(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	var raw []byte
	for i := range 60 * 60 {
		x := math.Round(1e5*math.Sin(float64(i)/900)+300*rng.NormFloat64()) / 4
		if i%40 == 39 {
			x += 1.0 / 256
		}
		raw = appendValue(raw, Float32, x)
	}
	p := Params{Type: Float32, Dims: []int{60, 60}}
	e, err := NewEncoder(p, Default)
	require.NoError(t, err)
	enc, err := e.Encode(nil, raw)
	require.NoError(t, err)
	require.Equal(t, []byte{modeGroups, mapFix}, []byte{enc[0], enc[2]})
	decodeAll(t, p, enc, raw)
}

// TestDecoderAgain decodes blocks of all kinds with one decoder, in turn: nothing may
// remain of the one before, also where a block has no values to decode.
func TestDecoderAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	dims := []int{6, 20, 30}
	for _, ty := range someTypes() {
		size := ty.Size()
		mask := field(ty, dims, 0, rng)
		for i := 0; i < len(mask)/2; i += size {
			copy(mask[i:], mask[len(mask)-size:])
		}
		two := make([]byte, 3600*size) // land and sea
		for i := 0; i < len(two); i += size {
			if rng.IntN(2) == 0 || i/size%30 > 20 {
				copy(two[i:], appendValue(nil, ty, 1))
			}
		}
		blocks := [][]byte{field(ty, dims, 0.5, rng), make([]byte, 3600*size), mask, two, bytes.Repeat(mask[:size], 3600), field(ty, dims, 5, rng)}
		p := Params{Type: ty, Dims: dims}
		e, err := NewEncoder(p, Default)
		require.NoError(t, err)
		d, err := NewDecoder(p)
		require.NoError(t, err)
		got := make([]byte, 3600*size)
		for range 40 {
			raw := blocks[rng.IntN(len(blocks))]
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			require.NoError(t, d.Decode(got, enc), "%v", ty)
			require.True(t, bytes.Equal(raw, got), "%v", ty)
		}
	}
}
