// Package packtest makes archives for tests of packages that check and repair them.
package packtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// packed has the archives that Pack made, with -short.
var packed sync.Map

// Pack archives an image in memory. With -short, the same image with the same options is
// archived once.
func Pack(t testing.TB, image []byte, o *archive.WriteOptions) []byte {
	t.Helper()
	key := ""
	if testing.Short() && (o == nil || o.Progress == nil) {
		key = fmt.Sprintf("%x %+v", sha256.Sum256(image), o)
		if b, ok := packed.Load(key); ok {
			return bytes.Clone(b.([]byte))
		}
	}
	var b bytes.Buffer
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), o)
	require.NoError(t, err)
	if key != "" {
		packed.Store(key, bytes.Clone(b.Bytes()))
	}
	return b.Bytes()
}

// Open opens an archive for its internals.
func Open(t testing.TB, ar []byte) *read.Reader {
	t.Helper()
	r, err := read.NewReader(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return r
}

// Small returns archives of each layout, small enough to try every byte.
func Small(t testing.TB) map[string][]byte {
	files := archivetest.Classic(t)
	out := map[string][]byte{}
	for _, name := range []string{"cdf1_single_rec_short.nc", "cdf2_two_rec_small.nc", "cdf5_all_types.nc"} {
		image, ok := files[name]
		require.True(t, ok, name)
		for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
			out[name+"/"+string(zarr)] = Pack(t, image, &archive.WriteOptions{Name: name, Zarr: zarr, Block: archive.MinBlock})
		}
	}
	out["pools"] = Pack(t, files["cdf1_climate_small.nc"], &archive.WriteOptions{Zarr: archive.ZarrNever})
	require.NotEmpty(t, Open(t, out["pools"]).L.Pools)
	out["consolidated"] = Pack(t, files["cdf2_two_rec_small.nc"], &archive.WriteOptions{Zarr: archive.ZarrConsolidated, Block: archive.MinBlock})
	return out
}

// Copied returns an image and an archive of it that is just large enough for second
// copies.
func Copied(t testing.TB, zarr archive.ZarrMode) (image, ar []byte) {
	image = archivetest.Cube(t, 40, 60, 60)
	rng := rand.New(rand.NewSource(1))
	for i := len(image) / 3; i < len(image); i += 2 {
		image[i] = byte(rng.Intn(256))
	}
	ar = Pack(t, image, &archive.WriteOptions{Name: "c.nc", Zarr: zarr, Block: 64 << 10})
	require.NotZero(t, Open(t, ar).Man.Copies)
	return image, ar
}

// File opens an archive.
func File(t testing.TB, ar []byte) *archive.File {
	t.Helper()
	f, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return f
}
