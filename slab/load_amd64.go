//go:build !purego

package slab

import "golang.org/x/sys/cpu"

// The kernel in load_amd64.s copies 128 bytes at a time and swaps the bytes of each
// element with AVX2. Reads of cached blocks do little else. On an AMD EPYC of family
// 26, the word loops of load.go copy the 64,800 bytes of a cached 1-degree field in 4.5
// µs as short, 2.9 µs as float and 2.4 µs as double. The kernel takes 0.65 µs, and so
// does a C loop that gcc -O3 -march=native compiles to AVX-512. To measure:
//
//	go test -run '^$' -bench LoadRow ./slab

// useAVX2 is a variable so that tests can switch it.
var useAVX2 = cpu.X86.HasAVX2

// orders holds, for each element size in bytes, the permutation of 16 bytes that swaps
// the elements.
var orders = [...][16]byte{
	2: {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14},
	4: {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12},
	8: {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8},
}

// loadFast copies src to all of dst and swaps the bytes of elements of 2, 4 or 8 bytes.
// It returns false if it did nothing.
func loadFast(dst, src []byte, size int64) bool {
	if !useAVX2 || len(dst) < 32 {
		return false
	}
	_ = src[len(dst)-1]
	swapAVX2(&dst[0], &src[0], len(dst), &orders[size])
	return true
}

// swapAVX2 copies n bytes, at least 32, and permutes each 16 of them by order. dst and
// src are the same or do not overlap.
//
//go:noescape
func swapAVX2(dst, src *byte, n int, order *[16]byte)
