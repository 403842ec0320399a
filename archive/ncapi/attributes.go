package ncapi

import (
	"fmt"
	"strings"

	"github.com/batchatco/go-native-netcdf/netcdf/util"

	"github.com/cdfz-format/cdfz/cdf3"
)

// attributes returns attributes in the library's map type.
func attributes(list []cdf3.Attr) (*util.OrderedMap, error) {
	keys, values := make([]string, len(list)), make(map[string]any, len(list))
	for i := range list {
		v, err := attribute(&list[i])
		if err != nil {
			return nil, err
		}
		keys[i] = cName(list[i].Name)
		values[keys[i]] = v
	}
	return util.NewOrderedMap(keys, values)
}

// attribute returns a string for text, a number for one number, and a slice otherwise.
func attribute(a *cdf3.Attr) (any, error) {
	switch a.Type {
	case cdf3.Byte:
		return numbers[int8](a)
	case cdf3.Char:
		return string(a.Values), nil
	case cdf3.Short:
		return numbers[int16](a)
	case cdf3.Int:
		return numbers[int32](a)
	case cdf3.Float:
		return numbers[float32](a)
	case cdf3.Double:
		return numbers[float64](a)
	case cdf3.UByte:
		return numbers[uint8](a)
	case cdf3.UShort:
		return numbers[uint16](a)
	case cdf3.UInt:
		return numbers[uint32](a)
	case cdf3.Int64:
		return numbers[int64](a)
	case cdf3.UInt64:
		return numbers[uint64](a)
	}
	return nil, fmt.Errorf("ncapi: attribute %q: %s", a.Name, a.Type)
}

func numbers[T cdf3.Number](a *cdf3.Attr) (any, error) {
	s := cdf3.Values[T](a)
	if len(s) == 1 {
		return s[0], nil
	}
	return s, nil
}

// cName returns a name as C programs see it: up to the first zero byte.
func cName(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
