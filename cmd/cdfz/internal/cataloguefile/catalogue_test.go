package cataloguefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// built returns the bytes of a catalogue of rows.
func built(t testing.TB, spills int, files ...[]Row) []byte {
	b := NewBuilder()
	defer b.Close()
	b.spills = spills
	for _, rows := range files {
		require.NoError(t, b.Add(slices.Clone(rows)))
	}
	var out bytes.Buffer
	_, err := b.Write(t.Context(), &out)
	require.NoError(t, err)
	return out.Bytes()
}

// read returns the rows of a catalogue.
func read(data []byte) ([]Row, error) {
	c, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var rows []Row
	for {
		r, err := c.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, *r)
	}
}

func ptr(x float64) *float64 { return &x }

// fileRows returns the rows of a made-up file.
func fileRows(name string, vars int) []Row {
	rows := make([]Row, vars)
	for i := range rows {
		r := &rows[i]
		r.SetName(name)
		r.Image, r.SHA256, r.ImageSize, r.ArchiveSize = "x.nc", strings.Repeat("ab", 32), 1000, 100
		r.Number, r.Variable, r.Type = int32(i), fmt.Sprintf("v%d", i), "float"
		r.Dimensions, r.Shape = []string{}, []int64{}
		if i%3 > 0 {
			r.Dimensions, r.Shape, r.Record = []string{"time", "lat"}, []int64{12, 7}, "time"
			r.Units, r.Attributes, r.FileAttributes = "K", `{"units":"K"}`, `{"title":"a title"}`
			r.Calendar, r.TimeStart, r.TimeEnd = "noleap", "1987-01-01T00:00:00", "1987-12-01T00:00:00"
			r.LatMin, r.LatMax, r.LonMin, r.LonMax, r.LonCircle = ptr(-90), ptr(90), ptr(0), ptr(357.5), true
			r.Filters, r.Proved = "52723", 1234567
		}
		if i%3 == 2 {
			r.Points = newPoints([][2]float64{{-180, 89.5}, {float64(i % 7), -1.25}})
		}
	}
	return rows
}

