package filters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// masked is a field of elements of size bytes, a third of which are one value, in
// runs, as land is in the ocean's variables.
func masked(n, size int) []byte {
	out := make([]byte, 0, n)
	for i := 0; len(out) < n; i++ {
		v := math.Sin(float64(i)/70) + float64(i*i%977)/5000
		if i/97%3 == 0 {
			v = -1e34
		}
		switch size {
		case 2:
			out = binary.BigEndian.AppendUint16(out, uint16(max(v, -1)*1000))
		case 4:
			out = binary.BigEndian.AppendUint32(out, math.Float32bits(float32(v)))
		case 8:
			out = binary.BigEndian.AppendUint64(out, math.Float64bits(v))
		}
	}
	return out[:n]
}

func partChain(t testing.TB, size, level int) Chain {
	return mustChain(t, fmt.Sprintf("2,%d|32015,%d", size, level))
}

// TestParts decodes parts of blocks of all kinds.
func TestParts(t *testing.T) {
	for _, size := range []int{2, 4, 8} {
		for _, n := range []int{2 * partTarget, 3*partTarget - 8, 3 * partTarget, 3*partTarget + 8, 259200, 1 << 20} {
			for name, src := range map[string][]byte{
				"masked": masked(n, size), "noise": noise(n), "zeros": make([]byte, n), "field": field(n), "mixed": mixed(n, uint64(size)),
				"half": append(make([]byte, n/2), noise(n-n/2)...),
			} {
				for _, level := range []int{0, 3, 6, 9} {
					c := partChain(t, size, level)
					checkParts(t, fmt.Sprintf("size %d, %d bytes, %s, level %d", size, n, name, level), c, src, c.PartLen(n))
				}
			}
		}
	}
}

func checkParts(t *testing.T, name string, c Chain, src []byte, part int) {
	t.Helper()
	n := len(src)
	if part == 0 || !c.HasParts(n, part) {
		t.Fatalf("%s: parts expected, found %d", name, part)
	}
	k := mustCoder(t, c)
	stored, mask, err := k.EncodeParts(nil, src, part)
	if err != nil || mask != 0 {
		t.Fatalf("%s: %v, mask %x", name, err, mask)
	}
	if len(stored) > k.MaxEncodedLen(n) {
		t.Fatalf("%s: at most %d bytes, found %d", name, k.MaxEncodedLen(n), len(stored))
	}
	whole := make([]byte, n)
	if err := k.Decode(whole, stored, 0); err != nil || !bytes.Equal(whole, src) {
		t.Fatalf("%s: whole: %v", name, err)
	}
	if err := k.DecodeParts(whole[:part], stored, n, part, 0); err == ErrNoParts {
		if err := k.CheckParts(src, stored, part); err != nil || len(stored)*wholeRatio >= n {
			t.Fatalf("%s: left whole with %d bytes: %v", name, len(stored), err)
		}
		stored = inParts(c, src, part)
	}
	if err := k.CheckParts(src, stored, part); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for from := 0; from < n; from += part {
		for _, to := range []int{from + part, from + 2*part, n} {
			to = min(to, n)
			dst, guard := guarded(to - from)
			if err := k.DecodeParts(dst, stored, n, part, from); err != nil || !bytes.Equal(dst, src[from:to]) {
				t.Fatalf("%s: bytes %d to %d: %v", name, from, to, err)
			}
			guard(t)
		}
	}
}

// inParts encodes a block in parts, whatever it costs.
func inParts(c Chain, src []byte, part int) []byte {
	size := c.partSize()
	planes := make([]byte, len(src))
	shuffle(planes, src, size)
	return new(planeWriter).frame(nil, planes, len(src)/size, part/size, effort{2, 1, 5})
}

