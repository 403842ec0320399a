package all

import (
	"bytes"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/filters/internal/transpose"
)

// TestDamage changes every byte of stored blocks and cuts them at every length. The
// result must be an error or other bytes, never a panic or a write elsewhere.
func TestDamage(t *testing.T) {
	src := append(filtertest.Field(600), make([]byte, 200)...)
	for _, spec := range filtertest.Chains {
		k := filtertest.Coder(t, filtertest.Chain(t, spec))
		stored, mask, err := k.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, at int, p []byte) {
			t.Helper()
			dst, guard := filtertest.Guarded(len(src))
			err := k.Decode(dst, p, mask)
			guard(t)
			if err != nil && !filtertest.KnownErr(err) {
				t.Errorf("%s, %s %d: %v", spec, what, at, err)
			}
			// Damage must not affect later blocks.
			if err := k.Decode(dst, stored, mask); err != nil || !bytes.Equal(dst, src) {
				t.Fatalf("%s, after %s %d: %v", spec, what, at, err)
			}
		}
		step := 1
		if k.Chain()[len(k.Chain())-1].ID == filters.Bzip2 {
			step = 7
		}
		if testing.Short() {
			step = 401
		}
		for i := 0; i < len(stored); i += step {
			for _, x := range []byte{0x01, 0x80, 0xff} {
				p := bytes.Clone(stored)
				p[i] ^= x
				try("byte", i, p)
			}
			try("cut at", i, stored[:i])
		}
		for _, tail := range [][]byte{{0}, make([]byte, 16), stored, []byte("BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00")} {
			dst, guard := filtertest.Guarded(len(src))
			if err := k.Decode(dst, append(bytes.Clone(stored), tail...), mask); err == nil {
				t.Errorf("%s: %d bytes after the block not detected", spec, len(tail))
			} else if !filtertest.KnownErr(err) {
				t.Errorf("%s, %d bytes after it: %v", spec, len(tail), err)
			}
			guard(t)
		}
	}
}

// TestConcatenated checks that two streams with the right total length, or an empty
// second stream, are damage, as for HDF5's filters.
func TestConcatenated(t *testing.T) {
	src := filtertest.Field(3000)
	for _, spec := range []string{"1,6", "307,9", "32015,3"} {
		k := filtertest.Coder(t, filtertest.Chain(t, spec))
		for _, cut := range []int{0, 1000, 3000} {
			a, _, _ := k.Encode(nil, src[:cut])
			b, _, _ := k.Encode(nil, src[cut:])
			if err := k.Decode(make([]byte, len(src)), slices.Concat(a, b), 0); !errors.Is(err, filters.ErrDamaged) && !errors.Is(err, filters.ErrDecodedSize) {
				t.Errorf("%s, cut at %d: %v", spec, cut, err)
			}
		}
	}
}

