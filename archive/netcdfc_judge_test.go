//go:build judge

package archive

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/volume"
)

// buildDir is the folder of built once there is one.
var buildDir string

// built is the path of libnccdfz.so. The first test that needs it builds it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "nccdfz")
	if err != nil {
		return "", err
	}
	buildDir = dir
	out, err := exec.Command("make", "-s", "-C", "../c", "netcdf", "OUT="+dir, "CFLAGS=-O0").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("make: %w: %s", err, out)
	}
	return filepath.Join(dir, "libnccdfz.so"), err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// userFormat returns the path of libnccdfz.so, with which programs of netCDF-C read archives.
func userFormat(t *testing.T) string {
	t.Helper()
	library, err := built()
	require.NoError(t, err)
	return library
}

// netcdfC is a folder with x.nc and its archive x.nc.cdfz.
type netcdfC struct {
	dir     string
	library string
}

func newNetCDFC(t *testing.T, library string, image []byte) netcdfC {
	t.Helper()
	n := netcdfC{t.TempDir(), library}
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "x.nc"), image, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "x.nc.cdfz"), pack(t, image, nil), 0o666))
	return n
}

// run runs a program in the folder with the library, and returns its output.
func (n netcdfC) run(name string, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, &out, &errs
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+n.library)
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// must runs a program that has to succeed, and returns its output.
func (n netcdfC) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, errs, err := n.run(name, args...)
	require.NoError(t, err, "%s %q: %s", name, args, errs)
	return out
}

// dump compares what ncdump prints of the file and of the archive. It may fail, but for both.
func (n netcdfC) dump(t *testing.T) {
	t.Helper()
	want, _, failed := n.run("ncdump", "-n", "x", "x.nc")
	found, errs, err := n.run("ncdump", "-n", "x", "x.nc.cdfz")
	require.Equal(t, failed == nil, err == nil, "%v, the archive %v: %s", failed, err, errs)
	require.Equal(t, want, found)
}

// openRecords reports whether a header leaves the number of records open. netCDF-C takes it for 2^32-1.
func openRecords(image []byte) bool {
	return len(image) > 8 && bytes.Equal(image[4:8], []byte{0xff, 0xff, 0xff, 0xff})
}

func TestJudgeNetCDFC(t *testing.T) {
	library, files := userFormat(t), archivetest.Classic(t)
	for name, image := range archivetest.OneVersion(t) {
		// ncdump takes long to print 84 MB of values that are not in the file.
		if !openRecords(image) && !strings.HasSuffix(name, "_numrecs_more.nc") {
			t.Run(name, func(t *testing.T) { newNetCDFC(t, library, image).dump(t) })
		}
	}
	t.Run("volume", func(t *testing.T) { testMemberNetCDFC(t, newNetCDFC(t, library, files["cdf2_climate.nc"])) })
	t.Run("records left open", func(t *testing.T) { testOpenRecords(t, newNetCDFC(t, library, files["cdf2_streaming.nc"])) })
	climate := files["cdf2_climate.nc"]
	t.Run("programs", func(t *testing.T) { testNetCDFCPrograms(t, newNetCDFC(t, library, climate), climate) })
	t.Run("faults", func(t *testing.T) { testNetCDFCFaults(t, newNetCDFC(t, library, climate)) })
}

// testOpenRecords: the archive shows the records that the file has.
func testOpenRecords(t *testing.T, n netcdfC) {
	require.Contains(t, n.must(t, "ncdump", "-h", "x.nc.cdfz"), "time = UNLIMITED ; // (6 currently)")
}

// testNetCDFCPrograms reads an archive with programs that use netCDF-C in other ways than ncdump.
func testNetCDFCPrograms(t *testing.T, n netcdfC, image []byte) {
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "read.py"), []byte(netcdfCScript), 0o666))
	// The name is as long as the archive's, so that the two outputs can only differ in it.
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "x.nc.copy"), image, 0o666))
	for _, call := range []string{
		"ncdump -k FILE",
		"ncdump -s -h FILE",
		"ncks -C -H -v tas -d time,3,9,3 -d lat,2 -d lon,5,20,4 FILE",
		"ncks -M FILE",
		"ncks -m FILE",
		"/usr/bin/python3 -B read.py FILE",
		"nccopy -k classic FILE copy; ncdump -n x copy",
		"nccopy -k nc4 -d 5 FILE copy; ncdump -n x copy",
		"ncra -h -O -v tas FILE copy; ncdump -n x copy",
		"ncpdq -h -O -a lon,lat -v tas FILE copy; ncdump -n x copy",
		"ncdump FILE >text; ncgen -k 64-bit-offset -o copy text; ncdump -n x copy",
	} {
		want := n.must(t, "sh", "-c", strings.ReplaceAll(call, "FILE", "x.nc.copy"))
		found := n.must(t, "sh", "-c", strings.ReplaceAll(call, "FILE", "x.nc.cdfz"))
		require.Equal(t, want, strings.ReplaceAll(found, "x.nc.cdfz", "x.nc.copy"), call)
		require.NotEmpty(t, want, call)
		require.NoError(t, os.RemoveAll(filepath.Join(n.dir, "copy")))
	}
}

const netcdfCScript = `
import sys
import netCDF4, numpy, xarray
f = netCDF4.Dataset(sys.argv[1])
print(f.data_model, f.dimensions, f.ncattrs())
for v in f.variables.values():
    print(v, v[...], v[::2].sum() if v.ndim and v.dtype.kind in "if" else "")
    v.set_auto_maskandscale(False)
    print(v[...].tobytes().hex())
with xarray.open_dataset(sys.argv[1], engine="netcdf4", decode_times=False) as d:
    print(d.tas.isel(lat=[3, 1, 8], time=slice(2, 20, 5)).values, d.tas.mean().values)
`

