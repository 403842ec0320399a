package filters

import (
	"github.com/cdfz-format/cdfz/filters/internal/headers"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// headerMethod is for netCDF headers: LZMA with their vocabulary as dictionary. Its first parameter is the number of
// the dictionary, 0 for none. The second may be absent. It is the effort of the encoder, 0 or 1, which decoding ignores.
var headerMethod = Method{
	ID:         Header,
	Name:       "header",
	New:        func() Session { return new(headerSession) },
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

type headerSession struct{ headers.State }

func (s *headerSession) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	return s.State.Encode(dst, src, params[0], effort(params))
}

func (s *headerSession) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	return s.State.Decode(dst, src, params[0], max)
}
