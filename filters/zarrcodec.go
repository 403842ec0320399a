package filters

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
)

// Codec is Zarr's form of a filter: JSON with an "id" and further keys. The codec
// decodes the output of the filter.
type Codec struct {
	// ID is the value of the key "id".
	ID string
	// Package names the Python package that provides the codec. Empty means numcodecs,
	// which comes with every Zarr. [NCZarr] means netCDF-C and no Python package.
	Package string
	// Origin is the file of a codec that was found at run time. Another machine may have
	// another one or none, and a stock Zarr may not know it. Empty for codecs that are part
	// of the program.
	Origin string
	// Given means that Params and JSON work on the parameters that a user sets
	// (Method.Given), and not on complete ones.
	Given bool
	// Params parses the JSON of a codec with the id ID. Missing keys have the defaults
	// of numcodecs. Unknown keys are errors that wrap [ErrCodec], because their meaning
	// would be lost. [DecodeCodec] detects them.
	Params func(text json.RawMessage) ([]uint32, error)
	// JSON writes the codec. It is the inverse of Params. in describes the input of the
	// filter. An error that wraps [ErrNoCodec] means that the codec has no equivalent.
	JSON func(params []uint32, in Block) (json.RawMessage, error)
}

// NCZarr is the package of codecs that only netCDF-C has, for its Zarr stores. Variables with
// such codecs are not in the Zarr views of archives.
const NCZarr = "NCZarr"

// DecodeCodec parses a codec's JSON into the struct that v points to, which has a field
// for each key. Unknown keys and wrong types are errors that wrap [ErrCodec].
func DecodeCodec(text json.RawMessage, v any) error { return codecjson.Decode(text, v) }

// CodecID returns the id of the codec that is paired with a filter id, or "".
func CodecID(filter uint32) string {
	if r := find(filter); r != nil && r.Codec != nil {
		return r.Codec.ID
	}
	return ""
}

// CodecPackage returns the Python package that provides the codec of a filter, or "" if
// that is numcodecs or there is no codec.
func CodecPackage(filter uint32) string {
	if r := find(filter); r != nil && r.Codec != nil {
		return r.Codec.Package
	}
	return ""
}

// withCodec returns the filter that is paired with a codec id, or nil. If several are, it is
// the one with the lowest id, as in netcdf-c.
func withCodec(id string) *registered {
	registryMu.RLock()
	defer registryMu.RUnlock()
	var found *registered
	for _, r := range registry {
		if r.Codec != nil && r.Codec.ID == id && (found == nil || r.ID < found.ID) {
			found = r
		}
	}
	return found
}

// ToFilter returns the filter described by a codec's JSON. Missing keys have the
// defaults of numcodecs. Unknown keys are [ErrCodec].
func ToFilter(text json.RawMessage) (Filter, error) {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(text, &head); err != nil {
		return Filter{}, causef(ErrCodec, err, "codec %s", clip(text))
	}
	if head["id"] == nil {
		return Filter{}, errorf(ErrNoCodecID, `codec %s: missing key "id"`, clip(text))
	}
	var id string
	if err := json.Unmarshal(head["id"], &id); err != nil {
		return Filter{}, causef(ErrCodec, err, `codec %s: key "id"`, clip(text))
	}
	for key := range head {
		// Package json would match them with the lower-case names.
		if key != strings.ToLower(key) {
			return Filter{}, errorf(ErrCodec, "codec %q: unknown key %q", id, key)
		}
	}
	discovered()
	r := withCodec(id)
	if r == nil {
		hint := ""
		if find(Bzip2) == nil {
			hint = "; the program does not import " + allPath
		}
		return Filter{}, errorf(errUnknownCodec, "codec %q: no filter is paired with it%s", id, hint)
	}
	params, err := r.Codec.Params(text)
	if err != nil {
		return Filter{}, err
	}
	if !r.Codec.Given {
		if err := r.check(params); err != nil {
			return Filter{}, err
		}
	}
	return Filter{ID: r.ID, Params: params}, nil
}

// FromFilter returns the codec that decodes the output of f. The error is [ErrNoCodec]
// if there is none, or if f is optional: Zarr cannot mark blocks that skipped a filter.
func FromFilter(f Filter) (json.RawMessage, error) { return fromFilter(f, Block{}) }

func fromFilter(f Filter, in Block) (json.RawMessage, error) {
	r := find(f.ID)
	if r == nil || r.Codec == nil {
		return nil, errorf(ErrNoCodec, "filter %s: no codec decodes it", describe(f))
	}
	if f.Optional {
		return nil, errorf(ErrNoCodec, "filter %s: codecs cannot be optional", describe(f))
	}
	params, err := f.Params, r.check(f.Params)
	switch {
	case r.Codec.Given && err == nil && r.Given != nil:
		params = r.Given(params)
	case err != nil && !r.Codec.Given:
		return nil, err
	}
	return r.Codec.JSON(params, in)
}

// Codecs returns the chain as codecs for blocks that b describes, in the same order.
// [ErrNoCodec] names the first filter that no codec can decode.
func (c Chain) Codecs(b Block) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(c))
	for i, f := range c {
		text, err := fromFilter(f, b)
		if err != nil {
			return nil, err
		}
		out[i] = text
		b = find(f.ID).output(f.Params, b)
	}
	return out, nil
}

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

// clip shortens foreign text for an error message.
func clip(text []byte) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q...", text[:80])
	}
	return fmt.Sprintf("%q", text)
}
