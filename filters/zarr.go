package filters

import (
	"encoding/json"
	"slices"
)

// Zarr is a list of codecs as .zarray of Zarr v2 stores it: when encoding, all Filters
// are applied first and the Compressor last. A nil Compressor is JSON's null.
type Zarr struct {
	Filters    []json.RawMessage `json:"filters"`
	Compressor json.RawMessage   `json:"compressor"`
}

// SplitCodecs divides codecs as NCZarr does: the last one is the compressor, whatever it
// is. It is the inverse of [Zarr.Join].
func SplitCodecs(codecs []json.RawMessage) Zarr {
	if len(codecs) == 0 {
		return Zarr{}
	}
	n := len(codecs) - 1
	return Zarr{Filters: slices.Clone(codecs[:n]), Compressor: codecs[n]}
}

// Join returns the codecs in the order of encoding.
func (z Zarr) Join() []json.RawMessage {
	all := slices.Clone(z.Filters)
	if z.Compressor != nil && string(z.Compressor) != "null" {
		all = append(all, z.Compressor)
	}
	return all
}
