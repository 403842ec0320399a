package matches

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// TestDictionary pins the dictionary, which is part of the format, and its copy in the Python package.
func TestDictionary(t *testing.T) {
	sum := sha256.Sum256(dictionary)
	doc, err := os.ReadFile("../../../docs/LORENZ.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), hex.EncodeToString(sum[:]))
	copied, err := os.ReadFile("../../../python/cdfz/dictionary1.bin")
	require.NoError(t, err)
	require.True(t, bytes.Equal(dictionary, copied))
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
	for _, n := range []int{0, 1, 2, 3, 4, 5, enough, window - 1, window, window + 1, 16384, smallLen, smallLen + 1} {
		random, text := make([]byte, n), make([]byte, n)
		for i := range random {
			random[i], text[i] = byte(r.Uint32()), "units"[r.IntN(5)]
		}
		all = append(all, random, text, make([]byte, n))
	}
	d := dictionary
	return append(all, d[:100], d[len(d)-100:], d, append(d[20000:30000:30000], d[:9000]...))
}

// plain is the form of bytes.
var plain = Form{Unit: 1, Size: 1}

// encode returns dst and a block.
func encode(t testing.TB, e *Encoder, dst, src []byte, f Form, tries int) []byte {
	t.Helper()
	coded, ok := e.Encode(dst, src, f, Effort{Tries: tries, Quick: tries == 1})
	require.True(t, ok)
	return coded
}

// TestGivingUp: a block is written if it is shorter than the limit, and only then.
func TestGivingUp(t *testing.T) {
	var e Encoder
	for i, b := range samples(t) {
		b = b[:min(len(b), 8*window)]
		whole := encode(t, new(Encoder), nil, b, plain, 8)
		for _, most := range []int{1, max(1, len(whole)/2), len(whole) - 1, len(whole), len(whole) + 1, 2 * len(whole), 4 * len(whole)} {
			coded, ok := e.Encode([]byte("before"), b, plain, Effort{Tries: 8, Most: most})
			require.True(t, bytes.HasPrefix(coded, []byte("before")))
			if ok {
				require.Equal(t, whole, coded[6:], "sample %d", i)
			}
			require.True(t, ok || most <= len(whole), "sample %d: %d bytes, limit %d", i, len(whole), most)
			// It looks at the length once a window.
			require.False(t, ok && most < len(whole)-window, "sample %d: %d bytes, limit %d", i, len(whole), most)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	var e Encoder
	var d Decoder
	for i, b := range samples(t) {
		for _, header := range []bool{false, true} {
			unit, tries := []int{1, 3, MaxUnit}[i%3], 1+50*(i%2)
			f := Form{Header: header, Unit: unit, Size: 1}
			coded := encode(t, &e, []byte("before"), b, f, tries)
			require.Equal(t, coded[6:], encode(t, new(Encoder), nil, b, f, tries), "depends on earlier blocks: %d", i)
			got := make([]byte, len(b))
			require.True(t, d.Decode(got, coded[6:], 1, nil), "sample %d", i)
			require.True(t, bytes.Equal(b, got), "sample %d, dictionary %v, unit %d", i, header, unit)
		}
	}
}

// TestWindowEnds: blocks of few values with repeats of earlier bytes, for which all ways rarely meet before the end of a
// window. Some windows end inside a copy, at a byte to which no step leads.
func TestWindowEnds(t *testing.T) {
	var e Encoder
	var d Decoder
	for seed := range 60 {
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
		coded := encode(t, &e, nil, b, Form{Header: seed%2 == 0, Unit: 1 + seed%MaxUnit, Size: 1}, 24)
		got := make([]byte, len(b))
		require.True(t, d.Decode(got, coded, 1, nil), "seed %d", seed)
		require.True(t, bytes.Equal(b, got), "seed %d", seed)
	}
}

// TestLongest: a block of the longest length, which is one copy, and one that is longer.
func TestLongest(t *testing.T) {
	b := make([]byte, MaxLen+1)
	coded := encode(t, new(Encoder), nil, b[1:], plain, 1)
	require.Less(t, len(coded), 64)
	var d Decoder
	require.True(t, d.Decode(b[1:], coded, 1, nil))
	require.False(t, d.Decode(b, encode(t, new(Encoder), nil, b, plain, 1), 1, nil))
}

// TestDamaged: bytes that no encoder writes.
func TestDamaged(t *testing.T) {
	b := bytes.Repeat([]byte("temperature of air, "), 20)
	coded := encode(t, new(Encoder), nil, b, plain, 24)
	var d Decoder
	damaged := func(name string, coded []byte, n int) {
		require.False(t, d.Decode(make([]byte, n), coded, 1, nil), name)
	}
	set := func(at int, v byte) []byte {
		c := bytes.Clone(coded)
		c[at] = v
		return c
	}
	require.True(t, d.Decode(make([]byte, len(b)), coded, 1, nil))
	damaged("nothing", nil, len(b))
	damaged("only options", coded[:1], len(b))
	damaged("unknown option", set(0, 32), len(b))
	damaged("a table without a count", []byte{hasTable}, len(b))
	damaged("cut", coded[:len(coded)-1], len(b))
	damaged("a byte after the end", append(bytes.Clone(coded), 0), len(b))
	damaged("shorter", coded, len(b)-1)
	damaged("longer", coded, len(b)+1)
	damaged("an empty table", []byte{hasTable, 0, 0}, len(b))
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		c := bytes.Clone(coded)
		for range 1 + r.IntN(3) {
			c[1+r.IntN(len(c)-1)] = byte(r.Uint32())
		}
		d.Decode(make([]byte, len(b)), c, 1, nil)
	}
}

func TestStop(t *testing.T) {
	done := make(chan struct{})
	close(done)
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 1<<16)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	coded := encode(t, new(Encoder), nil, b, plain, 1)
	require.False(t, new(Decoder).Decode(make([]byte, len(b)), coded, 1, &entropy.Stop{Done: done}))
}

func BenchmarkDecode(b *testing.B) {
	src := dictionary[:32<<10]
	coded := encode(b, new(Encoder), nil, src, plain, 48)
	var d Decoder
	dst := make([]byte, len(src))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		d.Decode(dst, coded, 1, nil)
	}
}

func BenchmarkEncode(b *testing.B) {
	src := dictionary[:32<<10]
	var e Encoder
	var dst []byte
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		dst, _ = e.Encode(dst[:0], src, plain, Effort{Tries: 48})
	}
}
