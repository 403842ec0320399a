//go:build judge

package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// These tests compare hyperslabs with netCDF4-python and scipy, and element by element
// with the netCDF specification. A missing judge is a failure. Packages of Debian:
// python3-netcdf4, python3-scipy.

// A job for testdata/judge/slab_judge.py, which documents it, and the answer.
type (
	slabJob struct {
		Path       string          `json:"path"`
		Sparse     bool            `json:"sparse"`
		Vars       []judgeVar      `json:"vars"`
		Selections []slabSelection `json:"selections"`
	}
	slabSelection struct {
		Var    int     `json:"var"`
		Start  []int64 `json:"start"`
		Count  []int64 `json:"count"`
		Stride []int64 `json:"stride"`
		SHA256 string  `json:"sha256"`
		Double string  `json:"double"`
	}
	slabVerdict struct {
		Judges  []string
		Against [][]string
		Judged  int
		Errors  []string
	}
)

// slabJudging passes many files to the judge and counts.
type slabJudging struct {
	process judgeProcess
	path    string // of the judged file
	samples int    // selections of a file
	next    int    // next of variants

	files, vars, selections, judged int
	judges                          map[string]int    // variables by judge
	unjudged                        map[string]string // why a file has variables without a judge
}

// newSlabJudging starts the judge. It draws samples selections per file, or 10 000 in
// the soak.
func newSlabJudging(t *testing.T, samples int) *slabJudging {
	t.Helper()
	if os.Getenv("CDFZ_SOAK") != "" {
		samples = 10000
	}
	return &slabJudging{process: startJudge(t, "slab_judge.py"), path: filepath.Join(t.TempDir(), "file.nc"),
		samples: samples, judges: map[string]int{}, unjudged: map[string]string{}}
}

func (b *slabJudging) ask(t *testing.T, job slabJob) (v slabVerdict) {
	t.Helper()
	b.process.ask(t, job, &v)
	require.Len(t, v.Judges, len(job.Vars))
	return v
}

// file judges a file in memory, read directly and from two archives. known holds the
// values of whole variables from another reader.
func (b *slabJudging) file(t *testing.T, name string, image []byte, known truth) {
	t.Helper()
	require.NoError(t, os.WriteFile(b.path, image, 0o644))
	all := variants()
	b.next++
	var ars []*File
	for _, o := range []WriteOptions{{Zarr: ZarrAlways, Preset: PresetFast, Block: MinBlock}, all[b.next%len(all)]} {
		o.Name = filepath.Base(name)
		// A cache that holds some blocks and evicts them again.
		ars = append(ars, openFile(t, pack(t, image, &o), &OpenOptions{Cache: 64 << 10}))
	}
	b.judge(t, name, bytes.NewReader(image), int64(len(image)), known, ars)
}

// judge reads selections of an image and of its archives and passes them to the judge,
// for whom the image is at b.path. Without known the image is sparse.
func (b *slabJudging) judge(t *testing.T, name string, image io.ReaderAt, size int64, known truth, ars []*File) {
	t.Helper()
	classic, err := New(t.Context(), image, size, nil)
	require.NoError(t, err)
	require.Nil(t, classic.archive)
	h := classic.Header()
	job := slabJob{Path: b.path, Sparse: known == nil, Vars: []judgeVar{}, Selections: []slabSelection{}}
	for i := range h.Vars {
		w := judgeVar{Type: h.Vars[i].Type.String(), Shape: append([]int64{}, h.Vars[i].Shape...)}
		if known != nil {
			w.SHA256 = known[i].SHA256
			require.Equal(t, w.SHA256, hashOf(specified(t, image, h, i, slab.Sel{})), "%q", h.Vars[i].Name)
		}
		job.Vars = append(job.Vars, w)
	}
	b.files, b.vars = b.files+1, b.vars+len(h.Vars)
	if len(h.Vars) == 0 {
		return
	}
	rng := rand.New(rand.NewSource(int64(len(name)) + size))
	samples := max(b.samples, len(h.Vars))
	if known != nil {
		samples += len(h.Vars)
	}
	for k := range samples {
		i := rng.Intn(len(h.Vars))
		s := drawSelection(rng, h.Vars[i].Shape)
		if k < len(h.Vars) && known != nil { // first all variables whole, then each once, then random ones
			i, s = k, slab.Sel{}
		} else if k < 2*len(h.Vars) {
			i = k % len(h.Vars)
			s = drawSelection(rng, h.Vars[i].Shape)
		}
		want := specified(t, image, h, i, s)
		double := ""
		for n, f := range append([]*File{classic}, ars...) {
			got, asDouble := readSlab(t, f.Array(i), s)
			require.True(t, bytes.Equal(want, got), "%s: file %d, %q %v, %v", name, n, h.Vars[i].Name, h.Vars[i].Shape, s)
			if n == 0 {
				double = asDouble
			}
			require.Equal(t, double, asDouble, "%s: file %d, %q %v, %v as double", name, n, h.Vars[i].Name, h.Vars[i].Shape, s)
		}
		if s.Start == nil {
			s = wholeSelection(h.Vars[i].Shape)
		}
		job.Selections = append(job.Selections, slabSelection{i, s.Start, s.Count, s.Stride, hashOf(want), double})
	}
	v := b.ask(t, job)
	require.Empty(t, v.Errors)
	b.selections, b.judged = b.selections+len(job.Selections), b.judged+v.Judged
	for i, j := range v.Judges {
		b.judges[j]++
		if j == "" {
			b.unjudged[name] = v.Against[i][0] // netCDF4-python's reason
		}
		for _, a := range v.Against[i] {
			require.NotContains(t, a, "other values", "%q", h.Vars[i].Name)
		}
	}
}

