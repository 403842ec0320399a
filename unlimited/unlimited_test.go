package unlimited

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// naive makes raw byte by byte, as the format describes it.
func naive(image []byte, segs []Segment) []byte {
	var raw []byte
	taken := make([]bool, len(image))
	for _, s := range segs {
		for i := range s.Count {
			for k := range s.Len {
				at := s.Off + i*s.Stride + k
				raw = append(raw, image[at])
				taken[at] = true
			}
		}
	}
	for i, b := range image {
		if !taken[i] {
			raw = append(raw, b)
		}
	}
	return raw
}

func noise(n int, seed int64) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

// checkViews compares both views with the naive permutation, whole and in pieces.
func checkViews(t *testing.T, l *Layout, image []byte, segs []Segment) {
	t.Helper()
	raw := naive(image, segs)
	require.Equal(t, len(image), len(raw))
	views := []struct {
		v    *View
		want []byte
	}{{l.Raw(bytes.NewReader(image)), raw}, {l.Image(bytes.NewReader(raw)), image}}
	rng := rand.New(rand.NewSource(int64(len(image))))
	for _, c := range views {
		require.NoError(t, iotest.TestReader(io.NewSectionReader(c.v, 0, c.v.Size()), c.want))
		for range 50 {
			off := rng.Intn(len(image) + 1)
			n := rng.Intn(len(image) + 10)
			got := make([]byte, n)
			k, err := c.v.ReadAt(got, int64(off))
			want := c.want[off:min(len(image), off+n)]
			require.Equal(t, want, got[:k])
			if off+n > len(image) {
				require.Equal(t, io.EOF, err)
			} else {
				require.NoError(t, err)
			}
		}
	}
}

// layouts are sets of segments over an image of 1000 bytes with a header of 16.
var layouts = map[string][]Segment{
	"none":            nil,
	"empty":           {{}},
	"one":             {{Off: 16, Len: 100, Count: 1}},
	"all":             {{Off: 16, Len: 984, Count: 1}},
	"out of order":    {{Off: 500, Len: 100, Count: 1}, {}, {Off: 20, Len: 30, Count: 1}},
	"adjacent":        {{Off: 16, Len: 10, Count: 1}, {Off: 26, Len: 10, Count: 1}},
	"records":         {{Off: 100, Len: 3, Stride: 8, Count: 50}, {Off: 104, Len: 4, Stride: 8, Count: 50}},
	"records to end":  {{Off: 100, Len: 9, Stride: 10, Count: 90}},
	"records no gaps": {{Off: 104, Len: 4, Stride: 8, Count: 50}, {Off: 100, Len: 4, Stride: 8, Count: 50}},
	"one byte":        {{Off: 200, Len: 1, Stride: 1, Count: 800}},
	"mixed":           {{Off: 16, Len: 50, Count: 1}, {Off: 103, Len: 2, Stride: 7, Count: 20}, {Off: 100, Len: 3, Stride: 7, Count: 20}, {Off: 300, Len: 700, Count: 1}},
	"partial record":  {{Off: 104, Len: 2, Stride: 16, Count: 3}, {Off: 108, Len: 5, Stride: 16, Count: 3}},
}

func TestViews(t *testing.T) {
	image := noise(1000, 1)
	for name, segs := range layouts {
		t.Run(name, func(t *testing.T) {
			l, err := New(1000, 16, segs)
			require.NoError(t, err)
			checkViews(t, l, image, segs)
		})
	}
}

