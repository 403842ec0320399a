package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/slab"
)

// TestBlockError checks that errors.As finds the place of a damaged block, in all
// fields.
func TestBlockError(t *testing.T) {
	image := cubeImage(t, 10, 30, 50)
	ar := pack(t, image, &WriteOptions{Block: 6000, Zarr: ZarrAlways})
	var hit BlockInfo
	f := openFile(t, ar, nil)
	for b, err := range f.Blocks(context.Background()) {
		require.NoError(t, err)
		if b.Var == 1 {
			hit = b
		}
	}
	ar[hit.Off] ^= 1
	f = openFile(t, ar, &OpenOptions{Name: "x.nc.cdfz"})
	_, err := slab.Read[int32](context.Background(), varOf(t, f, "b"), slab.Sel{})
	var e *BlockError
	require.ErrorAs(t, err, &e)
	require.Equal(t, BlockError{File: "x.nc.cdfz", Block: hit.Num, Var: "b", Start: hit.Start, Count: hit.Count, StoredOff: hit.Off, Err: e.Err}, *e)
	require.ErrorIs(t, e, ErrCorrupt)
	require.Contains(t, err.Error(), e.Error())
	require.False(t, errors.As(ErrCorrupt, &e))
	_, err = New(t.Context(), bytes.NewReader(ar[:len(ar)-1]), int64(len(ar)-1), nil)
	require.False(t, errors.As(err, &e))
}

// TestNoVariable asks for names that a file does not have.
func TestNoVariable(t *testing.T) {
	f := openFile(t, pack(t, cubeImage(t, 1, 3, 5), nil), nil)
	for _, name := range []string{"", "x", "B"} {
		v, err := f.Var(name)
		require.Nil(t, v)
		require.ErrorIs(t, err, ErrNoVariable)
		require.EqualError(t, err, fmt.Sprintf("archive: variable %q: no such variable", name))
	}
	require.Equal(t, "b", varOf(t, f, "b").Name())
}

// TestLongName checks that a name for which the manifest has no room is an error before anything is written.
func TestLongName(t *testing.T) {
	long := cubeImage(t, 100, 150, 150) // not archived in memory
	require.Greater(t, len(long), plan.SmallImage)
	for _, image := range [][]byte{smallestImage, long} {
		for _, name := range []string{strings.Repeat("x", 70_000), strings.Repeat("\x01", 12_000), strings.Repeat("\xff", 40_000)} {
			var b bytes.Buffer
			_, err := Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), &WriteOptions{Name: name, Preset: PresetFast})
			require.ErrorIs(t, err, ErrOptions)
			require.Zero(t, b.Len())
		}
	}
	ar := pack(t, smallestImage, nil)
	_, err := Rewrite(t.Context(), io.Discard, openFile(t, ar, nil), &WriteOptions{Name: strings.Repeat("x", 70_000)})
	require.ErrorIs(t, err, ErrOptions)
	for n := 65_000; ; n++ {
		var b bytes.Buffer
		_, err := Write(t.Context(), &b, bytes.NewReader(smallestImage), int64(len(smallestImage)), &WriteOptions{Name: strings.Repeat("x", n)})
		if err != nil {
			require.ErrorIs(t, err, ErrOptions)
			break
		}
		require.Less(t, n, 65_536)
		require.Equal(t, smallestImage, restored(t, b.Bytes()))
	}
}

// TestOptionErrors checks that wrong chains are errors of options, and name the variable.
func TestOptionErrors(t *testing.T) {
	ctx := context.Background()
	image := cubeImage(t, 2, 3, 50)
	src := openFile(t, pack(t, image, nil), nil)
	for _, c := range []filters.Chain{{{ID: 999}}, {{ID: filters.Deflate, Params: []uint32{77}}}} {
		o := &WriteOptions{Filters: []VarFilter{{Vars: []string{"b"}, Chain: c}}, Zarr: ZarrAlways}
		_, err := Write(ctx, io.Discard, bytes.NewReader(image), int64(len(image)), o)
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, `archive: variable "b": chain `)
		_, err = Rewrite(ctx, io.Discard, src, o)
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, `archive: variable "b": chain `)
		_, err = varOf(t, src, "b").Chunks(&ChunkOptions{
			Keep: func(filters.Chain) bool { return false }, Filters: func(cdf3.Type) (filters.Chain, error) { return c, nil },
		})
		require.ErrorIs(t, err, ErrOptions)
	}
	_, err := src.Image().ReadAt(make([]byte, 1), -1)
	require.EqualError(t, err, "archive: expected an offset of at least 0, found -1")
}

// TestImageName checks which name an image gets that the options do not name.
func TestImageName(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	b := cubeImage(t, 2, 3, 5)
	source := filepath.Join(dir, "a.nc")
	require.NoError(t, os.WriteFile(source, b, 0o666))
	file, err := os.Open(source)
	require.NoError(t, err)
	defer file.Close()
	for want, image := range map[string]io.ReaderAt{"a.nc": file, "b.nc": bytes.NewReader(b)} {
		name := filepath.Join(dir, "b.nc"+Suffix)
		_, err := WriteFile(ctx, name, image, int64(len(b)), nil, &FileOptions{Overwrite: true})
		require.NoError(t, err)
		f, err := Open(ctx, name, nil)
		require.NoError(t, err)
		info, _ := f.Info()
		require.Equal(t, want, info.ImageName)
		require.NoError(t, f.Close())
	}
}
