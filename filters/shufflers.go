package filters

import (
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/bitshuffle"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// shufflers are the filters that shuffle and compress at once.
var shufflers = []Method{bitshuffleMethod}

// bitshuffleMethod is the filter of github.com/kiyo-masui/bitshuffle. Users set up to
// three parameters: elements of a block (a multiple of 8, 0 for the default), compression
// (0 none, 2 LZ4, 3 zstd), level of zstd. Complete prepends the library's version and the
// element size.
var bitshuffleMethod = Method{
	ID:         Bitshuffle,
	Name:       "bitshuffle",
	New:        newBitshuffle,
	Defaults:   []uint32{0, uint32(bitshuffle.LZ4)},
	Compresses: true,
	Check:      checkBitshuffle,
	Complete: func(params []uint32, b Block) ([]uint32, error) {
		if len(params) > 3 {
			return params, nil // complete already
		}
		if len(params) == 0 {
			params = []uint32{0}
		}
		return append([]uint32{0, bitshuffleMinor, uint32(max(b.Size, 1))}, params...), nil
	},
	Given: func(params []uint32) []uint32 { return params[3:] },
	MaxEncodedLen: func(n int, params []uint32) int {
		return bitshuffle.MaxLen(n, bitshuffleParams(params))
	},
	// Two copies of a block, the decoder of zstd.
	Memory: func(n int, _ []uint32) int64 { return 2*int64(n) + 1<<20 },
	Output: func(params []uint32, in Block) Block {
		if bitshuffleParams(params).Compression == bitshuffle.None {
			return Block{Len: in.Len}
		}
		return Block{Len: -1}
	},
}

// bitshuffleMinor is the minor version of the library whose format this is.
const bitshuffleMinor = 3

func checkBitshuffle(params []uint32) error {
	if len(params) < 3 || len(params) > 6 {
		return errorf(ErrParam, "bitshuffle: expected 3 to 6 parameters, found %d", len(params))
	}
	p := bitshuffleParams(params)
	switch {
	case params[2] < 1 || params[2] > maxElemSize/16:
		return errorf(ErrParam, "bitshuffle: expected an element size from 1 to %d, found %d", maxElemSize/16, params[2])
	case len(params) > 3 && (params[3]%8 != 0 || uint64(params[3])*uint64(params[2]) > math.MaxInt32):
		return errorf(ErrParam, "bitshuffle: expected blocks of a multiple of 8 elements and at most %d bytes, found %d elements", math.MaxInt32, params[3])
	case p.Compression != bitshuffle.None && p.Compression != bitshuffle.LZ4 && p.Compression != bitshuffle.Zstd:
		return errorf(ErrParam, "bitshuffle: expected compression 0, 2 or 3, found %d", p.Compression)
	case p.Level < zstd.MinLevel || p.Level > zstd.MaxLevel:
		return errorf(ErrParam, "bitshuffle: expected a level from %d to %d, found %d", zstd.MinLevel, zstd.MaxLevel, p.Level)
	}
	return nil
}

func bitshuffleParams(params []uint32) bitshuffle.Params {
	p := bitshuffle.Params{Size: int(params[2])}
	if len(params) > 3 {
		p.Block = int(params[3])
	}
	if len(params) > 4 {
		p.Compression = bitshuffle.Compression(params[4])
	}
	if len(params) > 5 {
		p.Level = int(int32(params[5]))
	}
	return p
}

func newBitshuffle() Session {
	s := new(bitshuffle.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, bitshuffleParams(params))
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return s.Decode(dst, src, bitshuffleParams(params), max)
		},
	}
}
