package all

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/bitshuffle"
	"github.com/cdfz-format/cdfz/filters/all/internal/blosc"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// shufflers are the filters that shuffle and compress at once.
var shufflers = []filters.Method{bitshuffleMethod, bloscMethod}

// bitshuffleMethod is the filter of github.com/kiyo-masui/bitshuffle. Users set up to
// three parameters: elements of a block (a multiple of 8, 0 for the default), compression
// (0 none, 2 LZ4, 3 zstd), level of zstd. Complete prepends the library's version and the
// element size.
var bitshuffleMethod = filters.Method{
	ID:         filters.Bitshuffle,
	Name:       "bitshuffle",
	New:        newBitshuffle,
	Defaults:   []uint32{0, uint32(bitshuffle.LZ4)},
	Compresses: true,
	Check:      checkBitshuffle,
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
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
	Output: func(params []uint32, in filters.Block) filters.Block {
		if bitshuffleParams(params).Compression == bitshuffle.None {
			return filters.Block{Len: in.Len}
		}
		return filters.Block{Len: -1}
	},
}

// bitshuffleMinor is the minor version of the library whose format this is.
const bitshuffleMinor = 3

func checkBitshuffle(params []uint32) error {
	if len(params) < 3 || len(params) > 6 {
		return wire.Errorf(filters.ErrParam, "bitshuffle: expected 3 to 6 parameters, found %d", len(params))
	}
	p := bitshuffleParams(params)
	switch {
	case params[2] < 1 || params[2] > wire.MaxElemSize/16:
		return wire.Errorf(filters.ErrParam, "bitshuffle: expected an element size from 1 to %d, found %d", wire.MaxElemSize/16, params[2])
	case len(params) > 3 && (params[3]%8 != 0 || uint64(params[3])*uint64(params[2]) > math.MaxInt32):
		return wire.Errorf(filters.ErrParam, "bitshuffle: expected blocks of a multiple of 8 elements and at most %d bytes, found %d elements", math.MaxInt32, params[3])
	case p.Compression != bitshuffle.None && p.Compression != bitshuffle.LZ4 && p.Compression != bitshuffle.Zstd:
		return wire.Errorf(filters.ErrParam, "bitshuffle: expected compression 0, 2 or 3, found %d", p.Compression)
	case p.Level < zstd.MinLevel || p.Level > zstd.MaxLevel:
		return wire.Errorf(filters.ErrParam, "bitshuffle: expected a level from %d to %d, found %d", zstd.MinLevel, zstd.MaxLevel, p.Level)
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

func newBitshuffle() filters.Session {
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

// bloscMethod is the filter of c-blosc 1 (blosc_filter.c of hdf5-blosc). Users set seven
// parameters: three that Complete replaces, the length of a part, the level 0 to 9, shuffle (0
// none, 1 bytes, 2 bits), compressor (0 blosclz, 1 lz4, 2 lz4hc, 3 snappy, 4 zlib, 5 zstd).
// Those that are missing are 0, 5, 1 and 0. The first four become the version of the filter,
// that of the format, the element size and the length of a block. The length of a part, if it
// is not 0 and the three before it are, moves to the end. The stored bytes hold all that
// decoding needs.
var bloscMethod = filters.Method{
	ID:         filters.Blosc,
	Name:       "blosc",
	New:        newBlosc,
	Defaults:   []uint32{0, 0, 0, 0, bloscLevel, uint32(blosc.ByteShuffle), uint32(blosc.LZ4)},
	Compresses: true,
	Check:      checkBlosc,
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
		if len(params) > 8 {
			return params, nil // Check refuses them
		}
		part := bloscPart(params)
		full := []uint32{2, 2, uint32(max(b.Size, 1)), 0, bloscLevel, uint32(blosc.ByteShuffle), uint32(blosc.BloscLZ)}
		if b.Size > math.MaxUint8 {
			full[2] = 1
		}
		if b.Len > 0 {
			full[3] = uint32(min(int64(b.Len), math.MaxInt32))
		}
		if len(params) > 4 {
			copy(full[4:], params[4:])
		}
		if part > 0 {
			full = append(full, part)
		}
		return full, nil
	},
	Given: func(params []uint32) []uint32 {
		return append([]uint32{0, 0, 0, bloscPart(params)}, params[4:min(len(params), 7)]...)
	},
	MaxEncodedLen: func(n int, _ []uint32) int {
		// c-blosc reserves BLOSC_MAX_OVERHEAD.
		return wire.ClampLen(int64(n) + blosc.Header)
	},
	// Two copies of a part, the decoders of zlib and zstd.
	Memory: func(n int, _ []uint32) int64 { return 2*int64(n) + 2<<20 },
	Codec:  &filters.Codec{ID: "blosc", Params: bloscCodecParams, JSON: bloscCodecJSON},
}

const bloscLevel = 5 // of blosc_filter.c and of numcodecs

// bloscPart returns the length of parts that the user has set, or 0. In parameters that HDF5 has
// completed, the fourth one is the length of a block.
func bloscPart(params []uint32) uint32 {
	switch {
	case len(params) == 8:
		return params[7]
	case len(params) > 3 && params[0] == 0 && params[1] == 0 && params[2] == 0:
		return params[3]
	}
	return 0
}

func checkBlosc(params []uint32) error {
	if len(params) < 4 || len(params) > 8 {
		return wire.Errorf(filters.ErrParam, "blosc: expected 4 to 8 parameters, found %d", len(params))
	}
	p := bloscParams(params)
	switch {
	case p.Level < 0 || p.Level > 9:
		return wire.Errorf(filters.ErrParam, "blosc: expected a level from 0 to 9, found %d", p.Level)
	case p.Shuffle < 0 || p.Shuffle > blosc.BitShuffle:
		return wire.Errorf(filters.ErrParam, "blosc: expected shuffle 0, 1 or 2, found %d", p.Shuffle)
	case p.Codec < 0 || p.Codec > blosc.Zstd:
		return wire.Errorf(filters.ErrParam, "blosc: expected a compressor from 0 to 5, found %d", p.Codec)
	case bloscPart(params) > math.MaxInt32:
		return wire.Errorf(filters.ErrParam, "blosc: expected parts of at most %d bytes, found %d", math.MaxInt32, bloscPart(params))
	}
	return nil
}

func bloscParams(params []uint32) blosc.Params {
	p := blosc.Params{
		Size: int(max(1, min(params[2], math.MaxUint16))), Level: bloscLevel, Shuffle: blosc.ByteShuffle,
		Part: int(min(bloscPart(params), math.MaxInt32)),
	}
	if len(params) > 4 {
		p.Level = int(int32(params[4]))
	}
	if len(params) > 5 {
		p.Shuffle = blosc.Shuffle(int32(params[5]))
	}
	if len(params) > 6 {
		p.Codec = blosc.Codec(int32(params[6]))
	}
	return p
}

func newBlosc() filters.Session {
	s := new(blosc.State)
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) { return s.Encode(dst, src, bloscParams(params)) },
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) { return s.Decode(dst, src, max) },
	}
}

