package verify_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// longArchives returns archives of longImage.
func longArchives(t testing.TB) map[string][]byte {
	image := archivetest.Long(t)
	return map[string][]byte{
		"viewed":        packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Zarr: archive.ZarrAlways, Block: 64 << 10}),
		"pooled parity": packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Zarr: archive.ZarrNever, Block: 64 << 10, Parity: 5}),
	}
}

// readCounts is a reader that counts how often each byte was read.
type readCounts struct {
	b  []byte
	mu sync.Mutex
	n  []uint8
}

// ReadAt implements io.ReaderAt.
func (c *readCounts) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(c.b).ReadAt(p, off)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := off; i < off+int64(n); i++ {
		c.n[i]++
	}
	return n, err
}

// TestVerifyOnce checks that verify reads each byte of an archive once. Only finding the ends
// and the parity takes more reads.
func TestVerifyOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, ar := range longArchives(t) {
		f, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		require.NoError(t, err)
		info, _ := f.Info()
		tail := packtest.Open(t, ar).Tail.ManOff
		for _, workers := range []int{1, 2, 8} {
			c := &readCounts{b: ar, n: make([]uint8, len(ar))}
			rep, err := verify.Verify(context.Background(), c, int64(len(ar)), &verify.Options{Workers: workers})
			require.NoError(t, err)
			require.Empty(t, rep.Damage, name)
			from, again := tail, 0
			if rep.Parity != nil {
				require.True(t, info.Parity)
				from = rep.Parity.Off - rep.Parity.Off%rep.Parity.Piece // the parity divides a piece
			}
			for i, n := range c.n {
				if int64(i) < 48 || int64(i) >= from {
					again += int(n) - 1
				} else if n > 1 {
					t.Fatalf("%s: %d workers: byte %d of %d was read %d times", name, workers, i, len(ar), n)
				}
				if n == 0 {
					t.Fatalf("%s: byte %d of %d was not read", name, i, len(ar))
				}
			}
			require.Less(t, again, 1<<20+1<<18, name)
		}
	}
}

// away is a reader with a latency. Verify then reads the archive several times.
type away struct{ io.ReaderAt }

// Gap is the distance of reads that are better merged.
func (away) Gap() int64 { return 1 }

// sectors is a reader that refuses to read some sectors.
type sectors struct {
	io.ReaderAt
	bad map[int64]bool
}

// ReadAt implements io.ReaderAt.
func (s sectors) ReadAt(p []byte, off int64) (int, error) {
	for i := off / 4096; i*4096 < off+int64(len(p)); i++ {
		if s.bad[i] {
			return 0, &readError{syscall.EIO}
		}
	}
	return s.ReaderAt.ReadAt(p, off)
}

// readError is an error like those of package os.
type readError struct{ err error }

func (e *readError) Error() string { return "read: " + e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// TestVerifyShared checks that verify reports the same of damaged, short and unreadable
// archives, whether the image is decoded during the walk or after it.
func TestVerifyShared(t *testing.T) {
	for name, ar := range longArchives(t) {
		r := rand.New(rand.NewPCG(3, 4))
		for i := range max(10, 180/archivetest.Thin()) {
			bad, src := bytes.Clone(ar), sectors{bad: map[int64]bool{}}
			at := r.IntN(len(ar))
			switch i % 5 {
			case 0:
				bad[at] ^= 1 << r.IntN(8)
			case 1:
				clear(bad[at:min(len(bad), at+1+r.IntN(10_000))])
			case 2:
				bad = bad[:1<<20+1+r.IntN(len(bad)-1<<20-1)]
			case 3:
				bad = append(bad, make([]byte, r.IntN(10_000))...)
			case 4:
				for range 1 + r.IntN(3) {
					src.bad[int64(r.IntN(len(ar)))/4096] = true
				}
			}
			src.ReaderAt = bytes.NewReader(bad)
			workers := []int{1, 8}[i/5%2]
			o := &verify.Options{Workers: workers}
			if i%7 == 0 {
				o.Memory = 1 << 20 // several passes, and few chunks
			}
			want, wantErr := verify.Verify(context.Background(), away{src}, int64(len(bad)), o)
			got, err := verify.Verify(context.Background(), src, int64(len(bad)), o)
			require.Equal(t, wantErr == nil, err == nil, "%s: case %d at %d: %v, %v", name, i, at, wantErr, err)
			require.Equal(t, errors.Is(wantErr, syscall.EIO), errors.Is(err, syscall.EIO))
			require.Equal(t, want, got, "%s: case %d at %d of %d", name, i, at, len(ar))
		}
	}
}
