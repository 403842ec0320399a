package lzma

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// TestBranchFilters decodes files of liblzma with filters that are not supported: x86, and
// delta with ARM.
func TestBranchFilters(t *testing.T) {
	for text, name := range map[string]string{
		"fd377a585a0000016922de360201040021010000da33ad03e0002f00095d00309888ab2747e9800000000000d273c0d0000121306490c08a9042990d010000000001595a":         "x86",
		"fd377a585a0000016922de36030203010107002101000000df5d7be5e0002f000b5d0030987c4fe8e65f3e4200000000d273c0d000012730e2379adc9042990d010000000001595a": "ARM",
	} {
		file, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Decode(nil, file, Params{Format: XZ, Check: CRC32}, 48)
		if !errors.Is(err, wire.ErrUnavailable) || !strings.Contains(err.Error(), "BCJ for "+name+" is not supported") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProperties decodes streams with properties that liblzma refuses.
func TestProperties(t *testing.T) {
	for _, p := range []Params{{Format: Raw}, {Format: Alone}} {
		enc, err := Encode(nil, bytes.Repeat([]byte("abcdefgh"), 90), p)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		if p.Format == Raw {
			at = 5
		}
		for _, b := range []byte{8 + 9*4, 5, 9 + 4, 225} {
			enc[at] = b
			if _, err := Decode(nil, enc, p, 720); err == nil || !strings.Contains(err.Error(), "wrong properties") {
				t.Errorf("%+v, properties %d: %v", p, b, err)
			}
		}
	}
}

// TestRound encodes and decodes blocks in each format.
func TestRound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 80_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, p := range []Params{{Format: XZ, Check: CRC64}, {Format: XZ}, {Format: XZ, Check: SHA256, Deltas: []int{4, 256}}, {Format: XZ, Check: CRC32, Dict: 1 << 16},
		{Format: Alone}, {Format: Raw}, {Format: Raw, Deltas: []int{2}}} {
		for _, src := range [][]byte{nil, {1}, noise[:100], noise, make([]byte, 90_000), bytes.Repeat([]byte("abcdefgh"), 9000)} {
			name := fmt.Sprintf("%+v, %d bytes", p, len(src))
			enc, err := Encode([]byte("x"), src, p)
			if err != nil {
				t.Fatal(name, err)
			}
			enc = enc[1:]
			got, err := Decode([]byte("y"), enc, p, len(src))
			if err != nil || !bytes.Equal(got[1:], src) || got[0] != 'y' {
				t.Fatal(name, err)
			}
			if bound := len(src) + len(src)>>4 + 1024; len(enc) > bound {
				t.Errorf("%s: expected at most %d bytes, found %d", name, bound, len(enc))
			}
			if len(src) > 0 {
				if _, err := Decode(nil, enc, p, len(src)-1); err == nil {
					t.Errorf("%s: decoded to too many bytes", name)
				}
			}
			for i, bad := range [][]byte{enc[:len(enc)-1], append(bytes.Clone(enc), 0)} {
				if p.Format == Alone && (i == 0 || len(src) == 0) {
					continue // the last byte of the range coder may be without meaning
				}
				if _, err := Decode(nil, bad, p, len(src)); err == nil {
					t.Errorf("%s: accepted %d bytes of %d", name, len(bad), len(enc))
				}
			}
		}
	}
}
