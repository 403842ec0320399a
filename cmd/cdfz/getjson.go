package main

import (
	"context"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// writeJSON writes selections as one object: the list vars, each with its name,
// type, dimensions, shape and data, arrays in arrays.
func writeJSON(ctx context.Context, w io.Writer, h *cdf3.Header, sel []*selected) error {
	out := []byte(`{"vars":[`)
	for i, s := range sel {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		var err error
		if out, err = writeJSONVar(ctx, w, h, s, out); err != nil {
			return err
		}
	}
	_, err := w.Write(append(out, "]}\n"...))
	return err
}

// writeJSONVar writes out and then a selection; it returns what is not yet written.
func writeJSONVar(ctx context.Context, w io.Writer, h *cdf3.Header, s *selected, out []byte) ([]byte, error) {
	text, err := s.textOf(appendJSONString, appendJSONFloat)
	if err != nil {
		return nil, err
	}
	out = append(out, `{"name":`...)
	out = appendJSONString(out, []byte(s.v.Name))
	out = append(out, `,"selection":`...)
	out = appendJSONString(out, []byte(s.arg))
	out = append(out, `,"type":`...)
	out = appendJSONString(out, []byte(s.v.Type.String()))
	out = append(out, `,"dims":[`...)
	for k, i := range s.kept() {
		if k > 0 {
			out = append(out, ',')
		}
		out = appendJSONString(out, []byte(h.Dims[s.axes[i].dim].Name))
	}
	out = append(out, `],"shape":[`...)
	all, _ := s.shape()
	for k, n := range all {
		if k > 0 {
			out = append(out, ',')
		}
		out = appendInt(out, n)
	}
	out = append(out, "],\n\"data\":"...)
	shape := text.positions(s)
	if slices.Contains(shape, 0) {
		return append(appendEmpty(out, shape), '}'), nil
	}
	n := &nested{shape: shape, at: make([]int64, len(shape))}
	var m scratchBytes
	most := max(1, pieceLen/max(1, text.step))
	err = eachBox(shape, most, func(b *box) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := s.read(ctx, s.part(text.axes, b), b.n*text.n, &m)
		if err != nil {
			return err
		}
		for range b.n {
			out = n.open(out)
			out = text.append(out, data)
			out = n.next(out)
			data = data[text.step:]
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

// maxEmpty bounds the arrays in which there is nothing.
const maxEmpty = 1 << 16

// appendEmpty appends the arrays of a shape without values, nothing for others;
// one array where they were too many: shape tells.
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

// nested writes the brackets of arrays in arrays.
type nested struct {
	shape, at []int64
}

// open opens the arrays that begin here.
func (n *nested) open(dst []byte) []byte {
	for k := len(n.at) - 1; k >= 0 && n.at[k] == 0; k-- {
		dst = append(dst, '[')
	}
	return dst
}

// next closes the arrays that end here and separates what follows: each
// innermost array is a line.
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
