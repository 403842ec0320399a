package filters

import (
	"encoding/binary"
	"math/bits"
)

// The compressor of LZ4 blocks. It makes the same choices as the reference
// (LZ4_compress_default of lz4.c 1.9, 64 bit, little-endian), so that blocks equal
// those of HDF5's plugin on every machine. The block format is lz4_Block_format.md.

const (
	lz4MinMatch  = 4
	lz4LastLits  = 5         // the last bytes are always literals
	lz4MFLimit   = 12        // least distance from the end for the start of a match
	lz4MaxDist   = 1<<16 - 1 // offsets have two bytes
	lz4Limit64K  = 1<<16 + lz4MFLimit - 1
	lz4HashBits  = 12
	lz4SkipShift = 6
)

// lz4Table holds positions by hash. Short inputs use 16 bits per position and thus
// twice as many positions.
type lz4Table struct {
	short [1 << (lz4HashBits + 1)]uint16
	long  [1 << lz4HashBits]uint32
}

// compressLZ4 appends the LZ4 block of src to dst. In the worst case it is longer than
// src by one byte in 255 and a token.
func compressLZ4(dst, src []byte, t *lz4Table) []byte {
	small := len(src) < lz4Limit64K
	if len(src) <= lz4MFLimit {
		return lz4Literals(dst, src)
	}
	if small {
		clear(t.short[:])
	} else {
		clear(t.long[:])
	}
	hash := func(i int) uint32 {
		if small {
			return binary.LittleEndian.Uint32(src[i:]) * 2654435761 >> (32 - lz4HashBits - 1)
		}
		return uint32(binary.LittleEndian.Uint64(src[i:]) << 24 * 889523592379 >> (64 - lz4HashBits))
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
	limit := len(src) - lz4MFLimit + 1 // no search starts beyond
	end := len(src) - lz4LastLits      // no match ends beyond
	anchor := 0                        // literals from here are not yet written
	swap(hash(0), 0)
	ip := 1
	next := hash(1)
	for {
		var match int
		for forward, step, tries := ip, 1, 1<<lz4SkipShift; ; {
			h := next
			ip = forward
			forward += step
			step = tries >> lz4SkipShift
			tries++
			if forward > limit {
				return lz4Literals(dst, src[anchor:])
			}
			next = hash(forward)
			match = swap(h, ip)
			if ip-match <= lz4MaxDist && equal4(match, ip) {
				break
			}
		}
		for ip > anchor && match > 0 && src[ip-1] == src[match-1] {
			ip--
			match--
		}
		token := len(dst)
		dst = lz4Literals(dst, src[anchor:ip])
		for {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(ip-match))
			n := lz4Count(src, ip+lz4MinMatch, match+lz4MinMatch, end)
			ip += n + lz4MinMatch
			if n >= 15 {
				dst[token] |= 15
				dst = lz4Length(dst, n-15)
			} else {
				dst[token] |= byte(n)
			}
			anchor = ip
			if ip >= limit {
				return lz4Literals(dst, src[anchor:])
			}
			swap(hash(ip-2), ip-2)
			match = swap(hash(ip), ip)
			if ip-match > lz4MaxDist || !equal4(match, ip) {
				break
			}
			token = len(dst)
			dst = append(dst, 0)
		}
		ip++
		next = hash(ip)
	}
}

// lz4Literals appends a token with match length 0, and literals.
func lz4Literals(dst, lits []byte) []byte {
	if n := len(lits); n >= 15 {
		dst = lz4Length(append(dst, 0xf0), n-15)
	} else {
		dst = append(dst, byte(n<<4))
	}
	return append(dst, lits...)
}

// lz4Length appends the part of a length beyond the 15 in the token.
func lz4Length(dst []byte, n int) []byte {
	for ; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

// lz4Count returns how many bytes from i on, up to end, equal those from j on.
func lz4Count(src []byte, i, j, end int) int {
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
