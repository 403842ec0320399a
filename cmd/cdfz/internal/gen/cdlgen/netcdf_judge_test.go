//go:build judge

package cdlgen_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
)

// specialLine is a line with a special attribute. ncgen accepts them for netCDF-4 only.
var specialLine = regexp.MustCompile(`(?m)^.*:_(Storage|ChunkSizes|DeflateLevel|Shuffle|Fletcher32|Filter|Codecs|Endianness|NoFill|Format|NCProperties|IsNetcdf4|SuperblockVersion) *=.*;\s*$`)

// differs lists the texts of netCDF-C for which cdfz and ncgen differ.
var differs = map[string]string{
	"ncgen/ncf345.cdl":                 `'\0' in a list is the character 0 for ncgen`,
	"ncdump/ref_times.cdl":             "text of ncdump -t: ncgen reads the year of a date and ignores the rest",
	"ncdump/ref_test_360_day_1900.cdl": "text of ncdump -t",
	"ncdump/ref_test_365_day_1900.cdl": "text of ncdump -t",
	"ncdump/ref_test_366_day_1900.cdl": "text of ncdump -t",
	"nczarr_test/ref_byte.cdl":         "ncgen does not read byte as the name of a variable",
	"ncdump/cdl/ref_const_test.cdl":    "ncgen cuts constants with the suffix L to 32 bits",
	"nc_test4/ref_any.cdl":             "a template, with @ for text of special attributes",
	"nczarr_test/ref_any.cdl":          "a template",
	// For CDF-5, ncgen makes an int of an int64. Its netCDF-4 file, copied, is judged instead.
	"ncdump/inttags4.cdl":            "int64",
	"ncdump/ref_inttags4.cdl":        "int64",
	"ncdump/ref_ctest1_nc4.cdl":      "int64",
	"ncdump/ref_nc_test_netcdf4.cdl": "int64",
	"ncgen/c0_4.cdl":                 "int64",
}

// TestJudgeNetcdfC compares files made from the texts in netCDF-C's sources with those
// of ncgen, byte for byte: each fourth, or all with CDFZ_SOAK=1. CDFZ_CDL names another
// folder with texts. Files above 64 MiB are not made.
func TestJudgeNetcdfC(t *testing.T) {
	z, err := zip.OpenReader("testdata/netcdf-c-4.9.0.zip")
	require.NoError(t, err)
	defer z.Close()
	var root fs.FS = z
	all := os.Getenv("CDFZ_SOAK") != ""
	if dir := os.Getenv("CDFZ_CDL"); dir != "" {
		root, all = os.DirFS(dir), true
	}
	like := []string{"same", "refused", "large"}
	count, n := map[string]int{}, 0
	require.NoError(t, fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		if path.Ext(name) != ".cdl" {
			return nil
		}
		if n++; !all && n%4 != 0 && differs[name] == "" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		got := judgeText(t, name, text)
		if why := differs[name]; why == "" {
			assert.Contains(t, like, got, "%s", name)
		} else {
			require.NotContains(t, like, got, "%s: %s", name, why)
		}
		count[got]++
		return nil
	}))
	t.Log(count)
	require.Greater(t, count["same"], 25)
}

// judgeText compares the file made from a text with ncgen's.
func judgeText(t *testing.T, name string, text []byte) string {
	plain := specialLine.ReplaceAll(text, nil)
	f, err := cdlgen.Parse(context.Background(), bytes.NewReader(text), nil)
	if err != nil {
		if ncgen(t, "cdf5", plain) == nil {
			return "refused"
		}
		return "refused only here"
	}
	defer f.Close()
	if f.Size() > 64<<20 {
		return "large"
	}
	o := &cdlgen.Options{Version: f.Header.Version}
	got := generate(t, string(plain), o)
	if !bytes.Contains(text, []byte(":_NoFill")) {
		require.Equal(t, got, generate(t, string(text), o), "%s: with special attributes", name)
	}
	want := ncgen(t, kindOf[o.Version], plain)
	if want == nil {
		return "refused by ncgen"
	}
	// The C library may write zeros after the file, the rest of its buffer.
	if len(want) > len(got) && len(bytes.Trim(want[len(got):], "\x00")) == 0 {
		want = want[:len(got)]
	}
	if bytes.Equal(want, got) {
		return "same"
	}
	if differs[name] == "int64" {
		require.Equal(t, ncdump(t, throughNetCDF4(t, plain)), ncdump(t, got), "%s", name)
	}
	return "differs"
}

// throughNetCDF4 returns the CDF-5 file that nccopy makes of ncgen's netCDF-4 file.
func throughNetCDF4(t *testing.T, text []byte) []byte {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "4.nc"), filepath.Join(dir, "5.nc")
	require.NoError(t, os.WriteFile(in, ncgen(t, "nc4", text), 0o666))
	require.NoError(t, exec.Command("nccopy", "-k", "cdf5", in, out).Run())
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	return b
}

func ncdump(t *testing.T, file []byte) string {
	name := filepath.Join(t.TempDir(), "x.nc")
	require.NoError(t, os.WriteFile(name, file, 0o666))
	text, err := exec.Command("ncdump", name).Output()
	require.NoError(t, err)
	return string(text)
}
