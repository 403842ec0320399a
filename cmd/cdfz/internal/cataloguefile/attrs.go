package cataloguefile

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// Bounds of attributes in a catalogue. What is longer is in the file itself.
const (
	maxAttrText    = 64 << 10  // bytes of a text, which is cut
	maxAttrNumbers = 4096      // numbers of an attribute, which is left out
	maxAttrs       = 512 << 10 // bytes of JSON; further attributes are left out
)

// attributes returns attributes as a JSON object, or "" if there are none. A text is a string, a number a
// number, several numbers a list. JSON has no NaN and no infinities, which are strings. Of two attributes
// with one name, the first counts.
func attributes(attrs []cdf3.Attr) string {
	var b bytes.Buffer
	seen := map[string]bool{}
	for i := range attrs {
		a := &attrs[i]
		if seen[a.Name] {
			continue
		}
		seen[a.Name] = true
		value := attrValue(a)
		name := quote(cut(a.Name))
		if value == nil || b.Len()+len(name)+len(value) > maxAttrs {
			continue
		}
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}

// attrValue returns a value as JSON, or nil if it is too long.
func attrValue(a *cdf3.Attr) []byte {
	if a.Type == cdf3.Char {
		return quote(cut(a.Text()))
	}
	if a.Len > maxAttrNumbers {
		return nil
	}
	var numbers []json.RawMessage
	switch a.Type {
	case cdf3.Int64:
		for _, x := range cdf3.Values[int64](a) {
			numbers = append(numbers, strconv.AppendInt(nil, x, 10))
		}
	case cdf3.UInt64:
		for _, x := range cdf3.Values[uint64](a) {
			numbers = append(numbers, strconv.AppendUint(nil, x, 10))
		}
	default:
		for _, x := range a.Float64s() {
			numbers = append(numbers, number(x, a.Type))
		}
	}
	if len(numbers) == 1 {
		return numbers[0]
	}
	b := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, n...)
	}
	return append(b, ']')
}

// number formats a number with the digits that its type needs.
func number(x float64, t cdf3.Type) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return quote(strconv.FormatFloat(x, 'g', -1, 64))
	}
	bits := 64
	if t == cdf3.Float {
		bits = 32
	}
	format := byte('g')
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		format = 'f'
	}
	return strconv.AppendFloat(nil, x, format, -1, bits)
}

// cut returns a text of a file in UTF-8. It uses the first maxAttrText bytes, which may be twice as many in UTF-8.
func cut(s string) string {
	if len(s) > maxAttrText {
		s = latin.Whole(s[:maxAttrText])
	}
	return latin.Text(s)
}

// quote returns a text as a JSON string.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("internal error: " + err.Error()) // strings can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
