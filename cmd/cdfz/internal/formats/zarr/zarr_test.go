package zarr

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

var ctx = context.Background()

// archived archives a file of testdata.
func archived(t *testing.T, name string, o archive.WriteOptions) *archive.File {
	image, err := os.ReadFile(filepath.Join("../../../../../testdata/classic", name))
	require.NoError(t, err)
	var b bytes.Buffer
	o.Name = name
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &o)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	return f
}

// tree reads all files of a folder.
func tree(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var b []byte
			b, err = os.ReadFile(name)
			out[name[len(dir):]] = string(b)
		}
		return err
	}))
	return out
}

// TestWorkers checks that the number of workers does not change the store, and its size.
func TestWorkers(t *testing.T) {
	block := int64(4 << 10)
	if testing.Short() {
		block = 32 << 10
	}
	f := archived(t, "cdf2_climate.nc", archive.WriteOptions{Block: block, Zarr: archive.ZarrAlways})
	for _, version := range []int{2, 3} {
		var want map[string]string
		for _, n := range []int{1, 2, 7} {
			dir := filepath.Join(t.TempDir(), "x.zarr")
			res, err := Write(ctx, dir, f, &Options{Format: version, Workers: n})
			require.NoError(t, err)
			got := tree(t, dir)
			size := 0
			for _, b := range got {
				size += len(b)
			}
			require.Equal(t, int64(size), res.Size)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got)
		}
	}
}

// TestScalars checks that the shape of a scalar is an empty list in all metadata, also
// in that of an archive. The first variable of the file is a scalar.
func TestScalars(t *testing.T) {
	f := archived(t, "cdf5_scalars.nc", archive.WriteOptions{Zarr: archive.ZarrAlways})
	z, err := f.Zarr(ctx, nil)
	require.NoError(t, err)
	for name, text := range z.Metadata() {
		require.NotContains(t, string(text), `"shape":null`, name)
	}
	for _, version := range []int{2, 3} {
		dir := filepath.Join(t.TempDir(), "x.zarr")
		_, err := Write(ctx, dir, f, &Options{Format: version})
		require.NoError(t, err)
		found := 0
		for name, text := range tree(t, dir) {
			if strings.HasSuffix(name, "/.zarray") || strings.HasSuffix(name, "/zarr.json") {
				require.NotContains(t, text, `"shape":null`, name)
				found++
			}
		}
		require.Positive(t, found)
	}
}

// TestCopied checks that chunks are the blocks of the archive where readers know their
// filters.
func TestCopied(t *testing.T) {
	f := archived(t, "cdf2_climate.nc", archive.WriteOptions{Preset: archive.PresetPortable, Block: 4 << 10, Zarr: archive.ZarrAlways})
	dir := filepath.Join(t.TempDir(), "x.zarr")
	res, err := Write(ctx, dir, f, nil)
	require.NoError(t, err)
	require.Equal(t, res.Chunks, res.Copied)
	z, err := f.Zarr(ctx, nil)
	require.NoError(t, err)
	for path, c := range z.Arrays() {
		for n := range c.Len() {
			key := path + "/" + string(c.AppendKey(nil, n))
			want, err := z.Get(ctx, key)
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, key))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), key)
		}
	}
}

// TestPlace checks what is replaced, and that nothing remains of failures.
func TestPlace(t *testing.T) {
	f := archived(t, "cdf1_all_types.nc", archive.WriteOptions{})
	base := t.TempDir()
	dir := filepath.Join(base, "x.zarr")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "precious"), 0o777))
	for _, overwrite := range []bool{false, true} {
		_, err := Write(ctx, dir, f, &Options{Overwrite: overwrite})
		require.ErrorIs(t, err, fs.ErrExist)
	}
	require.DirExists(t, filepath.Join(dir, "precious"))
	require.NoError(t, os.RemoveAll(dir))
	_, err := Write(ctx, dir, f, nil)
	require.NoError(t, err)
	_, err = Write(ctx, dir, f, nil)
	require.ErrorIs(t, err, fs.ErrExist)
	for _, name := range []string{"x.nc.cdfz", "1.nc", "notes"} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte("the only copy"), 0o600))
		_, err = Write(ctx, dir, f, &Options{Overwrite: true})
		require.ErrorIs(t, err, fs.ErrExist)
		require.FileExists(t, name)
		require.NoError(t, os.Remove(name))
	}
	_, err = Write(ctx, dir, f, &Options{Overwrite: true, Format: 3})
	require.NoError(t, err)
	_, err = Write(ctx, dir, f, &Options{Overwrite: true, Format: 3})
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, ".zgroup"))
	require.FileExists(t, filepath.Join(dir, "zarr.json"))

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Write(stopped, filepath.Join(base, "y.zarr"), f, nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Write(ctx, filepath.Join(base, "y.zarr"), f, &Options{Filters: filters.Chain{{ID: filters.LZ4}}})
	require.ErrorContains(t, err, "expected filters that readers of Zarr v2 know")
	list, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// TestOmitted checks that attributes that are left out are reported for classic files and
// archives with and without a view.
func TestOmitted(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "x", Len: 2}}, Vars: []cdf3.Var{
		{Name: "a", Type: cdf3.Int, DimIDs: []int{0}, Attrs: []cdf3.Attr{{Name: "_FillValue", Type: cdf3.Short, Len: 1, Values: []byte{0, 1}}}},
		{Name: "b", Type: cdf3.Float, DimIDs: []int{0}, Attrs: []cdf3.Attr{{Name: "missing_value", Type: cdf3.Float, Len: 1, Values: []byte{0x7f, 0xc0, 0, 0}}}},
	}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(image, make([]byte, 16)...)
	files := [][]byte{image}
	for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
		var b bytes.Buffer
		_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Zarr: zarr})
		require.NoError(t, err)
		files = append(files, b.Bytes())
	}
	for i, b := range files {
		f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "x.zarr")
		res, err := Write(ctx, dir, f, nil)
		require.NoError(t, err)
		want := []archive.Omitted{{Var: 1, Attr: "missing_value", Why: "JSON cannot hold its value exactly"}}
		require.Equal(t, want, res.Omitted, i)
		require.JSONEq(t, `{"_ARRAY_DIMENSIONS":["x"],"_FillValue":1}`, tree(t, dir)["/a/.zattrs"])
		dir = filepath.Join(t.TempDir(), "x.zarr")
		res, err = Write(ctx, dir, f, &Options{Format: 3})
		require.NoError(t, err)
		require.Equal(t, append(want, archive.Omitted{Var: 0, Attr: "_FillValue", Why: "it is not one value of the variable's type"}), res.Omitted, i)
		require.NotContains(t, tree(t, dir)["/a/zarr.json"], "_FillValue")
	}
}
