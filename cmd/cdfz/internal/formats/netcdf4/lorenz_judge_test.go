//go:build judge

package netcdf4

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// withLorenz are options with which blocks of lorenz are copied.
var withLorenz = &Options{Filters: filters.Chain{{ID: filters.Lorenz}}}

// buildDir is the folder of built once there is one.
var buildDir string

// built is the folder of HDF5's plugin for lorenz. The first test that needs it builds it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "h5lorenz")
	if err != nil {
		return "", err
	}
	buildDir = dir
	out, err := exec.Command("make", "-s", "-C", "../../../../../c", "hdf5", "OUT="+dir, "CFLAGS=-O0").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("make: %w: %s", err, out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// plugin lets the programs that the test starts find the plugin for lorenz and no other.
func plugin(t *testing.T) {
	dir, err := built()
	require.NoError(t, err)
	t.Setenv("HDF5_PLUGIN_PATH", filepath.Join(dir, "hdf5"))
}

// run runs a program that must succeed, and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// file writes an image to a file.
func file(t *testing.T, image []byte) string {
	name := filepath.Join(t.TempDir(), "x.nc")
	require.NoError(t, os.WriteFile(name, image, 0o666))
	return name
}

// TestJudgeLorenz exports random files with blocks of lorenz, and reads the values with
// netCDF4-python: all types, blocks with padding, records.
func TestJudgeLorenz(t *testing.T) {
	plugin(t)
	seeds, refused, copied, lorenz := 8, 0, int64(0), false
	if os.Getenv("CDFZ_SOAK") != "" {
		seeds = 500
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		image := randomImage(t, r)
		f := archived(t, image, archive.WriteOptions{
			Preset: []archive.Preset{archive.PresetFast, archive.PresetDefault, archive.PresetMax}[r.IntN(3)],
			Block:  archive.MinBlock << r.IntN(4), Zarr: []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever}[r.IntN(2)]})
		name, res := exported(t, f, withLorenz)
		copied += res.Copied
		lorenz = lorenz || res.Lorenz
		in := file(t, image)
		require.Equal(t, "ok\n", python(t, values, in, name), "seed %d", seed)

		// The plugin decodes all datasets, and encodes them for the chunks that h5repack chooses. h5repack refuses some
		// attributes, which it does in a file of nccopy, too.
		dir := t.TempDir()
		again, judge := filepath.Join(dir, "y.nc4"), filepath.Join(dir, "nccopy.nc4")
		if exec.Command("h5repack", "-f", "UD=52723,0,0", name, again).Run() != nil {
			run(t, "nccopy", "-k", "nc4", in, judge)
			require.Error(t, exec.Command("h5repack", judge, again).Run(), "seed %d", seed)
			refused++
			continue
		}
		require.Equal(t, "ok\n", python(t, values, in, again), "seed %d", seed)
	}
	t.Logf("h5repack refused %d of %d", refused, seeds)
	require.Less(t, refused, max(1, seeds/20))
	require.NotZero(t, copied)
	require.True(t, lorenz)
}

