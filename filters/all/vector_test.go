package all

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// The vectors are chunks written by HDF5 1.10.8 (h5py 3.7, read_direct_chunk) and
// blocks encoded by numcodecs 0.11.
const raw40Hex = "000000003f80000040000000404000004080000040a0000040c0000040e000004100000041100000"

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVectors(t *testing.T) {
	raw40 := unhex(t, raw40Hex)
	f8 := unhex(t, "0000000000000000 3ff0000000000000 4000000000000000 4008000000000000")
	z256 := make([]byte, 256)
	for _, v := range []struct {
		name, spec string
		raw        []byte
		stored     string
		equal      bool // our encoder writes the same bytes
	}{
		{"deflate 6", "1,6", raw40, "789c63606060b06f60607000d20e40c201c45e00c40780f80103832350dc518081010071c005d2", false},
		{"shuffle 4", "2,4", raw40, "003f40404040404041410080004080a0c0e000100000000000000000000000000000000000000000", true},
		{"shuffle 8", "2,8", f8, "003f404000f00008" + strings.Repeat("00", 24), true},
		{"fletcher32, shuffle 8", "3|2,8", f8, "003f404000f00008" + strings.Repeat("00", 24) + "f8bf65ff", true},
		{"fletcher32", "3", raw40, raw40Hex + "92443698", true},
		{"fletcher32 odd", "3", []byte{0, 1, 2, 3, 4}, "0001020304 04060908", true},
		{"fletcher32 abcde", "3", []byte("abcde"), "6162636465 c729f04f", true},
		{"fletcher32 abcdef", "3", []byte("abcdef"), "616263646566 2d2a5650", true},
		{"fletcher32 abcdefgh", "3", []byte("abcdefgh"), "6162636465666768 9591ebe1", true},
		{"fletcher32 zeros", "3", make([]byte, 1000), strings.Repeat("00", 1000) + "00000000", true},
		{"fletcher32 ones", "3", bytes.Repeat([]byte{0xff}, 1000), strings.Repeat("ff", 1000) + "ffffffff", true},
		{"fletcher32 721", "3", bytes.Repeat([]byte{1}, 721), strings.Repeat("01", 721) + "696a3c3d", true},
		{"shuffle, deflate, fletcher32", "2,4|1,6|3", raw40, "789c63b07700034747860606878605071e300830600100a85005d2bdd98a93", false},
		{"bzip2", "307,9", raw40, "425a6839314159265359591944990000016c55400040000000e000400040004000400020002129926d4c20c988482fcf15b9fdc28888aab5870bb9229c28482c8ca24c80", false},
		{"lz4 stored", "32004,0", raw40, "00000000000000280000002800000028" + raw40Hex, true},
		{"lz4", "32004,0", z256, "0000000000000100000001000000000b1f000100e7500000000000", true},
		{"lz4 without parameter", "32004", z256, "0000000000000100000001000000000b1f000100e7500000000000", true},
		{"lzf", "32000", z256, "010000e0f300010000", true},
		{"zstd stored", "32015,3", raw40, "28b52ffd2028410100" + raw40Hex, false},
		{"zstd", "32015,3", z256, "28b52ffd6000004d000010000001007b0a6001", false},
	} {
		k := filtertest.Coder(t, filtertest.Chain(t, v.spec))
		stored := unhex(t, v.stored)
		dst, guard := filtertest.Guarded(len(v.raw))
		if err := k.Decode(dst, stored, 0); err != nil {
			t.Errorf("%s: %v", v.name, err)
		} else if !bytes.Equal(dst, v.raw) {
			t.Errorf("%s: decoded %x", v.name, dst)
		}
		guard(t)
		got := filtertest.CheckRound(t, k, v.raw)
		if v.equal && !bytes.Equal(got, stored) {
			t.Errorf("%s: encoded %x", v.name, got)
		}
	}
}
