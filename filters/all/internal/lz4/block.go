package lz4

import (
	"encoding/binary"
	"math/bits"
)

// The compressor of LZ4 blocks. It makes the same choices as the reference
// (LZ4_compress_default of lz4.c 1.9, 64 bit, little-endian), so that blocks equal
// those of HDF5's plugin on every machine. The block format is lz4_Block_format.md.

const (
	minMatch   = 4
	lastLits   = 5         // the last bytes are always literals
	matchLimit = 12        // least distance from the end for the start of a match
	maxDist    = 1<<16 - 1 // offsets have two bytes
	limit64K   = 1<<16 + matchLimit - 1
	hashBits   = 12
	skipShift  = 6
)

// Table holds positions by hash. Short inputs use 16 bits per position, so the
// same memory holds twice as many positions.
type Table struct {
	short [1 << (hashBits + 1)]uint16
	long  [1 << hashBits]uint32
}

// Compress appends the LZ4 block of src to dst. In the worst case it is longer than
// src by one byte in 255 and a token.
func Compress(dst, src []byte, t *Table) []byte { return CompressFast(dst, src, t, 1) }

// CompressFast is Compress with the acceleration of LZ4_compress_fast.
func CompressFast(dst, src []byte, t *Table, acceleration int) []byte {
	small := len(src) < limit64K
	if len(src) <= matchLimit {
		return literals(dst, src)
	}
	if small {
		clear(t.short[:])
	} else {
		clear(t.long[:])
	}
	hash := func(i int) uint32 {
		if small {
			return binary.LittleEndian.Uint32(src[i:]) * 2654435761 >> (32 - hashBits - 1)
		}
		return uint32(binary.LittleEndian.Uint64(src[i:]) << 24 * 889523592379 >> (64 - hashBits))
	}
	// swap stores position i in the table and returns the previous position with the
	// same hash.
	swap := func(h uint32, i int) int {
		if small {
			old := t.short[h]
			t.short[h] = uint16(i)
			return int(old)
		}
		old := t.long[h]
		t.long[h] = uint32(i)
		return int(old)
	}
	equal4 := func(i, j int) bool {
		return binary.LittleEndian.Uint32(src[i:]) == binary.LittleEndian.Uint32(src[j:])
	}
	limit := len(src) - matchLimit + 1 // no search starts beyond
	end := len(src) - lastLits         // no match ends beyond
	anchor := 0                        // literals from here are not yet written
	swap(hash(0), 0)
	ip := 1
	next := hash(1)
	for {
		var match int
		for forward, step, tries := ip, 1, acceleration<<skipShift; ; {
			h := next
			ip = forward
			forward += step
			step = tries >> skipShift
			tries++
			if forward > limit {
				return literals(dst, src[anchor:])
			}
			next = hash(forward)
			match = swap(h, ip)
			if ip-match <= maxDist && equal4(match, ip) {
				break
			}
		}
		for ip > anchor && match > 0 && src[ip-1] == src[match-1] {
			ip--
			match--
		}
		token := len(dst)
		dst = literals(dst, src[anchor:ip])
		for {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(ip-match))
			n := count(src, ip+minMatch, match+minMatch, end)
			ip += n + minMatch
			if n >= 15 {
				dst[token] |= 15
				dst = length(dst, n-15)
			} else {
				dst[token] |= byte(n)
			}
			anchor = ip
			if ip >= limit {
				return literals(dst, src[anchor:])
			}
			swap(hash(ip-2), ip-2)
			match = swap(hash(ip), ip)
			if ip-match > maxDist || !equal4(match, ip) {
				break
			}
			token = len(dst)
			dst = append(dst, 0)
		}
		ip++
		next = hash(ip)
	}
}

// literals appends a token with match length 0, and literals.
func literals(dst, lits []byte) []byte {
	if n := len(lits); n >= 15 {
		dst = length(append(dst, 0xf0), n-15)
	} else {
		dst = append(dst, byte(n<<4))
	}
	return append(dst, lits...)
}

// length appends the part of a length beyond the 15 in the token.
func length(dst []byte, n int) []byte {
	for ; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

// count returns how many bytes from i on, up to end, equal those from j on.
func count(src []byte, i, j, end int) int {
	start := i
	for i+8 <= end {
		if x := binary.LittleEndian.Uint64(src[i:]) ^ binary.LittleEndian.Uint64(src[j:]); x != 0 {
			return i - start + bits.TrailingZeros64(x)>>3
		}
		i, j = i+8, j+8
	}
	for i < end && src[i] == src[j] {
		i, j = i+1, j+1
	}
	return i - start
}
