//go:build judge

package zarr

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/refs"
	"github.com/cdfz-format/cdfz/filters"
)

// sums prints the SHA-256 of the big-endian values of each array. Debian has no zarr that
// reads v3, so the program has a reader for that. .ci/zarr3 reads v3 with zarr-python 3.
const sums = `
import sys, os, json, base64, hashlib, itertools, numpy, zarr, numcodecs, fsspec, cdfz
cdfz.register()
def big(a): return hashlib.sha256(numpy.ascontiguousarray(a.astype(a.dtype.newbyteorder(">"))).tobytes()).hexdigest()
def third(root):
    group = json.load(open(root + "/zarr.json"))
    for path, a in group["consolidated_metadata"]["metadata"].items():
        assert a == json.load(open(root + "/" + path + "/zarr.json"))
        t = a["data_type"]
        t = "S1" if isinstance(t, dict) else numpy.dtype(t).newbyteorder(">")
        assert len(a["dimension_names"]) == len(a["shape"])
        out = numpy.zeros(a["shape"], t)
        chunk = a["chunk_grid"]["configuration"]["chunk_shape"]
        for at in itertools.product(*(range(-(-n // c)) for n, c in zip(a["shape"], chunk))):
            b = open("/".join([root, path, "c", *map(str, at)]), "rb").read()
            for c in a["codecs"][:0:-1]:
                k = dict(c["configuration"], id=c["name"].split(".")[-1])
                k.pop("checksum", None)
                if k["id"] == "blosc":
                    del k["typesize"]
                    k["shuffle"] = ["noshuffle", "shuffle", "bitshuffle"].index(k["shuffle"])
                b = numcodecs.get_codec(k).decode(b)
            b = numpy.frombuffer(bytes(b), t).reshape(chunk)
            place = tuple(slice(i * c, min(i * c + c, n)) for i, c, n in zip(at, chunk, a["shape"]))
            out[place] = b[tuple(slice(0, s.stop - s.start) for s in place)]
        yield path, out
for kind, where in zip(sys.argv[1::2], sys.argv[2::2]):
    if kind == "3": arrays = third(where)
    elif kind == "2": arrays = zarr.open_consolidated(where, mode="r").arrays()
    else: arrays = zarr.open_consolidated(fsspec.filesystem("reference", fo=where).get_mapper(""), mode="r").arrays()
    print(json.dumps({n: big(a[...]) for n, a in arrays}))`

// pythonSums returns the sums of several stores, each given by its kind and its place.
func pythonSums(t *testing.T, stores ...string) (out []map[string]string) {
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", sums}, stores...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../../../../python", "PYTHONDONTWRITEBYTECODE=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	b, err := cmd.Output()
	require.NoError(t, err, errs.String())
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var sums map[string]string
		require.NoError(t, d.Decode(&sums))
		out = append(out, sums)
	}
	return out
}

// TestJudgeValues reads stores and references with zarr.
func TestJudgeValues(t *testing.T) {
	var stores []string
	var wants []map[string]string
	for i, name := range []string{"cdf2_climate.nc", "cdf5_all_types.nc", "cdf1_scalars.nc", "cdf1_overlap_fixed.nc", "cdf1_names.nc", "cdf5_rank.nc"} {
		o := archive.WriteOptions{Preset: archive.PresetPortable, Block: 4 << 10}
		if i%2 == 0 {
			o.Zarr = archive.ZarrAlways
		}
		f := archived(t, name, o)
		lorenz := archived(t, name, archive.WriteOptions{Block: 4 << 10, Zarr: archive.ZarrAlways})
		want := map[string]string{}
		z, err := f.Zarr(ctx, nil)
		require.NoError(t, err)
		for path, c := range z.Arrays() {
			n := c.Var().Type().Size()
			for _, k := range c.Var().Shape() {
				n *= k
			}
			b, err := io.ReadAll(io.NewSectionReader(c.Var().Values(), 0, n))
			require.NoError(t, err)
			want[path] = fmt.Sprintf("%x", sha256.Sum256(b))
		}
		dir := t.TempDir()
		for version := 2; version <= 3; version++ {
			for k, o := range []Options{{}, {}, {Filters: filters.Chain{{ID: filters.Lorenz}, {ID: filters.Deflate, Params: []uint32{1}}}}} {
				where := filepath.Join(dir, fmt.Sprint("x", version, k))
				o.Format = version
				res, err := Write(ctx, where, []*archive.File{f, lorenz, lorenz}[k], &o)
				require.NoError(t, err)
				require.Equal(t, k == 2, res.Lorenz)
				want := maps.Clone(want)
				if version == 3 {
					delete(want, newMetadata)
				}
				stores, wants = append(stores, fmt.Sprint(version), where), append(wants, want)
			}
		}
		if name == "cdf1_names.nc" { // fsspec takes * in names of files for a pattern
			continue
		}
		at := filepath.Join(dir, "x.nc.cdfz")
		image := f.Image()
		_, err = archive.WriteFile(ctx, at, image, image.Size(), &o, nil)
		require.NoError(t, err)
		a, err := archive.Open(ctx, at, nil)
		require.NoError(t, err)
		var b bytes.Buffer
		res, err := refs.WriteJSON(ctx, &b, refs.Source{Archive: a, URL: at})
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.Empty(t, res.Packages)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.json"), b.Bytes(), 0o666))
		stores, wants = append(stores, "refs", filepath.Join(dir, "x.json")), append(wants, want)
	}
	require.Equal(t, wants, pythonSums(t, stores...))
}
