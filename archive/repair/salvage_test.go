package repair_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// salvage returns what can be restored of an archive, and what cannot.
func salvage(t testing.TB, r io.ReaderAt, size int64) ([]byte, *repair.Salvaged, error) {
	s, err := repair.Salvage(context.Background(), r, size, nil)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { s.Close() })
	out := &bufferAt{make([]byte, s.Size)}
	require.NoError(t, s.WriteImage(context.Background(), out, 2, nil))
	return out.b, s, nil
}

// checkSalvaged compares a salvaged image with the original. Bytes may differ only where
// blocks are lost, and there they must be fill values.
func checkSalvaged(t testing.TB, image, got []byte, s *repair.Salvaged, what string) {
	require.Len(t, got, len(image), what)
	if len(s.Lost) == 0 {
		require.True(t, bytes.Equal(image, got), what)
		return
	}
	was, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	is, err := archive.New(t.Context(), bytes.NewReader(got), int64(len(got)), nil)
	if err != nil { // the netCDF header is lost, and its copy
		require.ErrorIs(t, err, cdf3.ErrNotCDF, what)
		require.True(t, slices.ContainsFunc(s.Lost, func(d verify.Damage) bool { return d.Var == "" && len(d.Parts) == 0 }), what)
		return
	}
	for i, v := range was.Vars() {
		size := v.Type().Size()
		a, b := allValues(t, v), allValues(t, is.Array(i).(*archive.Var))
		for j := int64(0); j < int64(len(a)); j += size {
			if x, y := a[j:j+size], b[j:j+size]; !bytes.Equal(x, y) {
				fill := v.Type().Fill()
				if a := v.Attr("_FillValue"); a != nil {
					fill = a.Values
				}
				require.Equal(t, fill, y, "%s: %s", what, v.Name())
				require.True(t, isLost(s.Lost, v, j/size), "%s: %s, element %d", what, v.Name(), j/size)
			}
		}
	}
}

func allValues(t testing.TB, v *archive.Var) []byte {
	n := v.Type().Size()
	for _, d := range v.Shape() {
		n *= d
	}
	b := make([]byte, n)
	if n > 0 {
		_, err := v.Values().ReadAt(b, 0)
		require.NoError(t, err)
	}
	return b
}

// isLost reports whether an element of a variable is listed as lost. A lost block of the
// rest may have elements of any variable.
func isLost(lost []verify.Damage, v *archive.Var, element int64) bool {
	index := make([]int64, len(v.Shape()))
	for i := len(index) - 1; i >= 0; i-- {
		index[i] = element % v.Shape()[i]
		element /= v.Shape()[i]
	}
	in := func(name string, start, count []int64) bool {
		if name != v.Name() {
			return false
		}
		for i := range index {
			if index[i] < start[i] || index[i] >= start[i]+count[i] {
				return false
			}
		}
		return true
	}
	for _, d := range lost {
		if d.Var == "" || in(d.Var, d.Start, d.Count) {
			return true
		}
		for _, p := range d.Parts {
			if in(p.Var, p.Start, p.Count) {
				return true
			}
		}
	}
	return false
}

// TestSalvage damages archives at random. What is salvaged is what is said to be.
func TestSalvage(t *testing.T) {
	archives := repairable(t)
	delete(archives, "masked")
	names := slices.Sorted(maps.Keys(archives))
	count := 200 / archivetest.Thin()
	if os.Getenv("CDFZ_SOAK") != "" {
		count = 20_000
	}
	whole, part, none := 0, 0, 0
	for i := range count {
		name := names[i%len(names)]
		ar := archives[name]
		f := packtest.File(t, ar)
		image := make([]byte, f.Image().Size())
		_, err := f.Image().ReadAt(image, 0)
		require.NoError(t, err)
		bad, what := ruin(ar, int64(i))
		what = fmt.Sprintf("%s, seed %d: %s", name, i, what)
		got, s, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
		switch {
		case err != nil:
			require.True(t, archivetest.Ours(err), "%s: %v", what, err)
			none++
			continue
		case len(s.Lost) > 0:
			part++
		default:
			whole++
		}
		checkSalvaged(t, image, got, s, what)
	}
	t.Logf("%d whole, %d in part, %d not at all", whole, part, none)
	if count >= 20 { // fewer may all have the same result
		require.Positive(t, whole)
		require.Positive(t, part)
	}
}

// TestSalvageCut cuts an archive off at the end of each entry and in it. All blocks before
// the cut are salvaged.
func TestSalvageCut(t *testing.T) {
	image := archivetest.Cube(t, 12, 30, 20)
	ar := packtest.Pack(t, image, &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways})
	r := packtest.Open(t, ar)
	for n := range r.L.Blocks {
		if testing.Short() && n%31 != 0 && n != r.L.RestFirst {
			continue
		}
		row, err := r.Index.Row(n)
		require.NoError(t, err)
		for _, end := range []int64{row.Off + row.Len, row.Off + row.Len - 1} {
			got, s, err := salvage(t, bytes.NewReader(ar[:end]), end)
			if n == r.L.RestFirst && end < row.Off+row.Len {
				require.ErrorContains(t, err, "the netCDF header is lost")
				continue
			}
			require.NoError(t, err)
			checkSalvaged(t, image, got, s, fmt.Sprint(end))
			before := int64(0)
			for m := range r.L.Blocks {
				other, err := r.Index.Row(m)
				require.NoError(t, err)
				if other.Off+other.Len > end {
					before++
				}
			}
			require.Len(t, s.Lost, int(before))
		}
	}
}

