package filters

import (
	"encoding/binary"
	"encoding/json"
)

// fletcherMethod is HDF5's fletcher32 (H5Zfletcher32.c, H5checksum.c): the data, then a
// checksum of four bytes, little-endian. It has no parameters.
var fletcherMethod = Method{
	ID:            Fletcher32,
	Name:          "fletcher32",
	New:           func() Session { return fletcher{} },
	MaxEncodedLen: func(n int, _ []uint32) int { return clampLen(int64(n) + fletcherLen) },
	Output: func(_ []uint32, in Block) Block {
		if in.Len <= 0 {
			return Block{Len: -1}
		}
		return Block{Len: in.Len + fletcherLen}
	},
	Codec: &Codec{
		ID: "fletcher32",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct{ ID string }
			return nil, DecodeCodec(text, &v)
		},
		JSON: func([]uint32, Block) (json.RawMessage, error) {
			return json.RawMessage(`{"id":"fletcher32"}`), nil
		},
	},
}

const fletcherLen = 4

type fletcher struct{}

func (fletcher) Encode(dst, src []byte, _ []uint32, _ Block) ([]byte, error) {
	dst = append(dst, src...)
	return binary.LittleEndian.AppendUint32(dst, fletcher32(src)), nil
}

func (fletcher) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	n := len(src) - fletcherLen
	if n < 0 {
		return nil, errorf(ErrDamaged, "fletcher32: expected at least %d bytes, found %d", fletcherLen, len(src))
	}
	if n > max {
		return nil, errorf(ErrDecodedSize, "fletcher32: expected at most %d bytes, found %d", max, n)
	}
	want := fletcher32(src[:n])
	found := binary.LittleEndian.Uint32(src[n:])
	// Releases of HDF5 before 1.6.3 stored the bytes of each half of the sum in reverse
	// order. Like H5Z__filter_fletcher32, accept both.
	if found != want && found != (want&0x00ff00ff<<8|want>>8&0x00ff00ff) {
		return nil, errorf(ErrChecksum, "fletcher32: expected checksum 0x%08x, found 0x%08x", want, found)
	}
	dst, out := extend(dst, n)
	copy(out, src)
	return dst, nil
}

// fletcher32 is H5_checksum_fletcher32: two ones'-complement sums of 16 bits over
// big-endian words. An odd last byte is the high half of a word. HDF5 folds the sums
// every 360 words. However often it is folded, a sum is 0 if all words are 0, else its
// residue in 1..65535. So 64-bit sums need folding far less often.
func fletcher32(p []byte) uint32 {
	const run = 1 << 16 // bytes; sum2 stays under 2^47
	var sum1, sum2 uint64
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
