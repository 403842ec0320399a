package all

import (
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/nbit"
	"github.com/cdfz-format/cdfz/filters/all/internal/scaleoffset"
	"github.com/cdfz-format/cdfz/filters/all/internal/szip"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// packers are the filters of HDF5 that store numbers in fewer bits.
var packers = []filters.Method{szipMethod, nbitMethod, scaleOffsetMethod}

// szipMethod is HDF5's szip (H5Zszip.c) with libaec's coding. Users set two parameters: the
// options (4 entropy coding, 32 differences to the neighbour) and the pixels of a coding
// block, even and at most 32. Complete adds options that HDF5 adds, the bits of a pixel and
// the pixels of a line.
var szipMethod = filters.Method{
	ID:   filters.Szip,
	Name: "szip",
	New: func() filters.Session {
		s := new(szip.State)
		return session{
			encode: func(dst, src []byte, params []uint32) ([]byte, error) { return s.Encode(dst, src, szipParams(params)) },
			decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
				return s.Decode(dst, src, szipParams(params), max)
			},
		}
	},
	Defaults:   []uint32{szipNeighbour, 32},
	Compresses: true,
	Check:      checkSzip,
	Complete:   completeSzip,
	Given: func(params []uint32) []uint32 {
		return []uint32{params[0] & (szipEntropy | szipNeighbour), params[1]}
	},
	MaxEncodedLen: func(n int, params []uint32) int { return szipParams(params).MaxLen(n) },
	// The shuffled bytes, a line.
	Memory: func(n int, _ []uint32) int64 { return int64(n) + 64<<10 },
	Codec:  &filters.Codec{ID: "szip", Package: filters.NCZarr, Given: true, Params: szipCodecParams, JSON: szipCodecJSON},
}

// szipCodec is the codec of netcdf-c (NCZhdf5filters.c). Its mask has the options.
type szipCodec struct {
	ID    string            `json:"id"`
	Mask  codecjson.Integer `json:"mask"`
	Block codecjson.Integer `json:"pixels-per-block"`
}

func szipCodecParams(text json.RawMessage) ([]uint32, error) {
	var v szipCodec
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	for key, n := range map[string]codecjson.Integer{"mask": v.Mask, "pixels-per-block": v.Block} {
		if !n.Set {
			return nil, wire.Errorf(filters.ErrCodec, "codec szip: missing key %q", key)
		}
	}
	params := []uint32{v.Mask.Or(0), v.Block.Or(0)}
	return params, checkSzipBlock(params)
}

func szipCodecJSON(params []uint32, _ filters.Block) (json.RawMessage, error) {
	if len(params) != 2 {
		return nil, wire.Errorf(filters.ErrParam, "szip: expected 2 or 4 parameters, found %d", len(params))
	}
	return fmt.Appendf(nil, `{"id":"szip","mask":%d,"pixels-per-block":%d}`, params[0], params[1]), checkSzipBlock(params)
}

// Options of szip (hdf5.h and szlib.h).
const (
	szipK13       = 1
	szipEntropy   = 4
	szipLittle    = 8
	szipBig       = 16
	szipNeighbour = 32
	szipRaw       = 128
	szipMaxBlock  = 32  // SZ_MAX_PIXELS_PER_BLOCK
	szipBlocks    = 128 // of a line, SZ_MAX_BLOCKS_PER_SCANLINE
)

// completeSzip does what H5Z__set_local_szip does.
func completeSzip(params []uint32, b filters.Block) ([]uint32, error) {
	if len(params) != 2 {
		return params, nil
	}
	n, err := numbers("szip", b)
	if err != nil {
		return nil, err
	}
	order := uint32(szipBig)
	if b.LittleEndian {
		order = szipLittle
	}
	block, line := params[1], n
	if len(b.Shape) > 0 {
		line = uint32(b.Shape[len(b.Shape)-1])
	}
	if line < block {
		if n < block {
			return nil, wire.Errorf(filters.ErrInapplicable, "szip: expected blocks of at least %d elements, found %d", block, n)
		}
		line = n
	}
	if line > szip.MaxLine {
		line = szipBlocks * block
	}
	return []uint32{
		params[0]&(szipEntropy|szipNeighbour) | szipK13 | szipRaw | order, block, uint32(8 * b.Size), min(line, szipBlocks*block),
	}, nil
}

