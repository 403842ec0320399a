package cataloguefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// sample is a small catalogue.
func sample(t testing.TB) []byte {
	return built(t, spillText, fileRows("a.nc.cdfz", 4), fileRows("b\xff.nc.cdfz", 2))
}

// checked reads a catalogue and checks the class of its error.
func checked(t testing.TB, data []byte) ([]Row, error) {
	rows, err := read(data)
	if err != nil {
		require.True(t, errors.Is(err, archive.ErrCorrupt) || errors.Is(err, ErrNotCatalogue) || bytes.Contains([]byte(err.Error()), []byte("later version")), "%v", err)
	}
	return rows, err
}

// TestDamage changes bytes of a catalogue and cuts it off. Whatever is read is in order, and nothing panics.
// Pages have checksums, so that changes there are found.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	data := sample(t)
	want, err := read(data)
	require.NoError(t, err)
	footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	tried, found := 0, 0
	for i := 0; i < len(data); i += 3 { // all bytes take ten seconds
		bad := slices.Clone(data)
		bad[i] ^= []byte{1, 0x80, 0xff}[i/3%3]
		rows, err := checked(t, bad)
		tried++
		if err != nil {
			found++
		} else if i < footer {
			require.Equal(t, want, rows, "byte %d", i)
		}
		if i%10 == 0 {
			_, err := checked(t, data[:i])
			require.Error(t, err, "%d bytes", i)
		}
	}
	require.Greater(t, found, tried/3)
}

// TestSource checks that errors of the source stay what they are.
func TestSource(t *testing.T) {
	data := sample(t)
	fault := errors.New("the disk has failed")
	for off := 0; off < len(data); off += 50 {
		r := readerAt(func(p []byte, at int64) (int, error) {
			if at <= int64(off) && int64(off) < at+int64(len(p)) {
				return 0, fault
			}
			return bytes.NewReader(data).ReadAt(p, at)
		})
		c, err := Open(r, int64(len(data)))
		for err == nil {
			_, err = c.Next()
		}
		if !errors.Is(err, io.EOF) { // no column needs that byte
			require.ErrorIs(t, err, fault)
			require.NotErrorIs(t, err, archive.ErrCorrupt)
		}
	}
	b := NewBuilder()
	defer b.Close()
	require.NoError(t, b.Add(fileRows("a.nc", 3)))
	_, err := b.Write(t.Context(), iotest.TruncateWriter(failing{fault}, 0))
	require.NoError(t, err)
	_, err = b.Write(t.Context(), failing{fault})
	require.ErrorIs(t, err, fault)
}

