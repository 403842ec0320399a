package bench

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// BenchmarkOpen opens an archive of a few variables, and ones of 5000 variables: in pools, and
// with blocks and a path for each; without attributes and with two for each.
func BenchmarkOpen(b *testing.B) {
	b.Run("few", func(b *testing.B) {
		im := theImage(b)
		benchmarkOpen(b, im, pack(b, im, archive.PresetDefault))
	})
	for _, attrs := range []int{0, 2} {
		im := manyVariables(b, attrs)
		for _, zarr := range []archive.ZarrMode{archive.ZarrNever, archive.ZarrConsolidated} {
			b.Run(fmt.Sprintf("5000/%s/%d", zarr, attrs), func(b *testing.B) {
				var ar bytes.Buffer
				o := &archive.WriteOptions{Zarr: zarr, Preset: archive.PresetFast}
				_, err := archive.Write(context.Background(), &ar, bytes.NewReader(im), int64(len(im)), o)
				require.NoError(b, err)
				benchmarkOpen(b, im, ar.Bytes())
			})
		}
	}
}

func benchmarkOpen(b *testing.B, im, ar []byte) {
	src := &countingReader{ReaderAt: bytes.NewReader(ar)}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := archive.New(b.Context(), src, int64(len(ar)), nil); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(src.reads)/float64(n), "reads/op")
	ratio(b, im, ar)
}

// manyVariables returns a file of 5000 variables of zeros with at most two attributes each.
func manyVariables(b *testing.B, attrs int) []byte {
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "x", Len: 32}}}
	text := func(name, value string) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
	}
	for i := range 5000 {
		h.Vars = append(h.Vars, cdf3.Var{
			Name: fmt.Sprintf("v%04d", i), Type: cdf3.Float, DimIDs: []int{0},
			Attrs: []cdf3.Attr{text("long_name", fmt.Sprintf("variable %d", i)), text("units", "m s-1")}[:attrs],
		})
	}
	require.NoError(b, h.Layout())
	im, err := h.Append(nil)
	require.NoError(b, err)
	last := h.Vars[len(h.Vars)-1]
	return append(im, make([]byte, last.Begin+last.Len-int64(len(im)))...)
}
