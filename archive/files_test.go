package archive

import (
	"bytes"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/observer"
)

// flipReader misreads one byte, the first time.
type flipReader struct {
	io.ReaderAt
	off  int64
	left atomic.Int32
}

func (r *flipReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	if at := r.off - off; at >= 0 && at < int64(n) && r.left.Add(-1) == 0 {
		p[at] ^= 1
	}
	return n, err
}

// climateImage returns a file below compareBelow, largeImage one above: a byte variable
// v after a header.
func climateImage(t *testing.T) []byte {
	b, err := os.ReadFile("../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	return b
}

func largeImage(*testing.T) []byte {
	b := []byte("CDF\x02\x00\x00\x00\x00" +
		"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00\x00\x00\x90\x00\x00" + // dimension x of 9 Mi
		"\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x90\x00\x00\x00\x00\x00\x00\x00\x00\x00\x60")
	b = append(b, make([]byte, 0x60-len(b))...)
	random := rand.New(rand.NewPCG(3, 4))
	for range 9 << 20 {
		b = append(b, byte(random.IntN(16)))
	}
	return b
}

// TestWriteFile archives and restores a file and checks the attributes kept from the
// source.
func TestWriteFile(t *testing.T) {
	image := climateImage(t)
	dir := t.TempDir()
	src := filepath.Join(dir, "x.nc")
	require.NoError(t, os.WriteFile(src, image, 0o600))
	when := time.Unix(1e9, 5000)
	require.NoError(t, os.Chtimes(src, when, when))
	st, err := os.Stat(src)
	require.NoError(t, err)
	name := src + ".cdfz"
	read := int64(0)
	opts := &WriteOptions{Name: "x.nc", CheckProgress: func(n int64) { read = n }}
	res, err := WriteFile(t.Context(), name, bytes.NewReader(image), int64(len(image)), opts, &FileOptions{Source: st})
	require.NoError(t, err)
	require.EqualValues(t, len(image), read)
	got, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, res.Size, got.Size())
	require.True(t, got.ModTime().Equal(when))
	_, err = WriteFile(t.Context(), name, bytes.NewReader(image), int64(len(image)), nil, nil)
	require.ErrorIs(t, err, fs.ErrExist)

	f, err := Open(t.Context(), name, nil)
	require.NoError(t, err)
	defer f.Close()
	back := filepath.Join(dir, "new", "x.nc")
	require.NoError(t, RestoreFile(t.Context(), back, f, nil, &FileOptions{MakeDirs: true}))
	b, err := os.ReadFile(back)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, b))
}

// TestWriteTarget archives to a file of the test, with parity, and rewrites that archive to another one.
// Both are read before their files are complete for others.
func TestWriteTarget(t *testing.T) {
	image := climateImage(t)
	target := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "x"))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	checked := int64(0)
	to := target()
	res, f, err := WriteTarget(t.Context(), to, bytes.NewReader(image), int64(len(image)), &WriteOptions{Name: "x.nc", Parity: 10, CheckProgress: func(n int64) { checked = n }})
	require.NoError(t, err)
	require.EqualValues(t, len(image), checked)
	require.Positive(t, res.Parity)
	st, err := to.Stat()
	require.NoError(t, err)
	require.Equal(t, st.Size(), res.Size)

	checked = 0
	to = target()
	again, f, err := RewriteTarget(t.Context(), to, f, &WriteOptions{NoCheck: true, CheckProgress: func(n int64) { checked = n }})
	require.NoError(t, err)
	require.Zero(t, checked)
	require.Equal(t, res.SHA256, again.SHA256)
	info, ok := f.Info()
	require.True(t, ok)
	require.Equal(t, "x.nc", info.ImageName)

	flip := &flipReader{ReaderAt: bytes.NewReader(image), off: 100000}
	flip.left.Store(1)
	_, _, err = WriteTarget(t.Context(), target(), flip, int64(len(image)), nil)
	require.ErrorContains(t, err, "the archive differs from the source")
}

