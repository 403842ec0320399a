package cdf3_test

import (
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// pattern is a file that begins with head and then repeats body. It takes no memory.
type pattern struct {
	head, body []byte
	size       int64
}

func (f *pattern) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for ; n < len(p) && off < f.size; n, off = n+1, off+1 {
		if off < int64(len(f.head)) {
			p[n] = f.head[off]
		} else {
			p[n] = f.body[(off-int64(len(f.head)))%int64(len(f.body))]
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func words(w ...uint32) []byte {
	b := []byte("CDF\x01")
	for _, x := range w {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

// TestMemory reads headers whose lists hold or claim as many elements as they can. The
// sum of all allocations, including those already freed, is bounded by the size of the
// file.
func TestMemory(t *testing.T) {
	n := uint32(24 << 20)
	if testing.Short() {
		n = 1 << 20
	}
	size := int64(n)
	dim := words(0, 1)[4:]
	attr := words(0, 1, 0)[4:]
	variable := words(0, 0, 0, 0, 1, 0, 0)[4:]
	for _, c := range []struct {
		name  string
		file  *pattern
		valid bool
	}{
		{"dimensions", &pattern{words(0, 0x0a, (n-24)/8), dim, size}, false},
		{"attributes", &pattern{words(0, 0, 0, 0x0c, (n-40)/12), attr, size}, false},
		{"variables", &pattern{words(0, 0, 0, 0, 0, 0x0b, (n-28)/28), variable, size}, true},
		{"rank", &pattern{words(0, 0x0a, 1, 0, 1, 0, 0, 0x0b, 1, 0, (n-76)/4), words(0)[4:], size}, false},
		{"text", &pattern{words(0, 0, 0, 0x0c, 1, 0, 2, n-64), []byte{0}, size}, true},
		{"name", &pattern{words(0, 0, 0, 0x0c, 1, n-64), []byte{0}, size}, false},
		{"sparse", &pattern{words(0, 0x0a, 1<<25-8), []byte{0, 0, 0, 0}, 512 << 20}, true},
		{"sparse, too many", &pattern{words(0, 0x0a, 1<<26-8), []byte{0, 0, 0, 0}, 512 << 20}, false},
		{"claim, nested claim", &pattern{words(0, 0, 0, 0, 0, 0x0b, (n-28)/28, 0, 0, 0x0c, n/12), attr, size}, false},
	} {
		if testing.Short() && c.file.size > size {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			h, err := cdf3.Read(c.file, c.file.size)
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d MiB for %d MiB: %v", took>>20, c.file.size>>20, err)
			require.LessOrEqual(t, took, 64<<20+8*c.file.size)
			if c.valid {
				require.NoError(t, err)
			}
			runtime.KeepAlive(h)
		})
	}
}