// TestRows checks that rows come back as they were, whatever their order and the number of temporary files,
// and that the bytes are the same each time.
func TestRows(t *testing.T) {
	var files [][]Row
	var want []Row
	for i := range 40 {
		rows := fileRows(fmt.Sprintf("d/%02d.nc.cdfz", i), i%5+1)
		files, want = append(files, rows), append(want, rows...)
	}
	odd := fileRows("e\xff.nc", 1)
	files, want = append(files, odd), append(want, odd...)
	data := built(t, spillText, files...)
	got, err := read(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, "e\xff.nc", got[len(got)-1].Name())
	for _, spills := range []int{1, 5000, 20000} {
		rand.Shuffle(len(files), func(a, b int) { files[a], files[b] = files[b], files[a] })
		require.True(t, bytes.Equal(data, built(t, spills, files...)), "spills at %d bytes", spills)
	}
	// Twice the same file.
	require.True(t, bytes.Equal(data, built(t, 5000, append(files, files[3])...)))
	// Parts make the same catalogue, and parquet-go finds the same rows.
	b := NewBuilder()
	defer b.Close()
	for i := range 3 {
		part := built(t, spillText, files[i*10:i*10+20]...)
		r, err := Open(bytes.NewReader(part), int64(len(part)))
		require.NoError(t, err)
		b.AddPart("part", r)
	}
	require.NoError(t, b.Add(files[40]))
	var out bytes.Buffer
	n, err := b.Write(t.Context(), &out)
	require.NoError(t, err)
	require.Equal(t, Counts{int64(len(files)), int64(len(want)), int64(len(data))}, n)
	require.True(t, bytes.Equal(data, out.Bytes()))
	other, err := parquet.Read[judgedRow](bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Len(t, other, len(want))
	for i := range other {
		require.Equal(t, *judged(&want[i]), other[i])
	}

	empty, err := read(built(t, spillText))
	require.NoError(t, err)
	require.Empty(t, empty)
}

// TestReplace checks that the rows of a file are those of the last source.
func TestReplace(t *testing.T) {
	old, fresh := fileRows("a.nc", 5), fileRows("a.nc", 2)
	fresh[0].Units = "m"
	part := func(rows ...[]Row) *Reader {
		data := built(t, spillText, rows...)
		r, err := Open(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		return r
	}
	for name, fill := range map[string]func(b *Builder){
		"file after part":         func(b *Builder) { b.AddPart("part", part(old)); require.NoError(t, b.Add(fresh)) },
		"part after part":         func(b *Builder) { b.AddPart("part", part(old, fileRows("b.nc", 1))); b.AddPart("part", part(fresh)) },
		"spilled file after part": func(b *Builder) { b.spills = 1; b.AddPart("part", part(old)); require.NoError(t, b.Add(fresh)) },
	} {
		b := NewBuilder()
		fill(b)
		var out bytes.Buffer
		_, err := b.Write(t.Context(), &out)
		require.NoError(t, err, name)
		got, err := read(out.Bytes())
		require.NoError(t, err, name)
		require.Equal(t, fresh, got[:2], name)
		b.Close()
	}
}

// TestGroups checks catalogues of several row groups and pages.
func TestGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	var files [][]Row
	for i := range 5 {
		rows := fileRows(fmt.Sprintf("%d.nc", i), groupRows/2+1)
		for k := range rows {
			rows[k].LongName = strings.Repeat("x", k%200)
		}
		files = append(files, rows)
	}
	data, want := built(t, spillText, files...), slices.Concat(files...)
	c, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Greater(t, len(f.RowGroups()), 2)
	require.EqualValues(t, len(want), c.NumRows())
	got, err := read(data)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range got {
		if !reflect.DeepEqual(want[i], got[i]) { // require prints both lists, which takes minutes
			require.Equal(t, want[i], got[i], "row %d", i)
		}
	}
}

// TestLongest checks that the longest rows which Describe makes can be read.
func TestLongest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	long := strings.Repeat("\uFFFD", maxAttrText)
	r := Row{Image: long, Variable: long, Units: long, StandardName: long, LongName: long, Record: long}
	r.SetName(strings.Repeat("\xffa", maxAttrText/2))
	r.Attributes, r.FileAttributes = strings.Repeat("a", maxAttrs), strings.Repeat("b", maxAttrs)
	for range maxDims {
		r.Dimensions, r.Shape = append(r.Dimensions, strings.Repeat("d", maxDimNames/maxDims)), append(r.Shape, math.MaxInt64)
	}
	require.LessOrEqual(t, r.text(), maxRow)
	var files [][]Row
	for i := range 20 {
		f := r
		f.Number = int32(i)
		files = append(files, []Row{f})
	}
	got, err := read(built(t, spillText, files...))
	require.NoError(t, err)
	require.Len(t, got, 20)
	require.Equal(t, r, got[0])
}

// TestSharedTexts checks that texts which all rows of a file have take space once: many variables and long
// attributes of the file, or long names of dimensions, are cheap to make.
func TestSharedTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	rng := rand.New(rand.NewSource(1))
	long := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + rng.Intn(26))
		}
		return string(b)
	}
	rows := fileRows("a.nc", 1000)
	attributes, dims := `{"history":"`+long(maxAttrs-100)+`"}`, []string{long(maxAttrText), long(maxAttrText)}
	for i := range rows {
		rows[i].FileAttributes, rows[i].Dimensions, rows[i].Shape = attributes, dims, []int64{1, 1}
	}
	data := built(t, spillText, rows)
	require.Less(t, len(data), 8*(len(attributes)+2*maxAttrText))
	footer := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	require.Less(t, footer, 2*(len(attributes)+2*maxAttrText)) // the least and the greatest of the row group
	found, err := read(data)
	require.NoError(t, err)
	require.Len(t, found, len(rows))
	require.True(t, found[999].FileAttributes == attributes)
}
