// Package archivetest has the images and helpers that tests of several packages of archives share.
// It does not import archive, so that archive's own tests can use it.
package archivetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Root returns the path of a file of the module, from the folder of the test that runs.
func Root(t testing.TB, name string) string {
	t.Helper()
	for dir := "."; ; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "testdata", "classic")); err == nil {
			return filepath.Join(dir, name)
		}
		require.Less(t, len(dir), 30, "no folder of the module")
	}
}

// Smallest is a CDF-1 file without dimensions, attributes and variables.
var Smallest = append([]byte("CDF\x01"), make([]byte, 28)...)

// Ours reports whether hostile input may cause an error.
func Ours(err error) bool {
	return errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrNotArchive) || errors.Is(err, fault.ErrVersion)
}

// Classic returns the small files of testdata, by name.
func Classic(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(Root(t, "testdata/classic/*.nc"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	files := map[string][]byte{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		require.NoError(t, err)
		files[filepath.Base(n)] = b
	}
	return files
}

// Some returns Classic, or with -short one of every fourth group that differs
// only in the format version.
func Some(t testing.TB) map[string][]byte {
	t.Helper()
	files := Classic(t)
	if !testing.Short() {
		return files
	}
	for i, names := range Kinds(files) {
		for j, name := range names {
			if i%4 != 1 || j != i%len(names) {
				delete(files, name)
			}
		}
	}
	return files
}

// Thin returns the step of tests that try bytes or lengths one after another: 1 in the
// soak, more with -short, as in runs with the race detector.
func Thin() int {
	switch {
	case os.Getenv("CDFZ_SOAK") != "":
		return 1
	case testing.Short():
		return 211
	}
	return 3
}

// OneVersion returns the files of testdata in only one of the format's versions each, a
// different one for each kind of file, or all of them in the soak. It is for judges to
// whom the version makes no difference.
func OneVersion(t testing.TB) map[string][]byte {
	t.Helper()
	files := Classic(t)
	if os.Getenv("CDFZ_SOAK") != "" {
		return files
	}
	for i, names := range Kinds(files) {
		for j, name := range names {
			if j != i%len(names) {
				delete(files, name)
			}
		}
	}
	return files
}

// Kinds groups names of files that differ only in the format's version.
func Kinds(files map[string][]byte) [][]string {
	groups := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, kind, _ := strings.Cut(name, "_")
		groups[kind] = append(groups[kind], name)
	}
	var out [][]string
	for _, kind := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[kind])
	}
	return out
}

// Cube makes a classic file with two float record variables (t, y, x) whose
// elements count up, and one short variable of fixed size.
func Cube(t testing.TB, nt, ny, nx int64) []byte {
	h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: uint64(nt)}
	h.Dims = []cdf3.Dim{{Name: "t"}, {Name: "y", Len: ny}, {Name: "x", Len: nx}}
	h.Vars = []cdf3.Var{
		{Name: "a", DimIDs: []int{0, 1, 2}, Type: cdf3.Float},
		{Name: "b", DimIDs: []int{0, 1, 2}, Type: cdf3.Int},
		{Name: "mask", DimIDs: []int{1, 2}, Type: cdf3.Short},
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(image, make([]byte, (h.Vars[2].RecLen+3)&^3)...)
	for r := range nt {
		for v := range int64(2) {
			for i := range ny * nx {
				x := uint32(r*ny*nx + i)
				if v == 0 {
					x = uint32(0x40000000) + x
				}
				image = binary.BigEndian.AppendUint32(image, x)
			}
		}
	}
	return image
}

// Long returns a netCDF file whose archive has more than 1 MiB: record
// variables of several sizes, whose blocks are stored in another order than that in which
// the image needs them, fixed variables, and small ones.
func Long(t testing.TB) []byte {
	h := cdf3.Header{Version: cdf3.Version(2), Dims: []cdf3.Dim{{Name: "t"}, {Name: "z", Len: 5}, {Name: "y", Len: 20}, {Name: "x", Len: 30}, {Name: "n", Len: 200_000}}}
	for i, dims := range [][]int{{4}, {0}, {0, 1, 2, 3}, {0, 2, 3}, {0, 3}, {0, 1, 2, 3}, {3}} {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint("v", i), Type: cdf3.Float, DimIDs: dims})
	}
	const records = 300
	h.NumRecsField = records
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	end := h.Vars[1].Begin + records*h.RecSize
	r := rand.New(rand.NewPCG(1, 2))
	for int64(len(b)) < end {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(280+r.NormFloat64())))
	}
	return b
}

// Entries returns the entries of an archive according to the local headers.
func Entries(ar []byte) (out []czip.ZipEntry) {
	w := &czip.Walker{R: bytes.NewReader(ar), Size: int64(len(ar))}
	for off := int64(0); ; {
		e, err := w.At(off)
		if err != nil {
			return out
		}
		out = append(out, e)
		off = e.End()
	}
}

// CountingReaderAt counts calls and bytes.
type CountingReaderAt struct {
	R     io.ReaderAt
	Calls int
	Bytes int64
}

// ReadAt implements io.ReaderAt.
func (c *CountingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	c.Calls++
	c.Bytes += int64(len(p))
	return c.R.ReadAt(p, off)
}