type readerAt func(p []byte, off int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestOthers checks files that are no catalogues, and rows that cdfz does not write.
func TestOthers(t *testing.T) {
	var other bytes.Buffer
	type x struct{ A int64 }
	require.NoError(t, parquet.Write(&other, []x{{1}, {2}}))
	_, err := read(other.Bytes())
	require.ErrorIs(t, err, ErrNotCatalogue)
	require.EqualError(t, err, "catalogue: expected a catalogue of cdfz, found another Parquet file")
	other.Reset()
	require.NoError(t, parquet.Write(&other, []x{{1}}, parquet.KeyValueMetadata(formatKey, formatVersion)))
	_, err = read(other.Bytes())
	require.EqualError(t, err, "catalogue: expected a catalogue of cdfz, found a Parquet file with other columns")
	other.Reset()
	require.NoError(t, parquet.Write(&other, []x{{1}}, parquet.KeyValueMetadata(formatKey, "4")))
	_, err = read(other.Bytes())
	require.ErrorContains(t, err, `expected a format from 1 to 3, found "4": a catalogue of a later version`)
	_, err = read([]byte("CDF\x01 and more than 12 bytes"))
	require.ErrorIs(t, err, ErrNotCatalogue)
	_, err = read(nil)
	require.EqualError(t, err, "catalogue: expected a catalogue of cdfz, found a file of 0 bytes")

	unsorted := []Row{{Path: "b", Number: 1}, {Path: "a"}}
	for text, rows := range map[string][]Row{
		"the rows are not in order at \"a\"":         unsorted,
		"expected the path of a file, found \"\"":    {{}},
		"a negative size or number":                  {{Path: "a", Number: -1}},
		"expected UTF-8, found":                      {{Path: "a", Units: "\xff"}},
		"expected the bytes of the path":             {{Path: "a", PathBytes: "b"}},
		"expected 0 lengths of dimensions, found 1":  {{Path: "a", Shape: []int64{1}}},
		"expected both ends of the box, found one":   {{Path: "a", LatMin: ptr(0)}},
		"expected the path of a file, found \"a\\x0": {{Path: "a\x00"}},
		"expected a MultiPoint of GeoJSON, found":    {{Path: "a", Points: &Points{text: `{"type":"Point","coordinates":[1,2]}`}}},
		"expected 1 to 1000 points, found 0":         {{Path: "a", Points: &Points{text: `{"type":"MultiPoint"}`}}},
		"expected 1 to 1000 points, found 1001":      {{Path: "a", Points: newPoints(make([][2]float64, 1001))}},
		"a latitude, found [1 91]":                   {{Path: "a", Points: newPoints([][2]float64{{1, 91}})}},
		"a latitude, found [181 1]":                  {{Path: "a", Points: newPoints([][2]float64{{181, 1}})}},
		"a latitude, found [1 2 3]":                  {{Path: "a", Points: &Points{text: `{"type":"MultiPoint","coordinates":[[1,2,3]]}`}}},
	} {
		var b bytes.Buffer
		w := newWriter(&b)
		for i := range rows {
			require.NoError(t, w.add(&rows[i]))
		}
		require.NoError(t, w.Close())
		_, err := checked(t, b.Bytes())
		require.ErrorContains(t, err, text)
	}
	// Other encodings and compressions of Parquet are refused.
	rows, schema := fileRows("a", 3), parquet.SchemaOf(judgedRow{})
	for text, o := range map[string][]parquet.WriterOption{
		"expected pages compressed with zstd, found": {parquet.Compression(&parquet.Snappy)},
		"expected a page of version 1":               {parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2)},
	} {
		var b bytes.Buffer
		w := parquet.NewWriter(&b, append(o, schema, parquet.KeyValueMetadata(formatKey, formatVersion))...)
		for i := range rows {
			_, err := w.WriteRows([]parquet.Row{schema.Deconstruct(nil, judged(&rows[i]))})
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		_, err := checked(t, b.Bytes())
		require.ErrorContains(t, err, text)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzCatalogue checks that any bytes are refused, or read as rows that make the same catalogue again. The
// memory that this takes is bounded. Without data, edits change a sample: each is an offset of two bytes,
// from the end if the third is odd, and a byte.
func FuzzCatalogue(f *testing.F) {
	base := sample(f)
	s := seeds.Of(f)
	s.Add("sample", []byte{}, []byte{})
	s.Add("rows", []byte{}, []byte{1, 2, 0, 0xff})
	s.Add("footer", []byte{}, []byte{0, 200, 1, 0xff, 1, 0, 1, 0x7f})
	s.Add("length", []byte{}, []byte{0, 8, 1, 0xff})
	s.Add("short", []byte("PAR1\x15\x00\x00\x00\x00\x01\x00\x00\x00PAR1"), []byte{})
	f.Fuzz(func(t *testing.T, data, edits []byte) {
		if len(data) == 0 {
			data = slices.Clone(base)
		}
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(binary.BigEndian.Uint16(edits))
			if edits[2]%2 == 1 {
				at = len(data) - at
			}
			if at >= 0 && at < len(data) {
				data[at] = edits[3]
			}
		}
		var rows []Row
		var err error
		n := allocated(func() { rows, err = checked(t, data) })
		require.LessOrEqual(t, n, uint64(512<<20))
		if err != nil {
			return
		}
		same, err := read(built(t, spillText, rows))
		require.NoError(t, err)
		require.Len(t, same, len(rows))
	})
}
