package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/slab"
)

// crowd is the number of goroutines of these tests.
const crowd = 50

// counted records the reads of stored bytes. The first read of them waits for gate, if that is
// not nil.
type counted struct {
	io.ReaderAt
	gap  int64 // 0: a local archive
	end  int64 // of the blocks
	gate func()
	fail func(off int64) error // nil: none fails

	mu    sync.Mutex
	spans []ioat.Span
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	if off < c.end {
		c.mu.Lock()
		c.spans = append(c.spans, ioat.Span{Off: off, Len: int64(len(p))})
		gate := c.gate
		c.mu.Unlock()
		if gate != nil {
			gate()
		}
		if c.fail != nil {
			if err := c.fail(off); err != nil {
				return 0, err
			}
		}
	}
	return c.ReaderAt.ReadAt(p, off)
}

// Gap makes the source remote if it has a gap.
func (c *counted) Gap() int64 { return c.gap }

// reads returns the recorded reads and forgets them.
func (c *counted) reads() (spans []ioat.Span, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans, c.spans = c.spans, nil
	for _, s := range spans {
		bytes += s.Len
	}
	return spans, bytes
}

// begun matches the stack of a goroutine whose read of several blocks has begun, and waits that of
// a goroutine that waits for a block that another one reads.
var (
	begun = regexp.MustCompile(`(?s)errgroup\.\(\*Group\)\.Wait.*read\.\(\*Reader\)\.loadAll\(`)
	waits = regexp.MustCompile(`read\.\(\*Reader\)\.await\(`)
)

// goroutines returns how many goroutines have a matching stack.
func goroutines(match *regexp.Regexp) (n int) {
	buf := make([]byte, 4<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if match.MatchString(g) {
			n++
		}
	}
	return n
}

// crowdArchive is an archive and the values of its first variable. Reading them takes several
// runs.
type crowdArchive struct {
	ar   []byte
	want []float32
}

func newCrowdArchive(t *testing.T) crowdArchive {
	image := noiseImage(t, 60)
	want, err := slab.Read[float32](context.Background(), openFile(t, image, nil).Array(0), slab.Sel{})
	require.NoError(t, err)
	return crowdArchive{noiseArchive(t, image, 50_000), want}
}

// open opens the archive through a counting source.
func (c crowdArchive) open(t *testing.T, gap int64, o *OpenOptions) (*File, *counted) {
	src := &counted{ReaderAt: bytes.NewReader(c.ar), gap: gap}
	f, err := New(t.Context(), src, int64(len(c.ar)), o)
	require.NoError(t, err)
	src.end = f.archive.Tail.ManOff
	return f, src
}

// gated makes the first reads of stored bytes wait until the stacks of n goroutines match, and
// then calls then.
func (c *counted) gated(n int, match *regexp.Regexp, then func()) {
	c.gate = sync.OnceFunc(func() {
		for goroutines(match) < n {
			time.Sleep(time.Millisecond)
		}
		then()
	})
}

// recordsOf selects n records from one on.
func recordsOf(f *File, from, n int64) slab.Sel {
	shape := f.Array(0).Shape()
	return slab.Sel{Start: []int64{from, 0, 0}, Count: []int64{n, shape[1], shape[2]}}
}

// TestCrowd checks that stored bytes are read once, however many goroutines want them at the same
// time: the same ones, or others that overlap.
func TestCrowd(t *testing.T) {
	ar := newCrowdArchive(t)
	want := ar.want
	for _, gap := range []int64{0, 64 << 10} {
		for _, c := range []struct {
			name        string
			step, count int64
		}{{"same", 0, 60}, {"shifted", 1, 11}, {"few", 1, 2}} {
			t.Run(fmt.Sprintf("%s,gap=%d", c.name, gap), func(t *testing.T) {
				f, src := ar.open(t, gap, nil)
				record := int64(len(want)) / 60
				src.reads()
				_, err := slab.Read[float32](context.Background(), f.Array(0), recordsOf(f, 0, min(60, c.step*(crowd-1)+c.count)))
				require.NoError(t, err)
				alone, bytesAlone := src.reads()

				f, src = ar.open(t, gap, nil)
				if c.name == "few" {
					src.gated(crowd/2, waits, func() {})
				} else {
					src.gated(crowd, begun, func() {})
				}
				var wg sync.WaitGroup
				for g := range int64(crowd) {
					wg.Go(func() {
						got, err := slab.Read[float32](context.Background(), f.Array(0), recordsOf(f, g*c.step, c.count))
						if err != nil {
							t.Error(err)
						} else if !slices.Equal(got, want[g*c.step*record:][:c.count*record]) {
							t.Errorf("goroutine %d read wrong values", g)
						}
					})
				}
				wg.Wait()
				spans, bytes := src.reads()
				t.Logf("%d reads of %d bytes, alone %d of %d", len(spans), bytes, len(alone), bytesAlone)
				if c.name == "few" {
					// A block that one goroutine is done with is read again for the next.
					require.LessOrEqual(t, bytes, 2*bytesAlone)
					return
				}
				require.LessOrEqual(t, bytes, bytesAlone)
				if c.step == 0 {
					require.LessOrEqual(t, len(spans), len(alone))
				}
				slices.SortFunc(spans, func(x, y ioat.Span) int { return int(x.Off - y.Off) })
				for i := range spans[1:] {
					require.LessOrEqual(t, spans[i].End(), spans[i+1].Off, "read twice")
				}
			})
		}
	}
}

