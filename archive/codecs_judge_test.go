//go:build judge

package archive

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// readZarr compares the arrays of a Zarr store with a classic file, and prints the codec
// that is the compressor of each.
const readZarr = `
import sys, zarr, netCDF4
z = zarr.open_consolidated(zarr.storage.ZipStore(sys.argv[1], mode="r"))
f = netCDF4.Dataset(sys.argv[2])
f.set_auto_maskandscale(False)
for name in sorted(f.variables):
    assert (z[name][...] == f[name][...]).all(), name
    print(name, z[name].compressor and z[name].compressor.codec_id)
`

// TestJudgeCompressors reads variables with Zarr whose last codec is one of those that
// can be the compressor of a Zarr array, or is not.
func TestJudgeCompressors(t *testing.T) {
	chains := map[string]filters.Chain{
		"adler32": {{ID: filters.Deflate, Params: []uint32{6}}, {ID: filters.Adler32}},
		"blosc":   {{ID: filters.Blosc, Params: []uint32{0, 0, 0, 0, 5, 1, 1}}},
		"bz2":     {{ID: filters.Shuffle}, {ID: filters.Bzip2, Params: []uint32{9}}},
		"delta":   {{ID: filters.Delta}},
		"lzma":    {{ID: filters.Shuffle}, {ID: filters.LZMA}},
		"zlib":    {{ID: filters.Delta}, {ID: filters.Deflate, Params: []uint32{6}}},
		"zstd":    {{ID: filters.Shuffle}, {ID: filters.Blosc, Params: []uint32{0, 0, 0, 0, 5, 0, 5}}, {ID: filters.Zstd, Params: []uint32{3}}},
	}
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: 5000}}}
	o := WriteOptions{Zarr: ZarrAlways, Block: 4096, Name: "x.nc"}
	for name, c := range chains {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Int, DimIDs: []int{0}})
		o.Filters = append(o.Filters, VarFilter{Vars: []string{name}, Chain: c})
	}
	image := imageOf(t, h, func(p []byte) {
		for i := range p {
			p[i] = byte(i / 97 * i % 7)
		}
	})
	var ar bytes.Buffer
	_, err := Write(context.Background(), &ar, bytes.NewReader(image), int64(len(image)), &o)
	require.NoError(t, err)
	dir := t.TempDir()
	store, file := filepath.Join(dir, "x.zip"), filepath.Join(dir, "x.nc")
	require.NoError(t, os.WriteFile(store, ar.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(file, image, 0o644))
	out, err := exec.Command("/usr/bin/python3", "-W", "ignore", "-c", readZarr, store, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "adler32 None\nblosc blosc\nbz2 bz2\ndelta None\nlzma lzma\nzlib zlib\nzstd zstd\n", string(out))
}
