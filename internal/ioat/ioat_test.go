package ioat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// readFunc is an io.ReaderAt and a ContextReaderAt.
type readFunc func(ctx context.Context, p []byte, off int64) (int, error)

func (f readFunc) ReadAt(p []byte, off int64) (int, error) { return f(context.Background(), p, off) }

func (f readFunc) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	return f(ctx, p, off)
}

func TestReadFull(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		n    int
		err  error
		want error
	}{
		{4, nil, nil},
		{4, io.EOF, nil},
		{4, failed, nil},
		{3, io.EOF, io.ErrUnexpectedEOF},
		{3, nil, io.ErrUnexpectedEOF},
		{0, io.EOF, io.ErrUnexpectedEOF},
		{3, failed, failed},
	} {
		r := readFunc(func(context.Context, []byte, int64) (int, error) { return c.n, c.err })
		err := ReadFull(r, make([]byte, 4), 7)
		if c.want == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, c.want)
			require.NotErrorIs(t, err, io.EOF)
		}
	}
	require.NoError(t, ReadFull(nil, nil, 0), "nothing to read")
}

func TestReadBytes(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 1<<20)
	for _, n := range []int64{0, 1, firstPart - 1, firstPart, firstPart + 1, 4 * firstPart, 9_999_990} {
		b, err := ReadBytes(bytes.NewReader(data), 10, n)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[10:][:n], b))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadBytes(bytes.NewReader(data[:2*firstPart]), 0, math.MaxInt64)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16*firstPart))
}

func TestBind(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, 1)
	r := readFunc(func(ctx context.Context, p []byte, _ int64) (int, error) {
		if ctx.Value(key{}) == nil {
			return 0, errors.New("another context")
		}
		return len(p), nil
	})
	p := make([]byte, 2)
	require.Error(t, ReadFull(r, p, 0))
	require.NoError(t, ReadFull(Bind(ctx, r), p, 0))
	require.NoError(t, ReadFull(Bind(ctx, NewSection(r, 5, 10)), p, 0))
	plain := bytes.NewReader(p)
	require.Same(t, plain, Bind(ctx, plain))
	require.False(t, IsReread(ctx))
	require.True(t, IsReread(Reread(ctx)))
	again := readFunc(func(c context.Context, p []byte, _ int64) (int, error) {
		if !IsReread(c) {
			return 0, errors.New("not marked")
		}
		return len(p), nil
	})
	require.NoError(t, ReadFull(Again(again), p, 0))
	require.NoError(t, ReadFull(Again(Bind(ctx, again)), p, 0))
	require.NoError(t, ReadFull(Again(NewSection(Bind(ctx, again), 5, 10)), p, 0))
	require.Same(t, plain, Again(plain))
}

type distant struct{ io.ReaderAt }

func (distant) Gap() int64 { return 99 }

func TestSection(t *testing.T) {
	data := []byte("0123456789")
	s := NewSection(bytes.NewReader(data), 2, 5)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(s, 0, s.Size()), data[2:7]))
	for off := range int64(8) {
		for n := range 8 {
			p, q := make([]byte, n), make([]byte, n)
			got, err := s.ReadAt(p, off)
			want, wantErr := bytes.NewReader(data[2:7]).ReadAt(q, off)
			require.Equal(t, want, got)
			require.Equal(t, q, p)
			if n > 0 {
				require.Equal(t, wantErr, err)
			}
		}
	}
	_, err := s.ReadAt(make([]byte, 1), -1)
	require.Error(t, err)
	require.Zero(t, s.Gap())
	require.EqualValues(t, 99, NewSection(distant{}, 0, 1).Gap())
	// The file is shorter than claimed.
	n, err := NewSection(bytes.NewReader(data), 8, math.MaxInt64-8).ReadAt(make([]byte, 5), 0)
	require.Equal(t, 2, n)
	require.Equal(t, io.EOF, err)
}

func TestRuns(t *testing.T) {
	j := Joiner{Gap: 10, Max: 100}
	runs := func(j Joiner, in ...Span) (out []Span, n []int) {
		for run, part := range Runs(j, in, func(s Span) Span { return s }) {
			out, n = append(out, run), append(n, len(part))
		}
		return out, n
	}
	for _, c := range []struct {
		in, want []Span
		n        []int
	}{
		{nil, nil, nil},
		{[]Span{{5, 5}}, []Span{{5, 5}}, []int{1}},
		{[]Span{{0, 5}, {14, 1}}, []Span{{0, 15}}, []int{2}},
		{[]Span{{0, 5}, {15, 1}}, []Span{{0, 5}, {15, 1}}, []int{1, 1}},
		{[]Span{{0, 50}, {10, 5}, {52, 1}}, []Span{{0, 53}}, []int{3}},
		{[]Span{{0, 60}, {60, 40}, {100, 1}}, []Span{{0, 100}, {100, 1}}, []int{2, 1}},
		{[]Span{{0, 500}, {500, 1}}, []Span{{0, 500}, {500, 1}}, []int{1, 1}},
		{[]Span{{0, 1}, {math.MaxInt64 - 1, 1}}, []Span{{0, 1}, {math.MaxInt64 - 1, 1}}, []int{1, 1}},
	} {
		got, n := runs(j, c.in...)
		require.Equal(t, c.want, got)
		require.Equal(t, c.n, n)
	}
	got, n := runs(Joiner{Gap: 10, Max: 100, Enough: 20}, Span{0, 15}, Span{15, 60}, Span{75, 1}, Span{76, 19}, Span{95, 1})
	require.Equal(t, []Span{{0, 75}, {75, 20}, {95, 1}}, got)
	require.Equal(t, []int{2, 2, 1}, n)
	for range Runs(j, []Span{{0, 1}, {50, 1}}, func(s Span) Span { return s }) {
		break
	}
}

