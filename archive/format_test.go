package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
)

// TestZip checks that the standard library reads every archive, entry by entry, with
// names, order, methods and contents as specified.
func TestZip(t *testing.T) {
	files := someFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, mode := range []ZarrMode{ZarrAlways, ZarrNever} {
			ar := pack(t, files[name], &WriteOptions{Name: name, Zarr: mode, Block: MinBlock})
			z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
			require.NoError(t, err)
			require.Len(t, z.Comment, czip.TailLen)
			names := map[string]bool{}
			for i, f := range z.File {
				require.False(t, names[f.Name], "%s: %q twice", name, f.Name)
				names[f.Name] = true
				r, err := f.Open()
				require.NoError(t, err, "%s: %q", name, f.Name)
				b, err := io.ReadAll(r)
				require.NoError(t, err, "%s: %q", name, f.Name)
				require.Equal(t, int(f.UncompressedSize64), len(b))
				if strings.HasSuffix(f.Name, ".zarray") || strings.HasSuffix(f.Name, ".zattrs") || strings.HasSuffix(f.Name, "json") {
					require.True(t, json.Valid(b), "%s: %q", name, f.Name)
				}
				if i == 0 {
					require.Equal(t, czip.PlanName, f.Name)
				}
			}
			n := len(z.File)
			require.Equal(t, czip.ManifestName, z.File[n-2].Name)
			require.Equal(t, czip.IndexName, z.File[n-1].Name)
			m := open(t, ar).Man
			require.Equal(t, int64(n), m.Entries)
		}
	}
}

// TestStoredOrder checks that blocks are stored in order of completion, each once, as
// the cutter makes them.
func TestStoredOrder(t *testing.T) {
	for name, image := range someFiles(t) {
		for _, memory := range []int64{1, 8 << 10, DefaultMemory} {
			ar := pack(t, image, &WriteOptions{Zarr: ZarrAlways, Block: MinBlock, Memory: memory})
			r := open(t, ar)
			var got []string
			z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
			require.NoError(t, err)
			for _, f := range z.File {
				if !strings.HasPrefix(f.Name, ".cdfz/") || strings.HasPrefix(f.Name, czip.VarPrefix) {
					if !strings.Contains(f.Name, ".z") {
						got = append(got, f.Name)
					}
				}
			}
			var want []string
			r.L.StoredOrder(func(v int, b int64) bool {
				if n := string(r.L.AppendName(nil, v, b)); !strings.Contains(n, ".z") {
					want = append(want, n)
				}
				return true
			})
			require.Equal(t, want, got, "%s, memory %d", name, memory)
		}
	}
}

// TestOpenReads checks that opening takes at most three reads for any archive.
func TestOpenReads(t *testing.T) {
	for name, image := range someFiles(t) {
		for _, block := range []int64{MinBlock, DefaultBlock} {
			ar := pack(t, image, &WriteOptions{Name: name, Zarr: ZarrAlways, Block: block})
			c := &archivetest.CountingReaderAt{R: bytes.NewReader(ar)}
			_, err := read.NewReader(context.Background(), c, int64(len(ar)), nil)
			require.NoError(t, err)
			require.LessOrEqual(t, c.Calls, 3, name)
		}
	}
}

// TestMasks checks that an optional filter is skipped for blocks that it cannot shrink,
// and that such a variable is not in the view but is restored.
func TestMasks(t *testing.T) {
	image := classicFiles(t)["cdf2_climate.nc"]
	rng := rand.New(rand.NewSource(5))
	noisy := bytes.Clone(image)
	rng.Read(noisy[len(noisy)/2:])
	o := &WriteOptions{Name: "m.nc", Zarr: ZarrAlways, Block: 4096, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{
		{ID: filters.Shuffle, Params: []uint32{1}}, {ID: filters.Deflate, Params: []uint32{6}, Optional: true}}}}}
	ar := pack(t, noisy, o)
	require.True(t, bytes.Equal(noisy, unpack(t, ar)))
	require.Empty(t, verified(t, ar).Damage)
	r := open(t, ar)
	masks := map[uint32]int{}
	require.NoError(t, eachBlock(r, func(i BlockInfo) error {
		masks[i.Mask]++
		return nil
	}))
	require.NotZero(t, masks[2])
	for _, v := range fileOf(r).Vars() {
		require.Equal(t, len(v.Shape()) == 0, v.Info().InView, "all but scalars, which have no filters")
	}
}

// TestErrorClasses checks that failing sources and sinks return their own errors, and
// wrong files and options the right classes.
func TestErrorClasses(t *testing.T) {
	image := classicFiles(t)["cdf1_single_rec_short.nc"]
	ctx := context.Background()
	boom := errors.New("failed on purpose")
	// If the sink fails at any point, its error is returned.
	ar := pack(t, image, nil)
	for _, n := range []int{0, 1, len(ar) / 2, len(ar) - 1} {
		_, err := Write(ctx, &failingWriter{n, boom}, bytes.NewReader(image), int64(len(image)), nil)
		require.ErrorIs(t, err, boom)
	}
	// So does a source.
	_, err := Write(ctx, io.Discard, failingReaderAt{boom}, int64(len(image)), nil)
	require.ErrorIs(t, err, boom)
	_, err = read.NewReader(context.Background(), failingReaderAt{boom}, int64(len(ar)), nil)
	require.ErrorIs(t, err, boom)
	require.NotErrorIs(t, err, ErrCorrupt)
	_, err = verify.Verify(ctx, failingReaderAt{boom}, int64(len(ar)), nil)
	require.ErrorIs(t, err, boom)
	_, err = repair.Repair(ctx, failingReaderAt{boom}, int64(len(ar)), nil)
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, copyImage(ctx, open(t, ar), &failingWriter{10, boom}, nil), boom)

	_, err = read.NewReader(context.Background(), bytes.NewReader(image), int64(len(image)), nil)
	require.ErrorIs(t, err, ErrNotArchive)
	_, err = read.NewReader(context.Background(), bytes.NewReader(ar), int64(len(ar)-1), nil)
	require.ErrorIs(t, err, ErrCorrupt)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, copyImage(cancelled, open(t, ar), nil, nil), context.Canceled)

	for _, o := range []WriteOptions{{Block: 3}, {Block: 1 << 40}, {Workers: -1}, {Zarr: "x"}, {Preset: "x"}, {Memory: -1},
		{Filters: []VarFilter{{Vars: []string{"nosuch"}}}}, {Filters: []VarFilter{{Vars: []string{"*"}}, {Vars: []string{"*"}}}}} {
		_, err := Write(ctx, io.Discard, bytes.NewReader(image), int64(len(image)), &o)
		require.ErrorIs(t, err, ErrOptions, "%+v", o)
	}
	_, err = Write(ctx, io.Discard, bytes.NewReader(image), int64(len(image)), &WriteOptions{
		Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: 32013}}}}})
	require.ErrorIs(t, err, filters.ErrUnknownFilter)
}

type failingWriter struct {
	n   int
	err error
}

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, f.err
	}
	return len(p), nil
}

type failingReaderAt struct{ err error }

func (f failingReaderAt) ReadAt([]byte, int64) (int, error) { return 0, f.err }