func TestZstdFrames(t *testing.T) {
	k := filtertest.Coder(t, filtertest.Chain(t, "32015,3"))
	raw40 := unhex(t, raw40Hex)
	w, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	withChecksum := w.EncodeAll(raw40, nil)
	for _, c := range []struct {
		name, frame string
		want        error
	}{
		{"no size", "28b52ffd 00 58 410100" + raw40Hex, filters.ErrDamaged},
		{"size in 4 bytes", "28b52ffd a0 28000000 410100" + raw40Hex, nil},
		{"two blocks", "28b52ffd 20 28 400000" + raw40Hex[:16] + "010100" + raw40Hex[16:], nil},
		{"empty last block", "28b52ffd 20 28 400100" + raw40Hex + "010000", nil},
		{"wrong size", "28b52ffd 20 27 410100" + raw40Hex, filters.ErrDamaged},
		{"size too large", "28b52ffd 20 29 410100" + raw40Hex, filters.ErrDecodedSize},
		{"size of 2^62", "28b52ffd e0 0000000000000040 410100" + raw40Hex, filters.ErrDecodedSize},
		{"window of 2 GiB", "28b52ffd 80 a8 28000000 410100" + raw40Hex, nil},
		{"window of 3.75 TiB", "28b52ffd 80 ff 28000000 410100" + raw40Hex, nil},
		{"checksum", hex.EncodeToString(withChecksum), filters.ErrDamaged},
		{"wrong checksum", "28b52ffd 24 28 410100" + raw40Hex + "00000000", filters.ErrDamaged},
		{"checksum missing", "28b52ffd 24 28 410100" + raw40Hex, filters.ErrDamaged},
		{"dictionary", "28b52ffd 21 07 28 410100" + raw40Hex, filters.ErrDamaged},
		{"dictionary 0", "28b52ffd 21 00 28 410100" + raw40Hex, filters.ErrDamaged},
		{"blocks longer than the size", "28b52ffd 20 28 420100 00 430100 00", filters.ErrDamaged},
		{"blocks shorter than the size", "28b52ffd 20 28 3b0100 00", filters.ErrDamaged},
		{"raw block of 131073 bytes", "28b52ffd 20 28 090010" + strings.Repeat("00", 131073), filters.ErrDamaged},
		{"two frames", "28b52ffd 20 14 a10000" + raw40Hex[:40] + "28b52ffd 20 14 a10000" + raw40Hex[40:], filters.ErrDamaged},
		{"skippable frame first", "502a4d18 00000000 28b52ffd 20 28 410100" + raw40Hex, filters.ErrDamaged},
		{"skippable frame last", "28b52ffd 20 28 410100" + raw40Hex + "502a4d18 00000000", filters.ErrDamaged},
		{"reserved block", "28b52ffd 20 28 470100" + raw40Hex, filters.ErrDamaged},
		{"no last block", "28b52ffd 20 28 400100" + raw40Hex, filters.ErrDamaged},
		{"header only", "28b52ffd 20 28", filters.ErrDamaged},
		{"magic only", "28b52ffd", filters.ErrDamaged},
		{"nothing", "", filters.ErrDamaged},
	} {
		dst, guard := filtertest.Guarded(40)
		err := k.Decode(dst, unhex(t, c.frame), 0)
		guard(t)
		if c.want == nil && (err != nil || !bytes.Equal(dst, raw40)) {
			t.Errorf("%s: %v, %x", c.name, err, dst)
		}
		if c.want != nil && !filtertest.KnownErr(err) {
			t.Errorf("%s: %v, found %v", c.name, c.want, err)
		}
	}
}