// TestLeftWhole: a block that repeats itself from part to part stays whole.
func TestLeftWhole(t *testing.T) {
	src := bytes.Repeat(noise(partTarget/8), 32)
	c := partChain(t, 4, 3)
	k, part := mustCoder(t, c), c.PartLen(len(src))
	stored, _, err := k.EncodeParts(nil, src, part)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.DecodeParts(make([]byte, part), stored, len(src), part, 0); err != ErrNoParts {
		t.Errorf("a block left whole: %v", err)
	}
	// Half of each part is new: less than a third is never reached.
	src = append(noise(len(src)/2), bytes.Repeat(noise(1), len(src)/2)...)
	if stored, _, err = k.EncodeParts(nil, src, part); err != nil {
		t.Fatal(err)
	}
	if err := k.DecodeParts(make([]byte, part), stored, len(src), part, 0); err != nil {
		t.Errorf("a block in parts: %v", err)
	}
}

// TestPartLens: parts of odd lengths, which another writer may choose.
func TestPartLens(t *testing.T) {
	for _, size := range []int{2, 3, 4, 8} {
		for _, n := range []int{size * 2 * zstdMinPlane, size*3*zstdMinPlane + size, size * 20000} {
			for _, part := range []int{zstdMinPlane * size, (zstdMinPlane + 1) * size, n - size} {
				checkParts(t, fmt.Sprintf("size %d, %d bytes in parts of %d", size, n, part), partChain(t, size, 3), mixed(n, 1), part)
			}
		}
	}
}

func TestPartLen(t *testing.T) {
	for spec, want := range map[string]int{
		"2,4|32015,3": 86400, "2,4|32015,9": 86400, "2,4|32015,0": 86400,
		"2,4|32015,2": 0, "2,4|32015,10": 0, "2,4|32015,3|3": 0, "32015,3": 0, "2,4": 0, "2,4|1,5": 0, "2,1|32015,3": 0, "2,7|32015,3": 0,
	} {
		if got := mustChain(t, spec).PartLen(259200); got != want {
			t.Errorf("%s: %d expected, found %d", spec, want, got)
		}
	}
	for n, want := range map[int]int{
		0: 0, 4: 0, 2*partTarget - 4: 0, 2 * partTarget: partTarget, 2*partTarget + 2: 0, 2*partTarget + 4: partTarget + 4,
		3 * partTarget: partTarget, 1 << 30: partTarget,
	} {
		if got := mustChain(t, "2,4|32015,3").PartLen(n); got != want {
			t.Errorf("%d bytes: %d expected, found %d", n, want, got)
		}
	}
	for _, part := range []int{-4, 0, 4092, 4098, 10000, 10004} {
		if mustChain(t, "2,4|32015,3").HasParts(10000, part) {
			t.Errorf("parts of %d bytes", part)
		}
	}
	if mustChain(t, "2,4|32015,3").HasParts(1<<30, 4*zstdMaxBlock+4) {
		t.Error("parts beyond a zstd block")
	}
}

