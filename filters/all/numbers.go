package all

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/numeric"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// ofNumcodecs are codecs of numcodecs for numbers, which HDF5 lacks. Their ids are private.
// Several parameters describe a type of numbers: kind (1 signed, 2 unsigned, 3 float),
// size in bytes, order (0 little-endian, 1 big-endian).
var ofNumcodecs = []filters.Method{deltaMethod, fixedScaleOffsetMethod, quantizeMethod, bitRoundMethod, packBitsMethod}

// deltaMethod is numcodecs.Delta, for integers only: differences of floats are not exact.
// Users set no parameter. Complete adds the type.
var deltaMethod = filters.Method{
	ID:   filters.Delta,
	Name: "delta",
	New: stateless(session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return numeric.AppendDelta(dst, src, numericType(params))
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return numeric.AppendSums(dst, src, numericType(params), max)
		},
	}),
	Check: func(params []uint32) error {
		if err := wire.WantParams("delta", params, 3); err != nil {
			return err
		}
		return checkType("delta", params, filters.Int, filters.Uint)
	},
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
		if len(params) == 0 {
			params = blockType(b)
		}
		return params, nil
	},
	Given:  func([]uint32) []uint32 { return nil },
	Output: func(_ []uint32, in filters.Block) filters.Block { return in },
	Codec: &filters.Codec{
		ID: "delta",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct{ ID, Dtype, Astype string }
			if err := codecjson.Decode(text, &v); err != nil {
				return nil, err
			}
			if v.Astype != "" && v.Astype != v.Dtype {
				return nil, wire.Errorf(filters.ErrNoCodec, `codec delta: key "astype": no filter converts to %q`, v.Astype)
			}
			return parseDtype("delta", v.Dtype)
		},
		JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"delta","dtype":"%s"}`, dtype(params)), nil
		},
	},
}

// fixedScaleOffsetMethod is numcodecs.FixedScaleOffset with integers as the stored type:
// (x - offset)·scale. Users set six parameters: kind and size of the stored integers, and
// scale and offset as 64-bit floats. Complete prepends the type and inserts the order of the
// stored integers. Blocks that would not be restored exactly are refused.
var fixedScaleOffsetMethod = filters.Method{
	ID:   filters.FixedScaleOffset,
	Name: "fixedscaleoffset",
	New: stateless(session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return numericScale(params).Encode(dst, src)
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return numericScale(params).Decode(dst, src, max)
		},
	}),
	Compresses: true,
	Check: func(params []uint32) error {
		if err := wire.WantParams("fixedscaleoffset", params, 10); err != nil {
			return err
		}
		if err := checkType("fixedscaleoffset", params, filters.Int, filters.Uint, filters.Float); err != nil {
			return err
		}
		if err := checkType("fixedscaleoffset", params[3:], filters.Int, filters.Uint); err != nil {
			return err
		}
		if s := numericScale(params); s.Scale == 0 || math.IsNaN(s.Scale-s.Scale) || math.IsNaN(s.Offset-s.Offset) {
			return wire.Errorf(filters.ErrParam, "fixedscaleoffset: expected a finite scale and offset, found %v and %v", s.Scale, s.Offset)
		}
		return nil
	},
	Complete: func(params []uint32, b filters.Block) ([]uint32, error) {
		if len(params) != 6 {
			return params, nil
		}
		full := append(blockType(b), params[0], params[1], order(b))
		return append(full, params[2:]...), nil
	},
	Given: func(params []uint32) []uint32 {
		return append([]uint32{params[3], params[4]}, params[6:]...)
	},
	MaxEncodedLen: func(n int, params []uint32) int { return int(min(int64(n)*8, math.MaxInt32)) },
	Output: func(params []uint32, in filters.Block) filters.Block {
		out := filters.Block{Len: -1, Kind: filters.Kind(params[3]), Size: int(params[4]), LittleEndian: params[5] == 0, Shape: in.Shape}
		if in.Len > 0 {
			out.Len = in.Len / int(params[1]) * out.Size
		}
		return out
	},
	Codec: &filters.Codec{ID: "fixedscaleoffset", Params: fixedScaleOffsetParams, JSON: fixedScaleOffsetJSON},
}

func fixedScaleOffsetParams(text json.RawMessage) ([]uint32, error) {
	var v struct {
		ID, Dtype, Astype string
		Scale, Offset     *float64
	}
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	if v.Scale == nil || v.Offset == nil {
		return nil, wire.Errorf(filters.ErrCodec, `codec fixedscaleoffset: missing key "scale" or "offset"`)
	}
	from, err := parseDtype("fixedscaleoffset", v.Dtype)
	if err != nil {
		return nil, err
	}
	to := from
	if v.Astype != "" {
		if to, err = parseDtype("fixedscaleoffset", v.Astype); err != nil {
			return nil, err
		}
	}
	params := append(append([]uint32{}, from...), to...)
	for _, f := range []float64{*v.Scale, *v.Offset} {
		b := math.Float64bits(f)
		params = append(params, uint32(b), uint32(b>>32))
	}
	return params, nil
}

func fixedScaleOffsetJSON(params []uint32, _ filters.Block) (json.RawMessage, error) {
	s := numericScale(params)
	return fmt.Appendf(nil, `{"id":"fixedscaleoffset","scale":%s,"offset":%s,"dtype":"%s","astype":"%s"}`,
		floatJSON(s.Scale), floatJSON(s.Offset), dtype(params), dtype(params[3:])), nil
}

// floatJSON writes a number that numpy takes as a float: with integers it would compute in
// the type of the data.
func floatJSON(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func numericScale(params []uint32) numeric.Scale {
	float := func(i int) float64 { return math.Float64frombits(uint64(params[i+1])<<32 | uint64(params[i])) }
	return numeric.Scale{From: numericType(params), To: numericType(params[3:]), Scale: float(6), Offset: float(8)}
}

// packBitsMethod is numcodecs.PackBits, for bytes that are 0 or 1.
var packBitsMethod = filters.Method{
	ID:   filters.PackBits,
	Name: "packbits",
	New: stateless(session{
		encode: func(dst, src []byte, _ []uint32) ([]byte, error) { return numeric.AppendBits(dst, src) },
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) {
			return numeric.AppendBools(dst, src, max)
		},
	}),
	Compresses:    true,
	MaxEncodedLen: func(n int, _ []uint32) int { return n/8 + 2 },
	Codec:         bareCodec("packbits"),
}

// quantizeMethod is numcodecs.Quantize. Users set the number of decimal digits. Complete
// adds the type. Decoding changes nothing. The encoder refuses values that it would round.
var quantizeMethod = filters.Method{
	ID:   filters.Quantize,
	Name: "quantize",
	New:  stateless(rounder("quantize", quantize)),
	Check: func(params []uint32) error {
		if len(params) < 4 || len(params)%2 != 0 || len(params) > maxRounder {
			return wire.Errorf(filters.ErrParam, "quantize: expected 4 parameters and up to %d pairs, found %d", maxKept, len(params))
		}
		if d := int32(params[0]); d < -30 || d > 30 {
			return wire.Errorf(filters.ErrParam, "quantize: expected -30 to 30 digits, found %d", d)
		}
		return checkType("quantize", params[1:], filters.Float)
	},
	Complete: completeRounder,
	Given:    givenRounder,
	Round:    quantize,
	Output:   func(_ []uint32, in filters.Block) filters.Block { return in },
	Codec: &filters.Codec{
		ID: "quantize",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID, Dtype, Astype string
				Digits            codecjson.Integer
			}
			if err := codecjson.Decode(text, &v); err != nil {
				return nil, err
			}
			if !v.Digits.Set {
				return nil, wire.Errorf(filters.ErrCodec, `codec quantize: missing key "digits"`)
			}
			if v.Astype != "" && v.Astype != v.Dtype {
				return nil, wire.Errorf(filters.ErrNoCodec, `codec quantize: key "astype": no filter converts to %q`, v.Astype)
			}
			typ, err := parseDtype("quantize", v.Dtype)
			return append([]uint32{v.Digits.Or(0)}, typ...), err
		},
		JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"quantize","digits":%d,"dtype":"%s"}`, int32(params[0]), dtype(params[1:])), nil
		},
	},
}

