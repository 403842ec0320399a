package all

import (
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
)

// levelCodec returns the codec of a filter whose only parameter is a level. missing is the
// default of numcodecs for a missing key "level". none is the filter's default for a missing
// parameter.
func levelCodec(id string, missing, none int32) *filters.Codec {
	return &filters.Codec{
		ID:     id,
		Params: func(text json.RawMessage) ([]uint32, error) { return codecjson.Level(text, missing) },
		JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
			return codecjson.LevelJSON(id, params, none), nil
		},
	}
}

// bareCodec is a codec without keys.
func bareCodec(id string) *filters.Codec {
	return &filters.Codec{
		ID: id,
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct{ ID string }
			return nil, codecjson.Decode(text, &v)
		},
		JSON: func([]uint32, filters.Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"%s"}`, id), nil
		},
	}
}
