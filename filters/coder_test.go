package filters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// field returns n bytes of a smooth big-endian float32 field with noise in its lower
// bits, like a typical block of an archive.
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

// mixed returns n bytes of runs, repetitions, skewed and uniform noise, so that an
// encoder uses all forms of its output.
func mixed(n int, seed uint64) []byte {
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

// TestRoundTripMixed covers all forms of block encoding.
func TestRoundTripMixed(t *testing.T) {
	count, sizes := uint64(20), []int{2048, 5003, 70001, 262144, 600000}
	if testing.Short() {
		count, sizes = 2, sizes[:3]
	}
	var coders []*Coder
	for _, spec := range []string{"2,2|32015,3", "2,4|32015,3", "2,4|32015,7", "2,8|32015,12", "2,3|32015,1", "2,2|32015,22", "1,6", "32004,0", "32004,5000"} {
		coders = append(coders, mustCoder(t, mustChain(t, spec)))
	}
	for seed := range count {
		for _, n := range sizes {
			src := mixed(n, seed)
			for _, k := range coders {
				checkRound(t, k, src)
			}
		}
	}
}

// mustChain parses a chain in the form of [Chain.String]; numbers may be negative.
// (Package spec, which parses more, imports this one.)
func mustChain(t testing.TB, spec string) Chain {
	t.Helper()
	var c Chain
	for one := range strings.SplitSeq(spec, "|") {
		var words []uint32
		for w := range strings.SplitSeq(one, ",") {
			v, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, uint32(v))
		}
		c = append(c, Filter{ID: words[0], Params: words[1:]})
	}
	return c
}

func u(v ...uint32) []uint32 { return v }

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
	"1,0", "1,1", "1,6", "1,9", "307", "307,1", "307,9",
	"32004", "32004,0", "32004,100", "32004,65536",
	"32015", "32015,4294967295", "32015,0", "32015,3", "32015,7", "32015,22",
	"2,4|1,5", "2,4|32015,3", "2,8|32015,9", "3|2,4|1,6", "2,4|1,6|3", "2,4|2,4|32015,1",
	"32000", "2,4|32000", "32008,0,3,1", "32008,0,3,1,8,2", "32008,0,3,1,0,3,3",
	"32001,2,2,4,0,0,1,1", "32001,2,2,4,0,5,1,0", "32001,2,2,4,0,9,2,1", "32001,2,2,8,0,4,1,2", "32001,2,2,2,0,1,0,3", "32001,2,2,3,0,6,1,4", "32001,2,2,4,0,3,1,5",
	"2,2|32004,0", "2,4|307,9", "3|2,8|32015,3|3|1,1",
}

// checkRound encodes and decodes one block. Bytes on both sides of the destination must
// not change.
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

// guarded returns n bytes inside a larger buffer, and a check that the rest of it is
// untouched.
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
			if testing.Short() && (n > 5000 || n%8 != 0) {
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

// failing is a filter for tests. It fails if its parameter is 0 and otherwise makes
// blocks longer by that many bytes.
type failing struct{}

func (failing) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	if params[0] == 0 {
		return nil, errors.New("cannot")
	}
	return append(append(dst, src...), make([]byte, params[0])...), nil
}

func (failing) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	if params[0] == 0 {
		return nil, errors.New("cannot")
	}
	n := len(src) - int(params[0])
	if n < 0 || n > max {
		return nil, ErrDecodedSize
	}
	return append([]byte(nil), src[:n]...), nil // in separate memory
}

func mustRegister(m Method) {
	if err := Register(m); err != nil {
		panic(err)
	}
}

func init() {
	mustRegister(Method{
		ID:            300,
		Name:          "failing",
		New:           func() Session { return failing{} },
		Check:         func(params []uint32) error { return wantParams("failing", params, 1) },
		MaxEncodedLen: func(n int, params []uint32) int { return n + int(params[0]) },
		Compresses:    true,
	})
}

func optional(c Chain, at ...int) Chain {
	for _, i := range at {
		c[i].Optional = true
	}
	return c
}

