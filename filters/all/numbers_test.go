package all

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

func u(v ...uint32) []uint32 { return v }

// f64 returns a float as parameters.
func f64(f float64) []uint32 {
	b := math.Float64bits(f)
	return []uint32{uint32(b), uint32(b >> 32)}
}

func scaleChain(from, to []uint32, scale, offset float64) filters.Chain {
	params := append(append([]uint32{}, from...), to...)
	return filters.Chain{{ID: filters.FixedScaleOffset, Params: append(append(params, f64(scale)...), f64(offset)...)}}
}

func TestNumcodecsVectors(t *testing.T) {
	raw40 := unhex(t, raw40Hex)
	f4 := unhex(t, "447a0000 447a8000 447b0000 447b8000 447c0000 447c8000") // 1000, 1002 ... 1010
	i2 := unhex(t, "03e8 03ea 03ec 03ee 03f0 03f2")
	be := func(kind, size uint32) []uint32 { return []uint32{kind, size, 1} }
	for _, v := range []struct {
		name        string
		chain       filters.Chain
		raw, stored []byte
		codec       string
	}{
		{"delta big-endian", filtertest.Chain(t, "52724,1,2,1"), unhex(t, "00640065 0067006a 006e"), unhex(t, "00640001 00020003 0004"), `{"id":"delta","dtype":">i2"}`},
		{"delta little-endian", filtertest.Chain(t, "52724,1,2,0"), unhex(t, "64006500 67006a00 6e00"), unhex(t, "64000100 02000300 0400"), `{"id":"delta","dtype":"<i2"}`},
		{"fixedscaleoffset to bytes", scaleChain(be(3, 4), u(2, 1, 0), 10, 1000), f4, unhex(t, "0014283c5064"),
			`{"id":"fixedscaleoffset","scale":10.0,"offset":1000.0,"dtype":">f4","astype":"|u1"}`},
		{"fixedscaleoffset of integers", scaleChain(be(1, 2), be(1, 2), 10, 1000), i2, unhex(t, "00000014 0028003c 00500064"),
			`{"id":"fixedscaleoffset","scale":10.0,"offset":1000.0,"dtype":">i2","astype":">i2"}`},
		{"quantize", filtertest.Chain(t, "52726,1,3,4,1"), unhex(t, "3e0000003f900000"), unhex(t, "3e0000003f900000"), `{"id":"quantize","digits":1,"dtype":">f4"}`},
		{"bitround", filtertest.Chain(t, "52727,3"), raw40, raw40, `{"id":"bitround","keepbits":3}`},
		{"packbits", filtertest.Chain(t, "52728"), []byte{1, 0, 1, 1, 0, 0, 1, 0, 1, 1}, unhex(t, "06b2c0"), `{"id":"packbits"}`},
		{"crc32", filtertest.Chain(t, "52729"), raw40, append(unhex(t, "8e817e56"), raw40...), `{"id":"crc32"}`},
		{"adler32", filtertest.Chain(t, "52730"), raw40, append(unhex(t, "d205c071"), raw40...), `{"id":"adler32"}`},
		{"adler32 at the end", filtertest.Chain(t, "52730,1"), raw40, append(bytes.Clone(raw40), unhex(t, "d205c071")...), `{"id":"adler32","location":"end"}`},
	} {
		k := filtertest.Coder(t, v.chain)
		dst := make([]byte, len(v.raw))
		if err := k.Decode(dst, v.stored, 0); err != nil || !bytes.Equal(dst, v.raw) {
			t.Errorf("%s: %v, %x", v.name, err, dst)
		}
		text, err := filters.FromFilter(v.chain[0])
		if err != nil || string(text) != v.codec {
			t.Errorf("%s: codec %s, %v", v.name, text, err)
		}
		back, err := filters.ToFilter(text)
		if err != nil || (filters.Chain{back}).String() != v.chain.String() {
			t.Errorf("%s: %s becomes %s, %v", v.name, text, back, err)
		}
		if v.name == "bitround" {
			continue // its codec does not know the type, which only encoding needs
		}
		if got := filtertest.CheckRound(t, k, v.raw); !bytes.Equal(got, v.stored) {
			t.Errorf("%s: encoded %x", v.name, got)
		}
	}
}

