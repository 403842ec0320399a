package parity_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
)

// The code of docs/FORMAT.md, "The code", written from its text.

var basis = [16]uint32{
	0x0001, 0xacca, 0x3c0e, 0x163e, 0xc582, 0xed2e, 0x914c, 0x4012,
	0x6c98, 0x10d8, 0x6a72, 0xb900, 0xfdb8, 0xfb34, 0xff38, 0x991e,
}

// element is F.
func element(a int) (f uint32) {
	for i := range 16 {
		if a>>i&1 != 0 {
			f ^= basis[i]
		}
	}
	return f
}

func mul(a, b uint32) uint32 {
	p := uint32(0)
	for i := range 16 {
		if b>>i&1 != 0 {
			p ^= a << i
		}
	}
	for i := 31; i >= 16; i-- {
		if p>>i&1 != 0 {
			p ^= 0x1002d << (i - 16)
		}
	}
	return p
}

func inverse(a uint32) uint32 {
	r := uint32(1)
	for e := 65534; e > 0; e >>= 1 {
		if e&1 != 0 {
			r = mul(r, a)
		}
		a = mul(a, a)
	}
	return r
}

func symbol(shard []byte, i int) int {
	at := i / 32 * 64
	return int(shard[at+i%32]) | int(shard[at+32+i%32])<<8
}

// TestCode compares the library with the formula of the specification.
func TestCode(t *testing.T) {
	symbols := map[uint32]int{}
	for a := range 1 << 16 {
		symbols[element(a)] = a
	}
	r := rand.NewChaCha8([32]byte{1})
	sizes := [][2]int{{1, 2}, {3, 3}, {10, 2}, {54, 3}, {17, 5}, {5, 20}, {300, 33}}
	if testing.Short() {
		sizes = sizes[:5]
	}
	for _, c := range sizes {
		n, m := c[0], c[1]
		data := make([][]byte, n)
		for i := range data {
			data[i] = make([]byte, 128)
			r.Read(data[i])
		}
		got, err := parity.Codes(data, m)
		require.NoError(t, err)
		power := 1
		for power < m {
			power *= 2
		}
		w := make([]uint32, n)
		for j := range w {
			w[j] = 1
			for v := range power {
				w[j] = mul(w[j], element(power+j)^element(v))
			}
		}
		for i := range m {
			for s := range 64 {
				if s%9 != i%9 {
					continue
				}
				sum := uint32(0)
				for j := range n {
					sum ^= mul(element(symbol(data[j], s)), mul(w[j], inverse(element(i)^element(power+j))))
				}
				require.Equal(t, symbols[sum], symbol(got[i], s), "%d + %d shards, shard %d, symbol %d", n, m, i, s)
			}
		}
	}
}

// TestCodeExample checks the example of the specification, with one symbol in each shard.
func TestCodeExample(t *testing.T) {
	var data [][]byte
	for _, v := range []int{0x0001, 0x0203, 0xffff} {
		shard := make([]byte, 64)
		shard[0], shard[32] = byte(v), byte(v>>8)
		data = append(data, shard)
	}
	parts, err := parity.Codes(data, 3)
	require.NoError(t, err)
	for i, want := range []int{0x93ed, 0xd73d, 0x30da} {
		require.Equal(t, want, symbol(parts[i], 0), "parity shard %d", i)
	}
}

// TestHead checks that numbers of a record are checked before they are used.
func TestHead(t *testing.T) {
	b := archived(t, image(3000, 1), 5)
	s := find(t, b)
	at := s.Off + 42
	_, _, err := parity.ParseHead(b[at:])
	require.NoError(t, err)
	for off := 8; off < 56; off++ {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			h := append([]byte(nil), b[at:at+60]...)
			h[off] = v
			l, n, err := parity.ParseHead(h)
			if err != nil {
				continue
			}
			require.LessOrEqual(t, l.Bytes().Off+l.Bytes().Len, l.Size)
			require.Less(t, n, l.Groups*l.Parity)
		}
	}
	for off := 32; off < 56; off += 4 {
		h := append([]byte(nil), b[at:at+60]...)
		binary.LittleEndian.PutUint32(h[off:], 0xffffffff)
		_, _, err := parity.ParseHead(h)
		require.Error(t, err, "byte %d", off)
	}
	// More pieces than the archive has would take memory for zeros. The record is as long as
	// with the right number.
	h := append([]byte(nil), b[at:at+60]...)
	more := uint32(s.Data+15) / 16 * 16
	require.Greater(t, int64(more), s.Data)
	binary.LittleEndian.PutUint32(h[36:], more)
	binary.LittleEndian.PutUint32(h[44:], more)
	_, _, err = parity.ParseHead(h)
	require.ErrorIs(t, err, archive.ErrCorrupt)
}