// TestMisread checks that reading back detects a misread byte.
func TestMisread(t *testing.T) {
	for _, c := range []struct {
		image []byte
		off   int64
		err   string
	}{
		{climateImage(t), 100000, `archive: the archive differs from the source, first at byte 100000 (variable "ta")`},
		{largeImage(t), 5000000, `archive: the archive differs from the source, first at byte 5000000 (variable "v")`},
	} {
		if testing.Short() && len(c.image) > 8<<20 {
			continue
		}
		dir := t.TempDir()
		flip := &flipReader{ReaderAt: bytes.NewReader(c.image), off: c.off}
		flip.left.Store(1)
		_, err := WriteFile(t.Context(), filepath.Join(dir, "x"), flip, int64(len(c.image)), &WriteOptions{Preset: PresetFast}, nil)
		require.EqualError(t, err, c.err)
		require.NotErrorIs(t, err, ErrCorrupt)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// turnReader reads a byte right the first time only.
type turnReader struct {
	io.ReaderAt
	off   int64
	reads atomic.Int32
}

func (r *turnReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	if at := r.off - off; at >= 0 && at < int64(n) && r.reads.Add(1) > 1 {
		p[at] ^= 1
	}
	return n, err
}

// TestReadAgain checks that an archive does not appear with the SHA-256 of other bytes than
// those of its blocks, which are read after they were hashed if variables are cut in groups.
func TestReadAgain(t *testing.T) {
	h := &cdf3.Header{Version: 2, NumRecsField: 10, Dims: []cdf3.Dim{{Name: "time"}, {Name: "x", Len: 120 << 10}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Float, DimIDs: []int{0, 1}})
	}
	image := zerosOf(t, h)
	image.size = h.Vars[0].Begin + 10*h.RecSize
	for memory, want := range map[int64]string{
		1: "archive: source changed while being archived, or it reads differently each time",
		0: `archive: the archive differs from the source, first at byte 600000 (variable "b")`,
	} {
		o := &WriteOptions{Preset: PresetFast, Zarr: ZarrNever, Memory: memory}
		turn := &turnReader{ReaderAt: image, off: 600000}
		_, err := WriteFile(t.Context(), filepath.Join(t.TempDir(), "x"), turn, image.size, o, nil)
		require.EqualError(t, err, want)
		_, err = WriteFile(t.Context(), filepath.Join(t.TempDir(), "x"), image, image.size, o, nil)
		require.NoError(t, err)
	}
}

// TestReadBack checks that an archive that does not read back correctly is not
// ErrCorrupt, because no archive exists yet.
func TestReadBack(t *testing.T) {
	image := climateImage(t)
	var b bytes.Buffer
	_, err := Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	b.Bytes()[30000] ^= 0xff
	f, err := New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	err = f.compare(t.Context(), bytes.NewReader(image), int64(len(image)), false, nil)
	require.ErrorIs(t, err, ErrCorrupt)
	err = notReadBack(t.Context(), err)
	require.ErrorContains(t, err, "archive: the archive does not read back as it was written: ")
	require.NotErrorIs(t, err, ErrCorrupt)
}

// TestReadBackOnce checks that a file which was archived is compared without decoding its netCDF header
// a second time.
func TestReadBackOnce(t *testing.T) {
	image := archivetest.Classic(t)["cdf2_climate.nc"]
	var mu sync.Mutex
	decoded := map[string]int{}
	ctx := observer.With[filters.Observer](t.Context(), func(_ filters.Filter, label string, decode bool) func(in, out int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if decode {
			decoded[label]++
		}
		return nil
	})
	_, err := WriteFile(ctx, filepath.Join(t.TempDir(), "x.cdfz"), bytes.NewReader(image), int64(len(image)), &WriteOptions{Workers: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, decoded["(header)"])
	require.Zero(t, decoded["(rest)"])
	require.Positive(t, decoded["tas"])
}
