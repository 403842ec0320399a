package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// lossyImage has a fixed and a record variable of floats, with missing values, between
// others.
func lossyImage(t testing.TB, records int) []byte {
	t.Helper()
	fill := binary.BigEndian.AppendUint32(nil, math.Float32bits(1e20))
	h := &cdf3.Header{Version: cdf3.Classic, NumRecs: int64(records), Dims: []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 700}}, Vars: []cdf3.Var{
		{Name: "a", Type: cdf3.Double, DimIDs: []int{1}},
		{Name: "s", Type: cdf3.Short, DimIDs: []int{0}},
		{Name: "b", Type: cdf3.Float, DimIDs: []int{0, 1}, Attrs: []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: fill}}},
		{Name: "c", Type: cdf3.Float, DimIDs: []int{0, 1}},
	}}
	require.NoError(t, h.Layout())
	head, err := h.Append(nil)
	require.NoError(t, err)
	image := append(head, make([]byte, h.Vars[0].RecLen+int64(records)*h.RecSize)...)
	r := rand.New(rand.NewPCG(1, 2))
	v := h.Vars[0]
	for i := range 700 {
		binary.BigEndian.PutUint64(image[v.Begin+int64(8*i):], math.Float64bits(r.NormFloat64()))
	}
	for _, v := range h.Vars[2:] {
		for rec := range records {
			for i := range 700 {
				x := float32(250 + r.NormFloat64())
				if i%50 == 0 {
					x = 1e20
				}
				binary.BigEndian.PutUint32(image[v.Begin+int64(rec)*h.RecSize+int64(4*i):], math.Float32bits(x))
			}
		}
	}
	return image
}

// TestLoss checks that only the values of named variables are rounded, and that the archive
// records this.
func TestLoss(t *testing.T) {
	ctx := context.Background()
	image := lossyImage(t, 40)
	chain := func(f filters.Filter) filters.Chain {
		return filters.Chain{f, {ID: filters.Shuffle}, {ID: filters.Zstd, Params: []uint32{3}}}
	}
	o := &WriteOptions{Name: "x.nc", Filters: []VarFilter{
		{Vars: []string{"a"}, Chain: chain(filters.Filter{ID: filters.Quantize, Params: []uint32{1}})},
		{Vars: []string{"b"}, Chain: chain(filters.Filter{ID: filters.BitRound, Params: []uint32{9}})},
	}}
	_, err := Write(ctx, new(bytes.Buffer), bytes.NewReader(image), int64(len(image)), o)
	require.ErrorIs(t, err, filters.ErrParam, "values may not be rounded unasked")

	o.Lossy = []string{"b", "a"}
	path := filepath.Join(t.TempDir(), "x.nc.cdfz")
	res, err := WriteFile(ctx, path, bytes.NewReader(image), int64(len(image)), o, nil)
	require.NoError(t, err)
	f, err := Open(ctx, path, nil)
	require.NoError(t, err)
	defer f.Close()
	info, _ := f.Info()
	source := sha256.Sum256(image)
	require.Equal(t, hex.EncodeToString(source[:]), info.Loss.SourceSHA256)
	require.Equal(t, res.Loss, info.Loss)
	var got bytes.Buffer
	require.NoError(t, f.Image().Copy(ctx, &got, nil), "the SHA-256 is that of the rounded image")
	checkRounded(t, f.Header(), image, got.Bytes())
	// 1e20 has more than nine bits of mantissa.
	fill := math.Float32bits(1e20)
	require.Equal(t, []RoundedVar{
		{0, filters.Filter{ID: filters.Quantize, Params: []uint32{1, 3, 8, 1}}},
		{2, filters.Filter{ID: filters.BitRound, Params: []uint32{9, 3, 4, 1, fill, 0}}},
	}, info.Loss.Vars)
	require.Equal(t, fmt.Sprintf("52727,9,%d,0|2,4|32015,3", fill), varOf(t, f, "b").Info().Chain.Given().String())

	// The archive of the rounded image needs no permission, and copies of the archive
	// tell of the loss.
	o.Lossy = nil
	require.Nil(t, open(t, pack(t, got.Bytes(), o)).Man.Loss)
	var again bytes.Buffer
	_, err = Rewrite(ctx, &again, f, &WriteOptions{Block: MinBlock, Filters: []VarFilter{{Vars: []string{"c"}}}})
	require.NoError(t, err)
	require.Equal(t, info.Loss, lossOf(open(t, again.Bytes()).Man.Loss))
	_, err = Rewrite(ctx, &again, f, &WriteOptions{Lossy: []string{"c"}})
	require.ErrorIs(t, err, ErrOptions)
}

// checkRounded compares the values of a rounded image with those of its source.
func checkRounded(t *testing.T, h *cdf3.Header, source, rounded []byte) {
	t.Helper()
	want := bytes.Clone(source)
	for i := range 700 {
		p := want[h.Vars[0].Begin+int64(8*i):]
		v := math.Float64frombits(binary.BigEndian.Uint64(p))
		binary.BigEndian.PutUint64(p, math.Float64bits(math.RoundToEven(v*16)/16))
	}
	for rec := range h.NumRecs {
		for i := range 700 {
			p := want[h.Vars[2].Begin+rec*h.RecSize+int64(4*i):]
			if v := float64(math.Float32frombits(binary.BigEndian.Uint32(p))); v < 1e20 {
				// The nearest number with nine bits of mantissa, found by arithmetic.
				_, e := math.Frexp(v)
				v = math.Ldexp(math.RoundToEven(math.Ldexp(v, 10-e)), e-10)
				binary.BigEndian.PutUint32(p, math.Float32bits(float32(v)))
			}
		}
	}
	require.True(t, bytes.Equal(want, rounded))
}

