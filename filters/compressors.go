package filters

import (
	"encoding/json"
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/bzip2"
	"github.com/cdfz-format/cdfz/filters/internal/deflate"
	"github.com/cdfz-format/cdfz/filters/internal/headers"
	"github.com/cdfz-format/cdfz/filters/internal/lz4"
	"github.com/cdfz-format/cdfz/filters/internal/lzf"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// compressors are the general compressors of bytes.
var compressors = []Method{deflateMethod, gzipMethod, bzip2Method, lzmaMethod, lzfMethod, lz4Method, zstdMethod, headerMethod}

// deflateMethod is HDF5's deflate (H5Zdeflate.c): one zlib stream (RFC 1950)
// without a preset dictionary. Its parameter is the level, 0 to 9. Level 0 stores.
// Incompressible data goes into stored deflate blocks, 5 bytes each.
var deflateMethod = Method{
	ID:         Deflate,
	Name:       "deflate",
	New:        newDeflate,
	Check:      levelCheck("deflate", 0, 9, false),
	Defaults:   []uint32{6},
	Compresses: true,
	// zlib's deflateBound for the worst settings (deflate.c), with a margin for
	// encoders that end blocks often.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>5 + 1024) },
	Memory:        func(int, []uint32) int64 { return 64 << 10 },
	Codec:         levelCodec("zlib", 1, 0),
}

func newDeflate() Session {
	s := new(deflate.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) { return s.Encode(dst, src, int(params[0])) },
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// gzipMethod is numcodecs.GZip: one gzip member. It only decodes, because deflate and its
// codec zlib store the same in fewer bytes. The level is not needed.
var gzipMethod = Method{
	ID:         Gzip,
	Name:       "gzip",
	New:        newGzip,
	Check:      levelCheck("gzip", 0, 9, true),
	Compresses: true,
	DecodeOnly: true,
	// That of deflate with 18 bytes of header and checksum, and a name.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>5 + 2048) },
	Memory:        func(int, []uint32) int64 { return 64 << 10 },
	Codec:         levelCodec("gzip", 1, 1),
}

func newGzip() Session {
	s := new(deflate.Gzip)
	return session{
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// bzip2Method is the bzip2 filter of the HDF5 plugins (BZIP2/src/H5Zbzip2.c):
// one plain .bz2 stream. Its parameter is the size of bzip2's own blocks in
// units of 100 000 bytes, 1 to 9. Without it the size is 9.
var bzip2Method = Method{
	ID:         Bzip2,
	Name:       "bzip2",
	New:        newBzip2,
	Check:      levelCheck("bzip2", 1, bzip2.Default, true),
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

func newBzip2() Session {
	s := new(bzip2.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, levelOr(params, bzip2.Default))
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// lzfMethod is the filter of h5py (lzf_filter.c) with the library liblzf. Users set no
// parameter. The others are the filter's revision, the library's version, and the length of
// a block, which only that decoder needs. HDF5 skips the filter for blocks that it does
// not shorten.
var lzfMethod = Method{
	ID:         LZF,
	Name:       "lzf",
	New:        newLZF,
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 3 {
			return errorf(ErrParam, "lzf: expected at most 3 parameters, found %d", len(params))
		}
		return nil
	},
	Complete: func(params []uint32, b Block) ([]uint32, error) {
		if len(params) > 0 {
			return params, nil
		}
		if b.Len <= 0 || int64(b.Len) > math.MaxInt32 {
			return nil, errorf(ErrParam, "lzf: expected blocks of one length, found %d", b.Len)
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

func newLZF() Session {
	s := new(lzf.State)
	return session{
		encode: func(dst, src []byte, _ []uint32) ([]byte, error) { return s.Encode(dst, src), nil },
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return lzf.Decode(dst, src, max) },
	}
}

// lz4Method is the lz4 filter of the HDF5 plugins (LZ4/LZ4_HDF5_format.md). Its only
// parameter is the block size. 0 or no parameter means the plugin's default.
var lz4Method = Method{
	ID:         LZ4,
	Name:       "lz4",
	New:        newLZ4,
	Defaults:   []uint32{0},
	Compresses: true,
	Check: func(params []uint32) error {
		if len(params) > 1 {
			return errorf(ErrParam, "lz4: expected at most 1 parameter, found %d", len(params))
		}
		if len(params) == 1 && params[0] > lz4.MaxBlock {
			return errorf(ErrParam, "lz4: expected a block size of at most %d, found %d", lz4.MaxBlock, params[0])
		}
		return nil
	},
	MaxEncodedLen: func(n int, params []uint32) int { return lz4.MaxLen(n, lz4BlockSize(params)) },
}

func newLZ4() Session {
	s := new(lz4.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, lz4BlockSize(params)), nil
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return lz4.Decode(dst, src, max) },
	}
}

func lz4BlockSize(params []uint32) uint32 {
	if len(params) == 0 {
		return 0
	}
	return params[0]
}

// zstdMethod is the zstd filter of the HDF5 plugins (ZSTD/src/H5Zzstd.c): one zstd
// frame (RFC 8878). Its parameter is the level, a signed number, by default 3. HDF5 and
// Zarr both need the content size, so frames always contain it. They never have a
// checksum or dictionary. Frames written by this package are a single segment.
// Incompressible data goes into raw blocks, 3 bytes each.
var zstdMethod = Method{
	ID:         Zstd,
	Name:       "zstd",
	New:        func() Session { return new(zstdSession) },
	Check:      levelCheck("zstd", zstd.MinLevel, zstd.MaxLevel, true),
	Defaults:   []uint32{zstd.Default},
	Compresses: true,
	// ZSTD_COMPRESSBOUND of zstd.h with a margin for encoders that end blocks often.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>7 + 1024) },
	Memory:        func(int, []uint32) int64 { return 1 << 20 },
	Codec:         &Codec{ID: "zstd", Params: zstdCodecParams, JSON: levelCodec("zstd", 0, zstd.Default).JSON},
}

// zstdCodecParams parses a codec. The key "checksum" exists since numcodecs 0.13.
func zstdCodecParams(text json.RawMessage) ([]uint32, error) {
	var v struct {
		ID       string
		Level    integer
		Checksum bool
	}
	if err := DecodeCodec(text, &v); err != nil {
		return nil, err
	}
	if v.Checksum {
		return nil, errorf(ErrNoCodec, `codec zstd: key "checksum": no filter writes one`)
	}
	return []uint32{v.Level.or(0)}, nil
}

type zstdSession struct{ zstd.State }

func (s *zstdSession) Encode(dst, src []byte, params []uint32, in Block) ([]byte, error) {
	row := 0
	if in.Size == 1 && len(in.Shape) == 2 {
		row = in.Shape[1] // the planes of shuffle
	}
	return s.State.Encode(dst, src, levelOr(params, 0), row)
}

func (s *zstdSession) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	return s.State.Decode(dst, src, max)
}

// headerMethod is for netCDF headers: LZMA with their vocabulary as dictionary. Its first parameter is the number of
// the dictionary, 0 for none. The second may be absent. It is the effort of the encoder, 0 or 1, which decoding ignores.
var headerMethod = Method{
	ID:         Header,
	Name:       "header",
	New:        newHeader,
	Check:      checkHeader,
	Defaults:   []uint32{headers.Latest},
	Compresses: true,
	// The range coder adds less than a percent to bytes that have no repeats.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>4 + 64) },
	Memory:        func(n int, _ []uint32) int64 { return 6*int64(n) + 512<<10 },
}

func checkHeader(params []uint32) error {
	switch {
	case len(params) < 1 || len(params) > 2:
		return errorf(ErrParam, "header: expected 1 or 2 parameters, found %d", len(params))
	case len(params) == 2 && params[1] > 1:
		return errorf(ErrParam, "header: expected an effort of 0 or 1, found %d", params[1])
	case !headers.Known(params[0]): // a dictionary of a later version
		return unknown(Filter{ID: Header, Params: params})
	}
	return nil
}

func effort(params []uint32) int {
	if len(params) < 2 {
		return 0
	}
	return int(params[1])
}

func newHeader() Session {
	s := new(headers.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return s.Encode(dst, src, params[0], effort(params))
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return s.Decode(dst, src, params[0], max)
		},
	}
}