func TestBuffers(t *testing.T) {
	var b Buffers
	p := b.Get(10_000)
	require.Len(t, p, 10_000)
	b.Put(p)
	require.Len(t, b.Get(100), 100, "must not reuse the long buffer")
	require.Same(t, &p[0], &b.Get(5000)[0])
	for range 3 * maxFree {
		b.Put(make([]byte, 1))
	}
	require.Len(t, b.free, maxFree)
}

// TestFlights checks that many callers share one fetch at a time per key, and that each
// value is freed once, after its last use.
func TestFlights(t *testing.T) {
	type value struct {
		key   int
		freed atomic.Bool
	}
	var freed, fetched atomic.Int64
	var under [4]atomic.Int64
	g := Flights[int, *value]{Free: func(v *value) {
		freed.Add(1)
		if v.freed.Swap(true) {
			t.Error("freed twice")
		}
	}}
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			key := i % len(under)
			err := g.Do(context.Background(), key, func() (*value, error) {
				if under[key].Add(1) > 1 {
					t.Error("two fetches at a time")
				}
				defer under[key].Add(-1)
				fetched.Add(1)
				time.Sleep(time.Microsecond)
				return &value{key: key}, nil
			}, func(v *value, _ bool) error {
				if v.key != key || v.freed.Load() {
					t.Error("wrong value")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, fetched.Load(), freed.Load())
	require.Empty(t, g.open)
}

// pair starts a fetch and a second caller that waits for it. finish ends the fetch.
func pair(t *testing.T, g *Flights[int, int], first, second context.Context, use func(v int, shared bool) error) (finish func(error), one, two chan error, fetches *atomic.Int64) {
	one, two, fetches = make(chan error, 1), make(chan error, 1), new(atomic.Int64)
	end, begun := make(chan error), make(chan struct{})
	go func() {
		one <- g.Do(first, 1, func() (int, error) {
			fetches.Add(1)
			close(begun)
			return 10, <-end
		}, func(int, bool) error { return nil })
	}()
	<-begun
	go func() {
		two <- g.Do(second, 1, func() (int, error) { fetches.Add(1); return 20, nil }, use)
	}()
	for users := 0; users < 2; {
		g.mu.Lock()
		users = g.open[1].users
		g.mu.Unlock()
	}
	return func(err error) { end <- err }, one, two, fetches
}

func TestFlightsContexts(t *testing.T) {
	bg := context.Background()
	var g Flights[int, int]
	accept := func(want int) func(int, bool) error {
		return func(v int, shared bool) error {
			require.Equal(t, want, v)
			require.Equal(t, v == 10, shared)
			return nil
		}
	}
	// The waiter gives up.
	ctx, cancel := context.WithCancel(bg)
	finish, one, two, _ := pair(t, &g, bg, ctx, accept(10))
	cancel()
	require.ErrorIs(t, <-two, context.Canceled)
	finish(nil)
	require.NoError(t, <-one)

	// The fetching caller's context ends, so the waiter fetches.
	finish, one, two, n := pair(t, &g, bg, bg, accept(20))
	finish(context.DeadlineExceeded)
	require.ErrorIs(t, <-one, context.DeadlineExceeded)
	require.NoError(t, <-two)
	require.EqualValues(t, 2, n.Load())

	// Any other error affects both.
	failed := errors.New("failed")
	finish, one, two, n = pair(t, &g, bg, bg, accept(20))
	finish(failed)
	require.ErrorIs(t, <-one, failed)
	require.ErrorIs(t, <-two, failed)
	require.EqualValues(t, 1, n.Load())

	// The value does not fit the waiter.
	finish, one, two, n = pair(t, &g, bg, bg, func(v int, shared bool) error {
		if shared {
			return ErrUnfit
		}
		return accept(20)(v, shared)
	})
	finish(nil)
	require.NoError(t, <-one)
	require.NoError(t, <-two)
	require.EqualValues(t, 2, n.Load())
	require.Empty(t, g.open)
}

func TestFlightsPanic(t *testing.T) {
	g := Flights[int, int]{Free: func(int) { t.Error("freed a value that was not fetched") }}
	func() {
		defer func() { require.Equal(t, "mine", recover()) }()
		g.Do(context.Background(), 1, func() (int, error) { panic("mine") }, nil)
	}()
	require.Empty(t, g.open)
	g.Free = nil
	require.NoError(t, g.Do(context.Background(), 1, func() (int, error) { return 5, nil }, func(int, bool) error { return nil }))
}
