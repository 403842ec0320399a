package all

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/bzip2"
	"github.com/cdfz-format/cdfz/filters/all/internal/gzip"
	"github.com/cdfz-format/cdfz/filters/all/internal/lz4"
	"github.com/cdfz-format/cdfz/filters/all/internal/lzf"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// compressors are the general compressors of bytes.
var compressors = []filters.Method{gzipMethod, bzip2Method, lzmaMethod, lzfMethod, lz4Method, numcodecsLZ4Method}

// gzipMethod is numcodecs.GZip: one gzip member. It only decodes, because deflate and its
// codec zlib store the same in fewer bytes. The level is not needed.
var gzipMethod = filters.Method{
	ID:         filters.Gzip,
	Name:       "gzip",
	New:        newGzip,
	Check:      wire.LevelCheck("gzip", 0, 9, true),
	Compresses: true,
	DecodeOnly: true,
	// That of deflate with 18 bytes of header and checksum, and a name.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>5 + 2048) },
	Memory:        func(int, []uint32) int64 { return 64 << 10 },
	Codec:         levelCodec("gzip", 1, 1),
}

func newGzip() filters.Session {
	s := new(gzip.State)
	return session{
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// bzip2Method is the bzip2 filter of the HDF5 plugins (BZIP2/src/H5Zbzip2.c):
// one plain .bz2 stream. Its parameter is the size of bzip2's own blocks in
// units of 100 000 bytes, 1 to 9. Without it the size is 9.
var bzip2Method = filters.Method{
	ID:         filters.Bzip2,
	Name:       "bzip2",
	New:        newBzip2,
	Check:      wire.LevelCheck("bzip2", 1, bzip2.Default, true),
	Defaults:   []uint32{bzip2.Default},
	Compresses: true,
	// The bzip2 manual (section 3.4.1) claims 1 % and 600 bytes for the reference
	// encoder. The first run-length coding of any encoder may add a quarter, and its
	// six tables of 258 code lengths of up to 41 bits take 8 KB.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>2 + 8<<10) },
	// The decoder's block of 900 000 words, twice (see Decode).
	Memory: func(int, []uint32) int64 { return 8 << 20 },
	Codec:  levelCodec("bz2", 1, bzip2.Default),
}

func newBzip2() filters.Session {
	s := new(bzip2.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, wire.LevelOr(params, bzip2.Default))
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// lzfMethod is the filter of h5py (lzf_filter.c) with the library liblzf. Users set no
// parameter. The others are the filter's revision, the library's version, and the length of
// a block, which only that decoder needs. HDF5 skips the filter for blocks that it does
// not shorten.
var lzfMethod = filters.Method{
	ID:         filters.LZF,
	Name:       "lzf",
	New:        newLZF,
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 3 {
			return wire.Errorf(filters.ErrParam, "lzf: expected at most 3 parameters, found %d", len(params))
		}
		return nil
	},
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
		if len(params) > 0 {
			return params, nil
		}
		if b.Len <= 0 || int64(b.Len) > math.MaxInt32 {
			return nil, wire.Errorf(filters.ErrInapplicable, "lzf: expected blocks of one length, found %d", b.Len)
		}
		return []uint32{lzfRevision, lzfVersion, uint32(b.Len)}, nil
	},
	Given:         func([]uint32) []uint32 { return nil },
	MaxEncodedLen: func(n int, _ []uint32) int { return lzf.MaxLen(n) },
	Memory:        func(int, []uint32) int64 { return 128 << 10 }, // the encoder's table
}

// From lzf_filter.h and lzf.h.
const (
	lzfRevision = 4
	lzfVersion  = 0x0105
)

func newLZF() filters.Session {
	s := new(lzf.State)
	return session{
		encode: func(dst, src []byte, _ []uint32) ([]byte, error) { return s.Encode(dst, src), nil },
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return lzf.Decode(dst, src, max) },
	}
}

// lz4Method is the lz4 filter of the HDF5 plugins (LZ4/LZ4_HDF5_format.md). Its only
// parameter is the block size. 0 or no parameter means the plugin's default.
var lz4Method = filters.Method{
	ID:         filters.LZ4,
	Name:       "lz4",
	New:        newLZ4,
	Defaults:   []uint32{0},
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 1 {
			return wire.Errorf(filters.ErrParam, "lz4: expected at most 1 parameter, found %d", len(params))
		}
		if len(params) == 1 && params[0] > lz4.MaxBlock {
			return wire.Errorf(filters.ErrParam, "lz4: expected a block size of at most %d, found %d", lz4.MaxBlock, params[0])
		}
		return nil
	},
	MaxEncodedLen: func(n int, params []uint32) int { return lz4.MaxLen(n, lz4BlockSize(params)) },
}

func newLZ4() filters.Session {
	s := new(lz4.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, lz4BlockSize(params)), nil
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return lz4.Decode(dst, src, max) },
	}
}

// numcodecsLZ4Method is numcodecs.LZ4, which has another header than HDF5's filter. Its only
// parameter is the acceleration, as an int32. 1 or less, or no parameter, compress best.
var numcodecsLZ4Method = filters.Method{
	ID:         filters.NumcodecsLZ4,
	Name:       "numcodecs-lz4",
	New:        newNumcodecsLZ4,
	Defaults:   []uint32{1},
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 1 {
			return wire.Errorf(filters.ErrParam, "numcodecs-lz4: expected at most 1 parameter, found %d", len(params))
		}
		return nil
	},
	MaxEncodedLen: func(n int, _ []uint32) int { return lz4.MaxSizedLen(n) },
	Codec: &filters.Codec{
		ID: "lz4",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID           string
				Acceleration codecjson.Integer
			}
			err := codecjson.Decode(text, &v)
			return []uint32{v.Acceleration.Or(1)}, err
		},
		JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"lz4","acceleration":%d}`, wire.LevelOr(params, 1)), nil
		},
	},
}

func newNumcodecsLZ4() filters.Session {
	s := new(lz4.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.EncodeSized(dst, src, wire.LevelOr(params, 1))
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return lz4.DecodeSized(dst, src, max) },
	}
}

func lz4BlockSize(params []uint32) uint32 {
	if len(params) == 0 {
		return 0
	}
	return params[0]
}
