//go:build judge

package netcdf4

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // fletcher32
	"github.com/cdfz-format/cdfz/internal/spec"
)

// ncdump returns what ncdump prints for a file, or false if it fails. Names of files are
// not part of it.
func ncdump(t *testing.T, name string) (string, bool) {
	out, err := exec.Command("ncdump", "-n", "x", name).Output()
	return string(out), err == nil
}

// judge compares ncdump's output for an export with that for what nccopy makes of the
// image. ok is false if nccopy refuses the image.
func judge(t *testing.T, image []byte, name string) (ok bool) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "x.nc"), filepath.Join(dir, "n.nc4")
	require.NoError(t, os.WriteFile(in, image, 0o666))
	if exec.Command("nccopy", "-k", "nc4", in, out).Run() != nil {
		return false
	}
	want, ok := ncdump(t, out)
	if !ok { // ncdump 4.9.0 crashes on long units in netCDF-4 files
		return false
	}
	got, ok := ncdump(t, name)
	require.True(t, ok, "ncdump cannot read the export")
	require.Equal(t, want, got)
	return true
}

// values checks with netCDF4-python that two files have the same variables, values and
// attributes.
const values = `
import sys, netCDF4, numpy
a, b = (netCDF4.Dataset(n) for n in sys.argv[1:])
for d in (a, b):
    d.set_auto_mask(False); d.set_auto_scale(False)
assert list(a.variables) == list(b.variables), (list(a.variables), list(b.variables))
used = {n for v in a.variables.values() for n in v.dimensions}
def dims(f): # netCDF-4 has no length of an unlimited dimension that no variable has
    return [(d.name, d.size if d.name in used or not d.isunlimited() else 0, d.isunlimited()) for d in f.dimensions.values()]
assert dims(a) == dims(b), (dims(a), dims(b))
for x, y in [(a, b)] + [(a[n], b[n]) for n in a.variables]:
    assert x.ncattrs() == y.ncattrs(), (x, y)
    for n in x.ncattrs():
        p, q = x.getncattr(n), y.getncattr(n)
        assert numpy.asarray(p).tobytes() == numpy.asarray(q).astype(numpy.asarray(p).dtype).tobytes() or p == q, (n, p, q)
for n in a.variables:
    p, q = a[n][...], b[n][...]
    assert p.shape == q.shape and numpy.dtype(p.dtype).newbyteorder("=") == numpy.dtype(q.dtype).newbyteorder("="), n
    assert p.astype(p.dtype.newbyteorder("=")).tobytes() == q.astype(p.dtype.newbyteorder("=")).tobytes(), n
print("ok")`

func python(t *testing.T, program string, args ...string) string {
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", program}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	return string(out)
}

// TestJudgeRandom exports random files and compares them with nccopy's or, where nccopy
// cannot copy, reads the values with netCDF4-python.
func TestJudgeRandom(t *testing.T) {
	seeds, refused := 12, 0
	if os.Getenv("CDFZ_SOAK") != "" {
		seeds = 1000
	}
	for seed := range seeds + 1 {
		if seed == seeds {
			seed = 95 // its header was once encoded without end, or wrong
		}
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		image := randomImage(t, r)
		f := archived(t, image, archive.WriteOptions{
			Preset: archive.Presets[r.IntN(len(archive.Presets))], Block: archive.MinBlock << r.IntN(4),
			Zarr: []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever}[r.IntN(2)]})
		var o Options
		if r.IntN(2) == 0 {
			o.Filters = filters.Chain{{ID: filters.Fletcher32}, {ID: filters.Deflate, Params: []uint32{1}}}
		}
		name, _ := exported(t, f, &o)
		if judge(t, image, name) {
			continue
		}
		refused++
		in := filepath.Join(t.TempDir(), "x.nc")
		require.NoError(t, os.WriteFile(in, image, 0o666))
		require.Equal(t, "ok\n", python(t, values, in, name), "seed %d", seed)
	}
	t.Logf("nccopy refused %d of %d", refused, seeds)
	require.Less(t, refused, seeds)
}

