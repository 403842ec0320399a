package ncapi

import (
	"encoding/binary"
	"math"
	"reflect"
)

// same compares values by type and bits: a NaN equals itself.
func same(a, b any) bool {
	switch a := a.(type) {
	case float32:
		b, ok := b.(float32)
		return ok && math.Float32bits(a) == math.Float32bits(b)
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []float32:
		b, ok := b.([]float32)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
				return false
			}
		}
		return true
	case []float64:
		b, ok := b.([]float64)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
				return false
			}
		}
		return true
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if !v.IsValid() || !w.IsValid() || v.Type() != w.Type() {
		return a == nil && b == nil
	}
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Slice && v.Type().Elem().Kind() != reflect.Interface {
		return reflect.DeepEqual(a, b)
	}
	if v.Len() != w.Len() || v.IsNil() != w.IsNil() {
		return false
	}
	for i := range v.Len() {
		if !same(v.Index(i).Interface(), w.Index(i).Interface()) {
			return false
		}
	}
	return true
}

// bigEndian appends the bytes of nested values in row-major order.
func bigEndian(b []byte, v reflect.Value) []byte {
	switch {
	case v.Kind() == reflect.String:
		return append(b, v.String()...)
	case v.Kind() == reflect.Slice && (v.Type().Elem().Kind() == reflect.Slice || v.Type().Elem().Kind() == reflect.String):
		for i := range v.Len() {
			b = bigEndian(b, v.Index(i))
		}
		return b
	}
	b, err := binary.Append(b, binary.BigEndian, v.Interface())
	if err != nil {
		panic(err)
	}
	return b
}
