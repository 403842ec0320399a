package filters_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// The tests below are named after rows of the table in CONTRIBUTING.md.

// TestP14_NoDeflate checks a program without deflate: an optional one is skipped when
// writing, blocks that skipped it can be read, others not.
func TestP14_NoDeflate(t *testing.T) {
	src := filtertest.Field(4000)
	required := filtertest.Chain(t, "2,4|1,6")
	withDeflate, _, err := filtertest.Coder(t, required).Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	defer filters.Unregister(filters.Deflate)()
	if _, err := filters.NewCoder(required); !errors.Is(err, filters.ErrUnknownFilter) || !strings.Contains(err.Error(), "deflate") {
		t.Errorf("required: %v", err)
	}
	optional := required.Clone()
	optional[1].Optional = true
	k := filtertest.Coder(t, optional)
	stored, mask, err := k.Encode(nil, src)
	if err != nil || mask != 2 {
		t.Fatalf("optional: mask %d, %v", mask, err)
	}
	dst := make([]byte, len(src))
	if err := k.Decode(dst, stored, mask); err != nil || !bytes.Equal(dst, src) {
		t.Errorf("skipped: %v", err)
	}
	if err := k.Decode(dst, withDeflate, 0); !errors.Is(err, filters.ErrUnknownFilter) {
		t.Errorf("not skipped: %v", err)
	}
}

func TestQ13_Classes(t *testing.T) {
	for id, want := range map[uint32]string{
		0: "predefined", 1: "predefined", 255: "predefined", 256: "testing", 305: "testing", 511: "testing", 512: "registered",
		32000: "registered", 32767: "registered", 32768: "private", filters.Lorenz: "private", 65535: "private", 65536: "invalid",
	} {
		if got := filters.Class(id); got != want {
			t.Errorf("%d: expected %s, found %s", id, want, got)
		}
	}
}

// TestQ14_Names checks that all ids of the registry have names, built in or not.
func TestQ14_Names(t *testing.T) {
	want := []uint32{1, 2, 3, 4, 5, 6, 257, 258, 305, 307}
	for id := uint32(32000); id <= 32030; id++ {
		want = append(want, id)
	}
	known := filters.Known()
	for _, id := range want {
		if filters.Name(id) == "" || !slices.Contains(known, id) {
			t.Errorf("%d has no name", id)
		}
	}
	if !slices.IsSorted(known) || len(slices.Compact(known)) != len(known) {
		t.Errorf("not in order: %d", known)
	}
}

// TestL16_Pairs checks which filters and codecs overlap: neither set holds the other.
func TestL16_Pairs(t *testing.T) {
	both := map[uint32]string{filters.Deflate: "zlib", filters.Shuffle: "shuffle", filters.Fletcher32: "fletcher32", filters.Bzip2: "bz2", filters.Blosc: "blosc", filters.Zstd: "zstd", filters.Szip: "szip"}
	for _, id := range filters.Registered() {
		m, _ := filters.Lookup(id)
		switch {
		case filters.Class(id) == "private" || id == 300: // of cdfz, and of tests
		case both[id] != filters.CodecID(id):
			t.Errorf("%s: codec %q, expected %q", m.Name, filters.CodecID(id), both[id])
		}
	}
	private := map[string]bool{}
	for _, id := range filters.Registered() {
		private[filters.CodecID(id)] = filters.Class(id) == "private"
	}
	for _, id := range []string{"delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "crc32", "adler32", "gzip", "lz4"} {
		if !private[id] {
			t.Errorf("codec %s: expected a filter with a private id", id)
		}
	}
}