// report logs the counts. At most unjudged variables may be without a judge.
func (b *slabJudging) report(t *testing.T, unjudged int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(b.unjudged)) {
		t.Logf("by the hash of whole variables: %s: %s", name, b.unjudged[name])
	}
	t.Logf("%d files, %d variables, %d of %d selections judged; judges of variables: %v", b.files, b.vars, b.judged, b.selections, b.judges)
	require.LessOrEqual(t, b.judges[""], unjudged, "variables that no judge reads")
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func wholeSelection(shape []int64) slab.Sel {
	s := slab.Sel{Start: make([]int64, len(shape)), Count: append([]int64{}, shape...), Stride: make([]int64, len(shape))}
	for i := range s.Stride {
		s.Stride[i] = 1
	}
	return s
}

// drawSelection draws a random hyperslab: in each dimension all indices, one, none, or
// some with a positive or negative stride. Most have few elements.
func drawSelection(rng *rand.Rand, shape []int64) slab.Sel {
	s := wholeSelection(shape)
	left := int64(20000)
	if rng.Intn(50) == 0 {
		left = 1 << 20
	}
	for _, i := range rng.Perm(len(shape)) {
		n := shape[i]
		switch what := rng.Intn(24); {
		case n == 0:
			continue
		case what == 0:
			s.Start[i], s.Count[i] = rng.Int63n(n+1), 0
			continue
		case what < 8 && n <= left:
		default:
			start, step := rng.Int63n(n), int64(1)
			if rng.Intn(2) == 0 {
				// The netCDF C library limits strides to an int.
				step += rng.Int63n(1 + rng.Int63n(min(n, 1<<31-2)))
			}
			room := (n-1-start)/step + 1
			if rng.Intn(4) == 0 {
				step, room = -step, start/step+1
			}
			s.Start[i], s.Stride[i], s.Count[i] = start, step, 1+rng.Int63n(min(room, left))
		}
		left = max(1, left/s.Count[i])
	}
	return s
}

// specified returns the bytes of a selection according to the netCDF specification,
// element by element: as in the file, with zeros beyond its end.
func specified(t *testing.T, image io.ReaderAt, h *cdf3.Header, i int, s slab.Sel) []byte {
	t.Helper()
	v := &h.Vars[i]
	if s.Start == nil {
		s = wholeSelection(v.Shape)
	}
	size := v.Type.Size()
	n := size
	for _, k := range s.Count {
		n *= k
	}
	require.LessOrEqual(t, n, int64(1<<30))
	out := make([]byte, n)
	at := out
	read := func(off, n int64) {
		if k, err := image.ReadAt(at[:n], off); int64(k) < n && err != io.EOF {
			t.Fatal(err)
		}
		at = at[n:]
	}
	var walk func(dim int, off, below int64)
	walk = func(dim int, off, below int64) {
		if dim == len(v.Shape) {
			read(off, size)
			return
		}
		below /= max(1, v.Shape[dim])
		if dim == 0 && v.Record {
			below = h.RecSize
		}
		if dim == len(v.Shape)-1 && s.Stride[dim] == 1 && below == size {
			read(off+s.Start[dim]*size, s.Count[dim]*size)
			return
		}
		next := below
		if dim == 0 && v.Record {
			next = v.RecLen
		}
		for k := range s.Count[dim] {
			walk(dim+1, off+(s.Start[dim]+k*s.Stride[dim])*below, next)
		}
	}
	if n > 0 {
		walk(0, v.Begin, v.RecLen)
	}
	return out
}

// readSlab reads a selection in the variable's own type, and returns the hash of its
// values converted to double, "" for text.
func readSlab(t *testing.T, a slab.Array, s slab.Sel) (values []byte, double string) {
	t.Helper()
	var err error
	switch a.Type() {
	case cdf3.Byte:
		values, err = readAs[int8](a, s)
	case cdf3.Char, cdf3.UByte:
		values, err = readAs[uint8](a, s)
	case cdf3.Short:
		values, err = readAs[int16](a, s)
	case cdf3.UShort:
		values, err = readAs[uint16](a, s)
	case cdf3.Int:
		values, err = readAs[int32](a, s)
	case cdf3.UInt:
		values, err = readAs[uint32](a, s)
	case cdf3.Int64:
		values, err = readAs[int64](a, s)
	case cdf3.UInt64:
		values, err = readAs[uint64](a, s)
	case cdf3.Float:
		values, err = readAs[float32](a, s)
	case cdf3.Double:
		values, err = readAs[float64](a, s)
	default:
		err = errors.New("no such type")
	}
	require.NoError(t, err, "%v of %v", s, a.Shape())
	n, err := s.Len(a.Shape())
	require.NoError(t, err)
	converted := make([]float64, n)
	err = slab.Convert(context.Background(), a, converted, s)
	if a.Type() == cdf3.Char {
		require.ErrorIs(t, err, slab.ErrType)
		return values, ""
	}
	require.NoError(t, err, "%v of %v as double", s, a.Shape())
	return values, hashOf(bigEndian(converted))
}

func readAs[T cdf3.Number](a slab.Array, s slab.Sel) ([]byte, error) {
	values, err := slab.Read[T](context.Background(), a, s)
	if err != nil {
		return nil, err
	}
	return bigEndian(values), nil
}

func bigEndian[T cdf3.Number](values []T) []byte {
	b, err := binary.Append(nil, binary.BigEndian, values)
	if err != nil {
		panic(err)
	}
	return b
}

// TestJudgeSlabs judges hyperslabs of the files of testdata.
func TestJudgeSlabs(t *testing.T) {
	b := newSlabJudging(t, 100)
	files := oneVersion(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			b.file(t, name, files[name], imageTruth(t, files[name]))
		})
	}
	b.report(t, 180)
}
