package cdlgen

import (
	"encoding/json"
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// Chain returns the filters that the special attributes ask for. ok is false if there
// are none. _Codecs has the whole chain in its order, and an empty array stands for no
// filters. Without it the order is that of a netCDF-4 file: _Fletcher32, _Shuffle,
// _DeflateLevel, _Filter. Parameters are not checked.
func (s *Storage) Chain() (c filters.Chain, ok bool, err error) {
	if s.Codecs != "" {
		var codecs []json.RawMessage
		if err := json.Unmarshal([]byte(s.Codecs), &codecs); err != nil {
			return nil, false, fmt.Errorf("_Codecs: expected a JSON array of codecs: %w", err)
		}
		for _, text := range codecs {
			f, err := filters.ToFilter(text)
			if err != nil {
				return nil, false, fmt.Errorf("_Codecs: %w", err)
			}
			c = append(c, f)
		}
		return c, true, nil
	}
	if s.Fletcher32 {
		c = append(c, filters.Filter{ID: filters.Fletcher32})
	}
	if s.Shuffle {
		c = append(c, filters.Filter{ID: filters.Shuffle})
	}
	if s.Deflate >= 0 {
		c = append(c, filters.Filter{ID: filters.Deflate, Params: []uint32{uint32(s.Deflate)}})
	}
	if s.Filter != "" {
		more, err := spec.ParseChain(s.Filter, nil)
		if err != nil {
			return nil, false, fmt.Errorf("_Filter: %w", err)
		}
		c = append(c, more...)
	}
	return c, len(c) > 0, nil
}
