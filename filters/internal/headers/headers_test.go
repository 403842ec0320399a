package headers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// TestDictionary pins the dictionary, which is part of the format, and its copy in the Python package.
func TestDictionary(t *testing.T) {
	sum := sha256.Sum256([]byte(dictionary1))
	doc, err := os.ReadFile("../../../docs/FORMAT.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), hex.EncodeToString(sum[:]))
	copied, err := os.ReadFile("../../../python/cdfz/header1.bin")
	require.NoError(t, err)
	require.True(t, dictionary1 == string(copied))
}

// samples returns blocks of several kinds: headers, other bytes, and boundaries of lengths.
func samples(t testing.TB) (all [][]byte) {
	names, err := filepath.Glob("../../../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		all = append(all, b[:min(len(b), 2500)])
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 4, 5, 127, 128, 16383, 16384, 40000} {
		random, text := make([]byte, n), make([]byte, n)
		for i := range random {
			random[i], text[i] = byte(r.Uint32()), "units"[r.IntN(5)]
		}
		all = append(all, random, text, make([]byte, n))
	}
	d := []byte(dictionary1)
	return append(all, d[:100], d[len(d)-100:], d, append(d[20000:30000:30000], d[:9000]...))
}

func TestRoundTrip(t *testing.T) {
	var s State
	for i, b := range samples(t) {
		for number := range uint32(Latest + 1) {
			for effort := range 2 {
				stored, err := s.Encode([]byte("before"), b, number, effort)
				require.NoError(t, err)
				again, err := new(State).Encode(nil, b, number, effort)
				require.NoError(t, err)
				require.Equal(t, stored[6:], again, "depends on earlier blocks: %d", i)
				got, err := s.Decode([]byte("before"), again, number, len(b))
				require.NoError(t, err, "sample %d", i)
				require.True(t, bytes.Equal(b, got[6:]), "sample %d, dictionary %d, effort %d", i, number, effort)
				if len(b) > 0 {
					_, err = s.Decode(nil, again, number, len(b)-1)
					require.ErrorIs(t, err, wire.ErrDecodedSize)
				}
			}
		}
	}
}

// TestWindowEnds: blocks of few values with repeats of earlier bytes, for which all ways rarely meet before the end of a
// window. Some windows end inside a repeat, at a byte to which no step leads.
func TestWindowEnds(t *testing.T) {
	var s State
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		values := 2 + r.IntN(6)
		var b []byte
		for end := 1000 + r.IntN(7000); len(b) < end; {
			if len(b) > 100 && r.IntN(3) == 0 {
				n := 5 + r.IntN(enough-6)
				from := r.IntN(len(b) - n)
				b = append(b, b[from:from+n]...)
			} else {
				b = append(b, byte(r.IntN(values)))
			}
		}
		number := uint32(seed & 1)
		stored, err := s.Encode(nil, b, number, 1)
		require.NoError(t, err)
		got, err := s.Decode(nil, stored, number, len(b))
		require.NoError(t, err, "seed %d", seed)
		require.True(t, bytes.Equal(b, got), "seed %d", seed)
	}
}

// TestBounds: what a stored block may not exceed.
func TestBounds(t *testing.T) {
	var s State
	_, err := s.Encode(nil, make([]byte, MaxLen+1), Latest, 0)
	require.ErrorIs(t, err, wire.ErrParam)
	b := make([]byte, MaxLen)
	stored, err := s.Encode(nil, b, Latest, 1)
	require.NoError(t, err)
	got, err := s.Decode(nil, stored, Latest, len(b))
	require.NoError(t, err)
	require.True(t, bytes.Equal(b, got))
	r := rand.New(rand.NewPCG(1, 2))
	b = b[:56<<10] // the longest that archives encode with this filter
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	_, err = s.Encode(nil, b, Latest, 1)
	require.NoError(t, err)
	_, err = s.Encode(nil, append(b, b[1:]...), None, 1)
	require.NoError(t, err)
	for i := range b {
		b[i] ^= byte(i >> 8)
	}
	long := make([]byte, 70000)
	for i := range long {
		long[i] = byte(r.Uint32())
	}
	_, err = s.Encode(nil, long, Latest, 0)
	require.ErrorIs(t, err, wire.ErrParam)
}

// TestDamaged: hostile blocks are errors.
func TestDamaged(t *testing.T) {
	var s State
	raw := []byte("\x00\x00\x00\x05units\x00\x00\x00 and what follows")
	good, err := s.Encode(nil, raw, Latest, 0)
	require.NoError(t, err)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x55
		if got, err := s.Decode(nil, bad, Latest, 1<<16); err == nil {
			require.False(t, bytes.Equal(got, raw), "byte %d", i)
		}
		_, err := s.Decode(nil, good[:i], Latest, 1<<16)
		require.ErrorIs(t, err, wire.ErrDamaged, "cut at %d", i)
	}
	for _, bad := range []string{
		"", "\x80", "\x80\x00", "\x80\x80\x80\x80\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // lengths
		"\x00x", "\x05", "\x05\x01aaaa", string(good) + "x", // the stream
		"\x05\x00\xff\xff\xff\xff", "\xff\xff\x7f\x00\xff\xff\xff\xff", // distances before the start
		"\x81\x80\x80\x01\x00\x00\x00\x00\x00", // longer than a block may be
	} {
		_, err := s.Decode(nil, []byte(bad), Latest, 1<<22)
		require.ErrorIs(t, err, wire.ErrDamaged, "%q", bad)
	}
	_, err = s.Decode(nil, append([]byte{5}, make([]byte, MaxStream+1)...), Latest, 5)
	require.ErrorIs(t, err, wire.ErrDamaged)
	// The dictionary matters.
	if got, err := s.Decode(nil, good, None, 1<<16); err == nil {
		require.False(t, bytes.Equal(got, raw))
	}
}

func FuzzDecode(f *testing.F) {
	var s State
	set := seeds.Of(f)
	for i, b := range samples(f)[:8] {
		stored, err := s.Encode(nil, b, Latest, 1)
		require.NoError(f, err)
		set.AddDamaged(fmt.Sprintf("sample%d", i), stored, uint8(Latest))
	}
	f.Fuzz(func(t *testing.T, stored []byte, number uint8) {
		var s State
		const most = 1 << 17
		got, err := s.Decode(nil, stored, uint32(number%2), most)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(got), most)
		again, err := s.Encode(nil, got, uint32(number%2), 1)
		if err != nil { // fewer bytes than another encoder needs
			return
		}
		got2, err := s.Decode(nil, again, uint32(number%2), most)
		require.NoError(t, err)
		require.True(t, bytes.Equal(got, got2))
	})
}

func FuzzRoundTrip(f *testing.F) {
	set := seeds.Of(f)
	for i, b := range samples(f)[:8] {
		set.Add(fmt.Sprintf("sample%d", i), b, uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		var s State
		stored, err := s.Encode(nil, b, uint32(how&1), int(how>>1&1))
		if err != nil {
			require.Greater(t, len(b), 56<<10)
			return
		}
		got, err := s.Decode(nil, stored, uint32(how&1), len(b))
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, got))
	})
}
