package unlimited

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// collector is a Sink that collects each segment in pieces of given lengths, and checks
// the guarantees of Gather.
type collector struct {
	t       *testing.T
	segs    []Segment
	piece   int64
	got     [][]byte
	room    []byte // of the last call of Room
	roomOf  int
	filled  [][2]int64 // (record, segment) since the last flush
	flushed [2]int64   // the largest before
	err     error      // returned by Flush
}

func newCollector(t *testing.T, segs []Segment, piece int64) *collector {
	return &collector{t: t, segs: segs, piece: piece, got: make([][]byte, len(segs))}
}

func (c *collector) Room(i int, n int64) []byte {
	left := c.piece - int64(len(c.got[i]))%c.piece
	c.room, c.roomOf = make([]byte, min(n, left)), i
	return c.room
}

func (c *collector) Filled(i int, n, rec int64) {
	c.got[i] = append(c.got[i], c.room[:n]...)
	if c.roomOf != i || n < 1 || (int64(len(c.got[i]))-1)/c.segs[i].Len != rec {
		c.t.Fatalf("%d bytes of segment %d after room for %d, up to record %d", n, i, c.roomOf, rec)
	}
	c.filled = append(c.filled, [2]int64{rec, int64(i)})
}

func (c *collector) Flush() error {
	last := c.flushed
	for _, f := range c.filled {
		later := f[0] > c.flushed[0] || f[0] == c.flushed[0] && f[1] >= c.flushed[1]
		if !later {
			c.t.Fatalf("record %d of segment %d after record %d of segment %d", f[0], f[1], c.flushed[0], c.flushed[1])
		}
		if f[0] > last[0] || f[0] == last[0] && f[1] > last[1] {
			last = f
		}
	}
	c.flushed, c.filled = last, nil
	return c.err
}

// interleaved returns n segments of different lengths that share records, with a gap in
// each.
func interleaved(n int, count int64) []Segment {
	segs := make([]Segment, n)
	off := int64(100)
	for i := range segs {
		segs[i] = Segment{Off: off, Len: []int64{4, 8, 1, 3, 12, 256}[i%6], Count: count}
		off += segs[i].Len
		if i == n/2 {
			off += 5
		}
	}
	if count > 1 {
		for i := range segs {
			segs[i].Stride = off - 100
		}
	}
	return segs
}

func TestGather(t *testing.T) {
	image := noise(200_000, 4)
	long := []Segment{{Off: 50, Len: 40_000, Stride: 70_000, Count: 2}, {Off: 40_060, Len: 30_000, Stride: 70_000, Count: 2}}
	sets := map[string][]Segment{
		"none": nil, "no records": {{Len: 4}}, "one record": interleaved(3, 1), "one variable": interleaved(1, 1000),
		"two": interleaved(2, 5000), "many": interleaved(50, 70), "long runs": long,
	}
	for name, segs := range sets {
		want := make([][]byte, len(segs))
		for i, s := range segs {
			want[i] = naive(image, segs[i:i+1])[:s.Size()]
		}
		for _, piece := range []int64{1, 3, 4, 7, 64, 1000, 1 << 20} {
			for _, window := range []int64{0, 1, 5000} {
				c := newCollector(t, segs, piece)
				require.NoError(t, Gather(bytes.NewReader(image), segs, window, c))
				for i := range segs {
					require.True(t, bytes.Equal(want[i], c.got[i]), "%s: segment %d in pieces of %d, window %d", name, i, piece, window)
				}
				require.Empty(t, c.filled, "%s: not flushed", name)
			}
		}
	}
}

func TestGatherErrors(t *testing.T) {
	boom := errors.New("failed on purpose")
	image := noise(200_000, 4)
	for name, segs := range map[string][]Segment{"window": interleaved(3, 100), "direct": {{Off: 50, Len: 40_000, Stride: 70_000, Count: 2}}} {
		c := newCollector(t, segs, 100)
		c.err = boom
		require.ErrorIs(t, Gather(bytes.NewReader(image), segs, 0, c), boom, name)
		require.ErrorIs(t, Gather(bytes.NewReader(image[:1000]), segs, 0, newCollector(t, segs, 100)), io.ErrUnexpectedEOF, name)
	}
}

