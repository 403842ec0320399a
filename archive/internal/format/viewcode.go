package format

import "github.com/cdfz-format/cdfz/filters"

// notViewed is the code of the reason why a blocked variable is not in the Zarr view
// of its archive, docs/FORMAT.md, section 7. "" means that it is, or that the archive
// has no view.
type notViewed string

// The codes. Part of the format, never to change.
const (
	ViewNoCodec   notViewed = "no-codec"
	viewOptional  notViewed = "optional"
	viewUnaligned notViewed = "unaligned"
)

var notViewedTexts = map[notViewed]string{
	ViewNoCodec:   "no Zarr codec undoes a filter of its chain",
	viewOptional:  "a filter of its chain is optional",
	viewUnaligned: "its chain shuffles incomplete elements",
}

func (c notViewed) known() bool { return notViewedTexts[c] != "" }

// String returns the reason in English.
func (c notViewed) String() string { return notViewedTexts[c] }

// planFilters returns a chain of blocks of n bytes with its codecs, and why a Zarr reader
// cannot undo it.
func planFilters(c filters.Chain, n int64) ([]PlanFilter, notViewed) {
	out := make([]PlanFilter, len(c))
	var why notViewed
	for i, f := range c {
		out[i] = PlanFilter{ID: f.ID, Params: f.Params, Optional: f.Optional, Name: f.Name}
		codec, err := filters.FromFilter(f)
		switch {
		case err == nil && len(codec) <= maxCodec:
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
