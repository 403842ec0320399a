//go:build !purego

package crc

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/cpuid/v2"
)

// A message is a polynomial over GF(2), and its checksum the remainder of a division. Four
// registers of 32 bytes hold a polynomial of 1024 bits with the remainder of all bytes so far.
// For the next 128 bytes it is multiplied by x^1024, in parts of 64 bits, each by a remainder of
// 32 bits. At the end, hash/crc32 divides what the registers hold. The method is that of Gopal
// and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel,
// 2009. The instruction on two registers of 16 bytes at once is not used by hash/crc32. On an AMD
// EPYC of family 25 this takes less than half the time of hash/crc32 for 140 KB. To measure:
//
//	go test -run '^$' -bench Sum ./archive/internal/crc

// useFold is a variable so that tests can switch it.
var useFold = cpuid.CPU.Supports(cpuid.AVX2, cpuid.VPCLMULQDQ)

// width is the number of bytes in the registers, leastFold the number from which on folding is
// faster.
const (
	width     = 128
	leastFold = 4 << 10
)

// factors multiply the first and the second 64 bits of each 16 bytes, which have the higher and the
// lower degrees. The highest bit of a word is x^0. So the instruction multiplies by x more, and a
// factor, the low 33 bits of its word, by x^31 more: 32 less than 1024+64 and than 1024 remain.
var factors = [2]uint64{power(8*width + 32), power(8*width - 32)}

// power returns the remainder of x^n, in a word of 33 bits whose lowest bit is 0.
func power(n int) uint64 {
	r := uint32(1) << 31 // x^0
	for range n {
		r = r>>1 ^ crc32.IEEE&-(r&1)
	}
	return uint64(r) << 1
}

// folded returns the checksum of the start of b, and how many bytes that is.
func folded(b []byte) (sum uint32, done int) {
	if !useFold || len(b) < leastFold {
		return 0, 0
	}
	var state [width]byte
	copy(state[:], b)
	// A checksum begins with ones.
	binary.LittleEndian.PutUint32(state[:], ^binary.LittleEndian.Uint32(state[:]))
	n := len(b) / width * width
	fold(&state, &b[width], n-width, &factors)
	return crc32.Update(^uint32(0), crc32.IEEETable, state[:]), n
}

// fold adds n bytes at p to the state. n is a multiple of width and not 0.
//
//go:noescape
func fold(state *[width]byte, p *byte, n int, factors *[2]uint64)
