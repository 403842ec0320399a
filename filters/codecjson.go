package filters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// DecodeCodec parses a codec's JSON into the struct that v points to, which has a field
// for each key. Unknown keys and wrong types are errors that wrap [ErrCodec].
func DecodeCodec(text json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			// A field without a tag has its name in Go here, and keys are lower case.
			return errorf(ErrCodec, "codec: key %q: expected %s, found %s", strings.ToLower(t.Field), jsonType(t.Type), t.Value)
		}
		return causef(ErrCodec, err, "codec")
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

// levelCodec returns the codec of a filter whose only parameter is a level, which may
// be negative. missing is the default of numcodecs for a missing key "level". none is
// the filter's default for a missing parameter.
func levelCodec(id string, missing, none int32) *Codec {
	return &Codec{
		ID: id,
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct {
				ID    string
				Level integer
			}
			err := DecodeCodec(text, &v)
			return []uint32{v.Level.or(missing)}, err
		},
		JSON: func(params []uint32, _ Block) (json.RawMessage, error) {
			level := none
			if len(params) > 0 {
				level = int32(params[0])
			}
			return fmt.Appendf(nil, `{"id":"%s","level":%d}`, id, level), nil
		},
	}
}

// bareCodec is a codec without keys.
func bareCodec(id string) *Codec {
	return &Codec{
		ID: id,
		Params: func(text json.RawMessage) ([]uint32, error) {
			var v struct{ ID string }
			return nil, DecodeCodec(text, &v)
		},
		JSON: func([]uint32, Block) (json.RawMessage, error) {
			return fmt.Appendf(nil, `{"id":"%s"}`, id), nil
		},
	}
}
