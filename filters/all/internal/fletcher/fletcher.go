// Package fletcher computes the checksum of HDF5's fletcher32 (H5checksum.c).
package fletcher

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/kernels"
)

// step is the number of bytes that the kernel adds at a time.
const step = 32

// Sum is H5_checksum_fletcher32: two ones'-complement sums of 16 bits over
// big-endian words. An odd last byte is the high half of a word. HDF5 folds the sums
// every 360 words. However often it is folded, a sum is 0 if all words are 0, else its
// residue in 1..65535. So 64-bit sums need folding far less often.
func Sum(p []byte) uint32 {
	var sum1, sum2 uint64
	for len(p) >= step {
		var s kernels.Sums
		n := kernels.Fletcher(&s, p[:min(len(p), kernels.MaxSums)])
		if n == 0 {
			break
		}
		sum2 += 16*s.Prefix() + s.Weighted() + uint64(n/2)*sum1
		sum1 += s.Sum()
		sum1, sum2 = fold(sum1), fold(sum2)
		p = p[n:]
	}
	const run = 1 << 16 // bytes; sum2 stays under 2^47
	for len(p) >= 8 {
		q := p[:min(len(p)&^7, run)]
		p = p[len(q):]
		for len(q) >= 8 {
			w := binary.BigEndian.Uint64(q)
			a, b, c, d := w>>48, w>>32&0xffff, w>>16&0xffff, w&0xffff
			sum2 += 4*(sum1+a) + 3*b + 2*c + d
			sum1 += a + b + c + d
			q = q[8:]
		}
		sum1, sum2 = fold(sum1), fold(sum2)
	}
	for ; len(p) >= 2; p = p[2:] {
		sum1 += uint64(binary.BigEndian.Uint16(p))
		sum2 += sum1
	}
	if len(p) == 1 {
		sum1 += uint64(p[0]) << 8
		sum2 += sum1
	}
	return uint32(fold(sum2)<<16 | fold(sum1))
}

// fold reduces a sum to 16 bits by adding its upper bits.
func fold(s uint64) uint64 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return s
}
