// Package bench measures the library on a small computed file. bench/peers compares the
// program with others on large ones.
package bench

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/fields"
)

// imageSize is large enough for an archive with all structures of large ones.
const imageSize = 12 << 20

var image = sync.OnceValues(func() ([]byte, error) {
	f, err := fields.Synthetic(imageSize)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = f.WriteTo(&b)
	return b.Bytes(), err
})

func theImage(b *testing.B) []byte {
	b.Helper()
	im, err := image()
	require.NoError(b, err)
	return im
}

// pack archives the image.
func pack(b *testing.B, im []byte, preset archive.Preset) []byte {
	b.Helper()
	var out bytes.Buffer
	_, err := archive.Write(context.Background(), &out, bytes.NewReader(im), int64(len(im)), &archive.WriteOptions{Preset: preset})
	require.NoError(b, err)
	return out.Bytes()
}

func ratio(b *testing.B, im, ar []byte) {
	b.ReportMetric(float64(len(im))/float64(len(ar)), "ratio")
}

// countingReader counts the reads of an archive.
type countingReader struct {
	io.ReaderAt
	reads int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(p, off)
}

func BenchmarkArchive(b *testing.B) {
	im := theImage(b)
	for _, preset := range archive.Presets {
		b.Run(string(preset), func(b *testing.B) {
			b.SetBytes(int64(len(im)))
			var ar []byte
			for b.Loop() {
				ar = pack(b, im, preset)
			}
			ratio(b, im, ar)
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	im := theImage(b)
	for _, preset := range archive.Presets {
		b.Run(string(preset), func(b *testing.B) {
			ar := pack(b, im, preset)
			b.SetBytes(int64(len(im)))
			for b.Loop() {
				r, err := archive.New(b.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Image().Copy(context.Background(), io.Discard, nil); err != nil {
					b.Fatal(err)
				}
			}
			ratio(b, im, ar)
		})
	}
}

// BenchmarkReadAt reads 64 KiB at random places of the image, which span about three
// variables. "cold" has no block cache.
func BenchmarkReadAt(b *testing.B) {
	const n = 64 << 10
	im := theImage(b)
	for _, c := range []struct {
		name  string
		cache int64
	}{{"cold", -1}, {"cached", 0}} {
		b.Run(c.name, func(b *testing.B) {
			ar := pack(b, im, archive.PresetDefault)
			src := &countingReader{ReaderAt: bytes.NewReader(ar)}
			r, err := archive.New(b.Context(), src, int64(len(ar)), &archive.OpenOptions{Cache: c.cache})
			require.NoError(b, err)
			view := r.Image()
			buf := make([]byte, n)
			rng := rand.New(rand.NewPCG(1, 2))
			b.SetBytes(n)
			src.reads = 0
			ops := 0
			for b.Loop() {
				off := rng.Int64N(int64(len(im)) - n)
				if _, err := view.ReadAt(buf, off); err != nil {
					b.Fatal(err)
				}
				ops++
				if ops%64 == 1 && !bytes.Equal(buf, im[off:off+n]) {
					b.Fatalf("byte %d: differs", off)
				}
			}
			b.ReportMetric(float64(src.reads)/float64(ops), "reads/op")
			ratio(b, im, ar)
		})
	}
}