// TestJudgeLorenzCoordinates opens an export with blocks of lorenz without the plugin: coordinates and
// short variables can be read, values cannot.
func TestJudgeLorenzCoordinates(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic,
		Dims: []cdf3.Dim{{Name: "time"}, {Name: "x", Len: 2000}, {Name: "y", Len: 20}, {Name: "two", Len: 2}},
		Vars: []cdf3.Var{
			{Name: "time", Type: cdf3.Double, DimIDs: []int{0}, Attrs: []cdf3.Attr{textAttr("units", "days since 2000-01-01"), textAttr("bounds", "time_bnds")}},
			{Name: "time_bnds", Type: cdf3.Double, DimIDs: []int{0, 3}},
			{Name: "x", Type: cdf3.Double, DimIDs: []int{1}},
			{Name: "y", Type: cdf3.Float, DimIDs: []int{2}},
			{Name: "lat", Type: cdf3.Float, DimIDs: []int{2, 1}},
			{Name: "crs", Type: cdf3.Int},
			{Name: "area", Type: cdf3.Float, DimIDs: []int{2, 1}},
			{Name: "v", Type: cdf3.Float, DimIDs: []int{0, 2}, Attrs: []cdf3.Attr{textAttr("coordinates", "lat")}},
		}}
	h.NumRecsField = 3000
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	last := h.Vars[len(h.Vars)-1]
	image = append(image, make([]byte, last.Begin+last.RecLen+(h.NumRecs-1)*h.RecSize-int64(len(image)))...)
	for i := len(image) - int(h.RecSize*h.NumRecs); i < len(image); i++ {
		image[i] = byte(i / 7)
	}
	in := file(t, image)
	classic, err := archive.Open(ctx, in, nil)
	require.NoError(t, err)
	defer classic.Close()
	for _, f := range []*archive.File{archived(t, image, archive.WriteOptions{}), archived(t, image, archive.WriteOptions{Zarr: archive.ZarrAlways}), classic} {
		name, res := exported(t, f, withLorenz)
		require.True(t, res.Lorenz)
		require.Equal(t, "[] [] [] [] [2, 1] [52723] [52723]\n", python(t, listFilters, name, "time", "x", "y", "crs", "lat", "area", "v"))
		t.Setenv("HDF5_PLUGIN_PATH", t.TempDir())
		require.Equal(t, "ok\n", python(t, `
import sys, h5py, numpy, xarray
a, f = xarray.open_dataset(sys.argv[1], decode_times=False), h5py.File(sys.argv[2])
for n in "time", "time_bnds", "x", "y", "lat", "crs":
    numpy.testing.assert_array_equal(a[n].values, f[n][...])
for engine in "netcdf4", "h5netcdf":
    b = xarray.open_dataset(sys.argv[2], engine=engine, decode_times=False)
    for n in a.coords:
        numpy.testing.assert_array_equal(a[n].values, b[n].values)
    try:
        b.v.values
        print("v was read")
    except (OSError, RuntimeError):
        pass
print("ok")`, in, name))
		plugin(t)
		require.Equal(t, "ok\n", python(t, values, in, name))
	}
}

func textAttr(name, value string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
}

// TestJudgeLorenzRest checks the variables without blocks: they are encoded with lorenz, and without
// lorenz in the options all are encoded with shuffle and deflate. Those of at most 4 KiB have no filters.
func TestJudgeLorenzRest(t *testing.T) {
	plugin(t)
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	f := archived(t, image, archive.WriteOptions{})
	name, res := exported(t, f, withLorenz)
	var encoded []string
	for _, n := range res.Encoded {
		encoded = append(encoded, f.Header().Vars[n].Name)
	}
	require.NotContains(t, encoded, "tas")
	require.Contains(t, encoded, "time_bnds")
	require.Equal(t, "[52723] []\n", python(t, listFilters, name, "tas", "time_bnds"))
	name, res = exported(t, f, nil)
	require.Zero(t, res.Copied)
	require.False(t, res.Lorenz)
	require.Equal(t, "[2, 1] [2, 1]\n", python(t, listFilters, name, "tas", "time_bnds"))

	// A chain of shuffle and lorenz, and one of lorenz and deflate.
	for text, c := range map[string]filters.Chain{
		"[2, 52723]": {{ID: filters.Shuffle}, {ID: filters.Lorenz}},
		"[52723, 1]": {{ID: filters.Lorenz}, {ID: filters.Deflate, Params: []uint32{1}}},
	} {
		f := archived(t, image, archive.WriteOptions{Filters: []archive.VarFilter{{Vars: []string{"tas"}, Chain: c}}})
		name, _ := exported(t, f, withLorenz)
		require.Equal(t, text+"\n", python(t, listFilters, name, "tas"))
		require.Equal(t, "ok\n", python(t, values, file(t, image), name), text)
	}
}

