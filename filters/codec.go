package filters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A codec is Zarr's form of a filter: JSON with an "id" and further keys. The
// pairing is by HDF5 id; what a codec decodes must be what the filter encodes.

type codec struct {
	id         string
	filter     uint32
	toFilter   func(json.RawMessage) (Filter, error)
	fromFilter func(Filter) (json.RawMessage, error)
}

var (
	codecMu  sync.RWMutex
	codecs   = map[string]codec{} // by codec id
	codecFor = map[uint32]codec{} // by filter id
)

// RegisterCodec pairs the codec id with the filter. toFilter reads a codec's
// JSON, fromFilter writes it; they undo each other. Either id taken is
// [ErrCodec].
func RegisterCodec(id string, filter uint32, toFilter func(json.RawMessage) (Filter, error), fromFilter func(Filter) (json.RawMessage, error)) error {
	codecMu.Lock()
	defer codecMu.Unlock()
	if _, ok := codecs[id]; ok || id == "" {
		return errorf(ErrCodec, "codec %q: empty or already registered", id)
	}
	if c, ok := codecFor[filter]; ok {
		return errorf(ErrCodec, "filter %d: already paired with codec %q", filter, c.id)
	}
	c := codec{id, filter, toFilter, fromFilter}
	codecs[id] = c
	codecFor[filter] = c
	return nil
}

// CodecID is the id of the codec paired with a filter id, or empty.
func CodecID(filter uint32) string {
	codecMu.RLock()
	defer codecMu.RUnlock()
	return codecFor[filter].id
}

// ToFilter is the filter that a codec's JSON describes. Keys that are missing
// have numcodecs' defaults; keys that are unknown are errors, because what they
// ask for would be lost.
func ToFilter(text json.RawMessage) (Filter, error) {
	var head map[string]json.RawMessage
	if err := json.Unmarshal(text, &head); err != nil {
		return Filter{}, causef(ErrCodec, err, "codec %s", clip(text))
	}
	if head["id"] == nil {
		return Filter{}, errorf(ErrNoCodecID, `codec %s: key "id", found none`, clip(text))
	}
	var id string
	if err := json.Unmarshal(head["id"], &id); err != nil {
		return Filter{}, causef(ErrCodec, err, `codec %s: key "id"`, clip(text))
	}
	for key := range head {
		// Package json would take them for the ones in lower case.
		if key != strings.ToLower(key) {
			return Filter{}, errorf(ErrCodec, "codec %q: unknown key %q", id, key)
		}
	}
	codecMu.RLock()
	c, ok := codecs[id]
	codecMu.RUnlock()
	if !ok {
		return Filter{}, errorf(ErrNoCodec, "codec %q: no filter is paired with it", id)
	}
	return c.toFilter(text)
}

// FromFilter is the codec that undoes f. [ErrNoCodec] if there is none, or if f
// is optional: Zarr has no place for the blocks that go without a filter.
func FromFilter(f Filter) (json.RawMessage, error) {
	codecMu.RLock()
	c, ok := codecFor[f.ID]
	codecMu.RUnlock()
	if !ok {
		return nil, errorf(ErrNoCodec, "filter %s: no codec undoes it", describe(f))
	}
	if f.Optional {
		return nil, errorf(ErrNoCodec, "filter %s: optional, which no codec can express", describe(f))
	}
	return c.fromFilter(f)
}

// Codecs is the chain as codecs, in the same order. [ErrNoCodec] names the first
// filter that no codec can undo. A chain whose first shuffle has a size that
// does not divide the block's length is for the caller to keep out: numcodecs
// refuses such blocks.
func (c Chain) Codecs() ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(c))
	rest := uint32(0) // bytes by which lengths differ from the raw block's
	varies := false
	for i, f := range c {
		text, err := FromFilter(f)
		if err != nil {
			return nil, err
		}
		out[i] = text
		switch f.ID {
		case Shuffle:
			// HDF5 leaves an incomplete element at the end alone, numcodecs
			// does not take it.
			if s := f.Params[0]; s > 1 && (varies || rest%s != 0) {
				return nil, errorf(ErrNoCodec, "filter %s: behind filters that leave incomplete elements, which its codec refuses", describe(f))
			}
		case Fletcher32:
			rest += fletcherLen
		default:
			varies = true
		}
	}
	return out, nil
}

