package filters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// field is n bytes of a smooth big-endian float32 field with noise in its lower
// bits, the kind of block an archive consists of.
func field(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, 0, n+4)
	for i := 0; len(b) < n; i++ {
		v := 280 + 10*math.Sin(float64(i)/500) + 0.01*r.Float64()
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b[:n]
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func mustChain(t testing.TB, spec string) Chain {
	t.Helper()
	c, err := ParseChain(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustCoder(t testing.TB, c Chain) *Coder {
	t.Helper()
	k, err := NewCoder(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var testChains = []string{
	"2,1", "2,2", "2,3", "2,4", "2,8", "2,12", "2,1000", "3",
	"1,0", "1,1", "1,6", "1,9", "307,1", "307,9",
	"32004", "32004,0", "32004,100", "32004,65536",
	"32015,4294967295", "32015,0", "32015,3", "32015,7", "32015,22",
	"2,4|1,5", "2,4|32015,3", "2,8|32015,9", "3|2,4|1,6", "2,4|1,6|3", "2,4|2,4|32015,1",
	"2,2|32004,0", "2,4|307,9", "3|2,8|32015,3|3|1,1",
}

// checkRound encodes and decodes one block, with bytes on both sides of the
// destination that must stay.
func checkRound(t *testing.T, k *Coder, src []byte) []byte {
	t.Helper()
	before := bytes.Clone(src)
	out, mask, err := k.Encode([]byte("head"), src)
	if err != nil {
		t.Fatalf("%s, %d bytes: encode: %v", k.chain, len(src), err)
	}
	if !bytes.Equal(before, src) {
		t.Fatalf("%s, %d bytes: encode changed its input", k.chain, len(src))
	}
	if string(out[:4]) != "head" {
		t.Fatalf("%s, %d bytes: encode does not append", k.chain, len(src))
	}
	stored := bytes.Clone(out[4:])
	if len(stored) > k.MaxEncodedLen(len(src)) {
		t.Fatalf("%s, %d bytes: at most %d encoded, found %d", k.chain, len(src), k.MaxEncodedLen(len(src)), len(stored))
	}
	dst, guard := guarded(len(src))
	if err := k.Decode(dst, stored, mask); err != nil {
		t.Fatalf("%s, %d bytes: decode: %v", k.chain, len(src), err)
	}
	if !bytes.Equal(dst, src) {
		t.Fatalf("%s, %d bytes: decoded bytes differ", k.chain, len(src))
	}
	guard(t)
	for _, d := range []int{-1, 1} {
		if n := len(src) + d; n >= 0 {
			dst, guard := guarded(n)
			if err := k.Decode(dst, stored, mask); err == nil {
				t.Fatalf("%s, %d bytes: decoded into %d", k.chain, len(src), n)
			}
			guard(t)
		}
	}
	return stored
}

// guarded gives n bytes inside a larger buffer, and a check that the rest of it
// is untouched.
func guarded(n int) ([]byte, func(testing.TB)) {
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

func TestRoundTrip(t *testing.T) {
	for _, spec := range testChains {
		k := mustCoder(t, mustChain(t, spec))
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 1023, 1024, 4096, 5000, 40000, 65791, 65792, 131072, 262144, 300001} {
			if n > 70000 && testing.Short() {
				continue
			}
			checkRound(t, k, field(n))
			checkRound(t, k, noise(n))
			checkRound(t, k, make([]byte, n))
		}
	}
}

func TestEmptyChain(t *testing.T) {
	k := mustCoder(t, nil)
	checkRound(t, k, []byte("abc"))
	checkRound(t, k, nil)
	if err := k.Decode(make([]byte, 3), []byte("abc"), 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("mask without a filter: %v", err)
	}
}

var _ = fmt.Sprint
