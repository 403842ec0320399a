//go:build judge && linux

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

var (
	dodsAttr = regexp.MustCompile(`(?m)^\t\t.*:(DODS(_EXTRA)?\.(strlen|dimName|Unlimited_Dimension)|_Unsigned) = .*\n`)
	noGlobal = regexp.MustCompile(`\n\n// global attributes:\n((?:[^\t]|$))`)
	shaped   = regexp.MustCompile(`(?m)^\t\w+ .*?\((.*)\) ;$`)
)

// comparable returns CDL without what DAP2 cannot tell: the order of dimensions, those that no
// variable has, and with the additions of the server and of libnetcdf left out.
func comparable(cdl string) string {
	cdl = noGlobal.ReplaceAllString(dodsAttr.ReplaceAllString(cdl, ""), "\n$1")
	used := map[string]bool{}
	for _, m := range shaped.FindAllStringSubmatch(cdl, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			used[name] = true
		}
	}
	before, rest, ok := strings.Cut(cdl, "\ndimensions:\n")
	if !ok {
		return cdl
	}
	var dims []string
	for {
		line, after, ok := strings.Cut(rest, "\n")
		if !ok || !strings.HasPrefix(line, "\t") {
			break
		}
		if name, _, _ := strings.Cut(line[1:], " = "); used[name] {
			dims = append(dims, line+"\n")
		}
		rest = after
	}
	slices.Sort(dims)
	return before + "\n" + strings.Join(dims, "") + rest
}

// differsOverDAP compares what ncdump prints for a file and for its URL. refused means that
// ncdump does not read the file.
func differsOverDAP(dir, name, url string) (differs, refused bool) {
	want := output(dir, "ncdump", "-n", "x", name)
	if !strings.HasSuffix(want, "<nil>") {
		return false, true
	}
	return comparable(want) != comparable(output(dir, "ncdump", "-n", "x", url)), false
}

// TestJudgeDAP reads files with ncdump, nccopy and xarray by their URLs.
func TestJudgeDAP(t *testing.T) {
	files := classicSet(t)
	maps.DeleteFunc(files, func(name string, b []byte) bool { return len(dapCauses(t, b)) > 0 })
	originals, archives := archived(t, files)
	s := serveOn(t, archives)
	names := slices.Sorted(maps.Keys(files))
	require.Greater(t, len(names), 10)
	var g errgroup.Group
	g.SetLimit(4)
	for _, name := range names {
		g.Go(func() error {
			if differs, _ := differsOverDAP(originals, name, s.at+"/dap/"+name); differs {
				return fmt.Errorf("%s differs over DAP2", name)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())

	var name string
	for _, n := range names {
		if strings.HasSuffix(n, "cdf2_climate.nc") {
			name = n
		}
	}
	url := s.at + "/dap/" + name
	dir := t.TempDir()
	require.Equal(t, "<nil>", output(dir, "nccopy", "-k", "classic", url, "copy.nc"))
	require.Equal(t, comparable(output(originals, "ncdump", "-n", "x", name)), comparable(output(dir, "ncdump", "-n", "x", "copy.nc")))
	cmd := exec.Command("/usr/bin/python3", "-c", `
import sys, xarray
want, got = (xarray.open_dataset(n, engine="netcdf4") for n in sys.argv[1:])
for d in want, got: # attributes that libnetcdf adds
    for v in [d, *d.variables.values()]:
        for a in [a for a in v.attrs if a.startswith("DODS") or a == "_Unsigned"]: del v.attrs[a]
xarray.testing.assert_identical(want.load(), got.load())
a = xarray.open_dataset(sys.argv[2], engine="netcdf4")
xarray.testing.assert_equal(want.tas[1:3, ::2, 3], a.tas[1:3, ::2, 3])
`, filepath.Join(originals, name), url)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	// An error of the protocol.
	require.Contains(t, output(dir, "sh", "-c", "ncdump '"+url+"?geogrid(tas)' 2>&1"), "NetCDF: ")
	require.Contains(t, output(dir, "curl", "-s", url+".dods?tas&tas%3E1"), "selections are not supported")
}

// TestJudgeDAPSign compares the values that xarray and netCDF4-python read with libnetcdf: bytes have their sign, and
// unsigned numbers, which libnetcdf takes for signed ones, are unsigned.
func TestJudgeDAPSign(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.cdl"), []byte(`netcdf x { dimensions: x = 4 ; variables:
		byte b(x) ; b:_FillValue = -128b ; b:valid_range = -127b, 127b ; byte own(x) ; own:_Unsigned = "true" ; own:_FillValue = -1b ; byte scalar ;
		ubyte ub(x) ; ub:_FillValue = 255UB ; ushort us(x) ; uint ui(x) ; float f(x) ; f:a = NaNf, Infinityf, -Infinityf ;
		data: b = -1, -128, 127, -5 ; own = -1, -128, 127, 0 ; scalar = -7 ; ub = 200, 255, 0, 128 ; us = 60000, 1, 65534, 0 ;
		ui = 4000000000, 4294967294, 0, 1 ; f = NaNf, Infinityf, -Infinityf, 1 ; }`), 0o644))
	out, err := self(t, "gen", "-k", "5", "-o", filepath.Join(dir, "x.nc"), filepath.Join(dir, "x.cdl")).CombinedOutput()
	require.NoError(t, err, string(out))
	s := serveOn(t, dir)
	out, err = exec.Command("/usr/bin/python3", "-c", `
import sys, netCDF4, numpy, xarray
want, got = (xarray.open_dataset(n, engine="netcdf4") for n in sys.argv[1:])
assert float(want.b[0]) == -1 and float(want.own[1]) == 128 and float(want.ub[0]) == 200, want
for v in want.variables:
    numpy.testing.assert_array_equal(want[v].values, got[v].values, v)
numpy.testing.assert_array_equal(want.f.a, got.f.a)
want, got = (netCDF4.Dataset(n) for n in sys.argv[1:])
for v in want.variables:
    numpy.testing.assert_array_equal(numpy.ma.filled(want[v][:], 77), numpy.ma.filled(got[v][:], 77), v)
`, filepath.Join(dir, "x.nc"), s.at+"/dap/x.nc").CombinedOutput()
	require.NoError(t, err, string(out))
}

// TestJudgeDAPClients reads with CDO and NCO, where they are installed.
func TestJudgeDAPClients(t *testing.T) {
	files := classicSet(t)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return !strings.HasSuffix(name, "cdf2_climate.nc") })
	originals, archives := archived(t, files)
	s := serveOn(t, archives)
	for name := range files {
		for _, args := range [][]string{{"cdo", "-s", "infon"}, {"cdo", "-s", "outputtab,date,lon,lat,value", "-fldmean", "-selname,tas"},
			{"ncks", "-H", "-C", "-v", "tas", "-d", "time,0", "-d", "lat,1,3"}} {
			if _, err := exec.LookPath(args[0]); err != nil {
				require.Empty(t, os.Getenv("CDFZ_CORPUS"), "make test-corpus installs %s", args[0])
				continue
			}
			want := output(originals, append(args, name)...)
			require.NotEmpty(t, want)
			require.Equal(t, want, output(originals, append(args, s.at+"/dap/"+name)...), "%v", args)
		}
	}
}