// TestPartsDamaged: blocks that have other parts than the caller says.
func TestPartsDamaged(t *testing.T) {
	src := masked(259200, 4)
	c := partChain(t, 4, 3)
	k := mustCoder(t, c)
	whole, _, _ := k.Encode(nil, src)
	parts, _, _ := k.EncodeParts(nil, src, 86400)
	dst := make([]byte, 86400)
	for name, stored := range map[string][]byte{
		"whole": whole, "cut": parts[:len(parts)-1], "longer": append(bytes.Clone(parts), 0), "empty": nil, "two bytes": parts[:2],
		"checksum": append(bytes.Clone(parts[:4]), append([]byte{parts[4] | 4}, append(bytes.Clone(parts[5:]), 0, 0, 0, 0)...)...),
	} {
		for from := 0; from < len(src); from += len(dst) {
			if err := k.DecodeParts(dst, stored, len(src), 86400, from); !knownErr(err) && err != ErrNoParts {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// A plane whose pieces have other lengths than the plan says.
	other, _, _ := k.EncodeParts(nil, src, 86404)
	if err := k.DecodeParts(dst, other, len(src), 86400, 0); !knownErr(err) && err != ErrNoParts {
		t.Errorf("parts of another length: %v", err)
	}
}

// FuzzParts gives hostile blocks to the decoder of parts; whatever it makes of
// them lies in dst.
func FuzzParts(f *testing.F) {
	k := mustCoder(f, partChain(f, 4, 3))
	s := seeds.Of(f)
	for _, n := range []int{4100, 5000, 8192} {
		stored, _, err := k.EncodeParts(nil, masked(n, 4), 4096)
		if err != nil {
			f.Fatal(err)
		}
		if f.Add(stored, uint16(n), uint16(4096), uint8(1)); n == 4100 {
			s.AddDamaged("masked", stored, uint16(n), uint16(4096), uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, stored []byte, n, part uint16, from uint8) {
		lo := int(from) * int(part)
		if !k.chain.HasParts(int(n), int(part)) || lo >= int(n) {
			return
		}
		dst, guard := guarded(min(int(part), int(n)-lo))
		if err := k.DecodeParts(dst, stored, int(n), int(part), lo); err != nil && !knownErr(err) && err != ErrNoParts {
			t.Error(err)
		}
		guard(t)
	})
}

// BenchmarkMasked decodes a masked block, whole and one of its parts.
func BenchmarkMasked(b *testing.B) {
	src := masked(259200, 4)
	k := mustCoder(b, partChain(b, 4, 3))
	stored, _, _ := k.EncodeParts(nil, src, 86400)
	dst := make([]byte, len(src))
	b.Run("block", func(b *testing.B) {
		b.SetBytes(int64(len(dst)))
		for b.Loop() {
			if err := k.Decode(dst, stored, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part", func(b *testing.B) {
		b.SetBytes(86400)
		for b.Loop() {
			if err := k.DecodeParts(dst[:86400], stored, len(src), 86400, 86400); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestPartsRun: what several parts decode to is what each does by itself, also
// where a block reaches back into another that is the same in front of one part
// and in the whole frame, but not in front of two: CheckParts could not see that.
func TestPartsRun(t *testing.T) {
	const elems = 2048
	a, b, c := noise(3 * elems)[:elems], noise(3 * elems)[elems:][:elems], noise(3 * elems)[2*elems:]
	planes := bytes.Join([][]byte{a, b, a, a, b, c}, nil)
	p := new(planeWriter)
	stored := zstdHeader(nil, len(planes))
	for i := range 6 {
		plane, from := planes[i*elems:][:elems], 0
		if i == 3 {
			plane, from = append(bytes.Clone(a), a...), elems
		}
		p.find.start(len(plane))
		stored = p.block(stored, plane, from, len(plane), i == 5, effort{4, 1, 5})
	}
	src := make([]byte, len(planes))
	unshuffle(src, planes, 2)
	k := mustCoder(t, partChain(t, 2, 3))
	whole := make([]byte, len(src))
	if err := k.Decode(whole, stored, 0); err != nil || !bytes.Equal(whole, src) {
		t.Fatalf("whole: %v", err)
	}
	if err := k.CheckParts(src, stored, 2*elems); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(src); from += 2 * elems {
		for to := from + 2*elems; to <= len(src); to += 2 * elems {
			dst := make([]byte, to-from)
			if err := k.DecodeParts(dst, stored, len(src), 2*elems, from); err != nil || !bytes.Equal(dst, src[from:to]) {
				t.Errorf("bytes %d to %d differ from the parts, error %v", from, to, err)
			}
		}
	}
}

// TestCheckParts: parts that differ from the block, and a block of so many parts
// that it would take minutes if each of them meant a walk over all.
func TestCheckParts(t *testing.T) {
	src := masked(259200, 4)
	k := mustCoder(t, partChain(t, 4, 3))
	stored, _, _ := k.EncodeParts(nil, src, 86400)
	if err := k.CheckParts(src, stored, 86400); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 86399, 86400, 259199} {
		other := bytes.Clone(src)
		other[i] ^= 1
		if err := k.CheckParts(other, stored, 86400); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if err := k.CheckParts(src, stored, 86404); !knownErr(err) {
		t.Errorf("parts of another length: %v", err)
	}
	zeros := make([]byte, 128<<20)
	k = mustCoder(t, partChain(t, 2, 3))
	stored, _, _ = k.EncodeParts(nil, zeros, 2*zstdMinPlane)
	if err := k.CheckParts(zeros, stored, 2*zstdMinPlane); err != nil {
		t.Fatal(err)
	}
}
