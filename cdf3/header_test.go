package cdf3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// readerAt adapts a function to io.ReaderAt.
type readerAt func(p []byte, off int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// eager returns io.EOF with the last bytes, as io.ReaderAt allows.
func eager(b []byte) io.ReaderAt {
	return readerAt(func(p []byte, off int64) (int, error) {
		n, err := bytes.NewReader(b).ReadAt(p, off)
		if off+int64(n) == int64(len(b)) {
			err = io.EOF
		}
		return n, err
	})
}

func TestReadEagerEOF(t *testing.T) {
	for _, r := range table(t, "classic") {
		b := load(t, "classic", r[0])
		want, err := parse(b)
		require.NoError(t, err)
		got, err := Read(eager(b), int64(len(b)))
		require.NoError(t, err, r[0])
		assert.Equal(t, want, got, r[0])
	}
	for _, r := range table(t, "malformed") {
		b := load(t, "malformed", r[0])
		_, want := parse(b)
		_, got := Read(eager(b), int64(len(b)))
		assert.Equal(t, want, got, r[0])
	}
}

// big returns a header that spans several windows.
func big(t testing.TB, vars int) []byte {
	h := &Header{Version: Classic, Dims: []Dim{{"t", 0}, {"x", 3}}}
	for range vars {
		h.Vars = append(h.Vars, Var{Name: strings.Repeat("name", 10), DimIDs: []int{0, 1}, Type: Float,
			Attrs: []Attr{{"units", Char, 9, []byte("a unit of")}, {"one", Double, 2, make([]byte, 16)}}})
	}
	h.Attrs = []Attr{{"history", Char, 200_001, bytes.Repeat([]byte("h"), 200_001)}}
	require.NoError(t, h.LayoutRead())
	b, err := h.Append(nil)
	require.NoError(t, err)
	require.Equal(t, int64(len(b)), h.Len)
	return b
}

// TestReadErrors fails each call to the source in turn.
func TestReadErrors(t *testing.T) {
	b := big(t, 20_000)
	for fail := 0; ; fail++ {
		calls := 0
		r := readerAt(func(p []byte, off int64) (int, error) {
			if calls++; calls > fail {
				return len(p) / 2, iotest.ErrTimeout
			}
			return bytes.NewReader(b).ReadAt(p, off)
		})
		h, err := Read(r, int64(len(b)))
		if err == nil {
			checkHeader(t, h, b)
			require.Greater(t, fail, 4)
			require.Less(t, fail, 12, "reads")
			return
		}
		assert.ErrorIs(t, err, iotest.ErrTimeout)
		assert.NotErrorIs(t, err, ErrNotCDF)
		assert.False(t, errors.As(err, new(*FormatError)))
	}
}

func TestReadNotCDFSourceError(t *testing.T) {
	r := readerAt(func(p []byte, off int64) (int, error) {
		if off == 0 {
			return copy(p, "other file"), nil
		}
		return 0, iotest.ErrTimeout
	})
	_, err := Read(r, 1<<20)
	assert.ErrorIs(t, err, iotest.ErrTimeout)
	assert.NotErrorIs(t, err, ErrNotCDF)
}

func TestReadShortSource(t *testing.T) {
	b := load(t, "classic", "cdf1_many_vars.nc")
	h, err := parse(b)
	require.NoError(t, err)
	for _, n := range []int64{0, 3, 4, 100, h.Len - 1} {
		_, err := Read(bytes.NewReader(b[:n]), int64(len(b)))
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.False(t, errors.As(err, new(*FormatError)))
	}
}

// TestReadBytes reads headers from the first bytes of a file, until a context is done.
func TestReadBytes(t *testing.T) {
	b := big(t, 2000)
	ctx, cancel := context.WithCancel(context.Background())
	for _, size := range []int64{0, 3, 100, int64(len(b)) - 1, int64(len(b)), int64(len(b)) + 1, 1 << 50} {
		want, wantErr := parse(b[:min(size, int64(len(b)))])
		h, err := ReadBytes(ctx, b, size)
		assert.Equal(t, want, h, size)
		assert.Equal(t, wantErr, err, size)
	}
	_, err := ReadBytes(ctx, b, -1)
	assert.ErrorIs(t, err, ErrNotCDF)
	cancel()
	_, err = ReadBytes(ctx, b, int64(len(b)))
	assert.ErrorIs(t, err, context.Canceled)
}

// TestReadCalls checks that a small header takes two reads and that little beyond the
// header is read.
func TestReadCalls(t *testing.T) {
	head := load(t, "classic", "cdf2_climate.nc")[:2000]
	calls, end := 0, int64(0)
	r := readerAt(func(p []byte, off int64) (int, error) {
		calls++
		end = max(end, off+int64(len(p)))
		clear(p)
		if off < int64(len(head)) {
			copy(p, head[off:])
		}
		return len(p), nil
	})
	_, err := Read(r, 1<<50)
	require.NoError(t, err)
	assert.Equal(t, 2, calls)
	assert.LessOrEqual(t, end, int64(64<<10+4))
}

// TestReadCut cuts small files at every byte. A cut in the header is an error at or
// before the cut. A cut in the values is not an error.
func TestReadCut(t *testing.T) {
	for _, r := range table(t, "classic") {
		b := load(t, "classic", r[0])
		whole, err := parse(b)
		require.NoError(t, err)
		if whole.Len > 6000 {
			continue
		}
		step := int64(1)
		if testing.Short() {
			step = 7
		}
		for n := int64(0); n < whole.Len; n += step {
			h, err := parse(b[:n])
			require.Nil(t, h)
			if n < 4 {
				require.ErrorIs(t, err, ErrNotCDF)
				continue
			}
			var fe *FormatError
			require.ErrorAs(t, err, &fe, "%s cut at %d", r[0], n)
			require.LessOrEqual(t, fe.Off, n)
		}
		for n := whole.Len; n < int64(len(b)); n += 1 + n/8 {
			h, err := parse(b[:n])
			require.NoError(t, err)
			if !h.Streaming {
				require.Equal(t, whole, h)
				continue
			}
			for i := range h.Vars {
				if v := &h.Vars[i]; v.Record && h.NumRecs > 0 {
					require.LessOrEqual(t, v.Begin+(h.NumRecs-1)*h.RecSize+v.RecLen, n)
				}
			}
		}
	}
}

// TestReadFlips changes each byte of some headers. Read must not panic, and the headers
// that it accepts must be sane.
func TestReadFlips(t *testing.T) {
	for _, name := range []string{"cdf1_one_record.nc", "cdf2_streaming.nc", "cdf5_two_unlimited.nc"} {
		b := load(t, "classic", name)
		h, err := parse(b)
		require.NoError(t, err)
		for i := range h.Len {
			for _, x := range []byte{0x00, 0x01, 0x0c, 0x7f, 0x80, 0xff} {
				c := bytes.Clone(b)
				c[i] = x
				if h, err := parse(c); err == nil {
					checkHeader(t, h, c)
				}
			}
		}
	}
}

func TestStreamingCount(t *testing.T) {
	// Records of 3 and 2 bytes, padded to 4 and 4, from byte 100.
	h := &Header{Streaming: true, RecSize: 8, Vars: []Var{
		{Record: true, Begin: 100, RecLen: 3},
		{Record: true, Begin: 104, RecLen: 2},
		{Begin: 500, RecLen: 8},
	}}
	for size, want := range map[int64]int64{
		0: 0, 99: 0, 100: 0, 105: 0, 106: 1, 107: 1, 108: 1, 113: 1, 114: 2, 116: 2, 906: 101, math.MaxInt64: (math.MaxInt64-106)/8 + 1,
	} {
		assert.Equal(t, want, h.wholeRecords(size), "size %d", size)
	}
	// Variables out of order, with a gap: the end of the first one counts.
	h.Vars[0].Begin = 1000
	assert.Equal(t, int64(0), h.wholeRecords(1002))
	assert.Equal(t, int64(1), h.wholeRecords(1003))
	h.Vars = nil
	h.RecSize = 0
	assert.Equal(t, int64(0), h.wholeRecords(1000))
}

// TestReadMemory compares the allocations of Read with the size of the file, for large
// counts and for headers of the smallest elements.
func TestReadMemory(t *testing.T) {
	allocated := func(b []byte, size int64) uint64 {
		var before, after runtime.MemStats
		r := bytes.NewReader(b)
		runtime.ReadMemStats(&before)
		_, _ = Read(r, size)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, r := range table(t, "malformed") {
		b := load(t, "malformed", r[0])
		assert.Less(t, allocated(b, int64(len(b))), uint64(len(b)*20+8192), r[0])
		// With a false size, all counts pass.
		assert.Less(t, allocated(b, math.MaxInt64), uint64(256<<10), r[0])
	}
	var dims, attrs, vars, scalars Header
	for h, v := range map[*Header]Version{&dims: Classic, &attrs: Classic, &vars: Classic, &scalars: Data64} {
		h.Version = v
	}
	dims.Dims = make([]Dim, 20_000)
	attrs.Attrs = make([]Attr, 20_000)
	for i := range attrs.Attrs {
		attrs.Attrs[i].Type = Byte
	}
	vars.Dims = []Dim{{"", 1}}
	for range 100 {
		vars.Vars = append(vars.Vars, Var{Type: Byte, DimIDs: make([]int, 1000)})
	}
	scalars.Vars = make([]Var, 20_000)
	for i := range scalars.Vars {
		scalars.Vars[i].Type = Byte
	}
	for i, h := range []*Header{&dims, &attrs, &vars, &scalars} {
		require.NoError(t, h.LayoutRead())
		b, err := h.Append(nil)
		require.NoError(t, err)
		got := allocated(b, int64(len(b)))
		t.Logf("%d: %d bytes allocated for a header of %d", i, got, len(b))
		assert.Less(t, got, uint64(30*len(b)))
	}
}

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"empty.nc", "cdf3: not a classic netCDF file: the file is empty"},
		{"magic_cut.nc", "cdf3: not a classic netCDF file: the file is 3 bytes long, shorter than the magic number"},
		{"version_3.nc", "cdf3: not a classic netCDF file: format version 3 at byte 3, expected 1, 2 or 5"},
		{"magic_lower.nc", "cdf3: not a classic netCDF file: it begins with 63 64 66 01, expected 43 44 46 and 01, 02 or 05"},
		{"hdf5.nc", "cdf3: not a classic netCDF file: it is a netCDF-4/HDF5 file; `nccopy -k classic` converts it if its contents fit the classic model"},
		{"hdf5_user_block.nc", "cdf3: not a classic netCDF file: it is a netCDF-4/HDF5 file; `nccopy -k classic` converts it if its contents fit the classic model"},
		{"gzip.nc", "cdf3: not a classic netCDF file: it is compressed by gzip: uncompress it first"},
		{"cdf1_cut_numrecs.nc", "cdf3: number of records, at byte 4: truncated header: expected 4 bytes, found the end of the file of 6 bytes"},
		{"cdf1_dims_tag.nc", "cdf3: dimension list, at byte 8: tag 0xb, expected 0xa or 0"},
		{"cdf1_dimid.nc", `cdf3: variable 4 "v", at byte 300: dimension number 3, expected less than 3`},
		{"cdf5_type_12.nc", `cdf3: variable 4 "v", at byte 496: type code 12, expected 1 to 11`},
		{"cdf1_attr_type_12.nc", `cdf3: global attribute 0 "title", at byte 72: type code 12, expected 1 to 11`},
		{"cdf1_var_attrs_tag.nc", `cdf3: variable 1 "time", attribute list, at byte 152: tag 0xd, expected 0xc or 0`},
	} {
		_, err := parse(load(t, "malformed", c.file))
		assert.EqualError(t, err, c.want, c.file)
	}
}