// TestLossReads checks reads of a rounded image at any byte.
func TestLossReads(t *testing.T) {
	ctx := context.Background()
	image := lossyImage(t, 3)
	size := int64(len(image))
	h, err := cdf3.Read(bytes.NewReader(image), size)
	require.NoError(t, err)
	o := WriteOptions{Lossy: []string{"a", "b"}, Filters: []VarFilter{
		{Vars: []string{"a", "b"}, Chain: filters.Chain{{ID: filters.BitRound, Params: []uint32{5}}}},
	}}
	r, err := newRounded(ctx, bytes.NewReader(image), size, h, &o)
	require.NoError(t, err)
	whole := make([]byte, size)
	_, err = r.ReadAt(whole, 0)
	require.NoError(t, err)
	require.NotEqual(t, image, whole)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		off := rnd.Int64N(size)
		p := make([]byte, rnd.Int64N(min(60, size-off)+1))
		_, err := r.ReadAt(p, off)
		require.NoError(t, err)
		require.Equal(t, whole[off:off+int64(len(p))], p, "%d bytes from %d", len(p), off)
	}
	require.NoError(t, iotest.TestReader(io.NewSectionReader(r, 0, size), whole))
}

// TestLossMarkers checks that all values that stand for missing ones are kept, however many
// missing_value lists before _FillValue, and that more of them than the filter can keep are refused.
func TestLossMarkers(t *testing.T) {
	floats := func(v ...float32) (b []byte) {
		for _, x := range v {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	changed := []float32{1.11111, 2.22222, 3.33333, 4.44444, 5.55555, 6.66666, 7.77777, 8.88888}
	for name, c := range map[string]struct {
		missing []float32
		kept    int // 0: refused
	}{
		"few":               {changed[:1], 2},
		"as many as fit":    {changed[:7], 8},
		"one more":          {changed, 0},
		"many that are not": {[]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			values := append([]float32{0.123456, 1.23456e20}, c.missing...)
			h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: int64(len(values))}}, Vars: []cdf3.Var{
				{Name: "v", Type: cdf3.Float, DimIDs: []int{0}, Attrs: []cdf3.Attr{
					{Name: "missing_value", Type: cdf3.Float, Len: int64(len(c.missing)), Values: floats(c.missing...)},
					{Name: "_FillValue", Type: cdf3.Float, Len: 1, Values: floats(1.23456e20)},
				}},
			}}
			require.NoError(t, h.Layout())
			head, err := h.Append(nil)
			require.NoError(t, err)
			image := append(head, floats(values...)...)
			o := &WriteOptions{Lossy: []string{"v"}, Filters: []VarFilter{{Vars: []string{"v"}, Chain: filters.Chain{{ID: filters.BitRound, Params: []uint32{6}}}}}}
			var ar bytes.Buffer
			res, err := Write(context.Background(), &ar, bytes.NewReader(image), int64(len(image)), o)
			if c.kept == 0 {
				require.ErrorIs(t, err, ErrOptions)
				require.ErrorContains(t, err, `lossy variable "v": expected at most 8 values`)
				return
			}
			require.NoError(t, err)
			require.Len(t, res.Loss.Vars[0].Filter.Params, 4+2*c.kept)
			got, err := slab.Read[float32](context.Background(), varOf(t, openFile(t, ar.Bytes(), nil), "v"), slab.Sel{})
			require.NoError(t, err)
			require.NotEqual(t, values[0], got[0])
			require.Equal(t, values[1:], got[1:])
		})
	}
}

// TestLossRefused checks variables that cannot be rounded.
func TestLossRefused(t *testing.T) {
	image := lossyImage(t, 3)
	round := filters.Chain{{ID: filters.Quantize, Params: []uint32{1}}}
	for name, o := range map[string]*WriteOptions{
		"no variable":   {Lossy: []string{"nosuch"}},
		"all":           {Lossy: []string{"*"}, Filters: []VarFilter{{Vars: []string{"*"}, Chain: round}}},
		"no chain":      {Lossy: []string{"a"}},
		"no rounding":   {Lossy: []string{"a"}, Filters: []VarFilter{{Vars: []string{"a"}, Chain: filters.Chain{{ID: filters.Shuffle}}}}},
		"not the first": {Lossy: []string{"a"}, Filters: []VarFilter{{Vars: []string{"a"}, Chain: append(filters.Chain{{ID: filters.Shuffle}}, round...)}}},
		"optional":      {Lossy: []string{"a"}, Filters: []VarFilter{{Vars: []string{"a"}, Chain: filters.Chain{{ID: filters.Quantize, Params: []uint32{1}, Optional: true}}}}},
		"twice":         {Lossy: []string{"a", "a"}, Filters: []VarFilter{{Vars: []string{"a"}, Chain: round}}},
		"integers":      {Lossy: []string{"s"}, Filters: []VarFilter{{Vars: []string{"s"}, Chain: round}}},
	} {
		_, err := Write(context.Background(), new(bytes.Buffer), bytes.NewReader(image), int64(len(image)), o)
		require.True(t, errors.Is(err, ErrOptions) || errors.Is(err, filters.ErrParam), "%s: %v", name, err)
	}
}