// testNetCDFCFaults: what cannot be read or written is an error of netCDF-C.
func testNetCDFCFaults(t *testing.T, n netcdfC) {
	archive := filepath.Join(n.dir, "x.nc.cdfz")
	before, err := os.ReadFile(archive)
	require.NoError(t, err)

	// ncatted copies the bytes first, and the copy of an archive is one, too.
	for _, args := range [][]string{
		{"ncrename", "-h", "-O", "-v", "tas,t", "x.nc.cdfz"},
		{"ncatted", "-h", "-O", "-a", "units,tas,o,c,degC", "x.nc.cdfz", "y"},
	} {
		_, errs, err := n.run(args[0], args[1:]...)
		require.Error(t, err, args)
		require.Contains(t, errs, "NetCDF: Write to read only", args)
	}
	after, err := os.ReadFile(archive)
	require.NoError(t, err)
	require.Equal(t, before, after, "the archive was changed")

	damaged := bytes.Clone(before)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(archive, damaged, 0o666))
	_, errs, err := n.run("ncdump", "x.nc.cdfz")
	require.Error(t, err)
	require.Contains(t, errs, "cdfz: x.nc.cdfz: ")
	require.Contains(t, errs, "block ")

	for _, v := range archivetest.Vectors(t, "bad") {
		if v.Name == "plan_format" || v.Name == "plan_feature" {
			require.NoError(t, os.WriteFile(archive, v.Archive, 0o666))
			_, errs, err = n.run("ncdump", "x.nc.cdfz")
			require.Error(t, err)
			require.Contains(t, errs, "NetCDF: Unknown file format", v.Name)
		}
	}

	require.NoError(t, exec.Command("sh", "-c", "cd "+n.dir+" && rm x.nc.cdfz && python3 -m zipfile -c foreign.zip x.nc").Run())
	_, errs, err = n.run("ncdump", "foreign.zip")
	require.Error(t, err)
	require.Equal(t, "ncdump: foreign.zip: NetCDF: Unknown file format\n", errs)
}

// testMemberNetCDFC reads a member of a volume, also over a link.
func testMemberNetCDFC(t *testing.T, n netcdfC) {
	ar, err := os.ReadFile(filepath.Join(n.dir, "x.nc.cdfz"))
	require.NoError(t, err)
	f, err := os.Create(filepath.Join(n.dir, "0001.tar"))
	require.NoError(t, err)
	defer f.Close()
	w := volume.NewWriter(f, time.Unix(0, 0))
	for _, e := range []volume.Entry{{Path: "a", Kind: volume.Folder}, {Path: "a/x.nc.cdfz", Kind: volume.File, Size: int64(len(ar))}, {Path: "b", Kind: volume.Symlink, Target: "a"}} {
		require.NoError(t, w.Add(&e, bytes.NewReader(ar)))
	}
	_, err = w.Finish()
	require.NoError(t, err)
	want := n.must(t, "ncdump", "-n", "x", "x.nc")
	for _, path := range []string{"0001.tar/a/x.nc.cdfz", "0001.tar/b/x.nc.cdfz", "./0001.tar//a/./x.nc.cdfz"} {
		require.Equal(t, want, n.must(t, "ncdump", "-n", "x", path), path)
	}
	require.Equal(t, n.must(t, "ncdump", "-k", "x.nc"), n.must(t, "ncdump", "-k", "0001.tar/a/x.nc.cdfz"))
	for path, message := range map[string]string{"0001.tar/a/y": "no such member", "0001.tar/a": "it is a folder", "0001.tar/../x": "leads out"} {
		_, errs, err := n.run("ncdump", path)
		require.Error(t, err, path)
		require.Contains(t, errs, message, path)
		require.Contains(t, errs, "ncdump: "+path+": No such file or directory\n")
	}
	testFortran(t, n)
	// A folder with such a name, and a file that is no volume, are as without the library.
	require.NoError(t, os.MkdirAll(filepath.Join(n.dir, "d.tar"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "d.tar", "x.nc.cdfz"), ar, 0o666))
	require.Equal(t, want, n.must(t, "ncdump", "-n", "x", "d.tar/x.nc.cdfz"))
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "e.tar"), ar, 0o666))
	_, errs, err := n.run("ncdump", "e.tar/x.nc.cdfz")
	require.Error(t, err)
	require.Equal(t, "ncdump: e.tar/x.nc.cdfz: Not a directory\n", errs)
}

// testFortran opens a member through a library whose name begins as that of netCDF-C, such as libnetcdff and libnetcdf_c++4.
func testFortran(t *testing.T, n netcdfC) {
	for name, text := range map[string]string{
		"f.c":    "#include <netcdf.h>\nint f_open(const char *path) { int id; return nc_open(path, 0, &id); }\n",
		"main.c": "int f_open(const char *path);\nint main(void) { return f_open(\"0001.tar/a/x.nc.cdfz\") != 0; }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o666))
	}
	for _, args := range []string{"-shared -fPIC -o libnetcdff.so f.c -lnetcdf", "-o main main.c -L. -lnetcdff -Wl,-rpath," + n.dir} {
		cmd := exec.Command("gcc", strings.Fields(args)...)
		cmd.Dir = n.dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	n.must(t, filepath.Join(n.dir, "main"))
}
