package filters

import (
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/transpose"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// shuffleMethod is HDF5's shuffle (H5Zshuffle.c): byte j of element i of n goes
// to j*n+i, and bytes after the last whole element stay at the end. Its
// parameter is the element size. It never fails and never changes the length.
var shuffleMethod = Method{
	ID:   Shuffle,
	Name: "shuffle",
	New:  func() Session { return shuffleSession{} },
	Check: func(params []uint32) error {
		if err := wire.WantParams("shuffle", params, 1); err != nil {
			return err
		}
		if params[0] < 1 {
			return errorf(ErrParam, "shuffle: expected an element size of at least 1, found 0")
		}
		return nil
	},
	// HDF5's users do not pass the parameter either.
	Complete: func(params []uint32, b Block) ([]uint32, error) {
		if len(params) == 0 && b.Size > 0 {
			params = []uint32{uint32(b.Size)}
		}
		return params, nil
	},
	Local: func(params []uint32) int {
		if params[0] == 1 {
			return 1
		}
		return 0
	},
	Output: func(params []uint32, in Block) Block {
		size := elemSize(params)
		out := Block{Len: in.Len, Size: 1}
		if in.Len > 0 && in.Len%size == 0 {
			out.Shape = []int{size, in.Len / size}
		}
		return out
	},
	Codec: &Codec{
		ID: "shuffle",
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID          string
				Elementsize codecjson.Integer
			}
			err := codecjson.Decode(text, &v)
			size := v.Elementsize.Or(4)
			if err == nil && size > wire.MaxElemSize {
				err = errorf(ErrParam, "codec shuffle: expected an element size of at least 1, found %d", int32(size))
			}
			return []uint32{size}, err
		},
		// netCDF-C has written elementsize 0 here and, earlier, a string
		// (netcdf-c#3200), so that readers do not unshuffle.
		JSON: func(params []uint32, in Block) (json.RawMessage, error) {
			if params[0] > wire.MaxElemSize {
				return nil, errorf(ErrNoCodec, "filter 2,%d (shuffle): its codec has no such element size", params[0])
			}
			if s := elemSize(params); s > 1 && (in.Len < 0 || in.Len%s != 0) {
				return nil, errorf(ErrNoCodec, "filter 2,%d (shuffle): its codec refuses incomplete elements", s)
			}
			return fmt.Appendf(nil, `{"id":"shuffle","elementsize":%d}`, params[0]), nil
		},
	},
}

// elemSize returns the element size within an int on every system. Less than two elements of the largest
// fit a block, and they stay as they are.
func elemSize(params []uint32) int { return int(min(params[0], wire.MaxElemSize)) }

type shuffleSession struct{}

func (shuffleSession) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	dst, part := wire.Extend(dst, len(src))
	transpose.Shuffle(part, src, elemSize(params))
	return dst, nil
}

func (shuffleSession) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	if len(src) > max {
		return nil, wire.TooLong("shuffle", max, len(src))
	}
	dst, part := wire.Extend(dst, len(src))
	transpose.Unshuffle(part, src, elemSize(params))
	return dst, nil
}
