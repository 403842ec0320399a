//go:build judge

package archive

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
)

// shell runs a script in a folder and returns what it prints.
func shell(t *testing.T, dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

// TestJudgeNetCDFCInstalled installs the library in another prefix and follows docs/netcdf.md and docs/c.md.
func TestJudgeNetCDFCInstalled(t *testing.T) {
	c, err := filepath.Abs("../c")
	require.NoError(t, err)
	n := newNetCDFC(t, "", archivetest.Classic(t)["cdf2_climate.nc"])
	install := "make -s -C " + c + " install CFLAGS=-O0 OUT=" + n.dir + "/out "
	shell(t, n.dir, install+"PREFIX=/usr DESTDIR="+n.dir+"/package")
	for _, file := range []string{"include/cdfz.h", "lib/libcdfz.so.0", "lib/libnccdfz.so", "lib/hdf5/plugin/libh5lorenz.so",
		"lib/pkgconfig/cdfz.pc", "lib/pkgconfig/nccdfz.pc", "share/man/man3/cdfz.3", "share/man/man3/nccdfz.3"} {
		require.FileExists(t, filepath.Join(n.dir, "package/usr", file))
	}
	for _, doc := range []string{"../docs/c.md", "../docs/netcdf.md"} {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		program := regexp.MustCompile("(?s)```c\n/\\* (\\w+\\.c) \\*/\n(.*?)```").FindSubmatch(text)
		require.NotNil(t, program, "%s: no program", doc)
		require.NoError(t, os.WriteFile(filepath.Join(n.dir, string(program[1])), program[2], 0o666))
		printed := regexp.MustCompile("(?s)\n```sh\n(P=[^\n]*\n.*?)```").FindSubmatch(text)
		require.NotNil(t, printed, "%s: no commands with another prefix", doc)
		script := strings.NewReplacer("make -C c install", install, "sst.nc.cdfz", "x.nc.cdfz", "climate.cdfz", "x.nc.cdfz").Replace(string(printed[1]))
		for _, flags := range []string{"", "-Wl,--as-needed"} {
			out := shell(t, n.dir, "cc() { command cc "+flags+` "$@"; }`+"\n"+script, "HOME="+n.dir)
			require.Regexp(t, `(?m)^(13 variables|310.125 310.078 309.781)$`, out, doc)
			out = shell(t, n.dir, "! LD_LIBRARY_PATH=cdfz/lib ./program missing.cdfz")
			require.Contains(t, out, "No such file or directory", doc)
			if doc == "../docs/c.md" {
				require.Contains(t, out, "missing.cdfz: the source failed: No such file or directory")
			}
		}
	}
}

// TestJudgeNetCDFCLazy: a process without netCDF-C does not load it, nor what it needs.
func TestJudgeNetCDFCLazy(t *testing.T) {
	n := newNetCDFC(t, userFormat(t), archivetest.Classic(t)["cdf2_climate.nc"])
	maps := n.must(t, "cat", "/proc/self/maps")
	require.Contains(t, maps, n.library)
	require.NotRegexp(t, "libnetcdf|hdf5|curl", maps)

	// A netCDF-C that is loaded later, for one module alone, and under another name: ctypes calls it by address.
	shell(t, n.dir, `cp -L "$(ldconfig -p | awk '/libnetcdf.so.19/ {print $NF; exit}')" libnetcdf-1a2b3c.so.19`)
	require.Equal(t, "13\n", n.must(t, "/usr/bin/python3", "-c", `
import ctypes
nc = ctypes.CDLL("./libnetcdf-1a2b3c.so.19")
id, n = ctypes.c_int(), ctypes.c_int()
assert nc.nc_open(b"x.nc.cdfz", 0, ctypes.byref(id)) == 0
assert nc.nc_inq_nvars(id, ctypes.byref(n)) == 0
print(n.value)`))
}

// otherFormat registers another format in the slot that OTHER_UDF names.
const otherFormat = `
#include <stdlib.h>
#include <netcdf.h>
#include <netcdf_dispatch.h>
static int other_open(const char *path, int mode, int pe, size_t *chunk, void *p, const NC_Dispatch *table, int ncid)
{ (void)path, (void)mode, (void)pe, (void)chunk, (void)p, (void)table, (void)ncid; return NC_ENOMEM; }
static NC_Dispatch table = {.model = NC_FORMATX_UDF0, .dispatch_version = NC_DISPATCH_VERSION, .open = other_open};
__attribute__((constructor)) static void loaded(void)
{ nc_def_user_format(*getenv("OTHER_UDF") == '0' ? NC_UDF0 : NC_UDF1, &table, "OTHER"); }
`

// TestJudgeNetCDFCSlots: with another format, registered before or after, both are read.
func TestJudgeNetCDFCSlots(t *testing.T) {
	library := userFormat(t)
	n := newNetCDFC(t, library, archivetest.Classic(t)["cdf2_climate.nc"])
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "other.c"), []byte(otherFormat), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "y"), []byte("OTHER FORMAT OF MANY BYTES"), 0o666))
	shell(t, n.dir, "cc -shared -fPIC -o other.so other.c $(pkg-config --cflags --libs netcdf)")
	try := func(preload, slot, udf string) (archive, other string) {
		for _, p := range []struct {
			file string
			out  *string
		}{{"x.nc.cdfz", &archive}, {"y", &other}} {
			cmd := exec.Command("ncdump", "-h", p.file)
			cmd.Dir = n.dir
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload, "OTHER_UDF="+slot, "CDFZ_UDF="+udf)
			out, _ := cmd.CombinedOutput()
			*p.out = string(out)
		}
		return archive, other
	}
	for _, preload := range []string{library + ":./other.so", "./other.so:" + library} {
		for _, c := range []struct{ slot, udf, archive string }{
			{"0", "", "dimensions:"},
			{"1", "", "dimensions:"},
			{"0", "1", "dimensions:"},
			{"1", "0", "dimensions:"},
			{"0", "0", "cdfz: CDFZ_UDF=0: another format has this slot of netCDF-C"},
			{"0", "none", "Unknown file format"},
			{"0", "17", "cdfz: CDFZ_UDF: expected the number of a slot of netCDF-C, or none, found 17"},
		} {
			archive, other := try(preload, c.slot, c.udf)
			require.Contains(t, archive, c.archive, "%s %+v", preload, c)
			require.Contains(t, other, "Memory allocation", "%s %+v", preload, c)
		}
	}
}

