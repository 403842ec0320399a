package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/verify"
)

func verified(t testing.TB, ar []byte) *verify.Report {
	t.Helper()
	rep, err := verify.Verify(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return rep
}

// TestVerifyFollowed checks that bytes after an archive are the only damage, also if they are another
// archive, whose end says nothing about the first.
func TestVerifyFollowed(t *testing.T) {
	small := packtest.Small(t)
	for name, ar := range small {
		for other, after := range small {
			rep := verified(t, append(bytes.Clone(ar), after...))
			require.Len(t, rep.Damage, 1, "%s, %s", name, other)
			require.Equal(t, int64(len(after)), rep.Damage[0].Len)
			require.Equal(t, int64(len(ar)), rep.Damage[0].Off)
		}
	}
}

func TestVerifyIntact(t *testing.T) {
	for name, image := range archivetest.Some(t) {
		for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrConsolidated, archive.ZarrAuto} {
			rep := verified(t, packtest.Pack(t, image, &archive.WriteOptions{Name: name, Zarr: zarr, Block: 4096}))
			require.Empty(t, rep.Damage, name)
			require.Equal(t, name, rep.Image)
			require.Equal(t, int64(len(image)), rep.ImageSize)
		}
	}
}

// TestVerifyEveryByte checks that flipped bytes of small archives are detected, every third
// of them or, in the soak, every one.
func TestVerifyEveryByte(t *testing.T) {
	for name, ar := range packtest.Small(t) {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(ar); i += archivetest.Thin() {
				bad := bytes.Clone(ar)
				bad[i] ^= byte(1 << (i % 8))
				rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
				require.NoError(t, err, "byte %d", i)
				require.NotEmpty(t, rep.Damage, "byte %d of %d", i, len(ar))
			}
		})
	}
}

// TestVerifyCuts cuts archives at every third byte or, in the soak, at every one.
func TestVerifyCuts(t *testing.T) {
	for name, ar := range packtest.Small(t) {
		t.Run(name, func(t *testing.T) {
			for n := czip.HeadLen; n < len(ar); n += archivetest.Thin() {
				rep, err := verify.Verify(context.Background(), bytes.NewReader(ar[:n]), int64(n), nil)
				require.NoError(t, err, "cut at %d", n)
				require.NotEmpty(t, rep.Damage, "cut at %d", n)
			}
			rep := verified(t, append(bytes.Clone(ar), 0))
			require.NotEmpty(t, rep.Damage)
		})
	}
}

// TestVerifyCutListsAll cuts archives between and within blocks. Every block that is lost is listed.
func TestVerifyCutListsAll(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways})
	list := archivetest.Entries(ar)
	blocks := map[string]int64{} // ends of the blocks of data
	for i, e := range list {
		if strings.HasPrefix(e.Name, ".cdfz/rest/") || e.Method == czip.MethodStored && !strings.HasPrefix(e.Name, ".") {
			blocks[e.Name] = list[i].End()
		}
	}
	require.Greater(t, len(blocks), 4)
	for _, n := range blocks {
		for _, n := range []int64{n - 1, n} {
			lost := 0
			for _, end := range blocks {
				if end > n {
					lost++
				}
			}
			rep, err := verify.Verify(context.Background(), bytes.NewReader(ar[:n]), n, nil)
			require.NoError(t, err)
			if n < blocks[".cdfz/rest/0"] {
				continue // the netCDF header is lost
			}
			found := 0
			for _, d := range rep.Damage {
				if d.Kind == verify.DamageBlock || d.Kind == verify.DamageHeader && strings.Contains(d.Text, "(block ") {
					found++
				}
			}
			require.Equal(t, lost, found, "cut at %d: %+v", n, rep.Damage)
		}
	}
}

// TestVerifyRandomFlips flips random bytes of larger archives.
func TestVerifyRandomFlips(t *testing.T) {
	image := archivetest.Classic(t)["cdf2_climate.nc"]
	require.NotNil(t, image)
	for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
		ar := packtest.Pack(t, image, &archive.WriteOptions{Name: "c.nc", Zarr: zarr, Block: 8 << 10})
		rng := rand.New(rand.NewSource(1))
		n := 1500
		if os.Getenv("CDFZ_SOAK") != "" {
			n = 100_000
		}
		for range n / archivetest.Thin() {
			bad := bytes.Clone(ar)
			i := rng.Intn(len(bad))
			bad[i] ^= byte(1 + rng.Intn(255))
			rep, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
			require.NoError(t, err, "byte %d", i)
			require.NotEmpty(t, rep.Damage, fmt.Sprintf("byte %d of %d", i, len(ar)))
		}
	}
}

// TestVerifySwap swaps two blocks of the same length.
func TestVerifySwap(t *testing.T) {
	image := archivetest.Classic(t)["cdf2_climate.nc"]
	ar := packtest.Pack(t, image, &archive.WriteOptions{Name: "c.nc", Zarr: archive.ZarrAlways, Block: 4096, Filters: []archive.VarFilter{{Vars: []string{"*"}}}})
	var a, b archive.BlockInfo
	byLen := map[int64]archive.BlockInfo{}
	for i, err := range packtest.File(t, ar).Blocks(context.Background()) {
		require.NoError(t, err)
		if other, ok := byLen[i.Len]; ok && i.Var >= 0 && i.CRC != other.CRC && b.Len == 0 {
			a, b = other, i
		}
		if i.Var >= 0 {
			byLen[i.Len] = i
		}
	}
	require.NotZero(t, b.Len)
	bad := bytes.Clone(ar)
	copy(bad[a.Off:], ar[b.Off:b.Off+b.Len])
	copy(bad[b.Off:], ar[a.Off:a.Off+a.Len])
	rep := verified(t, bad)
	require.Len(t, rep.Damage, 2)
	for i, want := range []archive.BlockInfo{a, b} {
		require.Equal(t, verify.DamageBlock, rep.Damage[i].Kind)
		require.Equal(t, want.Start, rep.Damage[i].Start)
		require.NotEmpty(t, rep.Damage[i].Var)
	}
}

// TestVerifyEntryCuts cuts a larger archive at every boundary of an entry.
func TestVerifyEntryCuts(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Classic(t)["cdf2_climate.nc"], &archive.WriteOptions{Name: "c.nc", Block: 16 << 10})
	for _, e := range archivetest.Entries(ar) {
		rep := verified(t, ar[:e.End()])
		require.NotEmpty(t, rep.Damage, "cut at %d", e.End())
	}
}
