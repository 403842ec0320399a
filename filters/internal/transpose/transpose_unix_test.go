//go:build unix

package transpose

import (
	"bytes"
	"math/rand"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// fenced returns at least n bytes of memory between two pages that must not be touched.
func fenced(t *testing.T, n int) []byte {
	page := os.Getpagesize()
	n = (n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	for _, fence := range [][]byte{mem[:page], mem[page+n:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return mem[page : page+n]
}

// TestShuffleFenced compares all ways of shuffling with the definition, for every
// length up to 300 elements, at both fences and at odd places in between.
func TestShuffleFenced(t *testing.T) {
	const long, margin = 9001, 64
	from, to := fenced(t, 8*long+8*margin), fenced(t, 8*long+8*margin)
	raw := make([]byte, 8*long)
	rand.New(rand.NewSource(1)).Read(raw)
	defer func(was bool) { useAVX2 = was }(useAVX2)
	for _, size := range []int{2, 4, 8} {
		for n := 0; n <= size*long-1; n++ {
			if n > 300*size {
				n = size*long - 1
			}
			elements := raw[:n]
			planes := bytes.Clone(elements)
			for i := range n / size * size {
				planes[i%size*(n/size)+i/size] = elements[i]
			}
			run := func(name string, f func(dst, src []byte, size int), in, want []byte, i, o int) {
				src, room := from[i:i+n:i+n], to[max(0, o-margin):min(len(to), o+n+margin)]
				copy(src, in)
				for k := range room {
					room[k] = 0xa5
				}
				rest := len(room) - n
				f(to[o:o+n:o+n], src, size)
				if !bytes.Equal(to[o:o+n], want) {
					t.Fatalf("%s %d (AVX2 %v), %d bytes at %d and %d: wrong", name, size, useAVX2, n, i, o)
				}
				if !bytes.Equal(src, in) || bytes.Count(room, []byte{0xa5})-bytes.Count(want, []byte{0xa5}) != rest {
					t.Fatalf("%s %d (AVX2 %v), %d bytes at %d and %d: others changed", name, size, useAVX2, n, i, o)
				}
			}
			was := useAVX2
			for _, useAVX2 = range []bool{false, was} {
				for _, at := range [][2]int{{0, len(to) - n}, {len(from) - n, 0}, {1 + n%31, 2 + n%29}} {
					run("shuffle", Shuffle, elements, planes, at[0], at[1])
					run("unshuffle", Unshuffle, planes, elements, at[0], at[1])
				}
			}
		}
	}
}