// TestBomb checks that data between the filters of any chain is bounded by the length
// of the block, and so is memory.
func TestBomb(t *testing.T) {
	const n = 100 << 10
	size := 64 << 20
	if testing.Short() {
		size = 8 << 20
	}
	// LZ4 in blocks of one byte expands each byte to five.
	before := strings.Repeat("32004,1|", 12)
	for _, last := range []string{"1,9", "307,9", "32015,3", "32004,0", "32004,0|3", "32015,3|2,4"} {
		bomb, _, err := filtertest.Coder(t, filtertest.Chain(t, last)).Encode(nil, make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		k := filtertest.Coder(t, filtertest.Chain(t, before+last))
		dst := make([]byte, n)
		grew := allocated(func() { err = k.Decode(dst, bomb, 0) })
		if !errors.Is(err, filters.ErrDecodedSize) {
			t.Errorf("%s: %v", last, err)
		}
		if limit := uint64(3*filters.MaxLen(n) + 6<<20); grew > limit { // bzip2 has tables of 4 MB
			t.Errorf("%s: expected at most %d bytes of memory, found %d", last, limit, grew)
		}
		if _, _, err := k.Encode(nil, filtertest.Field(n)); !errors.Is(err, filters.ErrParam) {
			t.Errorf("%s: encoded to more than a reader accepts: %v", last, err)
		}
	}
	// Claims of a header must not be trusted either.
	for spec, stored := range map[string]string{
		"32015,3": "28b52ffd a0 00000040 010000",
		"32004,0": "0000000040000000 40000000 00000000",
	} {
		chain := filtertest.Chain(t, spec)
		m, _ := filters.Lookup(chain[0].ID)
		grew := allocated(func() {
			if _, err := m.New().Decode(nil, unhex(t, stored), chain[0].Params, 1<<30); !errors.Is(err, filters.ErrDamaged) {
				t.Errorf("%s: %v", spec, err)
			}
		})
		if grew > 1<<20 {
			t.Errorf("%s: a header costs %d bytes of memory", spec, grew)
		}
	}
}

// allocated returns how many bytes f allocates, including other goroutines meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLZ4Hostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	k := filtertest.Coder(t, filtertest.Chain(t, "32004"))
	for _, c := range []struct {
		name, stored string
		n            int
	}{
		{"total of 2^64-1", "ffffffffffffffff 00000028", 40},
		{"block size 0", "0000000000000028 00000000 00000028" + raw40Hex, 40},
		{"block of 2^32-1", "0000000000000028 00000028 ffffffff" + raw40Hex, 40},
		{"false total", "0000000010000000 10000000 00000000", 1 << 28},
		{"empty block", "0000000000000028 00000028 00000000", 40},
		{"no block", "0000000000000028 00000028", 40},
		{"half a block size", "0000000000000028 00000028 0000", 40},
		{"bytes after an empty total", "0000000000000000 00000000 00", 0},
		{"match before the start", "0000000000000010 00000010 00000003 0f1000", 16},
	} {
		if err := k.Decode(make([]byte, c.n), unhex(t, c.stored), 0); !filtertest.KnownErr(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A block size larger than the total is the default of the plugin in some releases.
	dst := make([]byte, 40)
	if err := k.Decode(dst, unhex(t, "0000000000000028 40000000 00000028"+raw40Hex), 0); err != nil {
		t.Errorf("block size above total: %v", err)
	}
}

func TestFletcherChecksum(t *testing.T) {
	k := filtertest.Coder(t, filtertest.Chain(t, "3"))
	src := filtertest.Field(1001)
	stored, _, _ := k.Encode(nil, src)
	dst := make([]byte, len(src))
	// HDF5 before 1.6.3 stored the bytes of both halves in reverse order.
	old := bytes.Clone(stored)
	s := old[len(src):]
	s[0], s[1], s[2], s[3] = s[1], s[0], s[3], s[2]
	if err := k.Decode(dst, old, 0); err != nil || !bytes.Equal(dst, src) {
		t.Errorf("old checksum: %v", err)
	}
	s[0], s[1], s[2], s[3] = s[2], s[3], s[0], s[1]
	if err := k.Decode(dst, old, 0); !errors.Is(err, filters.ErrChecksum) {
		t.Errorf("halves exchanged: %v", err)
	}
	for i := range stored {
		p := bytes.Clone(stored)
		p[i] ^= 0x10
		if err := k.Decode(dst, p, 0); !errors.Is(err, filters.ErrChecksum) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

// TestShuffleSizes compares every element size with the definition.
func TestShuffleSizes(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100} {
		for n := range 300 {
			src := filtertest.Noise(n)
			want := bytes.Clone(src)
			count := n / size
			for i := range count {
				for j := range size {
					want[j*count+i] = src[i*size+j]
				}
			}
			got, guard := filtertest.Guarded(n)
			transpose.Shuffle(got, src, size)
			guard(t)
			if !bytes.Equal(got, want) {
				t.Fatalf("size %d, %d bytes: %x, found %x", size, n, want, got)
			}
			back, guard := filtertest.Guarded(n)
			transpose.Unshuffle(back, got, size)
			guard(t)
			if !bytes.Equal(back, src) {
				t.Fatalf("size %d, %d bytes: not undone", size, n)
			}
		}
	}
}

// TestDeflateDictionary checks that a stream with a preset dictionary is damage, even
// one that names the empty dictionary, which Go's zlib ignores.
func TestDeflateDictionary(t *testing.T) {
	src := []byte("\x78\xbb\x00\x00\x00\x01\x01\x08\x00\xf7\xffABCDEFGH\x0a\xd4\x02\x25")
	err := filtertest.Coder(t, filters.Chain{{ID: filters.Deflate, Params: []uint32{6}}}).Decode(make([]byte, 8), src, 0)
	if !errors.Is(err, filters.ErrDamaged) || !strings.Contains(err.Error(), "dictionary") {
		t.Fatal(err)
	}
}
