package plan

import (
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/filters"
)

// NotViewed is the code of the reason why a blocked variable is not in the Zarr view of
// its archive; see docs/FORMAT.md, "The Zarr view". "" means that it is, or that the
// archive has no view.
type NotViewed string

// The codes. They are part of the format and never change.
const (
	viewPath      NotViewed = "path"
	ViewNoCodec   NotViewed = "no-codec"
	viewOptional  NotViewed = "optional"
	viewUnaligned NotViewed = "unaligned"
)

var notViewedTexts = map[NotViewed]string{
	viewPath:      "its name cannot be the path of a Zarr array",
	ViewNoCodec:   "no Zarr codec undoes a filter of its chain",
	viewOptional:  "a filter of its chain is optional",
	viewUnaligned: "its chain shuffles incomplete elements",
}

// String returns the reason in English.
func (c NotViewed) String() string { return notViewedTexts[c] }

// ViewAt returns why a variable with this path is not in the Zarr view. chain is the
// reason of its chain. Arrays in .cdfz/v would need groups .cdfz and .cdfz/v, without
// which zarr 3 refuses the whole store.
func ViewAt(path string, chain NotViewed) NotViewed {
	if strings.HasPrefix(path, czip.VarPrefix) {
		return viewPath
	}
	return chain
}

// PlanFilters returns a chain of blocks of n bytes with its codecs, and the reason why
// a Zarr reader cannot decode it.
func PlanFilters(c filters.Chain, n int64) ([]PlanFilter, NotViewed) {
	out := withoutCodecs(c)
	var why NotViewed
	for i, f := range c {
		codec, err := filters.FromFilter(f)
		switch {
		case err == nil && len(codec) <= maxCodec && filters.CodecPackage(f.ID) != filters.NCZarr:
			out[i].Codec = codec
		case why != "":
		case f.Optional:
			why = viewOptional
		default:
			why = ViewNoCodec
		}
	}
	if _, err := c.Codecs(filters.Block{Len: int(n)}); err != nil && why == "" {
		why = viewUnaligned
	}
	return out, why
}

// withoutCodecs returns a chain as plans without a view have it.
func withoutCodecs(c filters.Chain) []PlanFilter {
	out := make([]PlanFilter, len(c))
	for i, f := range c {
		out[i] = PlanFilter{ID: f.ID, Params: f.Params, Optional: f.Optional, Name: f.Name}
	}
	return out
}