func checkSzip(params []uint32) error {
	if err := wire.WantParams("szip", params, 4); err != nil {
		return err
	}
	if err := checkSzipBlock(params); err != nil {
		return err
	}
	switch bits, line := params[2], params[3]; {
	case bits == 0 || bits > 24 && bits != 32 && bits != 64:
		return wire.Errorf(filters.ErrParam, "szip: expected pixels of 1 to 24, 32 or 64 bits, found %d", bits)
	case line == 0 || line > szip.MaxLine:
		return wire.Errorf(filters.ErrParam, "szip: expected lines of 1 to %d pixels, found %d", szip.MaxLine, line)
	}
	return nil
}

func checkSzipBlock(params []uint32) error {
	if block := params[1]; block < 2 || block > szipMaxBlock || block%2 != 0 {
		return wire.Errorf(filters.ErrParam, "szip: expected an even number of pixels from 2 to %d, found %d", szipMaxBlock, block)
	}
	return nil
}

func szipParams(params []uint32) szip.Params {
	return szip.Params{
		Neighbour: params[0]&szipNeighbour != 0, BigEndian: params[0]&szipBig != 0,
		Block: int(params[1]), Bits: int(params[2]), Line: int(params[3]),
	}
}

// nbitMethod is HDF5's nbit (H5Znbit.c). Users set no parameter. The others are: their
// number, 1 if nothing can be saved, elements in a block, class (1 for numbers, 4 for
// what is copied), element size, order (0 little-endian, 1 big-endian), significant
// bits, bits below them. Compound and array types are not supported. The types of
// classic netCDF have no insignificant bits, so that the filter copies their blocks.
var nbitMethod = filters.Method{
	ID:   filters.NBit,
	Name: "nbit",
	New: stateless(session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			if p, packs := nbitParams(params); packs {
				return nbit.Encode(dst, src, p)
			}
			return append(dst, src...), nil
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			if p, packs := nbitParams(params); packs {
				return nbit.Decode(dst, src, p, max)
			}
			if len(src) > max {
				return nil, wire.TooLong("nbit", max, len(src))
			}
			return append(dst, src...), nil
		},
	}),
	Compresses: true,
	Check:      checkNBit,
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
		if len(params) > 0 {
			return params, nil
		}
		n, err := numbers("nbit", b)
		if err != nil {
			return nil, err
		}
		return []uint32{8, 1, n, nbitAtomic, uint32(b.Size), order(b), uint32(8 * b.Size), 0}, nil
	},
	Given:         func([]uint32) []uint32 { return nil },
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + 1) },
}

const (
	nbitAtomic = 1 // H5Z_NBIT_ATOMIC
	nbitNoop   = 4 // H5Z_NBIT_NOOPTYPE
)

func checkNBit(params []uint32) error {
	if len(params) < 5 || uint64(params[0]) != uint64(len(params)) {
		return wire.Errorf(filters.ErrParam, "nbit: expected at least 5 parameters, the first of them their number, found %d", params)
	}
	if params[1] != 0 || params[3] == nbitNoop {
		return nil
	}
	if params[3] != nbitAtomic {
		return wire.Errorf(filters.ErrParam, "nbit: expected elements that are numbers, found class %d", params[3])
	}
	if len(params) != 8 {
		return wire.Errorf(filters.ErrParam, "nbit: expected 8 parameters, found %d", len(params))
	}
	if err := checkNumbers("nbit", params[2], params[4], params[5]); err != nil {
		return err
	}
	if size := 8 * uint64(params[4]); params[6] == 0 || uint64(params[6])+uint64(params[7]) > size {
		return wire.Errorf(filters.ErrParam, "nbit: expected 1 to %d significant bits, found %d above %d others", size, params[6], params[7])
	}
	return nil
}

