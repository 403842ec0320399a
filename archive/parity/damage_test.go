package parity_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// cases returns the number of random cases: few, or many with CDFZ_SOAK=1.
func cases(few, many int) int {
	if os.Getenv("CDFZ_SOAK") != "" {
		return many
	}
	if testing.Short() {
		return few / 4
	}
	return few
}

const sector = 4096

// shapes are the kinds of damage. Each damages at most left bytes of b, and returns b, cut
// off if the end is lost.
var shapes = []struct {
	name  string
	apply func(r *rand.Rand, b []byte, l parity.Range, left int) []byte
}{
	{"burst", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		return burst(r, b, r.IntN(len(b)-left+1), left)
	}},
	{"burst at the start", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte { return burst(r, b, 0, left) }},
	{"burst at the end", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		return burst(r, b, len(b)-left, left)
	}},
	{"burst in the parity", func(r *rand.Rand, b []byte, p parity.Range, left int) []byte {
		return burst(r, b, int(p.Off)-left/2+r.IntN(int(p.Len)), left)
	}},
	{"cut off", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte { return b[:len(b)-1-r.IntN(left)] }},
	{"sectors", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		return sectors(r, b, left, func() int { return r.IntN(len(b)) / sector * sector })
	}},
	{"sectors at any offset", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		return sectors(r, b, left, func() int { return r.IntN(len(b)) })
	}},
	{"sectors in the second half", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		return sectors(r, b, left, func() int { return (len(b)/2 + r.IntN(len(b)/2)) / sector * sector })
	}},
	{"sectors at a regular distance", func(r *rand.Rand, b []byte, _ parity.Range, left int) []byte {
		step, at := len(b)/max(1, left/sector)/sector*sector, -1
		if at = r.IntN(max(1, step)); step == 0 {
			step = sector
		}
		return sectors(r, b, left, func() int { at += step; return at - step })
	}},
}

func burst(r *rand.Rand, b []byte, off, n int) []byte {
	off = max(0, min(off, len(b)-n))
	part := b[off : off+n]
	switch r.IntN(4) {
	case 0:
		clear(part)
	case 1:
		for i := range part {
			part[i] = byte(r.Uint32())
		}
	case 2:
		copy(part, b[r.IntN(len(b)-n+1):][:n]) // bytes from elsewhere
	case 3:
		for i := range part {
			part[i] = 0xff
		}
	}
	return b
}

func sectors(r *rand.Rand, b []byte, left int, next func() int) []byte {
	if left < sector {
		return burst(r, b, next(), left)
	}
	for ; left >= sector; left -= sector {
		off := min(next(), len(b)-1)
		burst(r, b[off:min(off+sector, len(b))], 0, min(sector, len(b)-off))
	}
	return b
}

// TestTwoPercent damages up to 2 % of archives with 5 % parity, which must heal bit for
// bit.
func TestTwoPercent(t *testing.T) {
	for _, c := range []struct {
		image          int
		shards, stripe int64
		few, many      int
	}{
		{100, 16384, 32, 5, 500}, {700, 16384, 32, 5, 500}, {3000, 16384, 32, 5, 500}, {20_000, 16384, 32, 5, 500},
		{100_000, 16384, 32, 5, 500}, {1 << 20, 16384, 32, 2, 300}, {7 << 20, 16384, 32, 0, 50},
		// Three and 20 groups of full size.
		{80 << 20, 16384, 32, 0, 12}, {600 << 20, 16384, 32, 0, 2},
	} {
		if cases(c.few, c.many) == 0 {
			continue
		}
		t.Run(fmt.Sprint(c.image), func(t *testing.T) {
			parity.ManyGroups(t, c.shards, c.stripe)
			b := archived(t, image(c.image, 1), 5)
			healAll(t, b, cases(c.few, c.many))
		})
	}
}

func healAll(t *testing.T, b []byte, n int) {
	s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	for _, shape := range shapes {
		r := rand.New(rand.NewPCG(uint64(len(b)), 1))
		for i := range n {
			d := shape.apply(r, bytes.Clone(b), s.Bytes(), len(b)/50)
			got, rep := heal(t, d)
			if !bytes.Equal(got, b) {
				rep.Damaged = nil
				t.Fatalf("%d bytes, %s, case %d: not healed: %+v", len(b), shape.name, i, rep)
			}
		}
	}
}

