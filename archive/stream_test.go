package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/ahead"
)

// readStream reads an image through a stream in pieces of n bytes.
func readStream(s ahead.Stream, size int64, n int) ([]byte, error) {
	var out []byte
	p := make([]byte, n)
	for off := int64(0); ; off += int64(n) {
		k, err := s.ReadAt(p, off)
		out = append(out, p[:k]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if off > size {
			return nil, errors.New("no end")
		}
	}
}

// TestStream reads every classic file in order.
func TestStream(t *testing.T) {
	names, err := filepath.Glob("../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, f := range []*File{openFile(t, image, nil), openFile(t, pack(t, image, &WriteOptions{Block: MinBlock}), nil)} {
			for _, n := range []int{1000, 100_000, len(image) + 1} {
				s := newStream(f.Image())
				got, err := readStream(s, int64(len(image)), n)
				require.NoError(t, err)
				require.True(t, bytes.Equal(image, got), "%s in pieces of %d", name, n)
				s.Close()
			}
		}
	}
}

// TestStreamOnce checks that a reader in order has every block decoded once, even if its
// requests overtake each other, and that other reads are right.
func TestStreamOnce(t *testing.T) {
	image := cubeImage(t, 100, 100, 300) // 24 MB
	f := openFile(t, pack(t, image, nil), &OpenOptions{Cache: 1 << 20})
	info, _ := f.Info()
	s := newStream(f.Image())
	defer s.Close()
	read := func(off, n int) error {
		p := make([]byte, n)
		if k, err := s.ReadAt(p, int64(off)); err != nil && err != io.EOF {
			return err
		} else if !bytes.Equal(p[:k], image[off:min(off+n, len(image))]) {
			return fmt.Errorf("wrong bytes at %d", off)
		}
		return nil
	}
	const step = 1 << 17
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	require.NoError(t, read(0, step)) // a stream begins with the window of its first read
	for off := 0; off < len(image); off += 16 * step {
		for _, i := range rand.Perm(16) {
			require.NoError(t, read(min(off+i*step, len(image)), step))
		}
	}
	require.Equal(t, info.Blocks, f.Stats().Blocks)
	runtime.GC() // moves the free buffers of pools aside
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), streamMemory(f.Image())+1<<20)
	inGoroutines(t, 8, func(rng *rand.Rand) error {
		for range 100 {
			if err := read(rng.Intn(len(image)), 1+rng.Intn(1<<17)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, off := range []int64{-1, int64(len(image)), int64(len(image)) + 5} {
		_, err := s.ReadAt(make([]byte, 1), off)
		require.Error(t, err)
		require.Equal(t, off >= 0, err == io.EOF)
	}
	require.NoError(t, read(5, 0))
}

// TestStreamDamage checks that a damaged block fails the reads that need it and no others.
func TestStreamDamage(t *testing.T) {
	image := cubeImage(t, 100, 100, 300)
	ar := pack(t, image, nil)
	var bad BlockInfo
	for b, err := range openFile(t, ar, nil).Blocks(t.Context()) {
		require.NoError(t, err)
		if b.Num == 20 {
			bad = b
		}
	}
	ar[bad.Off] ^= 1
	f := openFile(t, ar, nil)
	s := newStream(f.Image())
	defer s.Close()
	p, fails := make([]byte, 1<<16), 0
	for off := 0; off < len(image); off += len(p) {
		n, err := s.ReadAt(p, int64(off))
		_, want := f.Image().ReadAt(make([]byte, len(p)), int64(off))
		if want != nil && want != io.EOF {
			fails++
			require.EqualError(t, err, want.Error())
			require.ErrorIs(t, err, ErrCorrupt)
			continue
		}
		require.True(t, bytes.Equal(p[:n], image[off:off+n]))
	}
	require.Positive(t, fails)
}

// TestStreamLend checks that loans have the right bytes until they are freed, whatever the stream
// does meanwhile, and what is not lent.
func TestStreamLend(t *testing.T) {
	image := cubeImage(t, 100, 100, 300)
	ar := pack(t, image, nil)
	var bad BlockInfo
	for b, err := range openFile(t, ar, nil).Blocks(t.Context()) {
		require.NoError(t, err)
		if b.Num == 40 {
			bad = b
		}
	}
	ar[bad.Off] ^= 1
	f := openFile(t, ar, &OpenOptions{Cache: 1 << 20})
	s := newStream(f.Image())
	type loan struct {
		off    int
		slices [][]byte
		free   func()
	}
	var held []loan
	check := func(l loan) {
		require.True(t, bytes.HasPrefix(image[l.off:], bytes.Join(l.slices, nil)), "at %d", l.off)
		l.free()
	}
	const step = 300_000
	lent, other := 0, 0
	for off := 0; off < len(image); off += step {
		n := min(step, len(image)-off)
		slices, free := s.Lend(int64(off), int64(n))
		if slices == nil {
			_, want := f.Image().ReadAt(make([]byte, n), int64(off))
			require.ErrorIs(t, want, ErrCorrupt)
			other++
			continue
		}
		require.Len(t, bytes.Join(slices, nil), n)
		lent++
		if held = append(held, loan{off, slices, free}); len(held) == 6 {
			check(held[0])
			held = held[1:]
		}
	}
	for _, l := range held {
		check(l)
	}
	require.Positive(t, other)
	require.Greater(t, lent, other)
	size := int64(len(image))
	for _, r := range [][2]int64{{-1, 5}, {0, 100}, {size - 5, 6}, {size, 1}, {size - 5, 0}, {size - 5, -1}} {
		slices, _ := s.Lend(r[0], r[1]) // the stream has passed the second one long ago
		require.Nil(t, slices, r)
	}
	s.Close()
	// Short runs are not lent.
	short := cubeImage(t, 3000, 5, 7)
	s = newStream(openFile(t, pack(t, short, nil), nil).Image())
	defer s.Close()
	slices, _ := s.Lend(0, 200_000)
	require.Nil(t, slices)
	got, err := readStream(s, int64(len(short)), 200_000)
	require.NoError(t, err)
	require.True(t, bytes.Equal(short, got))
	s = newStream(openFile(t, short, nil).Image())
	defer s.Close()
	slices, _ = s.Lend(0, 10)
	require.Nil(t, slices)
}