// nbitParams returns the parameters for blocks that are packed.
func nbitParams(params []uint32) (p nbit.Params, packs bool) {
	if params[1] != 0 || params[3] == nbitNoop {
		return nbit.Params{}, false
	}
	return nbit.Params{
		Elements: int(params[2]), Size: int(params[4]), BigEndian: params[5] == bigEndian,
		Precision: int(params[6]), Offset: int(params[7]),
	}, true
}

// scaleOffsetMethod is HDF5's scaleoffset (H5Zscaleoffset.c). Users set the scale type
// (0 for decimal places of floats, 2 for integers) and the factor: a number of decimal
// places, or a number of bits, 0 for as many as needed. Complete adds the other
// parameters of HDF5: elements in a block, class (0 integers, 1 floats), element size,
// sign (1 signed), order (0 little-endian, 1 big-endian), whether there is a fill value,
// and the fill value from the lowest word on. It adds no fill value.
//
// HDF5 rounds floats. This encoder refuses blocks that would not be restored exactly.
var scaleOffsetMethod = filters.Method{
	ID:   filters.ScaleOffset,
	Name: "scaleoffset",
	New: stateless(session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return scaleoffset.Encode(dst, src, scaleOffsetParams(params))
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return scaleoffset.Decode(dst, src, scaleOffsetParams(params), max)
		},
	}),
	Defaults:      []uint32{scaleInts, 0},
	Compresses:    true,
	Check:         checkScaleOffset,
	Complete:      completeScaleOffset,
	Given:         func(params []uint32) []uint32 { return params[:2] },
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + 22) },
}

// Values of parameters of scaleoffset (H5Zpublic.h and H5Zscaleoffset.c).
const (
	scaleDecimals = 0  // H5Z_SO_FLOAT_DSCALE
	scaleInts     = 2  // H5Z_SO_INT
	scaleParams   = 20 // H5Z_SCALEOFFSET_TOTAL_NPARMS
	classInt      = 0
	classFloat    = 1
	maxDecimals   = 300 // keeps powers of 10 finite
)

func completeScaleOffset(params []uint32, b filters.Block) ([]uint32, error) {
	if len(params) != 2 {
		return params, nil
	}
	n, err := numbers("scaleoffset", b)
	if err != nil {
		return nil, err
	}
	full := make([]uint32, scaleParams)
	copy(full, params)
	full[2], full[4], full[6] = n, uint32(b.Size), order(b)
	switch b.Kind {
	case filters.Float:
		full[3] = classFloat
	case filters.Int:
		full[5] = 1
	}
	return full, nil
}

func checkScaleOffset(params []uint32) error {
	if len(params) != scaleParams {
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected %d parameters, found %d", scaleParams, len(params))
	}
	if err := checkNumbers("scaleoffset", params[2], params[4], params[6]); err != nil {
		return err
	}
	factor := int32(params[1])
	switch class, size := params[3], params[4]; {
	case class > classFloat || params[5] > 1 || params[7] > 1:
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected class, sign and fill to be 0 or 1, found %d, %d, %d", class, params[5], params[7])
	case class == classInt && params[0] != scaleInts:
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected scale type %d for integers, found %d", scaleInts, params[0])
	case class == classInt && (factor < 0 || factor > int32(8*size)):
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected 0 to %d bits, found %d", 8*size, factor)
	case class == classFloat && params[0] != scaleDecimals:
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected scale type %d for floats, found %d", scaleDecimals, params[0])
	case class == classFloat && (factor < -maxDecimals || factor > maxDecimals):
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected %d to %d decimal places, found %d", -maxDecimals, maxDecimals, factor)
	case class == classFloat && size < 4:
		return wire.Errorf(filters.ErrParam, "scaleoffset: expected floats of 4 or 8 bytes, found %d", size)
	}
	return nil
}

func scaleOffsetParams(params []uint32) scaleoffset.Params {
	return scaleoffset.Params{
		Factor: int(int32(params[1])), Elements: int(params[2]), Float: params[3] == classFloat,
		Size: int(params[4]), Signed: params[5] == 1, BigEndian: params[6] == bigEndian,
		HasFill: params[7] == 1, Fill: uint64(params[9])<<32 | uint64(params[8]),
	}
}
