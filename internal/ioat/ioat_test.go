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
	require.NoError(t, ReadFull(Bind(ctx, Of(r).Section(5, 10)), p, 0))
	src := Of(bytes.NewReader(p))
	require.Same(t, src, Bind(ctx, src))
	require.False(t, IsReread(ctx))
	require.True(t, IsReread(Reread(ctx)))
	again := readFunc(func(c context.Context, p []byte, _ int64) (int, error) {
		if !IsReread(c) {
			return 0, errors.New("not marked")
		}
		return len(p), nil
	})
	require.NoError(t, ReadFull(Of(again).Again(), p, 0))
	require.NoError(t, ReadFull(Bind(ctx, again).Again(), p, 0))
	require.NoError(t, ReadFull(Bind(ctx, again).Section(5, 10).Again(), p, 0))
	require.Same(t, src, src.Again())
}

// TestWith checks that a reader around another can do what that can, also if it embeds its source.
func TestWith(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := readFunc(func(ctx context.Context, p []byte, _ int64) (int, error) { return len(p), ctx.Err() })
	for name, c := range map[string]struct {
		r       io.ReaderAt
		gap     int64
		cancels bool
	}{
		"plain":         {bytes.NewReader(make([]byte, 9)), 0, false},
		"with contexts": {r, 0, true},
		"distant":       {distant{bytes.NewReader(make([]byte, 9))}, 99, false},
		"both": {struct {
			ContextReaderAt
			distant
		}{r, distant{r}}, 99, true},
	} {
		src := Of(c.r)
		calls := 0
		around := struct{ *Source }{src.With(func(ctx context.Context, p []byte, off int64) (int, error) {
			calls++
			return src.ReadAtContext(ctx, p, off)
		})}
		require.Same(t, around.Source, Of(around), name)
		for _, s := range []*Source{src, Of(around), Of(around).Section(1, 3), Bind(ctx, around), Live(ctx, around)} {
			require.Equal(t, c.gap, s.Gap(), name)
			require.Equal(t, c.cancels, s.Cancels(), name)
			require.NoError(t, ReadFull(s, make([]byte, 2), 0), name)
		}
		require.Equal(t, 4, calls, name)
	}
	cancel()
	src := Of(bytes.NewReader(make([]byte, 9)))
	require.NoError(t, ReadFull(Bind(ctx, src), make([]byte, 2), 0))
	require.ErrorIs(t, ReadFull(Live(ctx, src), make([]byte, 2), 0), context.Canceled)
	require.ErrorIs(t, ReadFull(Bind(context.Background(), Live(ctx, src)), make([]byte, 2), 0), context.Canceled)
	_, err := Of(r).ReadAtContext(ctx, make([]byte, 2), 0)
	require.Equal(t, context.Canceled, err)
}

type distant struct{ io.ReaderAt }

func (distant) Gap() int64 { return 99 }

func TestSection(t *testing.T) {
	data := []byte("0123456789")
	s := Of(bytes.NewReader(data)).Section(2, 5)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(s, 0, 5), data[2:7]))
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
	require.EqualValues(t, 99, Of(distant{}).Section(0, 1).Gap())
	// A section of a section stays in it.
	for off := range int64(7) {
		for n := range int64(7) {
			got, err := io.ReadAll(io.NewSectionReader(s.Section(off, n), 0, 20))
			require.NoError(t, err)
			want, err := io.ReadAll(io.NewSectionReader(io.NewSectionReader(bytes.NewReader(data[2:7]), off, n), 0, 20))
			require.NoError(t, err)
			require.Equal(t, want, got, "%d bytes at %d", n, off)
		}
	}
	// The file is shorter than claimed.
	n, err := Of(bytes.NewReader(data)).Section(8, math.MaxInt64-8).ReadAt(make([]byte, 5), 0)
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

// TestSingleflight checks that many callers share one fetch at a time per key, and that each
// value is freed once, after its last use.
func TestSingleflight(t *testing.T) {
	type value struct {
		key   int
		freed atomic.Bool
	}
	var freed, fetched atomic.Int64
	var active [4]atomic.Int64
	g := Singleflight[int, *value]{Free: func(v *value) {
		freed.Add(1)
		if v.freed.Swap(true) {
			t.Error("freed twice")
		}
	}}
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			key := i % len(active)
			c, leads := g.Join(key)
			defer c.Leave()
			if leads {
				if active[key].Add(1) > 1 {
					t.Error("two fetches at a time")
				}
				fetched.Add(1)
				time.Sleep(time.Microsecond)
				active[key].Add(-1)
				c.Publish(&value{key: key}, nil)
			}
			if v, err := c.Wait(context.Background()); err != nil || v.key != key || v.freed.Load() {
				t.Errorf("wrong value, %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, fetched.Load(), freed.Load())
	require.Empty(t, g.active)
}

// TestSingleflightErrors checks which errors of a leader are errors of those that wait.
func TestSingleflightErrors(t *testing.T) {
	var g Singleflight[int, int]
	failed := errors.New("failed")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		result error // of the leader
		want   error // of the other caller
	}{
		{"value", context.Background(), nil, nil},
		{"another error", context.Background(), failed, failed},
		{"the leader's context ends", context.Background(), context.DeadlineExceeded, ErrRetry},
		{"both contexts end", ended, context.Canceled, context.Canceled},
	} {
		lead, leads := g.Join(1)
		require.True(t, leads, c.name)
		require.Nil(t, g.Lead(1), c.name)
		require.False(t, lead.Shared(), c.name)
		wait, leads := g.Join(1)
		require.False(t, leads, c.name)
		require.True(t, lead.Shared(), c.name)
		lead.Publish(10, c.result)
		lead.Leave()
		v, err := wait.Wait(c.ctx)
		require.Equal(t, c.want, err, c.name)
		if err == nil {
			require.Equal(t, 10, v, c.name)
		}
		wait.Leave()
		require.Empty(t, g.active, c.name)
	}
}

// TestSingleflightLeave checks callers that end early: one that waits, and a leader that panics.
func TestSingleflightLeave(t *testing.T) {
	g := Singleflight[int, int]{Free: func(int) { t.Error("freed a value that was not fetched") }}
	var wait *Call[int, int]
	func() {
		defer func() { require.Equal(t, "mine", recover()) }()
		lead := g.Lead(1)
		defer lead.Leave()
		wait, _ = g.Join(1)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := wait.Wait(ctx)
		require.Equal(t, context.Canceled, err)
		panic("mine")
	}()
	_, err := wait.Wait(context.Background())
	require.Equal(t, ErrRetry, err)
	wait.Leave()
	require.Empty(t, g.active)
}
