package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// wide is the length of reads whose blocks are decoded together.
const wide = 128 << 10

// readsAlike compares a read of an image with the image.
func readsAlike(im *Image, image []byte, off, n int) error {
	p := make([]byte, n)
	k, err := im.ReadAt(p, int64(off))
	want := image[min(off, len(image)):min(off+n, len(image))]
	switch {
	case !bytes.Equal(p[:k], want):
		return fmt.Errorf("wrong bytes at %d, %d bytes read of %d", off, k, n)
	case k < n && err != io.EOF || k == n && err != nil:
		return fmt.Errorf("%d bytes read of %d at %d: %w", k, n, off, err)
	}
	return nil
}

// TestWideReads compares long reads with the image: of all classic files, and of larger ones by
// several goroutines.
func TestWideReads(t *testing.T) {
	names, err := filepath.Glob("../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		f := openFile(t, pack(t, image, &WriteOptions{Block: MinBlock}), &OpenOptions{Cache: 1 << 20})
		rng := rand.New(rand.NewSource(1))
		for range 10 {
			require.NoError(t, readsAlike(f.Image(), image, rng.Intn(len(image)), wide+rng.Intn(1000)), name)
		}
		require.NoError(t, readsAlike(f.Image(), image, len(image)+3, wide), name)
	}
	for _, image := range [][]byte{cubeImage(t, 20, 100, 300), noiseImage(t, 60)} {
		for _, o := range []*OpenOptions{nil, {Cache: -1}, {Cache: 1 << 20, Workers: 1}, {Cache: 256 << 10, Workers: 8}} {
			f := openFile(t, pack(t, image, &WriteOptions{Block: 50_000}), o)
			inGoroutines(t, 4, func(r *rand.Rand) error {
				for range 10 {
					if err := readsAlike(f.Image(), image, r.Intn(len(image)), wide+r.Intn(len(image))); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}

// TestWideOnce checks that long reads in order decode each block once, also the blocks with bytes
// of two reads.
func TestWideOnce(t *testing.T) {
	image := cubeImage(t, 40, 100, 300)
	f := openFile(t, pack(t, image, nil), &OpenOptions{Cache: 4 << 20})
	info, _ := f.Info()
	for off := 0; off < len(image); off += 1 << 20 {
		require.NoError(t, readsAlike(f.Image(), image, off, 1<<20))
	}
	require.Equal(t, info.Blocks, f.Stats().Blocks)
}

// TestWideDamage checks that a damaged block fails the long reads that need it and no others.
func TestWideDamage(t *testing.T) {
	image := cubeImage(t, 40, 100, 300)
	ar := pack(t, image, nil)
	for b, err := range openFile(t, ar, nil).Blocks(t.Context()) {
		require.NoError(t, err)
		if b.Num == 10 {
			ar[b.Off] ^= 1
		}
	}
	f := openFile(t, ar, nil)
	fails := 0
	for off := 0; off < len(image); off += wide {
		_, want := readParts(f.Image(), off)
		if want == nil {
			require.NoError(t, readsAlike(f.Image(), image, off, wide))
			continue
		}
		_, err := f.Image().ReadAt(make([]byte, wide), int64(off))
		require.EqualError(t, err, want.Error())
		require.ErrorIs(t, err, ErrCorrupt)
		fails++
	}
	require.Positive(t, fails)
	require.Less(t, fails, 8)
}

// readParts reads as many bytes in short reads.
func readParts(im *Image, off int) (n int, err error) {
	p := make([]byte, wide/8)
	for range 8 {
		k, err := im.ReadAt(p, int64(off+n))
		n += k
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