// TestHostileNames checks that names in error messages are quoted and shortened.
func TestHostileNames(t *testing.T) {
	h := Header{Version: Classic, Vars: []Var{{Name: "\x1b[2J\n\xff" + strings.Repeat("x", 1<<16), Type: 99}}}
	b, err := h.Append(nil)
	require.NoError(t, err)
	_, err = parse(b)
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 300)
	assert.NotContains(t, err.Error(), "\x1b")
	assert.NotContains(t, err.Error(), "\n")
}

func TestType(t *testing.T) {
	sizes := []int64{0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, 0}
	for i, n := range sizes {
		assert.Equal(t, n, Type(i).Size())
		assert.Equal(t, n > 0, Type(i).Valid())
	}
	assert.Equal(t, "byte", Byte.String())
	assert.Equal(t, "uint64", UInt64.String())
	assert.Equal(t, "type(0)", Type(0).String())
	assert.Equal(t, "type(12)", Type(12).String())
	assert.Equal(t, "type(4294967295)", Type(math.MaxUint32).String())
	assert.Equal(t, "CDF-5", Data64.String())
}

// TestCDF2DimLen checks dimension lengths up to 2^32-4, which the C library writes in
// CDF-2.
func TestCDF2DimLen(t *testing.T) {
	h := Header{Version: Offset64, Dims: []Dim{{"x", 1<<32 - 4}}, Vars: []Var{{Name: "v", Type: Byte, DimIDs: []int{0}}}}
	require.NoError(t, h.LayoutRead())
	b, err := h.Append(nil)
	require.NoError(t, err)
	got, err := parse(b)
	require.NoError(t, err)
	assert.Equal(t, int64(1<<32-4), got.Vars[0].Len)
	b[3] = byte(Classic)
	_, err = parse(b)
	assert.ErrorContains(t, err, `dimension 0 "x", at byte 24: length 4294967292, expected at most 2147483647`)
}