// describe is a filter for an error's text: "32004 (lz4)".
func describe(f Filter) string {
	name := f.Name
	if name == "" {
		name = Name(f.ID)
	}
	if name == "" {
		return f.String()
	}
	return fmt.Sprintf("%s (%s)", f, name)
}

// clip shortens text from elsewhere for an error.
func clip(text []byte) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q...", text[:80])
	}
	return fmt.Sprintf("%q", text)
}

// decodeCodec reads a codec's JSON into v, which lists all its keys.
func decodeCodec(name string, text json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			return errorf(ErrCodec, "codec %s: key %q: %s, found %s", name, t.Field, t.Type, t.Value)
		}
		return causef(ErrCodec, err, "codec %s", name)
	}
	return nil
}

// checked gives f if its method accepts its parameters.
func checked(f Filter) (Filter, error) {
	m, ok := Lookup(f.ID)
	if !ok {
		return Filter{}, unknown(f)
	}
	if err := m.Check(f.Params); err != nil {
		return Filter{}, err
	}
	return f, nil
}

// integer is a JSON number that must be an int32: numcodecs takes levels as C
// ints.
type integer struct {
	v   int32
	set bool
}

func (n *integer) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[int32]()}
	}
	n.set = true
	return json.Unmarshal(b, &n.v)
}

func (n integer) or(def int32) uint32 {
	if n.set {
		return uint32(n.v)
	}
	return uint32(def)
}

// levelCodec pairs a filter whose only parameter is a level, which may be
// negative, with a codec whose only key is "level". def is numcodecs' default.
func levelCodec(id string, filter uint32, def int32) {
	to := func(text json.RawMessage) (Filter, error) {
		var v struct {
			ID       string
			Level    integer
			Checksum *bool // zstd's, since numcodecs 0.13
		}
		if err := decodeCodec(id, text, &v); err != nil {
			return Filter{}, err
		}
		switch {
		case v.Checksum != nil && filter != Zstd:
			return Filter{}, errorf(ErrCodec, `codec %s: unknown key "checksum"`, id)
		case v.Checksum != nil && *v.Checksum:
			return Filter{}, errorf(ErrNoCodec, `codec %s: key "checksum": no filter writes one`, id)
		}
		return checked(Filter{ID: filter, Params: []uint32{v.Level.or(def)}})
	}
	from := func(f Filter) (json.RawMessage, error) {
		if _, err := checked(f); err != nil {
			return nil, err
		}
		if len(f.Params) == 0 {
			f.Params = []uint32{defaultLevels[f.ID]}
		}
		return fmt.Appendf(nil, `{"id":"%s","level":%d}`, id, int32(f.Params[0])), nil
	}
	mustRegister(RegisterCodec(id, filter, to, from))
}

// defaultLevels are the levels of filters without a parameter.
var defaultLevels = map[uint32]uint32{Bzip2: bzip2Default, Zstd: zstdDefault}

func mustRegister(err error) {
	if err != nil {
		panic("internal error: " + err.Error())
	}
}

// The codecs and their defaults are those of numcodecs (numcodecs.readthedocs.io).
func init() {
	levelCodec("zlib", Deflate, 1)
	levelCodec("bz2", Bzip2, 1)
	levelCodec("zstd", Zstd, 0)

	mustRegister(RegisterCodec("shuffle", Shuffle,
		func(text json.RawMessage) (Filter, error) {
			var v struct {
				ID          string
				Elementsize integer
			}
			if err := decodeCodec("shuffle", text, &v); err != nil {
				return Filter{}, err
			}
			return checked(Filter{ID: Shuffle, Params: []uint32{v.Elementsize.or(4)}})
		},
		func(f Filter) (json.RawMessage, error) {
			// netCDF-C has written elementsize 0 here and, before, a string
			// (netcdf-c#3200): readers then unshuffle nothing.
			if _, err := checked(f); err != nil {
				return nil, err
			}
			return fmt.Appendf(nil, `{"id":"shuffle","elementsize":%d}`, f.Params[0]), nil
		}))

	mustRegister(RegisterCodec("fletcher32", Fletcher32,
		func(text json.RawMessage) (Filter, error) {
			var v struct{ ID string }
			if err := decodeCodec("fletcher32", text, &v); err != nil {
				return Filter{}, err
			}
			return Filter{ID: Fletcher32}, nil
		},
		func(f Filter) (json.RawMessage, error) {
			if _, err := checked(f); err != nil {
				return nil, err
			}
			return json.RawMessage(`{"id":"fletcher32"}`), nil
		}))
}