// bitRoundMethod is numcodecs.BitRound. Users set the number of mantissa bits to keep.
// Complete adds the type, which a codec does not have. Decoding changes nothing. The encoder
// refuses values that it would round.
var bitRoundMethod = filters.Method{
	ID:   filters.BitRound,
	Name: "bitround",
	New:  stateless(rounder("bitround", bitRound)),
	Check: func(params []uint32) error {
		if len(params) != 1 && (len(params) < 4 || len(params)%2 != 0 || len(params) > maxRounder) {
			return wire.Errorf(filters.ErrParam, "bitround: expected 1 parameter, or 4 and up to %d pairs, found %d", maxKept, len(params))
		}
		if params[0] > 52 {
			return wire.Errorf(filters.ErrParam, "bitround: expected 0 to 52 bits, found %d", params[0])
		}
		if len(params) > 1 {
			return checkType("bitround", params[1:], filters.Float)
		}
		return nil
	},
	Complete: completeRounder,
	Given:    givenRounder,
	Round:    bitRound,
	Output:   func(_ []uint32, in filters.Block) filters.Block { return in },
	Codec: &filters.Codec{
		ID: "bitround",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID       string
				Keepbits codecjson.Integer
			}
			if err := codecjson.Decode(text, &v); err != nil {
				return nil, err
			}
			if !v.Keepbits.Set {
				return nil, wire.Errorf(filters.ErrCodec, `codec bitround: missing key "keepbits"`)
			}
			return []uint32{v.Keepbits.Or(0)}, nil
		},
		JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"bitround","keepbits":%d}`, params[0]), nil
		},
	},
}

// A variable has a fill value and perhaps a few that mark missing values.
const (
	maxKept    = 8
	maxRounder = 4 + 2*maxKept
)

// quantize rounds floats as numcodecs.Quantize.
func quantize(dst, src []byte, params []uint32) ([]byte, error) {
	return numeric.Quantize(dst, src, numericType(params[1:]), int(int32(params[0])), keptValues(params))
}

// bitRound rounds floats as numcodecs.BitRound.
func bitRound(dst, src []byte, params []uint32) ([]byte, error) {
	if len(params) == 1 {
		return nil, wire.Errorf(filters.ErrParam, "bitround: expected the type of the elements")
	}
	return numeric.BitRound(dst, src, numericType(params[1:]), int(params[0]), keptValues(params))
}

// keptValues returns the bits of the values that are not rounded.
func keptValues(params []uint32) (keep []uint64) {
	for i := 4; i < len(params); i += 2 {
		keep = append(keep, uint64(params[i+1])<<32|uint64(params[i]))
	}
	return keep
}

// completeRounder inserts the type of the elements after the first parameter. Pairs that
// follow are values that are not rounded. Their number reports whether the type is there.
func completeRounder(params []uint32, b filters.Block) ([]uint32, error) {
	if len(params)%2 == 0 {
		return params, nil
	}
	full := append(params[:1:1], blockType(b)...)
	return append(full, params[1:]...), nil
}

// givenRounder leaves out the type.
func givenRounder(params []uint32) []uint32 {
	if len(params)%2 != 0 {
		return params
	}
	return append(params[:1:1], params[4:]...)
}

// rounder is a session for filters that round when encoding and decode to what they have
// stored. It refuses blocks that rounding would change, because archives restore every
// bit, so values must be rounded before they are archived ([Method].Round). Its output is
// its input: the filter only records the precision of the values for Zarr's readers.
func rounder(name string, round func(dst, src []byte, params []uint32) ([]byte, error)) filters.Session {
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			out, err := round(dst, src, params)
			if err == nil && !bytes.Equal(out[len(dst):], src) {
				return nil, wire.Errorf(filters.ErrRounds, "%s: values have more digits, and rounding would lose them", name)
			}
			return out, err
		},
		decode: func(dst, src []byte, _ []uint32, max int) ([]byte, error) {
			if len(src) > max {
				return nil, wire.TooLong(name, max, len(src))
			}
			return append(dst, src...), nil
		},
	}
}

// blockType returns the parameters for the type of blocks.
func blockType(b filters.Block) []uint32 { return []uint32{uint32(b.Kind), uint32(b.Size), order(b)} }

// checkType checks parameters that describe a type, which must be of one of the kinds.
func checkType(name string, params []uint32, kinds ...filters.Kind) error {
	if err := checkNumbers(name, 1, params[1], params[2]); err != nil {
		return err
	}
	for _, k := range kinds {
		if params[0] == uint32(k) && (k != filters.Float || params[1] >= 4) {
			return nil
		}
	}
	var names []string
	for _, k := range kinds {
		names = append(names, kindNames[k])
	}
	found := fmt.Sprintf("kind %d", params[0])
	if name, ok := kindNames[filters.Kind(params[0])]; ok {
		found = name
	}
	return wire.Errorf(filters.ErrParam, "%s: expected elements that are %s, found %s of %d bytes", name, strings.Join(names, " or "), found, params[1])
}

func numericType(params []uint32) numeric.Type {
	return numeric.Type{
		Size: int(params[1]), Float: filters.Kind(params[0]) == filters.Float, Signed: filters.Kind(params[0]) == filters.Int, BigEndian: params[2] == bigEndian,
	}
}

// kindNames are the plurals of the kinds of elements.
var kindNames = map[filters.Kind]string{filters.Bytes: "bytes", filters.Int: "signed integers", filters.Uint: "unsigned integers", filters.Float: "floats", filters.Text: "characters"}

// dtypeKinds are numpy's letters for kinds of numbers.
var dtypeKinds = map[filters.Kind]string{filters.Int: "i", filters.Uint: "u", filters.Float: "f"}

// dtype returns numpy's name for a type.
func dtype(params []uint32) string {
	order := "<"
	switch {
	case params[1] == 1:
		order = "|"
	case params[2] == bigEndian:
		order = ">"
	}
	return fmt.Sprintf("%s%s%d", order, dtypeKinds[filters.Kind(params[0])], params[1])
}

// parseDtype returns the parameters for numpy's name of a type.
func parseDtype(codec, s string) ([]uint32, error) {
	for kind, letter := range dtypeKinds {
		for _, size := range []uint32{1, 2, 4, 8} {
			for order := range uint32(2) {
				p := []uint32{uint32(kind), size, order}
				if name := dtype(p); s == name || size == 1 && (s == letter+"1" || s == "<"+letter+"1" || s == ">"+letter+"1") {
					return p, nil
				}
			}
		}
	}
	return nil, wire.Errorf(filters.ErrCodec, "codec %s: expected a dtype such as \">i2\", found %q", codec, s)
}
