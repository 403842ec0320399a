package parity_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// memory is a file in memory that grows.
type memory struct{ b []byte }

func (m *memory) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, off) }
func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if n := int(off) + len(p); n > len(m.b) {
		m.b = append(m.b, make([]byte, n-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}
func (m *memory) size() int64 { return int64(len(m.b)) }

// TestBeside heals files of any kind from parity in a separate file.
func TestBeside(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 1000, 2048, 100_000, 3_000_000} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		file, beside := &memory{bytes.Clone(want)}, &memory{}
		l, err := parity.AddBeside(t.Context(), file, file.size(), beside, 10, nil)
		require.NoError(t, err)
		require.EqualValues(t, n, l.Off)
		require.Equal(t, l.Bytes().Len, beside.size())
		par := bytes.Clone(beside.b)
		again := &memory{}
		_, err = parity.AddBeside(t.Context(), file, file.size(), again, 10, nil)
		require.NoError(t, err)
		require.Equal(t, par, again.b)
		damages := map[string]func(f, p *memory){
			"none":       func(f, p *memory) {},
			"a byte":     func(f, p *memory) { f.b[n/2] ^= 1 },
			"the front":  func(f, p *memory) { clear(f.b[:n/50]) },
			"cut off":    func(f, p *memory) { f.b = f.b[:n-min(n, n/50)] },
			"longer":     func(f, p *memory) { f.b = append(f.b, make([]byte, 10240)...) },
			"the parity": func(f, p *memory) { clear(p.b[:len(p.b)/50]) },
			"both":       func(f, p *memory) { f.b[0] ^= 1; p.b[len(p.b)-1] ^= 1 },
		}
		for name, damage := range damages {
			f, p := &memory{bytes.Clone(want)}, &memory{bytes.Clone(par)}
			damage(f, p)
			s, err := parity.FindBeside(t.Context(), f, f.size(), p, p.size(), nil)
			require.NoError(t, err, name)
			require.NotNil(t, s, name)
			rep, err := s.Heal(t.Context(), s.Besides(f, p))
			require.NoError(t, err, name)
			require.True(t, rep.Healable(), "%d bytes, %s", n, name)
			require.Equal(t, want, f.b[:n], name)
			require.Equal(t, par, p.b, name)
		}
	}
}

// FuzzBeside checks that no file of parity panics, or takes memory for what it claims.
func FuzzBeside(f *testing.F) {
	beside := &memory{}
	_, err := parity.AddBeside(f.Context(), bytes.NewReader(make([]byte, 300)), 300, beside, 5, nil)
	require.NoError(f, err)
	s := seeds.Of(f)
	s.AddDamaged("beside", beside.b, 300)
	s.Add("cut", beside.b, 10)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		size = max(0, min(size, 1<<16))
		file := &memory{make([]byte, size)}
		s, err := parity.FindBeside(t.Context(), file, file.size(), bytes.NewReader(b), int64(len(b)), nil)
		if err != nil || s == nil {
			return
		}
		_, _ = s.Check(t.Context())
	})
}

// TestDiffers compares some bytes of a file with the checksums in its parity.
func TestDiffers(t *testing.T) {
	parity.ManyGroups(t, 512, 4)
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int64{1, 1000, 100_000, 5_000_000} { // the last with several groups
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		file, beside := &memory{want}, &memory{}
		l, err := parity.AddBeside(t.Context(), file, n, beside, 10, &parity.Options{Workers: 1}) // memory takes one write at a time
		require.NoError(t, err)
		require.Equal(t, n > 1_000_000, l.Groups > 1)
		differs := func(off, k int64) bool {
			t.Helper()
			s, err := parity.FindBeside(t.Context(), file, n, beside, beside.size(), nil)
			require.NoError(t, err)
			found, err := s.Differs(t.Context(), parity.Range{Off: off, Len: k})
			require.NoError(t, err)
			return found
		}
		require.False(t, differs(0, n))
		for range 20 {
			at := r.Int64N(n)
			file.b[at] ^= 1
			require.True(t, differs(at, 1), at)
			require.True(t, differs(0, n), at)
			require.True(t, differs(at-min(at, 5000), 10000), at)
			if piece := at / l.Piece; piece > 0 {
				require.False(t, differs(0, piece*l.Piece), at)
			}
			file.b[at] ^= 1
		}
		file.b[n-1] ^= 1
		require.True(t, differs(n-(64<<10), 64<<10))
		for i := l.Bytes().Len - l.Parity*l.Groups*60; i < l.Bytes().Len; i += 60 { // a part of the records is damaged
			beside.b[i] ^= 1
		}
		differs(0, n)
	}
}
