// Package codecjson parses and writes the JSON of Zarr codecs that have few keys.
package codecjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Decode parses a codec's JSON into the struct that v points to, which has a field for each
// key. Unknown keys and wrong types are errors that wrap [wire.ErrCodec].
func Decode(text json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			// A field without a tag has its name in Go here, and keys are lower case.
			return wire.Errorf(wire.ErrCodec, "codec: key %q: expected %s, found %s", strings.ToLower(t.Field), jsonType(t.Type), t.Value)
		}
		return wire.Causef(wire.ErrCodec, err, "codec")
	}
	return nil
}

// jsonType names a type as a user of JSON knows it.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Int32:
		return "an integer of 32 bits"
	case reflect.Uint32:
		return "an integer from 0 to 2^32-1"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// Integer is a JSON number that must be an int32: numcodecs takes levels as C ints.
type Integer struct {
	v int32
	// Set reports whether the key exists.
	Set bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Integer) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[int32]()}
	}
	n.Set = true
	return json.Unmarshal(b, &n.v)
}

// Or returns the number as a parameter, or missing if the key is missing.
func (n Integer) Or(missing int32) uint32 {
	if n.Set {
		return uint32(n.v)
	}
	return uint32(missing)
}

// Level parses a codec whose only key is "level", which may be negative. missing is the
// default of numcodecs.
func Level(text json.RawMessage, missing int32) ([]uint32, error) {
	var v struct {
		ID    string
		Level Integer
	}
	err := Decode(text, &v)
	return []uint32{v.Level.Or(missing)}, err
}

// LevelJSON writes such a codec. missing is the filter's default.
func LevelJSON(id string, params []uint32, missing int32) json.RawMessage {
	level := missing
	if len(params) > 0 {
		level = int32(params[0])
	}
	return fmt.Appendf(nil, `{"id":"%s","level":%d}`, id, level)
}
