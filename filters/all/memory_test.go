//go:build !race

package all

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// few is what filters without a Memory may allocate.
const few = 64 << 10

// TestFilterMemory decodes the worst blocks of every filter of the program with new sessions, and
// compares the allocated memory with Method.Memory. Where filters allocate more, the memory in use
// counts: libraries leave garbage for each symbol or stream. What ranges and runs decode to is
// what the whole block decodes to.
func TestFilterMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	seen := map[uint32]int{}
	check := func(w worst) bool {
		seen[w.filter.ID]++
		checkMemory(t, w)
		return true
	}
	worstBlocks(t, worstSources(4096), 2)(check)
	// Here a copy of the block exceeds all constants. Zeros are encoded fast.
	worstBlocks(t, worstSources(4 << 20)[:1], 0)(check)
	for _, w := range worstVectors(t) {
		check(w)
	}
	if os.Getenv("CDFZ_SOAK") != "" {
		for n, rounds := range map[int]int{64: 1000, 4096: 1000, 1 << 16: 100, 1 << 20: 10, 16 << 20: 0} {
			worstBlocks(t, worstSources(n), rounds)(check)
		}
	}
	count := 0
	for _, id := range filters.Registered() {
		if seen[id] == 0 {
			t.Errorf("%s: add its worst blocks", filters.Name(id))
		}
		count += seen[id]
	}
	t.Logf("%d blocks of %d filters", count, len(seen))
}

func checkMemory(t *testing.T, w worst) {
	t.Helper()
	m, _ := filters.Lookup(w.filter.ID)
	params := w.filter.Params
	limit := int64(few)
	if m.Memory != nil {
		limit += m.Memory(w.n, params)
	}
	within := func(what string, f func()) {
		t.Helper()
		if got := int64(allocated(f)); got > limit {
			if live := inUse(f); live > limit {
				t.Errorf("%s of %s: expected at most %d bytes of memory, found %d, %d in use", what, w, limit, got, live)
			}
		}
	}
	room := make([]byte, 0, w.n)
	var whole []byte
	var err error
	within("all", func() { whole, err = m.New().Decode(room, w.stored, params, w.n) })
	if err != nil && !filtertest.KnownErr(err) {
		t.Errorf("%s: %v", w, err)
	}
	if len(whole) > w.n {
		t.Errorf("%s: %d bytes", w, len(whole))
	}
	if m.Grain == nil {
		return
	}
	grain := m.Grain(w.n, params)
	if grain == 0 || w.n < 4*grain {
		return
	}
	part := make([]byte, grain)
	from := w.n/2/grain*grain - grain
	r := filters.Runs{Start: grain, Len: grain, Stride: from, Count: 2}
	agree := func(what string, decode func(s filters.Session) error, want ...int) {
		t.Helper()
		var e error
		within(what, func() { e = decode(m.New()) })
		switch {
		case errors.Is(e, filters.ErrWhole):
		case err == nil && e != nil:
			t.Errorf("%s of %s: %v", what, w, e)
		case err == nil && len(whole) == w.n:
			for i, at := range want {
				if !bytes.Equal(part[i*grain:][:grain], whole[at:at+grain]) {
					t.Errorf("%s of %s: other bytes", what, w)
				}
			}
		case e != nil && !filtertest.KnownErr(e):
			t.Errorf("%s of %s: %v", what, w, e)
		}
	}
	agree("a range", func(s filters.Session) error {
		return s.(filters.RangeSession).DecodeRange(part, w.stored, params, w.n, from)
	}, from)
	part = make([]byte, 2*grain)
	agree("runs", func(s filters.Session) error {
		if s, ok := s.(filters.RunSession); ok {
			return s.DecodeRuns(part, w.stored, params, w.n, r)
		}
		return filters.ErrWhole
	}, r.Start, r.Start+r.Stride)
}

// inUse returns the most memory that is in use while f runs, beside what is in use before.
func inUse(f func()) int64 {
	heap := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	heap()
	before, most := heap(), int64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		most = max(most, heap()-before)
		select {
		case <-done:
			return most
		case <-time.After(100 * time.Microsecond):
		}
	}
}