// listFilters prints the filters of datasets.
const listFilters = `
import sys, h5py
f = h5py.File(sys.argv[1])
p = [f[n].id.get_create_plist() for n in sys.argv[2:]]
print(*[[q.get_filter(i)[0] for i in range(q.get_nfilters())] for q in p])`

// TestJudgeLorenzPrograms reads and copies an export with blocks of lorenz with several programs.
func TestJudgeLorenzPrograms(t *testing.T) {
	plugin(t)
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	in, dir := file(t, image), t.TempDir()
	f := archived(t, image, archive.WriteOptions{Block: archive.MinBlock})
	name, res := exported(t, f, withLorenz)
	require.NotZero(t, res.Copied)
	require.True(t, judge(t, image, name)) // ncdump

	theirs, _ := exported(t, f, &Options{Filters: filters.Chain{}})
	require.Equal(t, data(run(t, "h5dump", "-d", "/ta", theirs)), data(run(t, "h5dump", "-d", "/ta", name)))
	require.Equal(t, run(t, "cdo", "-s", "-w", "infon", in), run(t, "cdo", "-s", "-w", "infon", name))
	require.Equal(t, "ok\n", python(t, xarrays, in, name))
	for i, args := range [][]string{
		{"h5repack"}, {"h5repack", "-l", "/ta:CHUNK=2x1x7x11"}, {"h5repack", "-f", "/ta:GZIP=1"}, {"h5repack", "-f", "NONE"},
		{"h5repack", "-f", "/orog:UD=52723,0,0", "-l", "/orog:CHUNK=3x8"}, {"nccopy"}, {"nccopy", "-c", "lon/7,lat/5"}, {"nccopy", "-F", "none"}, {"nccopy", "-k", "cdf5"},
	} {
		out := filepath.Join(dir, string(rune('a'+i)))
		run(t, args[0], append(slices.Clone(args[1:]), name, out)...)
		require.Equal(t, "ok\n", python(t, values, in, out), "%q", args)
	}
	require.Equal(t, "[52723]\n", python(t, listFilters, filepath.Join(dir, "b"), "ta"))
	require.Equal(t, "[1]\n", python(t, listFilters, filepath.Join(dir, "c"), "ta"))
	require.Equal(t, "[52723]\n", python(t, listFilters, filepath.Join(dir, "e"), "orog"))

	// Without the plugin, other variables can be read, and the error names the filter.
	t.Setenv("HDF5_PLUGIN_PATH", t.TempDir())
	require.Equal(t, "ok\n", python(t, `
import sys, h5py
f = h5py.File(sys.argv[1])
assert f["lat"].shape == f["lat"][...].shape
try:
    f["ta"][...]
except OSError as e:
    assert "required filter 'lorenz' is not registered" in str(e), e
    print("ok")`, name))
	out, err := exec.Command("ncdump", name).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "undefined filter")
	require.Contains(t, run(t, "ncdump", "-hs", name), `ta:_Filter = "52723,1,5,0,`)
}

// data returns what h5dump prints of a dataset between DATA and its attributes.
func data(text string) string {
	_, text, _ = strings.Cut(text, "\n   DATA {")
	text, _, _ = strings.Cut(text, "\n   ATTRIBUTE")
	return text
}

// xarrays compares an export with the original in xarray, with both of its readers.
const xarrays = `
import sys, xarray
a = xarray.open_dataset(sys.argv[1], engine="netcdf4").load()
for engine in "netcdf4", "h5netcdf":
    xarray.testing.assert_identical(a, xarray.open_dataset(sys.argv[2], engine=engine).load())
print("ok")`

