package refs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// row is a reference as kerchunk's readers see it.
type row struct {
	Path   *string `parquet:"path,optional"`
	Offset int64   `parquet:"offset"`
	Size   int64   `parquet:"size"`
	Raw    []byte  `parquet:"raw,optional"`
}

// archived returns an archive of an image.
func archived(t *testing.T, image []byte, o *archive.WriteOptions) *archive.File {
	var b bytes.Buffer
	_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), o)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	return f
}

// zeros returns an image with a variable of n zeros.
func zeros(t *testing.T, n int64) []byte {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: n}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.Byte, DimIDs: []int{0}}}
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	return append(b, make([]byte, n)...)
}

// TestParquet checks that another library for Parquet reads the references that the form in
// JSON has, and that the folder has the same bytes each time.
func TestParquet(t *testing.T) {
	const url = `https://example.org/"é".nc`
	climate, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	none, err := os.ReadFile("../../../../../testdata/classic/cdf1_scalars.nc")
	require.NoError(t, err)
	for i, c := range []struct {
		image []byte
		o     archive.WriteOptions
		files int // of the first array
	}{
		{climate, archive.WriteOptions{Block: 4 << 10, Zarr: archive.ZarrAlways}, 1},
		{climate, archive.WriteOptions{Block: 4 << 10, Zarr: archive.ZarrNever}, 1},
		{none, archive.WriteOptions{Zarr: archive.ZarrNever}, 1},
		{zeros(t, 2*recordSize<<10), archive.WriteOptions{Block: 1 << 10}, 2},
		{zeros(t, 2*recordSize<<10+1), archive.WriteOptions{Block: 1 << 10}, 3},
	} {
		c.o.Name, c.o.Preset = "x.nc", archive.PresetPortable
		f := archived(t, c.image, &c.o)
		var text bytes.Buffer
		want, err := WriteJSON(ctx, &text, Source{Archive: f, URL: url})
		require.NoError(t, err)
		require.Equal(t, int64(text.Len()), want.Size)
		var doc struct{ Refs map[string]any }
		require.NoError(t, json.Unmarshal(text.Bytes(), &doc))

		dir := filepath.Join(t.TempDir(), "x.parq")
		res, err := WriteParquet(ctx, dir, Source{Archive: f, URL: url}, false, nil)
		require.NoError(t, err)
		require.Equal(t, []int64{want.Chunks, want.Referred}, []int64{res.Chunks, res.Referred})
		var meta struct {
			Size     int `json:"record_size"`
			Metadata map[string]json.RawMessage
		}
		b, err := os.ReadFile(filepath.Join(dir, metadataName))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &meta))
		require.Equal(t, recordSize, meta.Size)
		size := int64(len(b))

		z, err := f.Zarr(ctx, nil)
		require.NoError(t, err)
		chunks, files := int64(0), 1
		for path, a := range z.Arrays() {
			require.JSONEq(t, doc.Refs[path+"/.zarray"].(string), string(meta.Metadata[path+"/.zarray"]))
			for n := int64(0); n < a.Len(); n++ {
				name := filepath.Join(dir, path, fmt.Sprintf("refs.%d.parq", n/recordSize))
				rows, err := parquet.ReadFile[row](name)
				require.NoError(t, err)
				st, err := os.Stat(name)
				require.NoError(t, err)
				size += st.Size()
				files++
				for _, r := range rows {
					var want row
					switch v := doc.Refs[path+"/"+string(a.AppendKey(nil, n))].(type) {
					case []any:
						p := v[0].(string)
						want = row{Path: &p, Offset: int64(v[1].(float64)), Size: int64(v[2].(float64))}
					case string:
						want.Raw, err = base64.StdEncoding.DecodeString(v[len("base64:"):])
						require.NoError(t, err)
					}
					if want.Offset != r.Offset || want.Size != r.Size { // faster than require.Equal
						require.Equal(t, want, r, "%d %s %d", i, path, n)
					}
					if n%1000 == 0 {
						require.Equal(t, want, r, "%d %s %d", i, path, n)
					}
					n++
					chunks++
				}
				require.True(t, n%recordSize == 0 || n == a.Len())
				n--
			}
			require.Equal(t, (a.Len()+recordSize-1)/recordSize, int64(len(list(t, filepath.Join(dir, path)))))
		}
		require.Equal(t, want.Chunks, chunks)
		require.Equal(t, res.Size, size)
		require.Len(t, list(t, dir), files)

		again := filepath.Join(t.TempDir(), "x.parq")
		_, err = WriteParquet(ctx, again, Source{Archive: f, URL: url}, false, nil)
		require.NoError(t, err)
		require.Equal(t, list(t, dir), list(t, again))
	}
}

// list returns the files of a folder.
func list(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !d.IsDir() {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			rel, err := filepath.Rel(dir, name)
			require.NoError(t, err)
			out[filepath.ToSlash(rel)] = string(b)
		}
		return nil
	}))
	return out
}

// TestParquetSchema checks the columns, types and null counts that fastparquet needs.
func TestParquetSchema(t *testing.T) {
	places, values := newTable(), newTable()
	places.place("x", 1, 3)
	places.place("x", 2, 1<<40)
	for _, text := range []string{"ab", "", "c"} {
		values.value([]byte(text))
	}
	for tab, nulls := range map[*table][4]int{places: {3: 2}, values: {0: 3}} {
		b, err := tab.parquet()
		require.NoError(t, err)
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.Equal(t, "message schema {\n\toptional binary path (STRING);\n\trequired int64 offset (INT(64,true));\n\trequired int64 size (INT(64,true));\n\toptional binary raw;\n}", f.Schema().String())
		groups := f.Metadata().RowGroups
		require.Len(t, groups, 1)
		for i, c := range groups[0].Columns {
			require.EqualValues(t, nulls[i], c.MetaData.Statistics.NullCount)
		}
	}
}

// TestParquetTarget checks what is replaced, and that nothing remains of a failure.
func TestParquetTarget(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	f := archived(t, image, &archive.WriteOptions{Name: "x.nc"})
	parent := t.TempDir()
	dir := filepath.Join(parent, "x.parq")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = WriteParquet(stopped, dir, Source{Archive: f, URL: "a"}, false, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, list(t, parent))
	_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "a"}, false, nil)
	require.NoError(t, err)
	was := list(t, parent)
	_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "b"}, false, nil)
	require.ErrorIs(t, err, fs.ErrExist)
	require.Equal(t, was, list(t, parent))
	_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "b"}, true, nil)
	require.NoError(t, err)
	require.NotEqual(t, was, list(t, parent))
	for _, name := range []string{"x.nc.cdfz", "tas/refs.nc", "notes"} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte("the only copy"), 0o600))
		_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "b"}, true, nil)
		require.ErrorIs(t, err, fs.ErrExist)
		require.FileExists(t, name)
		require.NoError(t, os.Remove(name))
	}
	for _, content := range []string{"", `{"metadata":{},"zarr_consolidated_format":1}`} { // a store of Zarr
		require.NoError(t, os.WriteFile(filepath.Join(dir, metadataName), []byte(content), 0o600))
		_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "b"}, true, nil)
		require.ErrorIs(t, err, fs.ErrExist)
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = WriteParquet(ctx, dir, Source{Archive: f, URL: "b"}, true, nil)
	require.ErrorIs(t, err, fs.ErrExist)
}
