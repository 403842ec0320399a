package filters

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// lz4Method is the lz4 filter of the HDF5 plugins (LZ4/LZ4_HDF5_format.md). It writes
// the total size in 8 bytes and the block size in 4, then for each block its compressed
// size in 4 bytes and the LZ4 block. All numbers are big-endian. A compressed size
// equal to the block's size means that the block is stored. The only parameter is the
// block size. 0 or no parameter means the plugin's default. The plugin refuses sizes
// above LZ4_MAX_INPUT_SIZE.
var lz4Method = Method{
	ID:         LZ4,
	Name:       "lz4",
	New:        func() Session { return new(lz4State) },
	Defaults:   []uint32{0},
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 1 {
			return errorf(ErrParam, "lz4: expected at most 1 parameter, found %d", len(params))
		}
		if len(params) == 1 && params[0] > lz4MaxBlock {
			return errorf(ErrParam, "lz4: expected a block size of at most %d, found %d", lz4MaxBlock, params[0])
		}
		return nil
	},
	MaxEncodedLen: func(n int, params []uint32) int {
		if n <= 0 {
			return lz4Header
		}
		size := lz4BlockSize(n, params)
		blocks := (int64(n) + int64(size) - 1) / int64(size)
		return clampLen(lz4Header + int64(n) + 4*blocks)
	},
}

const (
	lz4Header       = 12
	lz4MaxBlock     = 0x7e000000 // LZ4_MAX_INPUT_SIZE of lz4.h
	lz4DefaultBlock = 1 << 30    // DEFAULT_BLOCK_SIZE of the plugin's H5Zlz4.c
)

// lz4BlockSize returns the block size for n bytes, which is never more than n.
func lz4BlockSize(n int, params []uint32) int {
	size := int64(lz4DefaultBlock)
	if len(params) > 0 && params[0] > 0 {
		size = int64(params[0])
	}
	return int(min(size, int64(n)))
}

type lz4State struct {
	table lz4Table
}

func (s *lz4State) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	size := lz4BlockSize(len(src), params)
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(src)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	for len(src) > 0 {
		in := src[:min(size, len(src))]
		src = src[len(in):]
		at := len(dst)
		dst = compressLZ4(append(dst, 0, 0, 0, 0), in, &s.table)
		n := len(dst) - at - 4
		if n >= len(in) {
			n = len(in)
			dst = append(dst[:at+4], in...)
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(n))
	}
	return dst, nil
}

func (*lz4State) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	if len(src) < lz4Header {
		return nil, errorf(ErrDamaged, "lz4: expected a header of %d bytes, found %d", lz4Header, len(src))
	}
	total64 := binary.BigEndian.Uint64(src)
	if total64 > uint64(max) {
		return nil, errorf(ErrDecodedSize, "lz4: expected at most %d bytes, found %d", max, total64)
	}
	total := int(total64)
	size := int(min(uint64(binary.BigEndian.Uint32(src[8:])), total64))
	src = src[lz4Header:]
	if total > 0 && size == 0 {
		return nil, errorf(ErrDamaged, "lz4: expected a block size above 0, found 0")
	}
	// LZ4 expands one byte to at most 255, so a larger claim is false.
	if uint64(total) > 255*uint64(len(src)) {
		return nil, errorf(ErrDamaged, "lz4: %d bytes cannot come from %d", total, len(src))
	}
	dst = grow(dst, total)
	for total > 0 {
		n := min(size, total)
		if len(src) < 4 {
			return nil, errorf(ErrDamaged, "lz4: expected a block size of 4 bytes, found %d", len(src))
		}
		clen := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(clen) > uint64(len(src)) {
			return nil, errorf(ErrDamaged, "lz4: expected a block of %d bytes, found %d", clen, len(src))
		}
		in := src[:clen]
		src = src[clen:]
		var out []byte
		dst, out = extend(dst, n)
		if len(in) == n {
			copy(out, in)
		} else if m, err := lz4.UncompressBlock(in, out); err != nil {
			return nil, causef(ErrDamaged, err, "lz4")
		} else if m != n {
			return nil, errorf(ErrDamaged, "lz4: expected a block that decodes to %d bytes, found %d", n, m)
		}
		total -= n
	}
	if len(src) > 0 {
		return nil, errorf(ErrDamaged, "lz4: expected the end, found %d more bytes", len(src))
	}
	return dst, nil
}
