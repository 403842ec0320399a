package filters

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/filters/internal/numeric"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// quantizeMethod is numcodecs.Quantize. Users set the number of decimal digits. Complete
// adds the type. Decoding changes nothing. The encoder refuses values that it would round.
var quantizeMethod = Method{
	ID:   Quantize,
	Name: "quantize",
	New: stateless(rounder("quantize", func(dst, src []byte, params []uint32) ([]byte, error) {
		return numeric.Quantize(dst, src, numericType(params[1:]), int(int32(params[0])))
	})),
	Check: func(params []uint32) error {
		if err := wantParams("quantize", params, 4); err != nil {
			return err
		}
		if d := int32(params[0]); d < -30 || d > 30 {
			return errorf(ErrParam, "quantize: expected -30 to 30 digits, found %d", d)
		}
		return checkType("quantize", params[1:], Float)
	},
	Complete: completeRounder,
	Given:    func(params []uint32) []uint32 { return params[:1] },
	Output:   func(_ []uint32, in Block) Block { return in },
	Codec: &Codec{
		ID: "quantize",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID, Dtype, Astype string
				Digits            integer
			}
			if err := DecodeCodec(text, &v); err != nil {
				return nil, err
			}
			if !v.Digits.set {
				return nil, errorf(ErrCodec, `codec quantize: missing key "digits"`)
			}
			if v.Astype != "" && v.Astype != v.Dtype {
				return nil, errorf(ErrNoCodec, `codec quantize: key "astype": no filter converts to %q`, v.Astype)
			}
			typ, err := parseDtype("quantize", v.Dtype)
			return append([]uint32{v.Digits.or(0)}, typ...), err
		},
		JSON: func(params []uint32, _ Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"quantize","digits":%d,"dtype":"%s"}`, int32(params[0]), dtype(params[1:])), nil
		},
	},
}

// bitRoundMethod is numcodecs.BitRound. Users set the number of mantissa bits to keep.
// Complete adds the type, which a codec does not have. Decoding changes nothing. The encoder
// refuses values that it would round.
var bitRoundMethod = Method{
	ID:   BitRound,
	Name: "bitround",
	New: stateless(rounder("bitround", func(dst, src []byte, params []uint32) ([]byte, error) {
		if len(params) == 1 {
			return nil, errorf(ErrParam, "bitround: expected the type of the elements")
		}
		return numeric.BitRound(dst, src, numericType(params[1:]), int(params[0]))
	})),
	Check: func(params []uint32) error {
		if len(params) != 1 && len(params) != 4 {
			return errorf(ErrParam, "bitround: expected 1 or 4 parameters, found %d", len(params))
		}
		if params[0] > 52 {
			return errorf(ErrParam, "bitround: expected 0 to 52 bits, found %d", params[0])
		}
		if len(params) == 4 {
			return checkType("bitround", params[1:], Float)
		}
		return nil
	},
	Complete: completeRounder,
	Given:    func(params []uint32) []uint32 { return params[:1] },
	Output:   func(_ []uint32, in Block) Block { return in },
	Codec: &Codec{
		ID: "bitround",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID       string
				Keepbits integer
			}
			if err := DecodeCodec(text, &v); err != nil {
				return nil, err
			}
			if !v.Keepbits.set {
				return nil, errorf(ErrCodec, `codec bitround: missing key "keepbits"`)
			}
			return []uint32{v.Keepbits.or(0)}, nil
		},
		JSON: func(params []uint32, _ Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"bitround","keepbits":%d}`, params[0]), nil
		},
	},
}

// completeRounder adds the type of the elements after the first parameter.
func completeRounder(params []uint32, b Block) ([]uint32, error) {
	if len(params) == 1 {
		params = append(params, blockType(b)...)
	}
	return params, nil
}

// rounder is a session for filters that round when encoding and decode to what they have
// stored. It refuses blocks that rounding would change, because archives restore every
// bit. So its output is its input, which tells Zarr's readers what precision the values
// have.
func rounder(name string, round func(dst, src []byte, params []uint32) ([]byte, error)) Session {
	return session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			out, err := round(dst, src, params)
			if err == nil && !bytes.Equal(out[len(dst):], src) {
				return nil, errorf(ErrParam, "%s: values have more digits, and rounding would lose them", name)
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