// TestSalvageHead checks that a file with nothing but the head of an archive is damaged, as other
// functions say, and one without even that is not an archive.
func TestSalvageHead(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{})
	_, _, err := salvage(t, bytes.NewReader(ar[:100]), 100)
	require.ErrorIs(t, err, archive.ErrCorrupt)
	_, _, err = salvage(t, bytes.NewReader(ar[1000:1100]), 100)
	require.ErrorIs(t, err, archive.ErrNotArchive)
}

// badSectors fails to read some ranges, as a disk does.
type badSectors struct {
	io.ReaderAt
	bad []plan.Place
}

func (b badSectors) ReadAt(p []byte, off int64) (int, error) {
	for _, s := range b.bad {
		if off < s.Off+s.Len && off+int64(len(p)) > s.Off {
			return 0, errors.New("input/output error")
		}
	}
	return b.ReaderAt.ReadAt(p, off)
}

// TestSalvageBadSectors reads an archive from a disk with bad sectors.
func TestSalvageBadSectors(t *testing.T) {
	image, ar := packtest.Copied(t, archive.ZarrAlways)
	r := packtest.Open(t, ar)
	row, err := r.Index.Row(3)
	require.NoError(t, err)
	for what, c := range map[string]struct {
		bad  []plan.Place
		lost int
	}{
		"block":           {[]plan.Place{{Off: row.Off, Len: 512}}, 1},
		"plan":            {[]plan.Place{{Off: r.Man.Plan.Off, Len: 1}}, 0},
		"header":          {[]plan.Place{{Off: r.Man.Header.Off, Len: 1}}, 0},
		"index":           {[]plan.Place{{Off: r.Tail.IdxOff, Len: 512}}, 0},
		"manifest":        {[]plan.Place{{Off: r.Tail.ManOff, Len: 100}}, 0},
		"end":             {[]plan.Place{{Off: int64(len(ar)) - 50, Len: 50}}, 0},
		"start":           {[]plan.Place{{Off: 0, Len: r.Man.Header.Off}}, 0},
		"block and index": {[]plan.Place{{Off: row.Off, Len: 512}, {Off: r.Tail.IdxOff, Len: 512}}, 1},
	} {
		t.Run(what, func(t *testing.T) {
			got, s, err := salvage(t, badSectors{bytes.NewReader(ar), c.bad}, int64(len(ar)))
			require.NoError(t, err)
			require.Len(t, s.Lost, c.lost)
			checkSalvaged(t, image, got, s, what)
		})
	}
}

// TestTorn tears the tail of archives from many offsets on. All blocks before are
// restored, and with parity everything if at most 2 % are torn.
func TestTorn(t *testing.T) {
	image := archivetest.Cube(t, 12, 30, 20)
	ar := packtest.Pack(t, image, &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways})
	protected := packtest.Pack(t, image, &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways, Parity: 5})
	r := rand.New(rand.NewPCG(1, 1))
	step := 997
	if os.Getenv("CDFZ_SOAK") != "" {
		step = 1
	}
	for off := 0; off < len(ar); off += 1 + r.IntN(2*step-1) {
		for how := range faultio.Tears {
			bad := faultio.Torn(r, ar, off, faultio.Tear(how))
			got, s, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
			if err != nil {
				require.True(t, archivetest.Ours(err), "%v", err)
				continue
			}
			checkSalvaged(t, image, got, s, "torn")
			for _, d := range s.Lost {
				require.True(t, d.Off < 0 || d.Off+d.Len > int64(off), "torn at %d: lost %+v", off, d)
			}
		}
	}
	for off := len(protected) - len(protected)/50; off < len(protected); off += 1 + r.IntN(step/4+1) {
		for how := range faultio.Tears {
			bad := faultio.Torn(r, protected, off, faultio.Tear(how))
			require.True(t, bytes.Equal(protected, healed(t, bad)), "torn at %d, %d", off, how)
		}
	}
}

// TestIdentifyEnd checks where an archive ends that other bytes follow.
func TestIdentifyEnd(t *testing.T) {
	one := packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{Block: archive.MinBlock})
	other := packtest.Pack(t, archivetest.Cube(t, 3, 10, 20), &archive.WriteOptions{Zarr: archive.ZarrAlways})
	lost := slices.Clone(one)
	lost[len(lost)-1] ^= 1
	for _, test := range []struct {
		name string
		file []byte
		end  int
	}{
		{"nothing", one, len(one)},
		{"a netCDF file", append(slices.Clone(one), "CDF\x01 and so on"...), len(one)},
		{"another archive", append(slices.Clone(one), other...), len(one)},
		{"the end line is lost", lost, len(lost)},
		{"the end line is lost, before another archive", append(slices.Clone(lost), other...), len(lost)},
	} {
		id, err := repair.Identify(context.Background(), bytes.NewReader(test.file), int64(len(test.file)))
		require.NoError(t, err, test.name)
		require.EqualValues(t, test.end, id.End, test.name)
	}
}