// TestJudgeCopied checks that the chunks that h5py finds are the blocks of the archive,
// byte for byte, with their masks, and that HDF5 decodes them.
func TestJudgeCopied(t *testing.T) {
	image := randomImage(t, rand.New(rand.NewPCG(5, 6)))
	in := filepath.Join(t.TempDir(), "x.nc")
	require.NoError(t, os.WriteFile(in, image, 0o666))
	for _, text := range []string{"", "1,5", "2|1,5", "3", "2|1,9|3", "307,9", "32000?", "32001,0,0,0,0,5,1,5", "32004", "32008,0,2", "4,32,2", "1,1?|3", "2|32015,3"} {
		var c filters.Chain
		if text != "" {
			var err error
			c, err = spec.ParseChain(text, nil)
			require.NoError(t, err)
		}
		f := archived(t, image, archive.WriteOptions{Filters: []archive.VarFilter{{Vars: []string{"*"}, Chain: c}}, Block: 2 * archive.MinBlock, Zarr: archive.ZarrAlways})
		name, res := exported(t, f, nil)
		type chunk struct {
			Var  string
			At   []int64
			Mask uint32
			Data string
		}
		var want []chunk
		for b, err := range f.Blocks(ctx) {
			require.NoError(t, err)
			if b.Var < 0 || len(f.Header().Vars[b.Var].Shape) == 0 {
				continue
			}
			set := f.Header().Vars[b.Var].Name
			if h := f.Header(); h.Dims[h.Vars[b.Var].DimIDs[0]].Name != set {
				for _, d := range h.Dims {
					if d.Name == set {
						set = nonCoordinate + set
						break
					}
				}
			}
			c, err := f.Array(b.Var).(*archive.Var).Chunks(nil)
			require.NoError(t, err)
			n := int64(0) // number of the block in the variable
			for k, s := range b.Start {
				shape := f.Header().Vars[b.Var].Shape[k]
				n = n*((shape+c.Shape()[k]-1)/c.Shape()[k]) + s/c.Shape()[k]
			}
			data, mask, err := c.Append(ctx, nil, n)
			require.NoError(t, err)
			require.Equal(t, b.Mask, mask)
			want = append(want, chunk{set, b.Start, mask, hex.EncodeToString(data)})
		}
		require.NotEmpty(t, want)
		require.Equal(t, int64(len(want)), res.Copied)
		list := filepath.Join(t.TempDir(), "list.json")
		b, err := json.Marshal(want)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(list, b, 0o666))
		require.Equal(t, fmt.Sprintf("%d\n", len(want)), python(t, `
import sys, json, h5py
f, n = h5py.File(sys.argv[1]), 0
for c in json.load(open(sys.argv[2])):
    mask, data = f[c["Var"]].id.read_direct_chunk(tuple(c["At"]))
    assert data.hex() == c["Data"] and mask == c["Mask"], (c, mask, data)
    n += 1
print(n)`, name, list), text)
		if text == "2|32015,3" { // Debian has no plugin for zstd
			continue
		}
		require.Equal(t, "ok\n", python(t, values, in, name), text)
	}
}

// TestJudgePrograms reads an export with HDF5's and other programs.
func TestJudgePrograms(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	name, _ := exported(t, archived(t, image, archive.WriteOptions{}), nil)
	for _, args := range [][]string{{"h5dump", name}, {"h5ls", "-rv", name}, {"nccopy", "-k", "cdf5", name, filepath.Join(t.TempDir(), "y.nc")}, {"h5stat", name},
		{"h5repack", "-f", "GZIP=1", name, filepath.Join(t.TempDir(), "y.h5")}} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", args[0], out)
		require.NotContains(t, string(out), "error")
	}

	// Filters have names, as those that HDF5 writes.
	bzip2 := archive.VarFilter{Vars: []string{"tas"}, Chain: filters.Chain{{ID: filters.Shuffle}, {ID: filters.Bzip2, Params: []uint32{9}}}}
	name, _ = exported(t, archived(t, image, archive.WriteOptions{Filters: []archive.VarFilter{bzip2}}), nil)
	out, err := exec.Command("h5dump", "-pH", "-d", "/tas", name).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Regexp(t, `FILTER_ID 307\s+COMMENT bzip2\s+PARAMS { 9 }`, string(out))

	// They have the flags that nccopy gives them.
	in, theirs := filepath.Join(t.TempDir(), "x.nc"), filepath.Join(t.TempDir(), "y.nc")
	require.NoError(t, os.WriteFile(in, image, 0o666))
	for option, chain := range map[string]filters.Chain{
		"1,5":   {{ID: filters.Shuffle}, {ID: filters.Deflate, Params: []uint32{5}}}, // nccopy -d5 -s
		"307,9": {{ID: filters.Bzip2, Params: []uint32{9}}},
	} {
		args := []string{"-k", "nc4", "-F", "*," + option, in, theirs}
		if option == "1,5" {
			args = []string{"-k", "nc4", "-d5", "-s", in, theirs}
		}
		out, err := exec.Command("nccopy", args...).CombinedOutput()
		require.NoError(t, err, string(out))
		ours, _ := exported(t, archived(t, image, archive.WriteOptions{Filters: []archive.VarFilter{{Vars: []string{"tas"}, Chain: chain}}}), nil)
		require.Equal(t, "ok\n", python(t, `
import sys, h5py
def flags(name):
    p = h5py.File(name)["tas"].id.get_create_plist()
    return [p.get_filter(i)[:3] for i in range(p.get_nfilters())]
a, b = flags(sys.argv[1]), flags(sys.argv[2])
assert a and a == b, (a, b)
print("ok")`, ours, theirs), option)
	}
}
