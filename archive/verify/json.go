package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
)

// sameJSON compares two documents by their values.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := decodeJSON(a)
	y, failed := decodeJSON(b)
	return err == nil && failed == nil && reflect.DeepEqual(x, y)
}

// decodeJSON decodes a document with exact integers.
func decodeJSON(data []byte) (x any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err = d.Decode(&x); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, errors.New("expected one JSON value")
	}
	return withNumbers(x), nil
}

// withNumbers replaces the texts of numbers by int64, by uint64 beyond it, and by float64
// if they are no such integers. So 1 equals 1.0, and integers beyond 2^53 differ.
func withNumbers(x any) any {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			x[k] = withNumbers(v)
		}
	case []any:
		for i, v := range x {
			x[i] = withNumbers(v)
		}
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(x.String(), 10, 64); err == nil {
			return n
		}
		f, err := x.Float64()
		switch {
		case err != nil: // out of range
			return x
		case f == math.Trunc(f) && f >= -1<<63 && f < 1<<63:
			return int64(f)
		case f == math.Trunc(f) && f >= 1<<63 && f < 1<<64:
			return uint64(f)
		}
		return f
	}
	return x
}
