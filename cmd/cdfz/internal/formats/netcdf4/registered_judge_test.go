//go:build judge

package netcdf4

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// TestJudgeRegistered lets another number stand in for the one that The HDF Group registers: exports with it are read with
// its plugin, and those with 52723 beside it.
func TestJudgeRegistered(t *testing.T) {
	b, err := os.ReadFile("../../../../../c/Makefile")
	require.NoError(t, err)
	number := regexp.MustCompile(`(?m)^REGISTERED :=(.*)$`).FindSubmatch(b)
	require.NotNil(t, number)
	inMakefile, _ := strconv.Atoi(string(number[1]))
	require.EqualValues(t, inMakefile, Registered, "c/Makefile and netcdf4.Registered have the same number")

	defer func(n uint16) { Registered = n }(Registered)
	Registered = 32767
	dir := t.TempDir()
	run(t, "make", "-s", "-C", "../../../../../c", "hdf5", "OUT="+dir, "REGISTERED=32767", "CFLAGS=-O0")
	t.Setenv("HDF5_PLUGIN_PATH", filepath.Join(dir, "hdf5"))
	in := "../../../../../testdata/classic/cdf2_climate.nc"
	image, err := os.ReadFile(in)
	require.NoError(t, err)
	f := archived(t, image, archive.WriteOptions{Block: archive.MinBlock})
	for _, o := range []Options{{Filters: withLorenz.Filters}, {Filters: withLorenz.Filters, Registered: true}} {
		name, res := exported(t, f, &o)
		require.True(t, res.Lorenz)
		require.Equal(t, o.Registered, regexp.MustCompile(`FILTER_ID 32767`).MatchString(run(t, "h5dump", "-pH", name)))
		require.Equal(t, !o.Registered, regexp.MustCompile(`FILTER_ID 52723`).MatchString(run(t, "h5dump", "-pH", name)))
		require.Equal(t, "ok\n", python(t, values, in, name))
	}
}
