//go:build judge && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fills is a file with fill values of all types, and variables without any. The second
// value is the fill value.
const fills = `netcdf fills {
dimensions:
	x = 4 ; s = 3 ;
variables:
	float f(x) ; f:_FillValue = -1e10f ;
	float tenth(x) ; tenth:_FillValue = 0.1f ;
	double n(x) ; n:_FillValue = NaN ;
	float inf(x) ; inf:_FillValue = -Infinityf ;
	short p(x) ; p:_FillValue = -32767s ; p:scale_factor = 0.5 ; p:add_offset = 10. ;
	short m(x) ; m:_FillValue = -32767s ; m:missing_value = -9s ;
	int i(x) ; i:_FillValue = -1 ;
	int64 l(x) ; l:_FillValue = -9223372036854775806ll ;
	uint64 u(x) ; u:_FillValue = 18446744073709551614ull ;
	ubyte ub(x) ; ub:_FillValue = 255ub ;
	byte b(x) ; b:_FillValue = -127b ; b:_Unsigned = "true" ;
	char c(x) ; c:_FillValue = "#" ;
	char words(x, s) ; words:_FillValue = " " ;
	float no(x) ;
	float list(x) ; list:missing_value = -1e10f ;
	double t(x) ; t:_FillValue = -1. ; t:units = "days since 2000-01-01" ;
data:
	f = 1, _, 3, 4 ;
	tenth = 1, _, 3, 4 ;
	n = 1, _, 3, 4 ;
	inf = 1, _, 3, 4 ;
	p = 1, _, 3, 4 ;
	m = 1, _, 3, -9 ;
	i = 1, _, 3, 4 ;
	l = 1, _, 3, 4 ;
	u = 1, _, 3, 4 ;
	ub = 1, _, 3, 4 ;
	b = 1, _, 3, -3 ;
	c = "a#b#" ;
	words = "abc", "a  ", "   ", "x y" ;
	no = 1, 9.96921e+36, 0, 4 ;
	list = 1, -1e10, 3, 4 ;
	t = 0, _, 2, 3 ;
}
`

// identical compares a store with the file in xarray, as stored and decoded.
const identical = `
import sys, warnings, xarray as xr, numpy as np
warnings.simplefilter("ignore")
for path in sys.argv[2:]:
    for decode in (False, True):
        ours = xr.open_dataset(path, engine="zarr", consolidated=True, decode_cf=decode).load()
        theirs = xr.open_dataset(sys.argv[1], engine="netcdf4", decode_cf=decode).load()
        xr.testing.assert_identical(ours, theirs)
        for n in theirs.variables:
            assert ours[n].dtype == theirs[n].dtype, (n, ours[n].dtype, theirs[n].dtype)
            a, b = ours[n].encoding, theirs[n].encoding
            assert np.dtype(a["dtype"]).newbyteorder("=") == np.dtype(b["dtype"]).newbyteorder("="), (n, a, b)
            for k in ("_FillValue", "missing_value", "scale_factor", "add_offset", "units", "_Unsigned"):
                x, y = a.get(k), b.get(k)
                assert np.asarray(x).dtype.kind == np.asarray(y).dtype.kind, (n, k, x, y)
                assert x == y or x != x and y != y, (n, k, x, y)
    print("identical")
`

// TestJudgeZarrFill reads fill values of exported, archived and served stores with xarray
// and GDAL.
func TestJudgeZarrFill(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("fills.cdl"), []byte(fills), 0o666))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		if name == "cdfz" {
			cmd = self(t, args...)
		}
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		return string(out)
	}
	run("ncgen", "-k", "cdf5", "-o", "fills.nc", "fills.cdl")
	run("cdfz", "archive", "-q", "--zarr", "always", "-F", "*,1,6", "fills.nc")
	run("cdfz", "verify", "-q", "fills.nc.cdfz")
	run("cdfz", "export", "-q", "--zarr-format", "2", "-o", "fills.zarr", "fills.nc.cdfz")
	run("cdfz", "export", "-q", "--zarr-format", "2", "--filters", "1,6", "-o", "classic.zarr", "fills.nc")
	require.Equal(t, "identical\nidentical\nidentical\nidentical\n", run("/usr/bin/python3", "-c", identical, "fills.nc", "fills.zarr", "classic.zarr",
		"zip://::"+in("fills.nc.cdfz"), serveOn(t, dir).at+"/zarr/fills.nc"))

	for v, want := range map[string]string{"f": "1.000, Maximum=4.000", "n": "1.000, Maximum=4.000", "i": "1.000, Maximum=4.000", "p": "1.000, Maximum=4.000", "ub": "1.000, Maximum=4.000",
		"inf": "1.000, Maximum=4.000", "no": "0.000, Maximum=9969209968386869046778552952102584320.000", "list": "-10000000000.000, Maximum=4.000"} {
		for _, store := range []string{"fills.zarr", "classic.zarr"} {
			out := run("gdalinfo", "-stats", `ZARR:"`+in(store)+`":/`+v)
			require.Contains(t, out, "Minimum="+want, v)
			require.Equal(t, v != "no" && v != "list", strings.Contains(out, "NoData Value="), v)
		}
	}
}
