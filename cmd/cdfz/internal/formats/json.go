package formats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// jsonStyle is the style of values in JSON, which has neither NaN nor infinities.
var jsonStyle = &style{
	null:      "null",
	quote:     appendJSONString,
	notFinite: func(dst []byte, _ float64) []byte { return append(dst, "null"...) },
}

// writeJSON writes selections as one object with a list "vars". Each has a name, type,
// dimensions, shape and data in nested arrays.
func writeJSON(ctx context.Context, w io.Writer, h *cdf3.Header, values []*Values) error {
	out := []byte(`{"vars":[`)
	for i, x := range values {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		var err error
		if out, err = writeJSONVar(ctx, w, h, x, out); err != nil {
			return err
		}
	}
	_, err := w.Write(append(out, "]}\n"...))
	return err
}

// jsonVar is a variable without its data.
type jsonVar struct {
	Name      jsonString   `json:"name"`
	Selection jsonString   `json:"selection"`
	Type      string       `json:"type"` // as stored
	Dims      []jsonString `json:"dims"`
	Shape     []int64      `json:"shape"`
	Cells     []jsonCell   `json:"cells,omitempty"`
}

// jsonCell is a Cell.
type jsonCell struct {
	Dim   jsonString  `json:"dim"`
	Asked string      `json:"asked"`
	Index int64       `json:"index"`
	Value json.Number `json:"value"`
	Time  string      `json:"time,omitempty"`
}

// jsonString is text that may hold any bytes.
type jsonString string

// MarshalJSON implements json.Marshaler.
func (s jsonString) MarshalJSON() ([]byte, error) { return appendJSONString(nil, []byte(s)), nil }

// writeJSONVar writes out and a selection. It returns output that is not yet written.
func writeJSONVar(ctx context.Context, w io.Writer, h *cdf3.Header, x *Values, out []byte) ([]byte, error) {
	l, err := x.layout()
	if err != nil {
		return nil, err
	}
	head := jsonVar{Name: jsonString(x.v.Name), Selection: jsonString(x.text), Type: x.v.Type.String(), Dims: []jsonString{}, Shape: x.Shape()}
	for _, i := range x.kept() {
		head.Dims = append(head.Dims, jsonString(h.Dims[x.axes[i].dim].Name))
	}
	for _, c := range x.cells {
		head.Cells = append(head.Cells, jsonCell{jsonString(c.Dim), c.Asked, c.Index, c.Value, c.Time})
	}
	b, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	out = append(append(out, b[:len(b)-1]...), ",\n\"data\":"...)
	shape := l.shape(x)
	if slices.Contains(shape, 0) {
		return append(appendEmpty(out, shape), '}'), nil
	}
	n := &nested{shape: shape, at: make([]int64, len(shape))}
	c := x.column(jsonStyle, l.n)
	most := max(1, pieceLen/max(1, l.n*x.v.Type.Size()))
	err = eachBox(shape, most, func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.read(ctx, x.part(l.axes, b), b.n*l.n); err != nil {
			return err
		}
		for i := range b.n {
			out = n.open(out)
			out = c.appendText(out, i)
			out = n.next(out)
			if len(out) >= 1<<16 {
				if _, err := w.Write(out); err != nil {
					return err
				}
				out = out[:0]
			}
		}
		return nil
	})
	return append(out, '}'), err
}

// maxEmpty bounds the number of empty arrays in the output.
const maxEmpty = 1 << 16

// appendEmpty appends the arrays of a shape without values. If there were too many, it
// appends a single one, and the member shape describes the rest.
func appendEmpty(dst []byte, shape []int64) []byte {
	zero := slices.Index(shape, 0)
	if zero < 0 {
		return dst
	}
	n := int64(1)
	for _, k := range shape[:zero] {
		if n > maxEmpty/k {
			return append(dst, "[]"...)
		}
		n *= k
	}
	if zero == 0 {
		return append(dst, "[]"...)
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendEmpty(dst, shape[1:])
	}
	return append(dst, ']')
}

// nested writes the brackets of nested arrays.
type nested struct {
	shape, at []int64
}

// open opens the arrays that begin at this position.
func (n *nested) open(dst []byte) []byte {
	for k := len(n.at) - 1; k >= 0 && n.at[k] == 0; k-- {
		dst = append(dst, '[')
	}
	return dst
}

// next closes the arrays that end here and writes a separator. Each innermost array is
// a line.
func (n *nested) next(dst []byte) []byte {
	closed := false
	for k := len(n.at) - 1; k >= 0; k-- {
		if n.at[k]++; n.at[k] < n.shape[k] {
			dst = append(dst, ',')
			if closed {
				dst = append(dst, '\n')
			}
			return dst
		}
		n.at[k] = 0
		dst = append(dst, ']')
		closed = true
	}
	return dst
}

// appendJSONString appends a string, by the rule of [latin.Text]. Characters that a terminal
// would not print are escaped.
func appendJSONString(dst, s []byte) []byte {
	if !utf8.Valid(s) {
		s = []byte(latin.Text(string(s)))
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		i += n
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			r -= 0x10000
			dst = fmt.Appendf(dst, "\\u%04x\\u%04x", 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			dst = fmt.Appendf(dst, "\\u%04x", r)
		}
	}
	return append(dst, '"')
}
