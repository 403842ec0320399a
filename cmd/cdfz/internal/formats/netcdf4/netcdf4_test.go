package netcdf4

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

var ctx = context.Background()

// randomImage makes a classic file with variables of all shapes and types, some of them
// with values that compress.
func randomImage(t *testing.T, r *rand.Rand) []byte {
	h := &cdf3.Header{Version: []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64}[r.IntN(3)], NumRecsField: uint64(r.IntN(9))}
	types := 6
	if h.Version == cdf3.Data64 {
		types = 11
	}
	h.Dims = []cdf3.Dim{{Name: "t"}}
	for i := range 5 {
		h.Dims = append(h.Dims, cdf3.Dim{Name: []string{"x", "y z", "d-é", "n", "_1"}[i], Len: int64(1 + r.IntN(30))})
	}
	random := func(typ cdf3.Type, n int64) []byte {
		b := make([]byte, n*typ.Size())
		for i := range b {
			b[i] = byte(r.UintN(256))
		}
		return b
	}
	attrs := func() (out []cdf3.Attr) {
		for i := range r.IntN(12) {
			typ, n := cdf3.Type(1+r.IntN(types)), int64(r.IntN(9))
			if r.IntN(60) == 0 {
				n = 40000
			}
			out = append(out, cdf3.Attr{Name: fmt.Sprintf("a%d", i), Type: typ, Len: n, Values: random(typ, n)})
		}
		return out
	}
	h.Attrs = attrs()
	for i := range 15 {
		v := cdf3.Var{Name: fmt.Sprintf("v%d", i), Type: cdf3.Type(1 + r.IntN(types)), Attrs: attrs()}
		if i < len(h.Dims) && r.IntN(2) == 0 { // the name of a dimension, and its coordinate or not
			v.Name = h.Dims[i].Name
			if r.IntN(2) == 0 {
				v.DimIDs = append(v.DimIDs, i)
			}
		}
		for range r.IntN(4) {
			k := r.IntN(len(h.Dims))
			if len(v.DimIDs) == 0 || k > 0 {
				v.DimIDs = append(v.DimIDs, k)
			}
		}
		if r.IntN(3) == 0 {
			v.Attrs = append(v.Attrs, cdf3.Attr{Name: "_FillValue", Type: v.Type, Len: 1, Values: random(v.Type, 1)})
		}
		h.Vars = append(h.Vars, v)
	}
	require.NoError(t, h.Layout())
	var image bytes.Buffer
	require.NoError(t, cdf3.WriteFile(ctx, &image, h, func(i int) cdf3.Data {
		v := &h.Vars[i]
		b := make([]byte, v.Len)
		for k := 0; k+int(v.Type.Size()) <= len(b); k += int(v.Type.Size()) {
			switch x := math.Round(100*math.Sin(float64(k)/50)) / 4; v.Type {
			case cdf3.Float:
				binary.BigEndian.PutUint32(b[k:], math.Float32bits(float32(x)))
			case cdf3.Double:
				binary.BigEndian.PutUint64(b[k:], math.Float64bits(x))
			default:
				b[k+int(v.Type.Size())-1] = byte('a' + r.IntN(26))
			}
		}
		return cdf3.Data{Values: bytes.NewReader(b), Len: int64(len(b))}
	}))
	return image.Bytes()
}

// archived archives an image.
func archived(t *testing.T, image []byte, o archive.WriteOptions) *archive.File {
	var b bytes.Buffer
	o.Name = "x.nc"
	_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &o)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	return f
}

// exported exports f to a file.
func exported(t *testing.T, f *archive.File, o *Options) (string, *Result) {
	name := filepath.Join(t.TempDir(), "x.nc4")
	dst, err := os.Create(name)
	require.NoError(t, err)
	defer dst.Close()
	res, err := Write(ctx, dst, f, o)
	require.NoError(t, err)
	st, err := dst.Stat()
	require.NoError(t, err)
	require.Equal(t, st.Size(), res.Size)
	return name, res
}

// TestWorkers checks that the number of workers does not change the file.
func TestWorkers(t *testing.T) {
	image := randomImage(t, rand.New(rand.NewPCG(1, 2)))
	f := archived(t, image, archive.WriteOptions{Zarr: archive.ZarrAlways, Block: archive.MinBlock})
	var want []byte
	for _, n := range []int{1, 2, 7} {
		name, _ := exported(t, f, &Options{Workers: n})
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		if want == nil {
			want = got
		}
		require.True(t, bytes.Equal(want, got), n)
	}
}

// TestRefused checks files that netCDF-4 cannot hold, and filters that HDF5 lacks.
func TestRefused(t *testing.T) {
	for _, name := range []string{"cdf1_names_duplicate.nc", "cdf2_names_duplicate.nc"} {
		f, err := archive.Open(ctx, filepath.Join("../../../../../testdata/classic", name), nil)
		require.NoError(t, err)
		_, err = Write(ctx, nil, f, nil)
		require.ErrorIs(t, err, ErrLimit)
		require.NoError(t, f.Close())
	}
	_, err := Write(ctx, nil, nil, &Options{Filters: filters.Chain{{ID: filters.Delta}}})
	require.ErrorContains(t, err, "expected filters that HDF5 knows")
}

// TestOmitted checks attributes that are left out.
func TestOmitted(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic}
	for _, n := range []string{"NAME", "same", "same", "", "a/b"} {
		h.Attrs = append(h.Attrs, cdf3.Attr{Name: n, Type: cdf3.Byte, Len: 1, Values: []byte{1}})
	}
	require.NoError(t, h.LayoutRead())
	image, err := h.Append(nil)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	_, res := exported(t, f, nil)
	var names []string
	for _, o := range res.Omitted {
		require.Equal(t, -1, o.Var)
		names = append(names, o.Attr)
	}
	require.Equal(t, []string{"NAME", "same", ""}, names)
}

// TestDamage checks that a damaged block is an error.
func TestDamage(t *testing.T) {
	image := randomImage(t, rand.New(rand.NewPCG(3, 4)))
	var b bytes.Buffer
	_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: "x.nc", Preset: archive.PresetPortable, Zarr: archive.ZarrAlways})
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	for i, err := range f.Blocks(ctx) {
		require.NoError(t, err)
		if i.Var >= 0 {
			b.Bytes()[i.Off+i.Len/2] ^= 1
			break
		}
	}
	dst, err := os.Create(filepath.Join(t.TempDir(), "x.nc4"))
	require.NoError(t, err)
	defer dst.Close()
	_, err = Write(ctx, dst, f, nil)
	require.ErrorIs(t, err, archive.ErrCorrupt)
}

// TestBeyond checks that a header that claims endless values does not fill the disk.
func TestBeyond(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64, NumRecsField: 1 << 40, Dims: []cdf3.Dim{{Name: "t"}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.Double, DimIDs: []int{0}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	f := archived(t, image, archive.WriteOptions{})
	_, err = Write(ctx, nil, f, nil)
	require.ErrorContains(t, err, `expected all values of variable "v" in the file, found 8796093022208 bytes of them beyond its end`)
}