func TestGzipDecodes(t *testing.T) {
	k := filtertest.Coder(t, filters.Chain{{ID: filters.Gzip}})
	src := filtertest.Field(5000)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = "block"
	w.Write(src)
	w.Close()
	dst := make([]byte, len(src))
	for range 2 {
		if err := k.Decode(dst, b.Bytes(), 0); err != nil || !bytes.Equal(dst, src) {
			t.Fatal(err)
		}
	}
	step := 1
	if testing.Short() {
		step = 19
	}
	for i := 0; i < b.Len(); i += step {
		p := change(b.Bytes(), i, 0x10)
		if err := k.Decode(dst, p, 0); err != nil && !filtertest.KnownErr(err) || err == nil && !bytes.Equal(dst, src) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := k.Decode(dst, b.Bytes()[:i], 0); !filtertest.KnownErr(err) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if err := k.Decode(dst, append(bytes.Clone(b.Bytes()), b.Bytes()...), 0); !errors.Is(err, filters.ErrDamaged) {
		t.Errorf("two members: %v", err)
	}
	if _, _, err := k.Encode(nil, src); !errors.Is(err, filters.ErrParam) {
		t.Errorf("encoded: %v", err)
	}
}

// TestExactOnly checks that filters that could lose digits refuse to.
func TestExactOnly(t *testing.T) {
	thirds := decimals(">f4", 4)[2]
	for _, c := range []struct {
		name  string
		chain filters.Chain
		raw   []byte
	}{
		{"quantize", filters.Chain{{ID: filters.Quantize, Params: u(2)}}, thirds},
		{"bitround", filters.Chain{{ID: filters.BitRound, Params: u(7)}}, thirds},
		{"fixedscaleoffset", filters.Chain{{ID: filters.FixedScaleOffset, Params: append(u(1, 2), append(f64(10), f64(0)...)...)}}, thirds},
		{"fixedscaleoffset out of range", filters.Chain{{ID: filters.FixedScaleOffset, Params: append(u(2, 1), append(f64(1), f64(0)...)...)}}, decimals(">f4", 4)[3]},
		{"packbits", filters.Chain{{ID: filters.PackBits}}, []byte{0, 1, 2, 1}},
		{"negative zero", filters.Chain{{ID: filters.FixedScaleOffset, Params: append(u(1, 2), append(f64(1), f64(0)...)...)}}, []byte{0x80, 0, 0, 0}},
	} {
		chain, err := c.chain.Complete(filters.Block{Len: len(c.raw), Kind: filters.Float, Size: 4})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if _, _, err := filtertest.Coder(t, chain).Encode(nil, c.raw); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: %v", c.name, err)
		}
		if given := chain.Given().String(); given != c.chain.String() {
			t.Errorf("%s: given %s", c.name, given)
		}
	}
}

func TestNumcodecsRefused(t *testing.T) {
	for text, want := range map[string]error{
		`{"id":"delta","dtype":">f4"}`:                filters.ErrParam,
		`{"id":"delta","dtype":">i3"}`:                filters.ErrCodec,
		`{"id":"delta"}`:                              filters.ErrCodec,
		`{"id":"delta","dtype":"<i2","astype":"<i4"}`: filters.ErrNoCodec,
		`{"id":"fixedscaleoffset","dtype":"<f4","astype":"u1","scale":0,"offset":1}`:     filters.ErrParam,
		`{"id":"fixedscaleoffset","dtype":"<f4","astype":"<f4","scale":1,"offset":1}`:    filters.ErrParam,
		`{"id":"fixedscaleoffset","dtype":"<f4","astype":"u1","offset":1}`:               filters.ErrCodec,
		`{"id":"fixedscaleoffset","dtype":"<f4","astype":"u1","scale":"ten","offset":1}`: filters.ErrCodec,
		`{"id":"quantize","dtype":"<f4"}`:                                                filters.ErrCodec,
		`{"id":"quantize","digits":1,"dtype":"<i4"}`:                                     filters.ErrParam,
		`{"id":"bitround"}`:                  filters.ErrCodec,
		`{"id":"bitround","keepbits":60}`:    filters.ErrParam,
		`{"id":"crc32","location":"middle"}`: filters.ErrCodec,
		`{"id":"packbits","x":1}`:            filters.ErrCodec,
		`{"id":"blosc","shuffle":-1}`:        filters.ErrNoCodec,
		`{"id":"blosc","cname":"brotli"}`:    filters.ErrCodec,
		`{"id":"blosc","clevel":10}`:         filters.ErrParam,
		`{"id":"gzip","level":10}`:           filters.ErrParam,
	} {
		if _, err := filters.ToFilter(json.RawMessage(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	f, err := filters.ToFilter(json.RawMessage(`{"id":"blosc","cname":"zstd","clevel":3,"shuffle":2,"blocksize":0}`))
	if err != nil || f.String() != "32001,0,0,0,0,3,2,5" {
		t.Errorf("blosc: %s, %v", f, err)
	}
	f, err = filters.ToFilter(json.RawMessage(`{"id":"delta","dtype":"i1","astype":"i1"}`))
	if err != nil || f.String() != "52724,1,1,0" {
		t.Errorf("delta: %s, %v", f, err)
	}
}