// TestViewsWindow places runs so far apart, or so close, that Raw reads them one by one
// or through a window.
func TestViewsWindow(t *testing.T) {
	image := noise(3<<20, 2)
	for _, stride := range []int64{8, 300, 70000, 300000} {
		count := int64(len(image)-100) / stride
		segs := []Segment{{Off: 100, Len: 5, Stride: stride, Count: count}}
		l, err := New(int64(len(image)), 16, segs)
		require.NoError(t, err)
		raw := naive(image, segs)
		got := make([]byte, len(raw))
		_, err = l.Raw(bytes.NewReader(image)).ReadAt(got, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, got), "stride %d", stride)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, segs := range map[string][]Segment{
		"in header":           {{Off: 10, Len: 10, Count: 1}},
		"beyond end":          {{Off: 990, Len: 11, Count: 1}},
		"overlap":             {{Off: 20, Len: 10, Count: 1}, {Off: 29, Len: 1, Count: 1}},
		"same place":          {{Off: 20, Len: 10, Count: 1}, {Off: 20, Len: 10, Count: 1}},
		"negative":            {{Off: 20, Len: -1, Count: 1}},
		"no stride":           {{Off: 20, Len: 1, Count: 2}},
		"stride for one":      {{Off: 20, Len: 1, Stride: 4, Count: 1}},
		"runs overlap":        {{Off: 20, Len: 5, Stride: 4, Count: 2}},
		"records overlap":     {{Off: 20, Len: 3, Stride: 8, Count: 2}, {Off: 22, Len: 3, Stride: 8, Count: 2}},
		"other stride":        {{Off: 20, Len: 3, Stride: 8, Count: 2}, {Off: 24, Len: 3, Stride: 9, Count: 2}},
		"other count":         {{Off: 20, Len: 3, Stride: 8, Count: 2}, {Off: 24, Len: 3, Stride: 8, Count: 3}},
		"not one record":      {{Off: 20, Len: 3, Stride: 8, Count: 2}, {Off: 28, Len: 3, Stride: 8, Count: 2}},
		"record past its end": {{Off: 20, Len: 3, Stride: 8, Count: 2}, {Off: 26, Len: 3, Stride: 8, Count: 2}},
		"fixed in records":    {{Off: 20, Len: 3, Stride: 8, Count: 9}, {Off: 40, Len: 1, Count: 1}},
		"too many records":    {{Off: 20, Len: 3, Stride: 8, Count: 1 << 60}},
		"overflow":            {{Off: 20, Len: 1 << 62, Stride: 1 << 62, Count: 4}},
		"far":                 {{Off: 1 << 62, Len: 1 << 62, Count: 1}},
	} {
		_, err := New(1000, 16, segs)
		require.Error(t, err, name)
	}
	_, err := New(10, 11, nil)
	require.Error(t, err)
}

// TestPlan checks for all test files that the blocked variables form a valid layout,
// and that both views agree with the naive permutation.
func TestPlan(t *testing.T) {
	names, err := filepath.Glob("../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	reasons := map[Reason]int{}
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err)
		segs, why := Plan(h, int64(len(image)))
		var blocked []Segment
		for i, s := range segs {
			reasons[why[i]]++
			if why[i] == Blocked {
				require.Equal(t, h.Vars[i].Len, s.Size(), "%s: variable %d", name, i)
				blocked = append(blocked, s)
			}
		}
		l, err := New(int64(len(image)), h.Len, blocked)
		require.NoError(t, err, name)
		if len(image) < 20000 {
			checkViews(t, l, image, blocked)
		}
	}
	for _, r := range []Reason{Blocked, outsideFile, overlaps, notInRecord, recordsMixed} {
		require.NotZero(t, reasons[r], "no test file for %q", r)
	}
}

// TestSourceErrors checks that errors of the underlying reader are returned unchanged.
func TestSourceErrors(t *testing.T) {
	boom := errors.New("failed on purpose")
	l, err := New(1000, 16, layouts["records"])
	require.NoError(t, err)
	fail := readerAtFunc(func(p []byte, off int64) (int, error) { return 0, boom })
	for _, v := range []*View{l.Raw(fail), l.Image(fail)} {
		_, err := v.ReadAt(make([]byte, 1000), 0)
		require.ErrorIs(t, err, boom)
	}
	short := readerAtFunc(func(p []byte, off int64) (int, error) { return len(p) / 2, io.EOF })
	_, err = l.Raw(short).ReadAt(make([]byte, 1000), 0)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	// A full read together with EOF is a full read.
	image := noise(1000, 3)
	eager := readerAtFunc(func(p []byte, off int64) (int, error) { return copy(p, image[off:]), io.EOF })
	got := make([]byte, 1000)
	_, err = l.Raw(eager).ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, naive(image, layouts["records"]), got)
}

type readerAtFunc func(p []byte, off int64) (int, error)

func (f readerAtFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }
