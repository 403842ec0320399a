package filters

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/lorenz"
)

// lorenzMethod is the codec of package lorenz (docs/LORENZ.md). Users set at most one
// parameter, the effort: 0 default, 1 fast, 2 max. Complete prepends the parameters of
// the codec: version, element type, byte order, number of dimensions, dimensions. It adds
// lorenzStack to the effort of stacks. Decoding ignores the effort, which may be missing.
var lorenzMethod = Method{
	ID:         Lorenz,
	Name:       "lorenz",
	New:        func() Session { return new(lorenzState) },
	Compresses: true,
	Check: func(params []uint32) error {
		_, _, err := lorenzParams(params)
		return err
	},
	Complete: func(params []uint32, b Block) ([]uint32, error) {
		if len(params) > 1 {
			return params, nil // complete already
		}
		p, err := lorenzBlock(b)
		if err != nil {
			return nil, err
		}
		v, err := p.Uint32s()
		if err != nil {
			return nil, causef(ErrParam, err, "lorenz")
		}
		if b.Stack {
			effort := uint32(lorenzStack)
			if len(params) > 0 {
				effort |= params[0]
			}
			return append(v, effort), nil
		}
		return append(v, params...), nil
	},
	Given: func(params []uint32) []uint32 {
		effort := params[4+params[3]:]
		if len(effort) == 1 && effort[0] >= lorenzStack {
			effort = []uint32{effort[0] - lorenzStack}
			if effort[0] == 0 {
				effort = nil
			}
		}
		return effort
	},
	// A block that cannot be compressed is stored after one byte.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + 1) },
	// What the decoder states, and the block if only runs of it are wanted.
	Memory: func(n int, params []uint32) int64 {
		p, _, err := lorenzParams(params)
		if err != nil {
			return 0
		}
		return p.Memory() + int64(n)
	},
	Grain: func(_ int, params []uint32) int {
		p, _, err := lorenzParams(params)
		if err != nil {
			return 0
		}
		return p.Type.Size()
	},
	Codec: &Codec{ID: "lorenz", Package: "cdfz", Params: lorenzCodecParams, JSON: lorenzCodecJSON},
}

// lorenzStack is added to the effort for blocks whose rows along the first dimension are arrays of
// their own.
const lorenzStack = 4

// lorenzParams splits the parameters into those of the codec and the effort.
func lorenzParams(params []uint32) (lorenz.Params, lorenz.Level, error) {
	level, stack := lorenz.Default, false
	if len(params) >= 4 && uint64(len(params)) == 5+uint64(params[3]) {
		last := params[len(params)-1]
		if stack = last&lorenzStack != 0; stack {
			last -= lorenzStack
		}
		switch last {
		case 0:
		case 1:
			level = lorenz.Fast
		case 2:
			level = lorenz.Max
		default:
			return lorenz.Params{}, 0, errorf(ErrParam, "lorenz: expected an effort from 0 to 2 or 4 to 6, found %d", params[len(params)-1])
		}
		params = params[:len(params)-1]
	}
	p, err := lorenz.ParseParams(params)
	if err != nil {
		return lorenz.Params{}, 0, causef(ErrParam, err, "lorenz")
	}
	p.Stack = stack
	return p, level, nil
}

// lorenzBlock describes blocks to the codec. Blocks of unknown elements are taken as
// bytes.
func lorenzBlock(b Block) (lorenz.Params, error) {
	p := lorenz.Params{Type: lorenz.Uint8, Dims: b.Shape}
	types := map[Kind][4]lorenz.Type{ // by 1, 2, 4 and 8 bytes
		Int:   {lorenz.Int8, lorenz.Int16, lorenz.Int32, lorenz.Int64},
		Uint:  {lorenz.Uint8, lorenz.Uint16, lorenz.Uint32, lorenz.Uint64},
		Float: {0, 0, lorenz.Float32, lorenz.Float64},
		Text:  {lorenz.Char},
	}
	if b.Kind != Bytes {
		i := slices.Index([]int{1, 2, 4, 8}, b.Size)
		if i < 0 || types[b.Kind][i] == 0 {
			return p, errorf(ErrParam, "lorenz: expected elements of 1, 2, 4 or 8 bytes, found %d", b.Size)
		}
		p.Type = types[b.Kind][i]
	}
	if b.LittleEndian {
		p.Order = lorenz.LittleEndian
	}
	if b.Shape == nil {
		if b.Len <= 0 || b.Len%p.Type.Size() != 0 {
			return p, errorf(ErrParam, "lorenz: expected blocks of one length, found %d", b.Len)
		}
		p.Dims = []int{b.Len / p.Type.Size()}
	}
	return p, nil
}

// lorenzCodec is the JSON of the codec: the parameters by name.
type lorenzCodec struct {
	ID      string   `json:"id"`
	Version uint32   `json:"version"`
	Type    uint32   `json:"type"`
	Order   uint32   `json:"order"`
	Shape   []uint32 `json:"shape"`
}

func lorenzCodecParams(text json.RawMessage) ([]uint32, error) {
	var v struct {
		ID      string
		Version codecjson.Integer
		Type    codecjson.Integer
		Order   codecjson.Integer
		Shape   []uint32
	}
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	params := []uint32{v.Version.Or(lorenz.Version), v.Type.Or(0), v.Order.Or(0), uint32(len(v.Shape))}
	return append(params, v.Shape...), nil
}

func lorenzCodecJSON(params []uint32, _ Block) (json.RawMessage, error) {
	p, _, err := lorenzParams(params)
	if err != nil {
		return nil, err
	}
	c := lorenzCodec{ID: "lorenz", Version: lorenz.Version, Type: uint32(p.Type), Order: uint32(p.Order), Shape: []uint32{}}
	for _, d := range p.Dims {
		c.Shape = append(c.Shape, uint32(d))
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("filters: internal error: %w", err)
	}
	return b, nil
}

// lorenzState is an encoder and a decoder. It keeps the last parameters in both forms,
// since consecutive blocks usually belong to the same variable.
type lorenzState struct {
	enc    lorenz.Encoder
	dec    lorenz.Decoder
	params []uint32
	p      lorenz.Params
	level  lorenz.Level
}

// parse splits parameters as [lorenzParams] does.
func (s *lorenzState) parse(params []uint32) error {
	if s.params != nil && slices.Equal(s.params, params) {
		return nil
	}
	p, level, err := lorenzParams(params)
	if err != nil {
		return err
	}
	s.params, s.p, s.level = append(s.params[:0], params...), p, level
	return nil
}

// decoder returns a decoder for blocks with these parameters.
func (s *lorenzState) decoder(params []uint32) (*lorenz.Decoder, error) {
	if err := s.parse(params); err != nil {
		return nil, err
	}
	if err := s.dec.Reset(s.p); err != nil {
		return nil, causef(ErrParam, err, "lorenz")
	}
	return &s.dec, nil
}

// decoderOf is decoder for blocks that must decode to n bytes: whoever decodes only a part of one
// does not see how long the whole is.
func (s *lorenzState) decoderOf(params []uint32, n int) (*lorenz.Decoder, error) {
	d, err := s.decoder(params)
	if err == nil && s.len() != n {
		return nil, errorf(ErrDecodedSize, "lorenz: expected %d bytes, found %d", n, s.len())
	}
	return d, err
}

// len returns the number of bytes of a block with the last parameters, once a decoder took them.
func (s *lorenzState) len() int {
	n := s.p.Type.Size()
	for _, d := range s.p.Dims {
		n *= d
	}
	return n
}

func (s *lorenzState) Encode(dst, src []byte, params []uint32, in Block) ([]byte, error) {
	return s.encode(dst, src, params, nil)
}

// encode appends an encoded block. If hint is not nil, it is one for the block, or else becomes one for others.
func (s *lorenzState) encode(dst, src []byte, params []uint32, hint *Hint) ([]byte, error) {
	if err := s.parse(params); err != nil {
		return nil, err
	}
	err := s.enc.Reset(s.p, s.level)
	if err == nil && hint != nil {
		dst, hint.choice, err = s.enc.EncodeLike(dst, src, hint.choice)
	} else if err == nil {
		dst, err = s.enc.Encode(dst, src)
	}
	if err != nil {
		return nil, causef(ErrParam, err, "lorenz")
	}
	return dst, nil
}

func (s *lorenzState) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	d, err := s.decoder(params)
	if err != nil {
		return nil, err
	}
	n := s.len()
	if n > max {
		return nil, errorf(ErrDecodedSize, "lorenz: expected at most %d bytes, found %d", max, n)
	}
	dst, part := wire.Extend(dst, n)
	if err := d.Decode(part, src); err != nil {
		return nil, causef(ErrDamaged, err, "lorenz")
	}
	return dst, nil
}

func (s *lorenzState) DecodeRange(dst, src []byte, params []uint32, n, from int) error {
	d, err := s.decoderOf(params, n)
	if err != nil {
		return err
	}
	size := s.p.Type.Size()
	if err := d.DecodeRange(dst, src, from/size, (from+len(dst))/size); err != nil {
		return causef(ErrDamaged, err, "lorenz")
	}
	return nil
}

func (s *lorenzState) DecodeRuns(dst, src []byte, params []uint32, n int, r Runs) error {
	d, err := s.decoderOf(params, n)
	if err != nil {
		return err
	}
	size := s.p.Type.Size()
	if err := d.DecodeRuns(dst, src, lorenz.Runs{Start: r.Start / size, Len: r.Len / size, Stride: r.Stride / size, Count: r.Count}); err != nil {
		return causef(ErrDamaged, err, "lorenz")
	}
	return nil
}
