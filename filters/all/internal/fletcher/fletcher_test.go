package fletcher

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func random(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// fletcherHDF5 is H5_checksum_fletcher32 as in H5checksum.c.
func fletcherHDF5(p []byte) uint32 {
	var sum1, sum2 uint32
	n := len(p) / 2
	for n > 0 {
		m := min(n, 360)
		n -= m
		for range m {
			sum1 += uint32(binary.BigEndian.Uint16(p))
			p = p[2:]
			sum2 += sum1
		}
		sum1 = sum1&0xffff + sum1>>16
		sum2 = sum2&0xffff + sum2>>16
	}
	if len(p) > 0 {
		sum1 += uint32(p[0]) << 8
		sum2 += sum1
		sum1 = sum1&0xffff + sum1>>16
		sum2 = sum2&0xffff + sum2>>16
	}
	sum1 = sum1&0xffff + sum1>>16
	sum2 = sum2&0xffff + sum2>>16
	return sum2<<16 | sum1
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		noise := random(r, n)
		for _, p := range [][]byte{noise, make([]byte, n), bytes.Repeat([]byte{0xff}, n), bytes.Repeat([]byte{0xff, 0xfe}, n)} {
			if got, want := Sum(p), fletcherHDF5(p); got != want {
				t.Fatalf("%d bytes: 0x%08x, found 0x%08x", n, want, got)
			}
		}
	}
	for _, n := range []int{1 << 16, 1<<16 + 1, 1<<20 + 7} {
		noise := random(r, n)
		for _, p := range [][]byte{noise, bytes.Repeat([]byte{0xff}, n)} {
			if got, want := Sum(p), fletcherHDF5(p); got != want {
				t.Fatalf("%d bytes: 0x%08x, found 0x%08x", n, want, got)
			}
		}
	}
}

func BenchmarkSum(b *testing.B) {
	p := make([]byte, 256<<10)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		Sum(p)
	}
}