// TestJudgeLorenzPlugin checks the parameters that the plugin completes and refuses, what it encodes,
// and its errors.
func TestJudgeLorenzPlugin(t *testing.T) {
	plugin(t)
	require.Equal(t, "ok\n", python(t, `
import os, sys, h5py, numpy
from h5py import h5d, h5p, h5s, h5t
os.chdir(sys.argv[1])
def dataset(name, params, shape, chunk, dtype):
    f = h5py.File(name, "w")
    p = h5p.create(h5p.DATASET_CREATE)
    p.set_chunk(chunk)
    p.set_filter(52723, 0, params)
    return h5py.Dataset(h5d.create(f.id, b"v", h5t.py_create(numpy.dtype(dtype), logical=True), h5s.create_simple(shape), p))
def params(d):
    return d.id.get_create_plist().get_filter(0)[2]

for dtype, typ, order in [("<i1", 1, 1), (">i2", 3, 0), ("<i4", 4, 1), (">f4", 5, 0), ("<f8", 6, 1), ("u1", 7, 1), ("<u2", 8, 1), (">u4", 9, 0), ("<i8", 10, 1), (">u8", 11, 0), ("S1", 2, 0)]:
    for given in (), (1,), (1, typ, order, 1, 5):
        d = dataset("a.h5", given, (7, 9), (3, 4), dtype)
        got = params(d)
        assert got[:2] == (1, typ) and got[3:] == (2, 3, 4), got
        assert d.dtype.itemsize == 1 or got[2] == order, got
        x = numpy.arange(63).reshape(7, 9).astype("i8" if dtype != "S1" else "u1")
        x = x.astype(dtype) if dtype != "S1" else (x + 1).view("S1")
        d[...] = x
        d.file.close()
        assert (h5py.File("a.h5")["v"][...] == x).all(), dtype
# Leading dimensions of 1 are left out. Other types are bytes.
assert params(dataset("a.h5", (), (4, 5, 6), (1, 1, 6), "f4"))[3:] == (1, 6)
assert params(dataset("a.h5", (), (4, 5), (1, 1), "f4"))[3:] == (0,)
d = dataset("a.h5", (), (4, 5), (2, 3), [("a", "<i2"), ("b", "<f8")])
assert params(d) == (1, 7, 0, 3, 2, 3, 10), params(d)
x = numpy.array([[(i, j / 2) for j in range(5)] for i in range(4)], d.dtype)
d[...] = x
d.file.close()
assert (h5py.File("a.h5")["v"][...] == x).all()
# Parameters for blocks of the length of a chunk remain.
assert params(dataset("a.h5", (1, 7, 0, 1, 48, 2), (4, 5), (3, 4), "<f4")) == (1, 7, 0, 1, 48, 2)

# Mode 1 if all elements are the same, else mode 0.
d = dataset("a.h5", (), (4,), (2,), ">i4")
d[...] = [7, 7, 7, 8]
d.file.flush()
assert d.id.read_direct_chunk((0,)) == (0, b"\x01\x00\x00\x00\x07"), d.id.read_direct_chunk((0,))
assert d.id.read_direct_chunk((2,)) == (0, b"\x00\x00\x00\x00\x07\x00\x00\x00\x08")

def fails(text, f, *args):
    try:
        f(*args)
    except (OSError, ValueError) as e:
        assert text in str(e), e
        return
    assert False, text
d.id.write_direct_chunk((0,), b"\x01\x00\x00\x00")
fails("lorenz: the block is corrupt: chunk of 4 bytes for 8 bytes of values", lambda: d[...])
for wrong in [(2, 4, 0, 1, 4), (1, 99, 0, 1, 4), (1, 4, 2, 1, 4), (1, 4, 0, 9, 4), (1, 4, 0, 1, 4, 0, 0), (1, 4, 0, 1, 2**31), tuple(range(99))]:
    fails("lorenz: expected no parameters or version 1", dataset, "b.h5", wrong, (8,), (4,), "i4")
fails("lorenz: expected chunks of at most 1 GiB", dataset, "b.h5", (), (1 << 28, 2), (1 << 28, 2), "i4")

# Parameters that somebody changed in the file.
d = dataset("c.h5", (), (12, 345), (12, 345), ">f4")
d[...] = 0.5
d[0, 0] = 1
d.file.close()
whole = open("c.h5", "rb").read()
old = numpy.array([1, 5, 0, 2, 12, 345], "<u4").tobytes()
assert whole.count(old) == 1
for new, text in [((1, 5, 0, 2, 12, 346), "the block is corrupt"), ((1, 5, 0, 2, 1 << 14, 1 << 14), "the block is corrupt"), ((1, 5, 0, 2, 1 << 15, 1 << 14), "expected the parameters version 1"),
        ((1, 5, 0, 2, 12, 0), "expected the parameters"), ((3, 5, 0, 2, 12, 345), "expected the parameters"), ((1, 5, 0, 3, 12, 345), "expected the parameters")]:
    open("d.h5", "wb").write(whole.replace(old, numpy.array(new, "<u4").tobytes()))
    fails(text, lambda: h5py.File("d.h5")["v"][...])
print("ok")`, t.TempDir()))
}

