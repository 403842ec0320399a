// Package filtertest has blocks, chains and checks for the tests of filters.
package filtertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
)

// Field returns n bytes of a smooth big-endian float32 Field with Noise in its lower
// bits, like a typical block of an archive.
func Field(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, 0, n+4)
	for i := 0; len(b) < n; i++ {
		v := 280 + 10*math.Sin(float64(i)/500) + 0.01*r.Float64()
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b[:n]
}

// Noise returns n bytes that do not compress.
func Noise(n int) []byte {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Mixed returns n bytes of runs, repetitions, skewed and uniform Noise, so that an
// encoder uses all forms of its output.
func Mixed(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := make([]byte, 0, n)
	for len(b) < n {
		m := min(n-len(b), 1+r.IntN(1<<r.IntN(17)))
		switch kind := r.IntN(6); {
		case kind == 0: // a run
			b = append(b, bytes.Repeat([]byte{byte(r.Uint32())}, m)...)
		case kind == 1 && len(b) > 0: // a repetition
			at := r.IntN(len(b))
			for range m {
				b = append(b, b[at])
				at++
			}
		case kind == 2: // few values
			for range m {
				b = append(b, byte(r.IntN(1+r.IntN(5))))
			}
		case kind == 3: // skewed
			for range m {
				b = append(b, byte(r.NormFloat64()*float64(1+seed%40)))
			}
		case kind == 4: // short repetitions with changes
			period := 1 + r.IntN(20)
			at := len(b)
			for i := range m {
				if i < period || r.IntN(10) == 0 {
					b = append(b, byte(r.Uint32()))
				} else {
					b = append(b, b[at+i-period])
				}
			}
		default:
			for range m {
				b = append(b, byte(r.Uint32()))
			}
		}
	}
	return b
}

// Chain parses a chain in the form of [Chain.String]; numbers may be negative.
func Chain(t testing.TB, spec string) filters.Chain {
	t.Helper()
	var c filters.Chain
	for one := range strings.SplitSeq(spec, "|") {
		var words []uint32
		for w := range strings.SplitSeq(one, ",") {
			v, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, uint32(v))
		}
		c = append(c, filters.Filter{ID: words[0], Params: words[1:]})
	}
	return c
}

// Coder makes the coder of a chain.
func Coder(t testing.TB, c filters.Chain) *filters.Coder {
	t.Helper()
	k, err := filters.NewCoder(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Chains are chains of filters that take any block.
var Chains = []string{
	"2,1", "2,2", "2,3", "2,4", "2,8", "2,12", "2,1000", "3",
	"1,0", "1,1", "1,6", "1,9", "307", "307,1", "307,9",
	"32004", "32004,0", "32004,100", "32004,65536",
	"32015", "32015,4294967295", "32015,0", "32015,3", "32015,7", "32015,22",
	"2,4|1,5", "2,4|32015,3", "2,8|32015,9", "3|2,4|1,6", "2,4|1,6|3", "2,4|2,4|32015,1",
	"32000", "2,4|32000", "32008,0,3,1", "32008,0,3,1,8,2", "32008,0,3,1,0,3,3",
	"32001,2,2,4,0,0,1,1", "32001,2,2,4,0,5,1,0", "32001,2,2,4,0,9,2,1", "32001,2,2,8,0,4,1,2", "32001,2,2,2,0,1,0,3", "32001,2,2,3,0,6,1,4", "32001,2,2,4,0,3,1,5",
	"2,2|32004,0", "2,4|307,9", "3|2,8|32015,3|3|1,1",
}

// CheckRound encodes and decodes one block. Bytes on both sides of the destination must
// not change.
func CheckRound(t *testing.T, k *filters.Coder, src []byte) []byte {
	t.Helper()
	before := bytes.Clone(src)
	out, mask, err := k.Encode([]byte("head"), src)
	if err != nil {
		t.Fatalf("%s, %d bytes: encode: %v", k.Chain(), len(src), err)
	}
	if !bytes.Equal(before, src) {
		t.Fatalf("%s, %d bytes: encode changed its input", k.Chain(), len(src))
	}
	if string(out[:4]) != "head" {
		t.Fatalf("%s, %d bytes: encode does not append", k.Chain(), len(src))
	}
	stored := bytes.Clone(out[4:])
	if len(stored) > k.MaxEncodedLen(len(src)) {
		t.Fatalf("%s, %d bytes: at most %d encoded, found %d", k.Chain(), len(src), k.MaxEncodedLen(len(src)), len(stored))
	}
	dst, guard := Guarded(len(src))
	if err := k.Decode(dst, stored, mask); err != nil {
		t.Fatalf("%s, %d bytes: decode: %v", k.Chain(), len(src), err)
	}
	if !bytes.Equal(dst, src) {
		t.Fatalf("%s, %d bytes: decoded bytes differ", k.Chain(), len(src))
	}
	guard(t)
	for _, d := range []int{-1, 1} {
		if n := len(src) + d; n >= 0 {
			dst, guard := Guarded(n)
			if err := k.Decode(dst, stored, mask); err == nil {
				t.Fatalf("%s, %d bytes: decoded into %d", k.Chain(), len(src), n)
			}
			guard(t)
		}
	}
	return stored
}

// Guarded returns n bytes inside a larger buffer, and a check that the rest of it is
// untouched.
func Guarded(n int) ([]byte, func(testing.TB)) {
	const margin = 64
	buf := bytes.Repeat([]byte{0xa5}, n+2*margin)
	return buf[margin : margin+n], func(t testing.TB) {
		t.Helper()
		for i, b := range buf {
			if (i < margin || i >= margin+n) && b != 0xa5 {
				t.Fatalf("byte %d outside of %d was written", i-margin, n)
			}
		}
	}
}

// Optional marks filters of c as optional.
func Optional(c filters.Chain, at ...int) filters.Chain {
	for _, i := range at {
		c[i].Optional = true
	}
	return c
}

// KnownErr reports whether a decoder's error is one that callers can test for.
func KnownErr(err error) bool {
	return errors.Is(err, filters.ErrDamaged) || errors.Is(err, filters.ErrUnavailable) || errors.Is(err, filters.ErrChecksum) || errors.Is(err, filters.ErrDecodedSize)
}
