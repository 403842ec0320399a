//go:build corpus && judge

package netcdf4

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// maxDump bounds the values of a file that ncdump prints, in bytes, unless CDFZ_SOAK is
// set.
const maxDump = 4 << 20

// tally counts the files of a test.
type tally struct {
	files, copied, long, refused int
}

// file exports an archive of the image and compares it with nccopy's copy of the image.
func (c *tally) file(t *testing.T, name string, image []byte) {
	if strings.Contains(name, "streaming") { // libnetcdf takes them for 2^32 records
		return
	}
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	all := int64(0)
	for i := range h.Vars {
		all += h.Vars[i].Len
	}
	if all > 256<<20 || all > maxDump && os.Getenv("CDFZ_SOAK") == "" {
		c.long++
		return
	}
	o := archive.WriteOptions{}
	if c.files%2 == 0 {
		o.Preset = archive.PresetPortable
	}
	if c.files++; c.files%3 == 0 {
		o.Zarr = archive.ZarrAlways
	}
	out, res := exported(t, archived(t, image, o), nil)
	if res.Copied > 0 {
		c.copied++
	}
	if !judge(t, image, out) {
		c.refused++
		in := filepath.Join(t.TempDir(), "x.nc")
		require.NoError(t, os.WriteFile(in, image, 0o666))
		if exec.Command("ncks", "-m", in).Run() != nil { // libnetcdf cannot open it
			_, ok := ncdump(t, out)
			require.True(t, ok, name)
			return
		}
		require.Equal(t, "ok\n", python(t, values, in, out))
	}
}

func (c *tally) report(t *testing.T) {
	t.Logf("%d files, %d with copied chunks, %d not compared because nccopy does not copy them, %d too long", c.files, c.copied, c.refused, c.long)
	require.Greater(t, c.copied, c.files/8)
}

func TestCorpusExport(t *testing.T) {
	var c tally
	corpus.Some(t, 3, func(t *testing.T, f corpus.File) {
		if strings.Contains(f.Name, "_name") { // names that netCDF-4 lacks; TestRefused
			return
		}
		c.file(t, f.Name, f.Bytes(t))
	})
	c.report(t)
}

func TestCorpusExportFerret(t *testing.T) {
	var c tally
	corpus.Ferret(t, func(t *testing.T, f corpus.File) { c.file(t, f.Name, f.Bytes(t)) })
	c.report(t)
}

// TestCorpusPrograms compares exports with their originals in CDO and NCO.
func TestCorpusPrograms(t *testing.T) {
	compared := 0
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		image := f.Bytes(t)
		if len(image) > 4<<20 {
			return
		}
		out, _ := exported(t, archived(t, image, archive.WriteOptions{Preset: archive.PresetPortable}), nil)
		in := filepath.Join(t.TempDir(), "x.nc")
		require.NoError(t, os.WriteFile(in, image, 0o666))
		want, err := exec.Command("ncks", "--trd", "-H", in).Output()
		require.NoError(t, err)
		got, err := exec.Command("ncks", "--trd", "-H", out).Output()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), f.Name)
		if exec.Command("cdo", "-s", "sinfon", in).Run() != nil { // CDO does not know its grids
			return
		}
		text, err := exec.Command("cdo", "-s", "diffn", in, out).CombinedOutput()
		require.NoError(t, err, "%s", text)
		require.NotContains(t, string(text), "differ")
		compared++
	})
	require.NotZero(t, compared)
}