// TestScatter assembles windows of the image from pieces of raw, and compares them.
func TestScatter(t *testing.T) {
	image := noise(1000, 5)
	for name, segs := range layouts {
		l, err := New(1000, 16, segs)
		require.NoError(t, err)
		raw := naive(image, segs)
		all := make([]bool, len(segs)+1)
		for i := range all {
			all[i] = true
		}
		for _, piece := range []int64{1, 3, 16, 1000} {
			at := func(off int64) (int64, []byte, error) {
				lo := off / piece * piece
				return lo, raw[lo:min(lo+piece, 1000)], nil
			}
			for _, window := range []int64{1, 13, 100, 1000} {
				for off := int64(0); off < 1000; off += window {
					want := image[off:min(off+window, 1000)]
					got := make([]byte, len(want))
					require.NoError(t, l.Scatter(got, off, all, at))
					require.True(t, bytes.Equal(want, got), "%s: [%d, +%d)", name, off, window)
					differs, err := l.Difference(got, off, all, at)
					require.NoError(t, err)
					require.EqualValues(t, -1, differs)
					for i := 0; i < len(got); i += 11 {
						got[i] ^= 1
						got[len(got)-1] ^= 2 // a later one
						differs, err = l.Difference(got, off, all, at)
						require.NoError(t, err)
						require.Equal(t, off+int64(i), differs)
						copy(got, want)
					}
				}
			}
			// In two passes, one segment and all others.
			for i := range all {
				one, others := make([]bool, len(all)), make([]bool, len(all))
				for k := range all {
					one[k], others[k] = k == i, k != i
				}
				a, b := make([]byte, 1000), make([]byte, 1000)
				require.NoError(t, l.Scatter(a, 0, one, at))
				require.NoError(t, l.Scatter(b, 0, others, at))
				l.Overlay(a, b, 0, others)
				require.Equal(t, image, a, name)
			}
		}
		boom := errors.New("failed on purpose")
		fail := func(int64) (int64, []byte, error) { return 0, nil, boom }
		for _, n := range []int64{10, 1000} {
			require.ErrorIs(t, l.Scatter(make([]byte, n), 0, all, fail), boom)
		}
		_, err = l.Difference(make([]byte, 10), 0, all, fail)
		require.ErrorIs(t, err, boom)
	}
}

// TestTail collects the last segments and the rest while the image passes in pieces.
func TestTail(t *testing.T) {
	image := noise(1000, 6)
	for name, segs := range layouts {
		l, err := New(1000, 16, segs)
		require.NoError(t, err)
		raw := naive(image, segs)
		for first := range len(segs) + 1 {
			want := raw[l.RawOff(first):]
			require.EqualValues(t, len(want), l.TailLen(first))
			for _, piece := range []int{1, 2, 3, 7, 50, 999, 1000} {
				tail := l.NewTail(first)
				right := 0 // bytes from the first on
				for off := 0; off < len(image); off += piece {
					tail.Pass(image[off:min(off+piece, len(image))])
					for right < len(want) && tail.Until(int64(right), int64(right)+1) <= int64(off+piece) {
						right++
					}
					require.True(t, bytes.Equal(want[:right], tail.Bytes()[:right]), "%s: from segment %d, by %d", name, first, piece)
				}
				require.Len(t, want, right)
				require.Zero(t, tail.Until(5, 5))
			}
		}
	}
}

