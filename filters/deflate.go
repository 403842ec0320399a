package filters

import (
	"encoding/json"

	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/deflate"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// deflateMethod is HDF5's deflate (H5Zdeflate.c): one zlib stream (RFC 1950)
// without a preset dictionary. Its parameter is the level, 0 to 9. Level 0 stores.
// Incompressible data goes into stored deflate blocks, 5 bytes each.
var deflateMethod = Method{
	ID:         Deflate,
	Name:       "deflate",
	New:        func() Session { return new(deflateSession) },
	Check:      wire.LevelCheck("deflate", 0, 9, false),
	Defaults:   []uint32{6},
	Compresses: true,
	// zlib's deflateBound for the worst settings (deflate.c), with a margin for
	// encoders that end blocks often.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>5 + 1024) },
	Memory:        func(int, []uint32) int64 { return 64 << 10 },
	Codec: &Codec{
		ID:     "zlib",
		Params: func(text json.RawMessage) ([]uint32, error) { return codecjson.Level(text, 1) },
		JSON: func(params []uint32, _ Block) (json.RawMessage, error) {
			return codecjson.LevelJSON("zlib", params, 0), nil
		},
	},
}

type deflateSession struct{ deflate.State }

func (s *deflateSession) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	return s.State.Encode(dst, src, int(params[0]))
}

func (s *deflateSession) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	return s.State.Decode(dst, src, max)
}