// TestJudgeLorenzLibraries reads with two HDF5 libraries in one process, of which one has a name that
// only the process knows, as those of Python packages have.
func TestJudgeLorenzLibraries(t *testing.T) {
	plugin(t)
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	name, _ := exported(t, archived(t, image, archive.WriteOptions{}), withLorenz)
	require.Equal(t, "ok\n", python(t, `
import sys, os, shutil, ctypes, re, threading, h5py, numpy
name, dir = sys.argv[1:]
def values():
    with h5py.File(name) as f:
        return f["tas"][...].astype("<f4")
want = values()
loaded = re.search(r"\S+/libhdf5\S*\.so\S*", "\n".join(l for l in open("/proc/self/maps") if "_hl" not in l)).group()
other = os.path.join(dir, "libother-0a1b2c.so")
shutil.copyfile(loaded, other)
h5 = ctypes.CDLL(other, ctypes.RTLD_LOCAL if hasattr(ctypes, "RTLD_LOCAL") else 0)
assert h5.H5open() >= 0
native = ctypes.c_int64.in_dll(h5, "H5T_NATIVE_FLOAT_g")
hid = ctypes.c_int64
h5.H5Fopen.restype = h5.H5Dopen2.restype = hid
def theirs():
    f = hid(h5.H5Fopen(name.encode(), ctypes.c_uint(0), hid(0)))
    d = hid(h5.H5Dopen2(f, b"tas", hid(0)))
    out = numpy.empty(want.shape, "<f4")
    assert f.value >= 0 and d.value >= 0
    assert h5.H5Dread(d, native, hid(0), hid(0), hid(0), out.ctypes.data_as(ctypes.c_void_p)) >= 0
    h5.H5Dclose(d)
    h5.H5Fclose(f)
    return out
bad = []
def repeat(read):
    for _ in range(20):
        if not (read() == want).all():
            bad.append(read)
both = [threading.Thread(target=repeat, args=(f,)) for f in (values, theirs)]
[t.start() for t in both]
[t.join() for t in both]
print("ok" if not bad else bad)`, name, t.TempDir()))
}

// TestJudgeLorenzClassic checks that a classic file gets lorenz, too.
func TestJudgeLorenzClassic(t *testing.T) {
	plugin(t)
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 5000}}, Vars: []cdf3.Var{{Name: "v", Type: cdf3.Int, DimIDs: []int{0}}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	image = append(image, make([]byte, 20000)...)
	in := file(t, image)
	f, err := archive.Open(ctx, in, nil)
	require.NoError(t, err)
	defer f.Close()
	name, res := exported(t, f, withLorenz)
	require.Zero(t, res.Copied)
	require.Equal(t, []int{0}, res.Encoded)
	require.Less(t, res.Size, int64(20000))
	require.Equal(t, "ok\n", python(t, values, in, name))
}
