package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/cdfz-format/cdfz/filters"
)

// ParseCodecs parses a chain as JSON: one codec of Zarr, an array of them in the order of
// encoding, or an object with "filters" and "compressor" as in .zarray, whose other keys
// are ignored. null and [] mean no filters. Errors of single codecs are those of
// [filters.ToFilter], in an [*Error] with the place of the codec.
func ParseCodecs(text []byte) (filters.Chain, error) {
	codecs, err := codecList(text)
	if err != nil {
		return nil, err
	}
	if len(codecs) > filters.MaxFilters {
		return nil, errorAt(ErrSpec, 0, "expected at most %d codecs, found %d", filters.MaxFilters, len(codecs))
	}
	var c filters.Chain
	at := 0
	for _, codec := range codecs {
		// Equal codecs come one after another, but the compressor may be before the filters.
		if i := bytes.Index(text[at:], codec); i >= 0 {
			at += i
		} else {
			at = bytes.Index(text, codec)
		}
		f, err := filters.ToFilter(codec)
		if err != nil {
			return nil, &Error{Col: at + 1, msg: strings.TrimPrefix(err.Error(), "filters: "), kind: ErrSpec, cause: err}
		}
		c = append(c, f)
		at += len(codec)
	}
	return c, nil
}

// codecList finds the codecs in the three forms.
func codecList(text []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(text, &list)
	if err == nil {
		return list, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, errorAt(ErrSpec, int(max(syntax.Offset, 1))-1, "JSON: %v", err)
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil {
		return nil, errorAt(ErrSpec, 0, "expected a codec, a list of codecs, or an object with filters and compressor")
	}
	_, some := keys["filters"]
	_, one := keys["compressor"]
	if _, id := keys["id"]; id || !some && !one {
		return []json.RawMessage{text}, nil
	}
	z := filters.Zarr{Compressor: keys["compressor"]}
	if some && json.Unmarshal(keys["filters"], &z.Filters) != nil {
		return nil, errorAt(ErrSpec, bytes.Index(text, keys["filters"]), `expected a list of codecs for "filters"`)
	}
	return z.Join(), nil
}
