package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
)

// treeOf is the sum of pieces by its definition in docs/FORMAT.md.
func treeOf(image []byte) string {
	var sums []byte
	for at := 0; at < len(image); at += 1 << 20 {
		sum := xxh3.Hash128(image[at:min(at+1<<20, len(image))]).Bytes()
		sums = append(sums, sum[:]...)
	}
	sum := xxh3.Hash128(sums).Bytes()
	return hex.EncodeToString(sum[:])
}

// withSums makes an archive with any sums.
func withSums(t *testing.T, image []byte, sums imageSums) []byte {
	o, err := (&WriteOptions{Zarr: ZarrNever}).withDefaults()
	require.NoError(t, err)
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	d, err := draftOf(t.Context(), h, int64(len(image)), &o, plan.Pooled, true)
	require.NoError(t, err)
	var ar bytes.Buffer
	_, err = d.Image(t.Context(), &ar, bytes.NewReader(image), &sums, &write.Options{Workers: o.Workers})
	require.NoError(t, err)
	return ar.Bytes()
}

// TestTree checks the sum of pieces in archives of long images, which short ones do not have.
func TestTree(t *testing.T) {
	image := longImage(t)
	want := treeOf(image)
	for _, workers := range []int{1, 8} {
		ar := pack(t, image, &WriteOptions{Workers: workers})
		require.Equal(t, want, open(t, ar).Man.Tree)
		var again bytes.Buffer
		f, err := New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		require.NoError(t, err)
		_, err = Rewrite(t.Context(), &again, f, &WriteOptions{Preset: PresetPortable, Workers: workers})
		require.NoError(t, err)
		require.Equal(t, want, open(t, again.Bytes()).Man.Tree, "a copy with other filters")
		// With little memory, the image is assembled in a temporary file.
		for _, memory := range []int64{0, 1} {
			require.NoError(t, copyImage(t.Context(), open(t, ar), nil, &imageOptions{Workers: workers, Memory: memory, SHA256: true}))
		}
	}
	require.Empty(t, open(t, pack(t, cubeImage(t, 13, 30, 20), nil)).Man.Tree)
}

// TestSums verifies and restores archives with wrong sums.
func TestSums(t *testing.T) {
	image := longImage(t)
	sum := sha256.Sum256(image)
	sha, tree := hex.EncodeToString(sum[:]), treeOf(image)
	bad, badTree := strings.Repeat("0", 64), strings.Repeat("0", 32)
	for _, c := range []struct {
		name        string
		sums        imageSums
		quick, full bool // whether Verify and Copy find no damage, without and with their option SHA256
	}{
		{"both", imageSums{SHA256: sha, Tree: tree}, true, true},
		{"no tree", imageSums{SHA256: sha}, true, true},
		{"wrong tree", imageSums{SHA256: sha, Tree: badTree}, false, false},
		{"no tree, wrong SHA-256", imageSums{SHA256: bad}, false, false},
		{"wrong SHA-256", imageSums{SHA256: bad, Tree: tree}, true, false},
	} {
		ar := withSums(t, image, c.sums)
		for _, whole := range []bool{false, true} {
			rep, err := verify.Verify(t.Context(), bytes.NewReader(ar), int64(len(ar)), &verify.Options{SHA256: whole})
			require.NoError(t, err)
			intact := c.quick
			if whole {
				intact = c.full
			}
			var copied bytes.Buffer
			err = copyImage(t.Context(), open(t, ar), &copied, &imageOptions{SHA256: whole})
			require.Equal(t, image, copied.Bytes(), c.name)
			if intact {
				require.Empty(t, rep.Damage, c.name)
				require.NoError(t, err, c.name)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt, c.name)
			require.Len(t, rep.Damage, 1, c.name)
			require.Equal(t, verify.DamageImage, rep.Damage[0].Kind, c.name)
			require.Contains(t, rep.Damage[0].Text, "00000", c.name)
		}
	}
}