// TestLastByte compares LastByte with a byte-by-byte search.
func TestLastByte(t *testing.T) {
	places := make([]byte, 1000) // of image bytes, modulo 256
	for i := range places {
		places[i] = byte(i)
	}
	rng := rand.New(rand.NewSource(7))
	for name, segs := range layouts {
		l, err := New(1000, 16, segs)
		require.NoError(t, err)
		last := func(lo, hi int64) (at int64) {
			l.RawRuns(lo, hi, func(r Run) bool { at = max(at, r.ImageOff+r.Len-1); return true })
			return at
		}
		for range 200 {
			lo := rng.Int63n(1000)
			hi := lo + 1 + rng.Int63n(1000-lo)
			require.Equal(t, last(lo, hi), l.LastByte(lo, hi), "%s: [%d, %d)", name, lo, hi)
		}
	}
}

func TestSegment(t *testing.T) {
	image := noise(1000, 8)
	for name, segs := range layouts {
		for i, s := range segs {
			want := naive(image, segs[i:i+1])[:s.Size()]
			var got []byte
			s.Runs(0, s.Size(), func(at, n int64) bool {
				require.True(t, at == s.At(int64(len(got))))
				got = append(got, image[at:at+n]...)
				return true
			})
			require.Equal(t, want, append([]byte{}, got...), name)
			for lo := int64(0); lo < s.Size(); lo += 5 {
				for _, hi := range []int64{lo, lo + 1, lo + s.Len, s.Size()} {
					if hi = min(hi, s.Size()); hi > lo {
						from := s.At(lo)
						require.True(t, bytes.Equal(want[lo:hi], s.Cut(image[from:], from, lo, hi)), "%s: [%d, %d)", name, lo, hi)
					}
				}
				require.Empty(t, s.Cut(nil, 0, lo, lo))
			}
			v := NewValues(s, bytes.NewReader(image), 1000)
			require.NoError(t, iotest.TestReader(io.NewSectionReader(v, 0, v.Size()), want), name)
		}
	}
}

// TestValuesBeyondEnd checks that values beyond the end of the image are zeros.
func TestValuesBeyondEnd(t *testing.T) {
	image := noise(100, 9)
	for _, c := range []struct {
		s    Segment
		have int // bytes inside the image
	}{
		{Segment{Off: 90, Len: 20, Count: 1}, 10},
		{Segment{Off: 100, Len: 20, Count: 1}, 0},
		{Segment{Off: 1 << 40, Len: 20, Count: 1}, 0},
		{Segment{Off: 80, Len: 8, Stride: 16, Count: 4}, 12},
	} {
		v := NewValues(c.s, bytes.NewReader(image), 100)
		got := make([]byte, c.s.Size())
		_, err := v.ReadAt(got, 0)
		require.NoError(t, err)
		want := append(image[:100:100], make([]byte, 200)...)
		for i := range got {
			if at := c.s.At(int64(i)); at < 100 {
				require.Equal(t, want[at], got[i])
				c.have--
			} else {
				require.Zero(t, got[i])
			}
		}
		require.Zero(t, c.have)
	}
	v := NewValues(Segment{Off: 10, Len: 4, Count: 1}, readerAtFunc(func(p []byte, off int64) (int, error) { return 1, io.EOF }), 100)
	_, err := v.ReadAtContext(context.Background(), make([]byte, 4), 0)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = v.ReadAt(nil, -1)
	require.Error(t, err)
}

func BenchmarkGather(b *testing.B) {
	image := noise(32<<20, 10)
	for _, n := range []int{1, 8, 80} {
		segs := interleaved(n, 1)
		segs = interleaved(n, int64(len(image)-100)/max(2, segs[n-1].Off+segs[n-1].Len-100+5))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			room := make([]byte, 256<<10)
			b.SetBytes(int64(len(image)))
			for range b.N {
				if err := Gather(bytes.NewReader(image), segs, 0, dropSink(room)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// dropSink discards its input.
type dropSink []byte

func (s dropSink) Room(_ int, n int64) []byte { return s[:min(n, int64(len(s)))] }
func (dropSink) Filled(int, int64, int64)     {}
func (dropSink) Flush() error                 { return nil }
