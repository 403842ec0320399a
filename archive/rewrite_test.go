package archive

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// rewrite rewrites an archive in memory. It returns the new archive and how many blocks
// of the old one were decoded.
func rewrite(t testing.TB, ar []byte, o *WriteOptions) (out []byte, res *Result, decoded int64) {
	t.Helper()
	f := openFile(t, ar, &OpenOptions{Cache: 16 << 20})
	var b bytes.Buffer
	res, err := Rewrite(t.Context(), &b, f, o)
	require.NoError(t, err)
	return b.Bytes(), res, f.Stats().Blocks
}

func restored(t testing.TB, ar []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, openFile(t, ar, nil).Image().Copy(t.Context(), &b, nil))
	return b.Bytes()
}

// TestRewriteSame checks that rewriting without options copies every block and results
// in the same bytes.
func TestRewriteSame(t *testing.T) {
	for name, image := range someFiles(t) {
		for _, zarr := range []ZarrMode{ZarrAuto, ZarrAlways, ZarrConsolidated, ZarrNever} {
			ar := pack(t, image, &WriteOptions{Name: "x.nc", Zarr: zarr, Block: 4 << 10, Preset: PresetFast})
			again, res, decoded := rewrite(t, ar, nil)
			require.True(t, bytes.Equal(ar, again), "%s, %s: other bytes", name, zarr)
			require.Equal(t, res.Blocks, res.Copied, name)
			require.Zero(t, decoded, name)
		}
	}
}

// TestRewriteFilters checks that new filters change just the blocks of their variables,
// and that the result is the archive that Write makes with them.
func TestRewriteFilters(t *testing.T) {
	image := climateImage(t)
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	o := WriteOptions{Name: "x.nc", Zarr: ZarrAlways, Block: 4 << 10, Preset: PresetPortable}
	ar := pack(t, image, &o)
	before := openFile(t, ar, nil)
	for i := range h.Vars {
		if len(h.Vars[i].DimIDs) == 0 {
			continue
		}
		given := []VarFilter{{Vars: []string{h.Vars[i].Name}, Chain: filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}}}
		again, res, decoded := rewrite(t, ar, &WriteOptions{Filters: given})
		blocks := before.newVar(i).Info().Blocks
		require.Equal(t, blocks, decoded, h.Vars[i].Name)
		require.Equal(t, res.Blocks-blocks, res.Copied)
		with := o
		with.Filters = given
		require.True(t, bytes.Equal(pack(t, image, &with), again), h.Vars[i].Name)
	}
	none, _, _ := rewrite(t, ar, &WriteOptions{Filters: []VarFilter{{Vars: []string{"*"}}}})
	require.True(t, bytes.Equal(image, restored(t, none)))
	for _, v := range openFile(t, none, nil).Vars() {
		require.Empty(t, v.Info().Chain)
	}
	back, _, _ := rewrite(t, none, &WriteOptions{Preset: PresetPortable})
	require.True(t, bytes.Equal(ar, back))
}

// TestRewriteShapes checks other block sizes, layouts and presets.
func TestRewriteShapes(t *testing.T) {
	files := someFiles(t)
	for name, image := range files {
		if len(files) > 100 && len(image)%4 > 0 || testing.Short() && len(image)%8 > 0 {
			continue // a quarter of them
		}
		ar := pack(t, image, &WriteOptions{Name: "x.nc", Block: 4 << 10, Preset: PresetPortable})
		for _, o := range []WriteOptions{
			{Block: 2 << 10}, {Block: 64 << 10}, {Zarr: ZarrAlways}, {Zarr: ZarrNever, Block: 8 << 10}, {Zarr: ZarrAuto}, {Preset: PresetFast, Name: "y.nc"},
		} {
			again, res, decoded := rewrite(t, ar, &o)
			require.True(t, bytes.Equal(image, restored(t, again)), "%s, %+v", name, o)
			if res.Copied == res.Blocks {
				require.Zero(t, decoded)
			}
			// The other way round, the blocks are those of ar again.
			if o.Zarr == "" && o.Preset == "" {
				same, _, _ := rewrite(t, again, &WriteOptions{Block: 4 << 10})
				require.True(t, bytes.Equal(ar, same), "%s, %+v", name, o)
			}
		}
	}
}

// TestRewriteDamage checks that damaged blocks are not copied.
func TestRewriteDamage(t *testing.T) {
	image := climateImage(t)
	ar := pack(t, image, &WriteOptions{Zarr: ZarrAlways, Block: 4 << 10})
	f := openFile(t, ar, nil)
	for b, err := range f.Blocks(t.Context()) {
		require.NoError(t, err)
		if b.Var < 0 || b.Len == 0 {
			continue
		}
		bad := bytes.Clone(ar)
		bad[b.Off+b.Len/2] ^= 1
		for _, o := range []*WriteOptions{nil, {Block: 2 << 10}} {
			_, err = Rewrite(t.Context(), &bytes.Buffer{}, openFile(t, bad, nil), o)
			var where *BlockError
			require.ErrorIs(t, err, ErrCorrupt)
			require.True(t, errors.As(err, &where))
			require.Equal(t, f.Header().Vars[b.Var].Name, where.Var)
		}
		break
	}
	name := filepath.Join(t.TempDir(), "x.cdfz")
	src := openFile(t, ar, nil)
	res, err := RewriteFile(t.Context(), name, src, nil, nil)
	require.NoError(t, err)
	require.Equal(t, res.Blocks, res.Copied)
	_, err = RewriteFile(t.Context(), name, src, &WriteOptions{Filters: []VarFilter{{Vars: []string{"nosuch"}}}}, &FileOptions{Overwrite: true})
	require.ErrorIs(t, err, ErrOptions)
}
