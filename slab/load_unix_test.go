//go:build unix

package slab

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fenced returns a page of memory between two pages that must not be touched.
func fenced(t *testing.T) []byte {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Munmap(mem) })
	require.NoError(t, unix.Mprotect(mem[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(mem[2*page:], unix.PROT_NONE))
	return mem[page : 2*page]
}

// TestLoadFenced compares all ways of loading with the definition, for every length up
// to 300 elements, at both fences and at odd places in between.
func TestLoadFenced(t *testing.T) {
	t.Run("16", loadFenced[uint16])
	t.Run("32", loadFenced[uint32])
	t.Run("64", loadFenced[uint64])
}

func loadFenced[T uint16 | uint32 | uint64](t *testing.T) {
	size := int(sizeOf[T]())
	from, to := fenced(t), fenced(t)
	for i := range from {
		from[i] = byte(i * 151 >> 3)
	}
	defer func(was bool) { useAVX2 = was }(useAVX2)
	was := useAVX2
	for _, useAVX2 = range []bool{false, was} {
		for n := range 301 {
			for _, at := range [][2]int{
				{0, len(to) - n*size},
				{len(from) - n*size, 0},
				{1 + n%31, size * (1 + n%29)},
			} {
				src := from[at[0] : at[0]+n*size : at[0]+n*size]
				for i := range to {
					to[i] = 0xa5
				}
				dst := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(to[at[1]:]))), n)
				load(dst, src)
				for i, x := range dst {
					var w [8]byte
					copy(w[8-size:], src[i*size:])
					if want := T(binary.BigEndian.Uint64(w[:])); x != want {
						t.Fatalf("AVX2 %v, element %d of %d at %v: %#x, found %#x", useAVX2, i, n, at, want, x)
					}
				}
				end := at[1] + n*size
				others := bytes.Count(to[:at[1]], []byte{0xa5}) + bytes.Count(to[end:], []byte{0xa5})
				require.Equal(t, len(to)-n*size, others, "bytes outside of %d elements at %v", n, at)
			}
		}
	}
}
