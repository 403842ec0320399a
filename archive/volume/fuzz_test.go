package volume

import (
	"bytes"
	"errors"
	"hash/crc32"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return b.TotalAlloc - a.TotalAlloc
}

// class fails for errors of no class.
func class(t *testing.T, err error) {
	require.True(t, err == nil || errors.Is(err, ErrNotVolume) || errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrVersion), err)
}

// FuzzOpen opens any bytes as a volume, by the end and by the headers. Checksums are mended, so that what they
// protect is reached.
func FuzzOpen(f *testing.F) {
	s := seeds.Of(f)
	s.Add("one", write(f, sample()[:1]...), true)
	s.Add("none", write(f), false)
	s.Add("circle", tarOf(f, hostile[5:7]), false)
	f.Fuzz(func(t *testing.T, b []byte, mend bool) {
		if mend {
			b = mended(b)
		}
		size := int64(len(b))
		n := allocated(func() {
			v, err := Open(t.Context(), bytes.NewReader(b), size)
			class(t, err)
			if err == nil {
				for e, err := range v.Members(t.Context(), "") {
					class(t, err)
					if err != nil {
						break
					}
					use(t, v, e, size)
				}
			}
			v, err = Rebuild(t.Context(), bytes.NewReader(b), size, err)
			if err != nil {
				return
			}
			defer v.Close()
			for e, err := range v.Members(t.Context(), "") {
				require.NoError(t, err)
				use(t, v, e, size)
			}
		})
		require.Less(t, n, uint64(16<<20+200*len(b)))
	})
}

// use reads a member.
func use(t *testing.T, v *Volume, e *Entry, size int64) {
	require.NoError(t, e.check())
	if e.Kind != File && e.Kind != HardLink {
		return
	}
	_, n, err := v.Contents(t.Context(), e)
	class(t, err)
	require.LessOrEqual(t, n, size)
}

// mended gives the end of a volume the checksums of what is there.
func mended(b []byte) []byte {
	b = bytes.Clone(b)
	at := bytes.LastIndex(b, []byte(magic))
	if at < 0 {
		return b
	}
	end := bytes.IndexByte(b[at:], '\n') + at
	if end < at+8 {
		return b
	}
	sum := crc32.ChecksumIEEE(b[at : end-8])
	const digits = "0123456789abcdef"
	for i := range 8 {
		b[end-8+i] = digits[sum>>(28-4*i)&15]
	}
	return b
}

// FuzzBlock reads any bytes as the contents of a block, and as the top level.
func FuzzBlock(f *testing.F) {
	var b []byte
	var before *Entry
	for _, m := range sample()[:7] {
		m.off = 1 << 20
		b = m.Entry.append(b, before, 0)
		before = &m.Entry
	}
	seeds.Of(f).Add("seven", b, int64(7))
	f.Fuzz(func(t *testing.T, b []byte, count int64) {
		const end = 1 << 30
		stored := deflate(b)
		k := &block{first: "a", off: 1024, stored: int64(len(stored)), length: int64(len(b)), count: count, sum: crc32.ChecksumIEEE(stored)}
		if k.length > maxBlock || count < 1 || count > k.length {
			return
		}
		n := allocated(func() {
			list, err := parseBlock(stored, k, "", end)
			class(t, err)
			for i := range list {
				require.NoError(t, list[i].check())
				require.LessOrEqual(t, list[i].off+list[i].Size, int64(end))
			}
			_, err = parseTop(b, &trailer{index: 1024, top: 1024 + end, members: count})
			class(t, err)
		})
		require.Less(t, n, uint64(8<<20+400*len(b)))
	})
}
