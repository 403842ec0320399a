package ioat

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestChunks(t *testing.T) {
	data := make([]byte, 10_007)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	for _, borders := range [][]int64{nil, {0}, {1}, {100, 100, 200}, {5000, 10_006, 10_007, 20_000}} {
		for _, o := range []ChunkOptions{{Len: 64, Keep: 1}, {Len: 100, Keep: 3}, {Len: 20_000, Keep: 2}} {
			seen := make([]atomic.Int32, len(data))
			o.Borders = borders
			o.Observe = func(off int64, b []byte) {
				if !bytes.Equal(data[off:off+int64(len(b))], b) {
					t.Errorf("wrong bytes at %d", off)
				}
				for i := range b {
					seen[off+int64(i)].Add(1)
				}
			}
			c := NewChunks(bytes.NewReader(data), int64(len(data)), o)
			p := make([]byte, 33)
			for off := int64(0); off < int64(len(data)); off += 33 {
				p := p[:min(33, int64(len(data))-off)]
				require.NoError(t, ReadFull(c, p, off))
				require.Equal(t, data[off:off+int64(len(p))], p)
				c.Passed(off)
			}
			for i := range seen {
				if n := seen[i].Load(); n != 1 {
					t.Fatalf("byte %d was observed %d times", i, n)
				}
			}
			require.NoError(t, iotest.TestReader(io.NewSectionReader(c, 0, int64(len(data))), data))
		}
	}
	_, err := NewChunks(bytes.NewReader(data), 1, ChunkOptions{Len: 1, Keep: 1}).ReadAt(make([]byte, 1), -1)
	require.Error(t, err)
}

// TestChunksFailing reads from several goroutines a file that cannot be read in places, and
// is shorter than claimed: each read gives what the file gives.
func TestChunksFailing(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	file := readFunc(func(_ context.Context, p []byte, off int64) (int, error) {
		if off < 5000 && 5000 < off+int64(len(p)) || off < 9000 && 9000 < off+int64(len(p)) {
			return 0, syscall.EIO
		}
		return bytes.NewReader(data).ReadAt(p, off)
	})
	c := NewChunks(file, 20_000, ChunkOptions{Len: 512, Keep: 4, Borders: []int64{700}})
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 0))
			for range 2000 {
				n, off := r.IntN(1500), r.Int64N(20_000)
				got, want := make([]byte, n), make([]byte, n)
				k, err := c.ReadAt(got, off)
				wantK, wantErr := file.ReadAt(want, off)
				if k != wantK || !bytes.Equal(got[:k], want[:k]) || k < n && err != wantErr {
					t.Errorf("%d bytes at %d: expected %d, %v, found %d, %v", n, off, wantK, wantErr, k, err)
					return
				}
				c.Passed(off / 2)
			}
		})
	}
	wg.Wait()
}

// TestChunksAhead checks what is fetched ahead: the chunks after those that are read in order, each once, and nothing
// before the first read or after a jump. Errors are those of the chunks.
func TestChunksAhead(t *testing.T) {
	data := make([]byte, 1050)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	var mu sync.Mutex
	read := map[int64]int{}
	file := readFunc(func(_ context.Context, p []byte, off int64) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if read[off]++; off == 700 {
			return 0, syscall.EIO
		}
		return bytes.NewReader(data).ReadAt(p, off)
	})
	open := func() *Chunks {
		clear(read)
		return NewChunks(file, int64(len(data)), ChunkOptions{Len: 100, Keep: 5, Ahead: 3})
	}
	c := open()
	c.Close()
	require.Empty(t, read)

	c = open()
	p := make([]byte, 30)
	for off := int64(0); off < 390; off += 30 {
		require.NoError(t, ReadFull(c, p, off))
		require.Equal(t, data[off:][:30], p)
		require.NoError(t, ReadFull(c, p[:10], max(0, off-60))) // walks go back a little
	}
	c.Close()
	require.Equal(t, map[int64]int{0: 1, 100: 1, 200: 1, 300: 1, 400: 1, 500: 1, 600: 1}, read)

	c = open()
	require.NoError(t, ReadFull(c, p, 510))
	require.NoError(t, ReadFull(c, p, 210))
	require.NoError(t, ReadFull(c, p, 1000))
	n, err := c.ReadAt(p, 1040)
	require.Equal(t, io.EOF, err)
	require.Equal(t, 10, n)
	require.Equal(t, data[1040:], p[:10])
	n, err = c.ReadAt(p, 2000)
	require.Equal(t, io.EOF, err)
	require.Zero(t, n)
	n, err = c.ReadAt(p, 690)
	require.Equal(t, syscall.EIO, err)
	require.Equal(t, 10, n)
	c.Close()
	require.Equal(t, map[int64]int{500: 1, 200: 1, 1000: 1, 600: 1, 700: 1, 800: 1, 900: 1}, read)
}