func FuzzRead(f *testing.F) {
	s := seeds.Of(f)
	kept := strings.Fields(`cdf1_attrs_all_types cdf1_dims_count cdf1_empty_absent cdf1_names_nul cdf1_one_record cdf1_shape_overflow cdf1_single_rec_byte
		cdf2_begin_overflow cdf2_pad_names_ascii_zero cdf2_record_overflow cdf2_streaming_single_rec cdf2_two_unlimited cdf5_attr_len_wraps
		cdf5_empty_tagged cdf5_ndims_wraps cdf5_numrecs_overflow cdf5_repeated_dims cdf5_scalars cdf5_streaming_partial hdf5`)
	for _, folder := range []string{"classic", "malformed"} {
		for _, r := range table(f, folder) {
			b := load(f, folder, r[0])
			if name := strings.TrimSuffix(r[0], ".nc"); slices.Contains(kept, name) {
				s.Add(name, b)
			} else if len(b) < 2000 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parse(b)
		var fe *FormatError
		switch {
		case err == nil:
			checkHeader(t, h, b)
		case errors.As(err, &fe):
			if fe.Off < 0 || fe.Off > int64(len(b)) {
				t.Fatalf("offset %d in a file of %d bytes", fe.Off, len(b))
			}
		case !errors.Is(err, ErrNotCDF):
			t.Fatal(err)
		}
		// A false size may only change what fits.
		_, _ = Read(bytes.NewReader(b), int64(len(b))+1<<40)
	})
}