// TestCrowdCancelled checks that those who wait for the blocks of a cancelled reader get them.
func TestCrowdCancelled(t *testing.T) {
	ar := newCrowdArchive(t)
	for _, gap := range []int64{0, 64 << 10} {
		f, src := ar.open(t, gap, nil)
		ctx, cancel := context.WithCancel(context.Background())
		src.gated(crowd+1, begun, cancel)
		var wg sync.WaitGroup
		wg.Go(func() {
			slab.Read[float32](ctx, f.Array(0), slab.Sel{})
		})
		for range crowd {
			wg.Go(func() {
				got, err := slab.Read[float32](context.Background(), f.Array(0), slab.Sel{})
				if err != nil || !slices.Equal(got, ar.want) {
					t.Errorf("beside a cancelled reader: %v", err)
				}
			})
		}
		wg.Wait()
	}
}

// TestCrowdErrors checks that an error of the source is reported to all that wait for the same
// bytes, after one request, that it does not affect readers of other bytes, and that it is not
// kept.
func TestCrowdErrors(t *testing.T) {
	ar := newCrowdArchive(t)
	want := ar.want
	failed := errors.New("source failed")
	for _, gap := range []int64{0, 64 << 10} {
		f, src := ar.open(t, gap, &OpenOptions{Workers: 1})
		src.reads()
		src.gated(crowd-1, waits, func() {})
		src.fail = func(int64) error { return failed }
		errs := make([]error, crowd)
		var wg sync.WaitGroup
		for g := range crowd {
			wg.Go(func() { _, errs[g] = slab.Read[float32](context.Background(), f.Array(0), recordsOf(f, 0, 1)) })
		}
		wg.Wait()
		for _, err := range errs {
			require.ErrorIs(t, err, failed)
		}
		spans, _ := src.reads()
		require.Len(t, spans, 1, "one request for all")

		src.gate, src.fail = nil, nil
		got, err := slab.Read[float32](context.Background(), f.Array(0), slab.Sel{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}

	// A reader of one block of a run does not fail because of the others.
	f, src := ar.open(t, 64<<10, nil)
	first := int64(-1)
	src.gated(1, waits, func() {})
	src.fail = func(off int64) error {
		if first < 0 || off == first {
			first = off
			return failed
		}
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := slab.Read[float32](context.Background(), f.Array(0), recordsOf(f, 0, 12))
		if !errors.Is(err, failed) {
			t.Errorf("expected the error of the source, found %v", err)
		}
	})
	for len(src.spansNow()) == 0 {
		time.Sleep(time.Millisecond)
	}
	got, err := slab.Read[float32](context.Background(), f.Array(0), recordsOf(f, 9, 1))
	require.NoError(t, err)
	record := len(want) / 60
	require.Equal(t, want[9*record:10*record], got)
	wg.Wait()
}

// spansNow returns the reads so far.
func (c *counted) spansNow() []ioat.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// TestCrowdMemory checks that the memory of readers is bounded by the cache and the workers, not by
// the number of goroutines.
func TestCrowdMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	image := cubeImage(t, 200, 160, 200)
	ar := pack(t, image, &WriteOptions{Block: 256 << 10, Preset: PresetPortable, Zarr: ZarrAlways})
	const cache, workers, readers = 4 << 20, 2, 400
	f := openFile(t, ar, &OpenOptions{Cache: cache, Workers: workers})
	a := f.Array(0)
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, uint64(0)
	done := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	// Each reads one value of each block.
	inGoroutines(t, readers, func(rng *rand.Rand) error {
		got, err := slab.Read[float32](context.Background(), a, slab.Sel{Start: []int64{0, rng.Int63n(160), rng.Int63n(200)}, Count: []int64{200, 1, 1}})
		if err == nil && len(got) != 200 {
			err = errors.New("wrong length")
		}
		return err
	})
	close(done)
	sampler.Wait()
	t.Logf("%d MiB at most", (most-before)>>20)
	require.Less(t, most-before, uint64(48<<20))
}