// bloscNames are the compressors in the codec's JSON.
var bloscNames = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}

// bloscCodecParams parses a codec. Its block size is the length of a part, as in netcdf-c. The
// shuffle -1 depends on the data, which a filter cannot express.
func bloscCodecParams(text json.RawMessage) ([]uint32, error) {
	v := struct {
		ID        string
		Cname     string
		Clevel    codecjson.Integer
		Shuffle   codecjson.Integer
		Blocksize codecjson.Integer
	}{Cname: "lz4"}
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	c := slices.Index(bloscNames, v.Cname)
	if c < 0 {
		return nil, wire.Errorf(filters.ErrCodec, `codec blosc: key "cname": unknown compressor %q`, v.Cname)
	}
	if int32(v.Shuffle.Or(1)) == -1 {
		return nil, wire.Errorf(filters.ErrNoCodec, `codec blosc: key "shuffle": no filter chooses it automatically`)
	}
	return []uint32{0, 0, 0, v.Blocksize.Or(0), v.Clevel.Or(bloscLevel), v.Shuffle.Or(1), uint32(c)}, nil
}

func bloscCodecJSON(params []uint32, _ filters.Block) (json.RawMessage, error) {
	p := bloscParams(params)
	return fmt.Appendf(nil, `{"id":"blosc","cname":"%s","clevel":%d,"shuffle":%d,"blocksize":%d}`, bloscNames[p.Codec], p.Level, p.Shuffle, p.Part), nil
}