func TestExclusion(t *testing.T) {
	const unregistered = 32013
	for _, c := range []struct {
		spec     string
		optional []int
		src      []byte
		mask     uint32
	}{
		{"1,6", []int{0}, noise(1000), 1},
		{"1,6", []int{0}, make([]byte, 1000), 0},
		{"1,6", nil, noise(1000), 0},             // required, so the stored form is used
		{"3", []int{0}, noise(10), 0},            // never shorter, but not a compressor
		{"2,4", []int{0}, noise(16), 0},          // same length, but not a compressor
		{"2,4|1,6", []int{1}, noise(1000), 2},    // last
		{"2,4|1,6", []int{0, 1}, noise(1000), 2}, // the compressor
		{"1,6|2,4", []int{0}, noise(1000), 1},    // first
		{"2,4|1,6|3", []int{1}, noise(1000), 2},  // in the middle
		{"300,0|2,4|300,0|3", []int{0, 2}, noise(100), 5},
		{"2,4|300,9|300,0|2,2|300,3|1,1", []int{1, 2, 4, 5}, noise(100), 0x36},
		{"2,4|300,9|300,0|2,2|300,3|32015,1", []int{1, 2, 4, 5}, field(4000), 0x16},
		{"300,7|3", nil, noise(10), 0},
		{"32013,1,2|3", []int{0}, noise(10), 1}, // not registered
		{"2,4|32013", []int{1}, noise(10), 2},
		{"1,6", []int{0}, nil, 1},
	} {
		chain := optional(mustChain(t, c.spec), c.optional...)
		k := mustCoder(t, chain)
		checkRound(t, k, c.src)
		out, mask, err := k.Encode(nil, c.src)
		if err != nil || mask != c.mask {
			t.Errorf("%s, optional %v: mask 0x%x, found 0x%x, %v", c.spec, c.optional, c.mask, mask, err)
		}
		// The bytes must be those of the chain without the skipped filters.
		var short Chain
		for i, f := range chain {
			if mask>>i&1 == 0 {
				short = append(short, f)
			}
		}
		want, _, err := mustCoder(t, short).Encode(nil, c.src)
		if err != nil || !bytes.Equal(out, want) {
			t.Errorf("%s without 0x%x: %x, found %x, %v", c.spec, mask, want, out, err)
		}
	}

	k := mustCoder(t, mustChain(t, "2,4|300,0"))
	if out, _, err := k.Encode([]byte("abc"), noise(8)); err == nil || string(out) != "abc" {
		t.Errorf("required filter that fails: %q, %v", out, err)
	}
	k = mustCoder(t, mustChain(t, "300,0|1,1"))
	if _, _, err := k.Encode(nil, noise(8)); err == nil {
		t.Error("required filter that fails first: no error")
	}

	// A filter without a method is an error only if it is needed.
	chain := mustChain(t, "32013,5|3")
	chain[0].Name = "something"
	var unknown *UnknownFilterError
	if _, err := NewCoder(chain); !errors.As(err, &unknown) || !errors.Is(err, ErrUnknownFilter) {
		t.Fatalf("unknown and required: %v", err)
	}
	if unknown.ID != unregistered || len(unknown.Params) != 1 || unknown.Name != "something" {
		t.Errorf("unknown filter: found %+v", unknown)
	}
	k = mustCoder(t, optional(chain, 0))
	if err := k.Decode(make([]byte, 10), make([]byte, 14), 0); !errors.Is(err, ErrUnknownFilter) {
		t.Errorf("unknown and not left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 14), 1); err != nil {
		t.Errorf("unknown and left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 10), 3); err != nil {
		t.Errorf("all left out: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 11), 3); !errors.Is(err, ErrDecodedSize) {
		t.Errorf("all left out, other length: %v", err)
	}
	if err := k.Decode(make([]byte, 10), make([]byte, 10), 7); !errors.Is(err, ErrDamaged) {
		t.Errorf("mask too long: %v", err)
	}
}

func TestNewCoderErrors(t *testing.T) {
	for _, c := range []struct {
		chain Chain
		want  error
	}{
		{Chain{{ID: 65536}}, ErrFilterID},
		{Chain{{ID: 65536, Optional: true}}, ErrFilterID},
		{Chain{{ID: 7}}, ErrUnknownFilter},
		{Chain{{ID: 65535}}, ErrUnknownFilter},
		{make(Chain, 33), ErrParam},
		{Chain{{ID: Deflate}}, ErrParam},
		{Chain{{ID: Deflate, Params: u(10)}}, ErrParam},
		{Chain{{ID: Deflate, Params: u(1, 1)}}, ErrParam},
		{Chain{{ID: Deflate, Params: u(10), Optional: true}}, ErrParam},
		{Chain{{ID: Shuffle}}, ErrParam},
		{Chain{{ID: Shuffle, Params: u(0)}}, ErrParam},
		{Chain{{ID: Shuffle, Params: u(1 << 31)}}, ErrParam},
		{Chain{{ID: Fletcher32, Params: u(0)}}, ErrParam},
		{Chain{{ID: Bzip2, Params: u(0)}}, ErrParam},
		{Chain{{ID: Bzip2, Params: u(10)}}, ErrParam},
		{Chain{{ID: LZ4, Params: u(0, 0)}}, ErrParam},
		{Chain{{ID: LZ4, Params: u(0x7e000001)}}, ErrParam},
		{Chain{{ID: Zstd, Params: u(3, 3)}}, ErrParam},
		{Chain{{ID: Bzip2, Params: u(9, 9)}}, ErrParam},
		{Chain{{ID: Zstd, Params: u(23)}}, ErrParam},
		{Chain{{ID: Zstd, Params: u(1 << 31)}}, ErrParam},
	} {
		if _, err := NewCoder(c.chain); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, found %v", c.chain, c.want, err)
		}
	}
}

func TestRegister(t *testing.T) {
	session := func() Session { return failing{} }
	for _, c := range []struct {
		m    Method
		want error
	}{
		{Method{ID: Deflate, Name: "again", New: session}, ErrFilterID},
		{Method{ID: 65536, Name: "big", New: session}, ErrFilterID},
		{Method{ID: 301, Name: "no session"}, ErrParam},
		{Method{ID: 301, New: session}, ErrParam},
		{Method{ID: 301, Name: "codec", New: session, Codec: &Codec{ID: "x"}}, ErrParam},
		{Method{ID: 301, Name: "codec", New: session, Codec: levelCodec("zstd", 0, 0)}, ErrFilterID},
		{Method{ID: 301, Name: "ranges", New: session, Grain: func(int, []uint32) int { return 1 }}, ErrParam},
	} {
		if err := Register(c.m); !errors.Is(err, c.want) {
			t.Errorf("%s: expected %v, found %v", c.m.Name, c.want, err)
		}
	}
	if _, ok := Lookup(301); ok || !slices.Contains(Registered(), 300) || slices.Contains(Registered(), 301) {
		t.Errorf("registered: found %v", Registered())
	}
	if f, ok := ByName("zstd"); !ok || f.String() != "32015,3" {
		t.Errorf("zstd by name: found %s", f)
	}
	if _, ok := ByName("zfp"); ok {
		t.Error("zfp by name: found")
	}
	if Name(300) != "failing" || Name(32013) != "zfp" || Name(31999) != "" {
		t.Errorf("names: found %q, %q, %q", Name(300), Name(32013), Name(31999))
	}
	registered := 0
	for id := range names {
		if id > 255 {
			registered++
		}
	}
	if registered != 35 {
		t.Errorf("registered names: 35, found %d", registered)
	}
	for id, want := range map[uint32]string{0: "predefined", 255: "predefined", 256: "testing", 511: "testing", 512: "registered", 32767: "registered", 32768: "private", 65535: "private", 65536: "invalid"} {
		if got := Class(id); got != want {
			t.Errorf("class of %d: %s, found %s", id, want, got)
		}
	}
}

// TestChainNotShared checks that the caller may change its chain after NewCoder.
func TestChainNotShared(t *testing.T) {
	c := mustChain(t, "2,4|32015,3")
	k := mustCoder(t, c)
	want, _, _ := k.Encode(nil, field(4096))
	c[0].Params[0] = 8
	got, _, _ := k.Encode(nil, field(4096))
	if !bytes.Equal(got, want) {
		t.Error("the coder follows changes of the caller's chain")
	}
}
