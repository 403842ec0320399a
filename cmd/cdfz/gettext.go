package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
)

// maxString is the longest string that CSV and JSON take: it is in memory whole.
const maxString = 64 << 20

// textOf is how the values of a selection become text: one by one, or strings
// along the last dimension.
type textOf struct {
	append func(dst, data []byte) []byte // the value at the start of data
	step   int64                         // bytes of data that it takes
	n      int64                         // values in it
	axes   []int                         // kept ones that are no string
}

// textOf says how; name quotes strings.
func (s *selected) textOf(quote func(dst, str []byte) []byte, finite func(dst []byte, x float64, bits int) []byte) (*textOf, error) {
	t := &textOf{step: s.outType().Size(), n: 1, axes: s.kept()}
	if s.v.Type == cdf3.Char {
		if last := len(s.axes) - 1; last >= 0 && s.axes[last].keep {
			t.n = s.axes[last].count
			t.axes = t.axes[:len(t.axes)-1]
		}
		if t.step = t.n; t.n > maxString {
			return nil, fmt.Errorf("%s: a string of %d bytes, expected at most %d", s.arg, t.n, maxString)
		}
		t.append = func(dst, data []byte) []byte { return quote(dst, trimNULs(data[:t.n])) }
		return t, nil
	}
	typ := s.v.Type
	bits := 64
	if s.un != nil {
		typ = cdf3.Double
		// The digits of a float are enough for one that was not scaled.
		if s.v.Type == cdf3.Float && !s.un.scaled {
			bits = 32
		}
	}
	switch typ {
	case cdf3.Int64:
		t.append = func(dst, b []byte) []byte { return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(b)), 10) }
	case cdf3.UInt64:
		t.append = func(dst, b []byte) []byte { return strconv.AppendUint(dst, binary.BigEndian.Uint64(b), 10) }
	case cdf3.Float:
		t.append = func(dst, b []byte) []byte { return finite(dst, number(b, cdf3.Float), 32) }
	case cdf3.Double:
		t.append = func(dst, b []byte) []byte { return finite(dst, number(b, cdf3.Double), bits) }
	default:
		t.append = func(dst, b []byte) []byte { return strconv.AppendInt(dst, int64(number(b, typ)), 10) }
	}
	return t, nil
}

// positions is the counts of the axes, and how many values or strings there are.
func (t *textOf) positions(s *selected) (shape []int64) {
	for _, i := range t.axes {
		shape = append(shape, s.axes[i].count)
	}
	return shape
}

// trimNULs cuts off the NULs that fill up a string.
func trimNULs(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// appendFloat appends the shortest number that reads as the same float or
// double; never NaN or infinite.
func appendFloat(dst []byte, x float64, bits int) []byte {
	abs := math.Abs(x)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, x, 'f', -1, bits)
	}
	return strconv.AppendFloat(dst, x, 'e', -1, bits)
}

// appendCSVFloat knows NaN, Inf and -Inf.
func appendCSVFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-Inf"...)
	}
	return appendFloat(dst, x, bits)
}

// appendJSONFloat has null for what JSON does not know.
func appendJSONFloat(dst []byte, x float64, bits int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	return appendFloat(dst, x, bits)
}

// appendCSVString appends a field, in quotes where it needs them (RFC 4180). Its
// bytes are kept as they are.
func appendCSVString(dst, s []byte) []byte {
	if !strings.ContainsAny(string(s), "\",\r\n") {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for _, c := range s {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// appendJSONString appends a string. One that is not UTF-8 is taken for Latin-1:
// so every byte can be told.
func appendJSONString(dst, s []byte) []byte {
	latin := !utf8.Valid(s)
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < 0x20 || c == 0x7f:
			dst = fmt.Appendf(dst, "\\u%04x", c)
		case c >= 0x80 && latin:
			dst = utf8.AppendRune(dst, rune(c))
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
