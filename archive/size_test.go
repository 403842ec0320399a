package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/layout"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/cdf3"
)

// zeros is an image of a header and values that are 0.
type zeros struct {
	head []byte
	size int64
	read int64 // bytes
}

func (z *zeros) ReadAt(p []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(p)), z.size-off)))
	clear(p[:n])
	if off < int64(len(z.head)) {
		copy(p[:n], z.head[off:])
	}
	atomic.AddInt64(&z.read, int64(n)) // several goroutines compare
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// zerosOf completes a header and returns its image.
func zerosOf(t *testing.T, h *cdf3.Header) *zeros {
	require.NoError(t, h.Layout())
	head, err := h.Append(nil)
	require.NoError(t, err)
	size := int64(len(head))
	for i := range h.Vars {
		size = max(size, h.Vars[i].Begin+h.Vars[i].Len)
	}
	return &zeros{head: head, size: size}
}

// heap notes the most memory that the program has in use at its writes, without that of
// tests before.
type heap struct {
	io.Writer
	before, most uint64
	n            int
}

func newHeap(w io.Writer) *heap {
	runtime.GC()
	runtime.GC() // a sync.Pool is empty after two
	h := &heap{Writer: w}
	h.before = h.inUse()
	return h
}

func (h *heap) inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func (h *heap) Write(p []byte) (int, error) {
	if h.n++; h.n%1024 == 0 {
		h.most = max(h.most, max(h.inUse(), h.before)-h.before)
	}
	return h.Writer.Write(p)
}

// alone runs the test in a new process, so that the memory of other tests does not count. It
// reports whether the calling process is the old one.
func alone(t *testing.T) bool {
	if os.Getenv("CDFZ_ALONE") != "" {
		return false
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$", "-test.timeout=1h")
	cmd.Env = append(os.Environ(), "CDFZ_ALONE=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	return true
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// TestManyBlocks writes an archive of 10^5 blocks, in the soak 10^7, and opens it: the
// memory does not depend on the number of blocks, opening takes 3 reads, and any block 2
// more.
func TestManyBlocks(t *testing.T) {
	soak := os.Getenv("CDFZ_SOAK") != ""
	if soak && alone(t) {
		return
	}
	const block = 64 // bytes; users cannot choose so few
	blocks := int64(100_000)
	if testing.Short() {
		blocks = 10_000
	}
	if soak {
		blocks = 10_000_000
	}
	h := &cdf3.Header{Version: cdf3.Version(5), Dims: []cdf3.Dim{{Name: "x", Len: blocks * block}}}
	h.Vars = []cdf3.Var{{Name: "v", Type: cdf3.Byte, DimIDs: []int{0}}}
	image := zerosOf(t, h)
	o, err := (&WriteOptions{Zarr: ZarrNever, Preset: PresetFast, Name: "many.nc"}).withDefaults()
	require.NoError(t, err)
	o.Block = block

	f, err := os.Create(filepath.Join(t.TempDir(), "many.cdfz"))
	require.NoError(t, err)
	defer f.Close()
	w := newHeap(f)
	ctx, start := context.Background(), time.Now()
	d, err := layout.Choose(ctx, image, image.size, h, o.layout())
	require.NoError(t, err)
	res, err := d.Image(ctx, w, image, nil, &write.Options{Name: o.Name, Workers: o.Workers})
	require.NoError(t, err)
	require.GreaterOrEqual(t, d.Plan.Blocks, blocks)
	t.Logf("%d blocks, %d bytes: written in %.1f s with a heap of %d MiB", d.Plan.Blocks, res.Size, time.Since(start).Seconds(), w.most>>20)
	require.LessOrEqual(t, w.most, uint64(128<<20))
	status, _ := os.ReadFile("/proc/self/status") // on Linux
	if m := highWater.FindSubmatch(status); m != nil && soak {
		kB, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		t.Logf("%d MiB of memory at most, with the program", kB>>10)
		require.LessOrEqual(t, kB, 128<<10)
	}
	require.LessOrEqual(t, image.read, image.size*12/10, "bytes of the image")

	r := &archivetest.CountingReaderAt{R: f}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start = time.Now()
	a, err := New(t.Context(), r, res.Size, nil)
	took := time.Since(start)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	t.Logf("opened in %v, %d reads, %d KiB allocated", took, r.Calls, (after.TotalAlloc-before.TotalAlloc)>>10)
	require.LessOrEqual(t, r.Calls, 3)
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
	v, b := varOf(t, a, "v").Values(), make([]byte, 1)
	for range 100 {
		r.Calls = 0
		_, err := v.ReadAt(b, rand.Int64N(blocks)*block)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Calls, 2, "reads of a block")
	}
}

// TestManyVariables opens archives of 5000 variables.
func TestManyVariables(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Version(2), Dims: []cdf3.Dim{{Name: "x", Len: 32}}}
	for i := range 5000 {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%04d", i), Type: cdf3.Float, DimIDs: []int{0}})
	}
	image := zerosOf(t, h)
	for _, zarr := range []ZarrMode{ZarrNever, ZarrConsolidated} {
		var b bytes.Buffer
		res, err := Write(context.Background(), &b, image, image.size, &WriteOptions{Zarr: zarr, Preset: PresetFast})
		require.NoError(t, err)
		r := &archivetest.CountingReaderAt{R: bytes.NewReader(b.Bytes())}
		least := time.Hour
		for range 5 {
			r.Calls = 0
			start := time.Now()
			_, err := New(t.Context(), r, res.Size, nil)
			least = min(least, time.Since(start))
			require.NoError(t, err)
			require.LessOrEqual(t, r.Calls, 3)
		}
		t.Logf("%s: %d blocks, %d bytes, opened in %v", zarr, res.Blocks, res.Size, least)
	}
}

// TestSourceReads archives 200 interleaved record variables: the source is read at most 1.2
// times for the archive, and once more for the comparison. 26 MB, in the soak 10 GiB, where
// the blocks that are tried for a Zarr view are a small part.
func TestSourceReads(t *testing.T) {
	ny, nx, records := int64(16), int64(32), uint64(64)
	o := &WriteOptions{Preset: PresetFast, Zarr: ZarrNever}
	if os.Getenv("CDFZ_SOAK") != "" {
		ny, nx, records, o.Zarr = 64, 128, 1638, ZarrAuto
	}
	h := &cdf3.Header{Version: cdf3.Version(2), NumRecsField: records, Dims: []cdf3.Dim{{Name: "time"}, {Name: "y", Len: ny}, {Name: "x", Len: nx}}}
	for v := range 200 {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%03d", v), Type: cdf3.Float, DimIDs: []int{0, 1, 2}})
	}
	image := zerosOf(t, h)
	image.size = h.Vars[0].Begin + int64(records)*h.RecSize
	ctx := context.Background()
	_, err := Write(ctx, io.Discard, image, image.size, o)
	require.NoError(t, err)
	once := image.read
	require.LessOrEqual(t, once, image.size*12/10)
	_, err = WriteFile(ctx, filepath.Join(t.TempDir(), "x.cdfz"), image, image.size, o, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, image.read-2*once, image.size*101/100)
	t.Logf("read %.3f times for the archive, %.3f times for the comparison", float64(once)/float64(image.size), float64(image.read-2*once)/float64(image.size))
}
