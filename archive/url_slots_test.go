package archive

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// recordOf selects a row of a record of noiseImage.
func recordOf(r int64) slab.Sel {
	return slab.Sel{Start: []int64{r, 0, 0}, Count: []int64{1, 1, noiseX}, Stride: []int64{1, 1, 1}}
}

// TestURLSlots checks that readers that wait for a server do not keep others from
// decoding, and that their number is limited.
func TestURLSlots(t *testing.T) {
	image := noiseImage(t, 64)
	s := faultsrv.Serve(t, noiseArchive(t, image, 16<<10))
	f, err := openURL(t, s, remote.Options{Parallel: 50}, &OpenOptions{Workers: 1})
	require.NoError(t, err)
	require.NoError(t, f.archive.PrepareIndex(context.Background()))
	var hang sync.Map // unanswered ranges
	release := make(chan struct{})
	var waiting sync.WaitGroup
	s.Set(func() {
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			if _, yes := hang.LoadOrStore(r.Header.Get("Range"), true); !yes {
				waiting.Done()
				<-release
			}
			faultsrv.Send(w, ok)
		}
	})
	few := max(8, runtime.GOMAXPROCS(0)) - 1
	waiting.Add(few)
	var readers sync.WaitGroup
	read := func(r int64) {
		got, err := readNoise(context.Background(), f, recordOf(r))
		if err != nil || !equalFloats(noiseValues(t, image, recordOf(r)), got) {
			t.Errorf("record %d: %v", r, err)
		}
	}
	for r := range few {
		readers.Go(func() { read(int64(r)) })
	}
	waiting.Wait()
	// The server answers this request, and the block is decoded.
	s.Set(func() { s.Fault = nil })
	done := make(chan struct{})
	go func() {
		read(50)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("no slot for a block that has come")
	}
	// Readers beyond the limit wait before they send requests.
	s.Set(func() {
		s.Fault = func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			<-release
			faultsrv.Send(w, ok)
		}
	})
	before := s.Requests.Load()
	for r := range 10 {
		readers.Go(func() { read(int64(r) + 30) })
	}
	time.Sleep(50 * time.Millisecond)
	require.LessOrEqual(t, s.Requests.Load()-before, int64(1))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	_, err = readNoise(ctx, f, recordOf(45))
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(release)
	readers.Wait()
}

func equalFloats(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestURLManyGoroutines checks that over HTTP no block is decoded twice at the same
// time, and no more blocks than there are slots, by readers of single blocks, of
// many and of chunks.
func TestURLManyGoroutines(t *testing.T) {
	k := registerTracker()
	defer func() { k.most = 0 }()
	k.most = 0
	image := cubeImage(t, 64, 30, 50)
	ar := pack(t, image, &WriteOptions{Block: 6000, Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: trackID}}}}})
	f, err := openURL(t, faultsrv.Serve(t, ar), remote.Options{}, &OpenOptions{Cache: 20 << 10, Workers: 2})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range int64(32) {
		wg.Go(func() {
			for i := range int64(10) {
				r := (g*7 + i*5) % 60
				n := 1 + 3*(i%2)
				got, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{Start: []int64{r, 3, 0}, Count: []int64{n, 1, 50}})
				if err != nil || got[0] != int32(r*1500+150) || got[n*50-1] != int32((r+n-1)*1500+199) {
					t.Errorf("record %d: %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, k.bad, "blocks decoded twice at the same time")
	chunks, err := varOf(t, f, f.Header().Vars[1].Name).Chunks(&ChunkOptions{Keep: func(filters.Chain) bool { return false }})
	require.NoError(t, err)
	for n := range chunks.Len() {
		wg.Go(func() {
			if _, _, err := chunks.Append(context.Background(), nil, n); err != nil {
				t.Errorf("chunk %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, k.most, 2)
}
