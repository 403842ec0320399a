package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/cdf3"
)

// sweptImages returns files of about 9 MiB whose bytes reach the cutter in different
// ways.
func sweptImages(t *testing.T) map[string][]byte {
	random := rand.NewChaCha8([32]byte{5})
	build := func(n uint64, dims []cdf3.Dim, vars ...cdf3.Var) []byte {
		h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: n, Dims: dims, Vars: vars}
		require.NoError(t, h.Layout())
		image, err := h.Append(nil)
		require.NoError(t, err)
		body := bytes.Repeat([]byte{0}, int(h.RecSize*int64(n)))
		for i := range h.Vars {
			if v := &h.Vars[i]; !v.Record {
				body = append(body, bytes.Repeat([]byte{0}, int((v.Len+3)&^3))...)
			}
		}
		for i := 0; i < len(body); i += 16 {
			body[i] = byte(random.Uint64())
		}
		return append(image, body...)
	}
	f := func(name string, t cdf3.Type, dims ...int) cdf3.Var {
		return cdf3.Var{Name: name, Type: t, DimIDs: dims}
	}
	var small []cdf3.Var
	for i := range 150 {
		small = append(small, f(fmt.Sprint("s", i), cdf3.Float, 1))
	}
	if testing.Short() {
		return map[string][]byte{
			"mixed": build(1000, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 999}}, f("a", cdf3.Short, 0, 1), f("x", cdf3.Double, 1), f("b", cdf3.Double, 0, 1)),
		}
	}
	return map[string][]byte{
		"fixed":           build(0, []cdf3.Dim{{Name: "x", Len: 600_001}}, f("a", cdf3.Short, 0), f("b", cdf3.Double, 0), f("c", cdf3.Float, 0)),
		"padded records":  build(4000, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 301}}, f("a", cdf3.Short, 0, 1), f("b", cdf3.Byte, 0, 1), f("c", cdf3.Float, 0, 1), f("t", cdf3.Double, 0)),
		"long records":    build(5, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 300_001}}, f("a", cdf3.Short, 0, 1), f("b", cdf3.Float, 0, 1), f("c", cdf3.Byte, 0, 1)),
		"short records":   build(300_000, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 7}}, f("a", cdf3.Byte, 0, 1), f("b", cdf3.Float, 0), f("c", cdf3.Byte, 0, 1), f("d", cdf3.Double, 0)),
		"mixed":           build(1000, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 999}}, f("a", cdf3.Short, 0, 1), f("x", cdf3.Double, 1), f("b", cdf3.Double, 0, 1)),
		"small variables": build(7000, []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 333}}, append(small, f("a", cdf3.Float, 0, 1))...),
	}
}

// TestReadOnce checks that archiving reads an image once and records its SHA-256.
func TestReadOnce(t *testing.T) {
	for name, image := range sweptImages(t) {
		size := int64(len(image))
		require.Greater(t, size, int64(8<<20), name)
		options := []WriteOptions{{}, {Zarr: ZarrNever}, {Memory: 1}}
		if testing.Short() {
			options = options[:1]
		}
		for _, o := range options {
			o.Preset, o.Name = PresetFast, name
			c := &archivetest.CountingReaderAt{R: bytes.NewReader(image)}
			var b bytes.Buffer
			res, err := Write(context.Background(), &b, c, size, &o)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(image)), res.SHA256, name)
			require.True(t, bytes.Equal(image, unpack(t, b.Bytes())), name)
			times := float64(c.Bytes) / float64(size)
			t.Logf("%s, zarr %q, memory %d: read %.3f times in %d reads", name, o.Zarr, o.Memory, times, c.Calls)
			if o.Memory == 0 { // with so little memory, each record variable is cut in a separate pass
				require.LessOrEqual(t, times, 1.05, name)
			}
		}
	}
}

// TestReadOnceFails checks that archiving fails if the source fails anywhere or gets
// shorter.
func TestReadOnceFails(t *testing.T) {
	for name, image := range sweptImages(t) {
		size := int64(len(image))
		ends := []int64{size - 1, size / 2, size / 100}
		if testing.Short() {
			ends = ends[1:2]
		}
		for _, end := range ends {
			_, err := Write(context.Background(), &bytes.Buffer{}, bytes.NewReader(image[:end]), size, &WriteOptions{Preset: PresetFast})
			require.Error(t, err, name)
			require.NotErrorIs(t, err, ErrCorrupt, name)
		}
		ctx, cancel := context.WithCancel(context.Background())
		o := &WriteOptions{Preset: PresetFast, Progress: func(int64) { cancel() }}
		_, err := Write(ctx, &bytes.Buffer{}, bytes.NewReader(image), size, o)
		require.ErrorIs(t, err, context.Canceled, name)
	}
}
