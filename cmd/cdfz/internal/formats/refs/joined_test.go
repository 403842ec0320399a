package refs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// member writes an archive of n records from a time on.
func member(t *testing.T, name string, from, n int, o archive.WriteOptions) {
	b := cdf3.NewBuilder(cdf3.Offset64)
	time, lat, lon := b.Dim("time", 0), b.Dim("lat", 3), b.Dim("lon", 5)
	times, values := make([]float64, n), make([]float32, 15*n)
	for i := range times {
		times[i] = float64(from + i)
	}
	for i := range values {
		values[i] = float32(math.Sin(float64(15*from + i)))
	}
	b.Var("time", cdf3.Double, time).Values(times)
	b.Var("orog", cdf3.Float, lat, lon).Values(values[:15])
	b.Var("tas", cdf3.Float, time, lat, lon).Values(values)
	var image bytes.Buffer
	require.NoError(t, b.WriteFile(ctx, &image))
	_, err := archive.WriteFile(ctx, name, bytes.NewReader(image.Bytes()), int64(image.Len()), &o, nil)
	require.NoError(t, err)
}

// dataset joins archives of the given numbers of records.
func dataset(t *testing.T, dir string, lens []int, newDim string, options ...archive.WriteOptions) *joined.Dataset {
	var locations []string
	from := 0
	for i, n := range lens {
		name := fmt.Sprintf("%d.nc.cdfz", i)
		member(t, filepath.Join(dir, name), from, n, options[min(i, len(options)-1)])
		locations = append(locations, name)
		from += n
	}
	open := joined.Folder(filepath.Join(dir, "x.ncml"))
	o := &joined.BuildOptions{Dim: newDim, First: true}
	if newDim != "" {
		o.New, o.Vars = true, []string{"tas"}
	}
	desc, _, err := joined.Build(ctx, locations, open, o)
	require.NoError(t, err)
	d, err := joined.Open(ctx, desc, open, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

var (
	pairs = archive.WriteOptions{Zarr: archive.ZarrAlways, Shapes: map[string][]int64{"tas": {2, 3, 5}, "time": {2}}}
	three = archive.WriteOptions{Zarr: archive.ZarrAlways, Shapes: map[string][]int64{"tas": {3, 3, 5}, "time": {3}}}
)

// TestJoined checks that each reference leads to the bytes that decode to the chunk of the joined
// variable.
func TestJoined(t *testing.T) {
	for name, c := range map[string]struct {
		lens     []int
		newDim   string
		options  archive.WriteOptions
		referred int64
	}{
		"existing":          {[]int{4, 2, 6}, "", pairs, 2*6 + 1},
		"last shorter":      {[]int{4, 2, 3}, "", pairs, 2*5 + 1},
		"not a whole block": {[]int{4, 3, 2}, "", pairs, 1},
		"new":               {[]int{4, 4, 4}, "run", pairs, 3*2 + 2 + 1},
		"pools":             {[]int{4, 4}, "", archive.WriteOptions{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := dataset(t, dir, c.lens, c.newDim, c.options)
			s := Source{Dataset: d, URL: filepath.Join(dir, "x.ncml")}
			st, err := newStore(ctx, s)
			require.NoError(t, err)
			var b bytes.Buffer
			res, err := WriteJSON(ctx, &b, s)
			require.NoError(t, err)
			require.Equal(t, c.referred, res.Referred)
			var got struct{ Refs map[string]any }
			require.NoError(t, json.Unmarshal(b.Bytes(), &got))
			chunks := int64(0)
			parq := filepath.Join(dir, "x.parq")
			_, err = WriteParquet(ctx, parq, s, false, nil)
			require.NoError(t, err)
			for path, a := range st.Arrays() {
				rows, err := parquet.ReadFile[row](filepath.Join(parq, path, "refs.0.parq"))
				require.NoError(t, err)
				require.Len(t, rows, int(a.Len()))
				coder, err := filters.NewCoder(a.Chain())
				require.NoError(t, err)
				size := a.Var().Type().Size()
				for _, n := range a.Shape() {
					size *= n
				}
				for n := range a.Len() {
					chunks++
					place, ok := got.Refs[path+"/"+string(a.AppendKey(nil, n))].([]any)
					require.Equal(t, ok, rows[n].Path != nil)
					if !ok {
						continue
					}
					require.Equal(t, []any{*rows[n].Path, float64(rows[n].Offset), float64(rows[n].Size)}, place)
					file, err := os.ReadFile(*rows[n].Path)
					require.NoError(t, err)
					want, err := a.Zarr(ctx, nil, n)
					require.NoError(t, err)
					values := [2][]byte{make([]byte, size), make([]byte, size)}
					require.NoError(t, coder.Decode(values[0], want, 0))
					require.NoError(t, coder.Decode(values[1], file[rows[n].Offset:][:rows[n].Size], 0))
					require.Equal(t, values[0], values[1], "%s %d", path, n)
				}
			}
			require.Equal(t, chunks, res.Chunks)
		})
	}
}

// TestJoinedDiffers has a member whose blocks are not those of the first one.
func TestJoinedDiffers(t *testing.T) {
	portable := pairs
	portable.Preset = archive.PresetPortable
	for _, c := range []struct {
		lens   []int
		second archive.WriteOptions
		text   string
	}{
		{[]int{4, 6}, three, "expected blocks of shape [2] of variable \"time\", found [3]"},
		{[]int{4, 1}, archive.WriteOptions{Zarr: archive.ZarrAlways}, "expected blocks of shape [2] of variable \"time\", found [1]"},
		{[]int{4, 6}, portable, "with filters"},
		{[]int{4, 6}, archive.WriteOptions{}, "found none"},
	} {
		dir := t.TempDir()
		d := dataset(t, dir, c.lens, "", pairs, c.second)
		_, err := WriteJSON(ctx, &bytes.Buffer{}, Source{Dataset: d, URL: "x.ncml"})
		require.ErrorIs(t, err, ErrBlocks)
		require.ErrorContains(t, err, "1.nc")
		require.ErrorContains(t, err, c.text)
		_, err = WriteParquet(ctx, filepath.Join(dir, "x.parq"), Source{Dataset: d, URL: "x.ncml"}, false, nil)
		require.ErrorIs(t, err, ErrBlocks)
		require.NoDirExists(t, filepath.Join(dir, "x.parq"))
	}
}

// TestIndices checks the indices of more than 256 archives in one file.
func TestIndices(t *testing.T) {
	tab := newTable()
	for i := range 700 {
		for k := range i%3 + 1 {
			tab.place(fmt.Sprint(i), int64(k), 1)
		}
	}
	b, err := tab.parquet()
	require.NoError(t, err)
	rows, err := parquet.Read[row](bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	n := 0
	for i := range 700 {
		for k := range i%3 + 1 {
			require.Equal(t, fmt.Sprint(i), *rows[n].Path)
			require.EqualValues(t, k, rows[n].Offset)
			n++
		}
	}
	require.Len(t, rows, n)
}