// TestJudgeNetCDFCURL: an archive at a URL is refused with a reason.
func TestJudgeNetCDFCURL(t *testing.T) {
	n := newNetCDFC(t, userFormat(t), archivetest.Classic(t)["cdf2_climate.nc"])
	server := httptest.NewServer(http.FileServer(http.Dir(n.dir)))
	defer server.Close()
	_, errs, err := n.run("ncdump", "-h", server.URL+"/x.nc.cdfz#mode=bytes")
	require.Error(t, err)
	require.Contains(t, errs, "x.nc.cdfz#mode=bytes: this library reads files, not URLs")
	_, errs, err = n.run("ncdump", "-h", server.URL+"/x.nc.cdfz")
	require.Error(t, err)
	require.Contains(t, errs, "x.nc.cdfz: this library reads files, not URLs")
}

// TestJudgeNetCDFCOpens: an open archive takes few bytes.
func TestJudgeNetCDFCOpens(t *testing.T) {
	library := userFormat(t)
	n := newNetCDFC(t, library, archivetest.Classic(t)["cdf1_one_record.nc"])
	source, err := filepath.Abs("../c/test/opens.c")
	require.NoError(t, err)
	out := filepath.Dir(library)
	shell(t, n.dir, "cc -D_GNU_SOURCE -o opens "+source+" -Wl,--no-as-needed "+library+" $(pkg-config --cflags --libs netcdf) "+out+"/libcdfz.a -lz -lzstd -lpthread")
	require.Contains(t, shell(t, n.dir, "./opens x.nc.cdfz", "LD_LIBRARY_PATH="+out), "libnccdfz: ")
}