// TestGroups heals in many small groups, where chance decides how much hits one of them.
func TestGroups(t *testing.T) {
	parity.ManyGroups(t, 256, 4)
	b := archived(t, image(2<<20, 1), 10)
	s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	require.Greater(t, s.Groups, int64(3))
	r := rand.New(rand.NewPCG(5, 1))
	for range cases(10, 500) {
		d := burst(r, bytes.Clone(b), r.IntN(len(b)), len(b)/50)
		got, _ := heal(t, d)
		require.True(t, bytes.Equal(got, b))
	}
}

// TestBeyond damages more than can be healed. What is reported must be exactly what is
// damaged, and nothing may become worse.
func TestBeyond(t *testing.T) {
	parity.ManyGroups(t, 256, 4)
	r := rand.New(rand.NewPCG(7, 1))
	whole := 0
	for _, size := range []int{3000, 100_000, 1 << 20} {
		b := archived(t, image(size, 2), 5)
		s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		for i := range cases(20, 1000) {
			shape := shapes[r.IntN(len(shapes))]
			d := shape.apply(r, bytes.Clone(b), s.Bytes(), 1+r.IntN(len(b)/4))
			f := faultio.NewFile(d)
			found, err := parity.Find(context.Background(), f, int64(len(d)), nil)
			if errors.Is(err, parity.ErrLost) || err == nil && found == nil {
				continue // not one record is left
			}
			require.NoError(t, err)
			rep, err := found.Heal(context.Background(), f)
			require.NoError(t, err)
			where := fmt.Sprintf("%d bytes, case %d, %s", len(b), i, shape.name)
			checkReport(t, where, b, d, f.Bytes(), rep)
			if rep.Healable() {
				whole++
				require.True(t, bytes.Equal(b, f.Bytes()), where)
			}
		}
	}
	require.Greater(t, whole, 0)
}

func in(list []parity.Range, off int) bool {
	for _, r := range list {
		if int64(off) >= r.Off && int64(off) < r.Off+r.Len {
			return true
		}
	}
	return false
}

// checkReport compares a report with the original b, the damaged d, and the healed h.
func checkReport(t *testing.T, where string, b, d, h []byte, rep *parity.Report) {
	t.Helper()
	entry := rep.Bytes()
	for i := range b {
		same := i < len(d) && d[i] == b[i]
		now := i < len(h) && h[i] == b[i]
		local := int64(i) >= entry.Off && int64(i) < entry.Off+100 // the local header, and what follows it
		switch {
		case same && !now:
			t.Fatalf("%s: byte %d was right and is wrong now", where, i)
		case !now && !in(rep.Lost, i) && !in(rep.Unknown, i):
			t.Fatalf("%s: byte %d is wrong and not reported", where, i)
		case !same && !in(rep.Damaged, i) && !in(rep.Unknown, i) && !local:
			t.Fatalf("%s: byte %d was wrong and not reported", where, i)
		}
	}
	// Each range that is reported as damaged has damage.
	for _, r := range rep.Damaged {
		lo, hi := int(r.Off), int(r.Off+r.Len)
		if r.Off+r.Len == entry.Off || r.Off == entry.Off+entry.Len {
			continue // a part of a piece whose other part is beyond the entry
		}
		require.False(t, hi <= len(d) && bytes.Equal(b[lo:hi], d[lo:hi]), "%s: bytes %d to %d are intact", where, lo, hi)
	}
}

// TestManyLost loses most pieces. The lists of them must not take memory for each.
func TestManyLost(t *testing.T) {
	parity.ManyGroups(t, 256, 16)
	b := archived(t, image(1<<20, 4), 5)
	s, err := parity.Find(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	require.Greater(t, s.Groups, int64(1))
	clear(b[:s.Off])
	rep, err := s.Check(context.Background())
	require.NoError(t, err)
	require.Greater(t, rep.BadPieces, rep.Pieces/2)
	require.Less(t, int64(cap(rep.Lost)), rep.Pieces/4)
}
