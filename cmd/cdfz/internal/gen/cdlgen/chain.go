package cdlgen

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// Chain returns the filters that the special attributes ask for. ok is false if there
// are none. The order is that of a netCDF-4 file: _Fletcher32, _Shuffle, _DeflateLevel,
// _Filter. If there is only _Filter, it has the whole chain. Otherwise, if _Codecs has other
// filters or another order, it prevails. An empty array stands for no filters. Parameters are
// not checked.
func (s *Storage) Chain() (c filters.Chain, ok bool, err error) {
	whole := s.Filter != "" && !s.Fletcher32 && !s.Shuffle && s.Deflate < 0
	if c, err = s.attributes(); err != nil || s.Codecs == "" || whole {
		return c, len(c) > 0, err
	}
	codecs, err := s.codecs()
	if err != nil {
		return nil, false, err
	}
	if !slices.Equal(c.IDs(), codecs.IDs()) {
		c = codecs
	}
	return c, true, nil
}

func (s *Storage) codecs() (c filters.Chain, err error) {
	var codecs []json.RawMessage
	if err := json.Unmarshal([]byte(s.Codecs), &codecs); err != nil {
		return nil, fmt.Errorf("_Codecs: expected a JSON array of codecs: %w", err)
	}
	for _, text := range codecs {
		f, err := filters.ToFilter(text)
		if err != nil {
			return nil, fmt.Errorf("_Codecs: %w", err)
		}
		c = append(c, f)
	}
	return c, nil
}

func (s *Storage) attributes() (c filters.Chain, err error) {
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
			return nil, fmt.Errorf("_Filter: %w", err)
		}
		c = append(c, more...)
	}
	return c, nil
}
