package all

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/filters/internal/transpose"
)

// BenchmarkCoder encodes and decodes blocks of 256 KiB. The data is synthetic unless
// CDFZ_FIELDS names a folder. Then it is all files NAME.SIZE.raw in it, each with the
// big-endian values of one variable of SIZE bytes each.
func BenchmarkCoder(b *testing.B) {
	const blockLen = 256 << 10
	fields, err := benchFields()
	if err != nil {
		b.Fatal(err)
	}
	var blocks [][]byte
	for _, f := range fields {
		for len(f) > 0 {
			n := min(blockLen, len(f))
			blocks = append(blocks, f[:n])
			f = f[n:]
		}
	}
	for _, spec := range []string{"2,4", "3", "2,4|32015,1", "2,4|32015,3", "2,4|32015,7", "2,4|32015,12", "32015,3", "2,4|1,1", "2,4|1,5", "2,4|32004,0", "2,4|307,9"} {
		k := filtertest.Coder(b, filtertest.Chain(b, spec))
		raw, stored := 0, 0
		var out [][]byte
		for _, p := range blocks {
			o, _, err := k.Encode(nil, p)
			if err != nil {
				b.Fatal(err)
			}
			raw += len(p)
			stored += len(o)
			out = append(out, o)
		}
		b.Run("encode/"+spec, func(b *testing.B) {
			b.SetBytes(int64(raw))
			var buf []byte
			for b.Loop() {
				for _, p := range blocks {
					buf, _, _ = k.Encode(buf[:0], p)
				}
			}
			b.ReportMetric(float64(raw)/float64(stored), "ratio")
		})
		b.Run("decode/"+spec, func(b *testing.B) {
			b.SetBytes(int64(raw))
			dst := make([]byte, blockLen)
			for b.Loop() {
				for i, o := range out {
					if err := k.Decode(dst[:len(blocks[i])], o, 0); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func benchFields() ([][]byte, error) {
	dir := os.Getenv("CDFZ_FIELDS")
	if dir == "" {
		return [][]byte{filtertest.Field(1 << 20), filtertest.Mixed(1<<20, 1)}, nil
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.raw"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no fields in %s", dir))
	}
	var out [][]byte
	for _, n := range names {
		p, err := os.ReadFile(n)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// BenchmarkShuffle measures the transposition alone, on a block that stays in cache.
func BenchmarkShuffle(b *testing.B) {
	src, dst := filtertest.Noise(256<<10), make([]byte, 256<<10)
	for _, size := range []int{2, 3, 4, 8} {
		b.Run(fmt.Sprintf("shuffle%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				transpose.Shuffle(dst, src, size)
			}
		})
		b.Run(fmt.Sprintf("unshuffle%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				transpose.Unshuffle(dst, src, size)
			}
		})
	}
}

// TestRatio checks that zstd compresses the planes of a shuffle better if it knows
// about them.
func TestRatio(t *testing.T) {
	src := filtertest.Field(100 << 10)
	planes, _, err := filtertest.Coder(t, filtertest.Chain(t, "2,4")).Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"3", "7", "12"} {
		with, _, err1 := filtertest.Coder(t, filtertest.Chain(t, "2,4|32015,"+level)).Encode(nil, src)
		without, _, err2 := filtertest.Coder(t, filtertest.Chain(t, "32015,"+level)).Encode(nil, planes)
		if err := errors.Join(err1, err2); err != nil || len(with) >= len(without) {
			t.Errorf("level %s: expected less than %d bytes, found %d, %v", level, len(without), len(with), err)
		}
	}
}
