package dap

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// ASCII writes the structure and the values of the request as text, in the form of the
// THREDDS Data Server: a line for each row of the last dimension, which begins with the
// other indices. Characters are in UTF-8.
func (r *Request) ASCII(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 32<<10)
	b.WriteString(r.dds())
	b.WriteString("---------------------------------------------\n")
	for i := range r.arrays {
		a := &r.arrays[i]
		b.WriteString(r.d.vars[a.v].name)
		for _, n := range a.sel.Count {
			fmt.Fprintf(b, "[%d]", n)
		}
		b.WriteByte('\n')
		if err := r.rows(ctx, b, a); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// rows writes the values of an array.
func (r *Request) rows(ctx context.Context, b *bufio.Writer, a *array) error {
	v := &r.d.vars[a.v]
	p := &rowWriter{b: b, shape: a.sel.Count, at: make([]int64, len(a.sel.Count))}
	values, sel := r.d.src.Array(v.num), a.sel
	switch v.v.Type {
	case cdf3.Char:
		return r.textRows(ctx, p, a)
	case cdf3.Byte:
		return integers[int8](ctx, p, values, sel)
	case cdf3.UByte:
		return integers[uint8](ctx, p, values, sel)
	case cdf3.Short:
		return integers[int16](ctx, p, values, sel)
	case cdf3.UShort:
		return integers[uint16](ctx, p, values, sel)
	case cdf3.Int:
		return integers[int32](ctx, p, values, sel)
	case cdf3.UInt:
		return integers[uint32](ctx, p, values, sel)
	case cdf3.Float:
		return each(ctx, values, sel, func(list []float32) error {
			return writeRows(p, list, func(x float32) string { return valueText(float64(x), 32) })
		})
	}
	return each(ctx, values, sel, func(list []float64) error {
		return writeRows(p, list, func(x float64) string { return valueText(x, 64) })
	})
}

func integers[T int8 | uint8 | int16 | uint16 | int32 | uint32](ctx context.Context, p *rowWriter, a slab.Array, sel slab.Sel) error {
	return each(ctx, a, sel, func(list []T) error {
		return writeRows(p, list, func(x T) string { return strconv.FormatInt(int64(x), 10) })
	})
}

// textRows writes strings, without the NULs at their ends.
func (r *Request) textRows(ctx context.Context, p *rowWriter, a *array) error {
	v := &r.d.vars[a.v]
	if v.text == 0 {
		for range a.count() {
			if err := p.value(`""`); err != nil {
				return err
			}
		}
		return nil
	}
	if v.text > piece {
		return errorf("strings of %s are longer than %d: use .dods", v.name, piece)
	}
	var text []byte
	return bytesOf(ctx, cdf3.Char, r.d.src.Array(v.num), r.full(a), func(list []byte) error {
		for len(list) > 0 {
			k := min(len(list), int(v.text)-len(text))
			text, list = append(text, list[:k]...), list[k:]
			if len(text) == int(v.text) {
				if err := p.value(quoteText(strings.TrimRight(string(text), "\x00"))); err != nil {
					return err
				}
				text = text[:0]
			}
		}
		return nil
	})
}

// rowWriter writes values in row-major order.
type rowWriter struct {
	b     *bufio.Writer
	shape []int64
	at    []int64 // index of the next value
}

func writeRows[T any](p *rowWriter, list []T, text func(T) string) error {
	for _, x := range list {
		if err := p.value(text(x)); err != nil {
			return err
		}
	}
	return nil
}

// value writes the next value.
func (p *rowWriter) value(text string) error {
	last := len(p.shape) - 1
	if last >= 0 && p.at[last] > 0 {
		p.b.WriteString(", ")
	} else {
		for i := range max(last, 0) {
			fmt.Fprintf(p.b, "[%d]", p.at[i])
		}
		if last > 0 {
			p.b.WriteString(", ")
		}
	}
	_, err := p.b.WriteString(text)
	i := last
	for ; i >= 0; i-- {
		if p.at[i]++; p.at[i] < p.shape[i] {
			break
		}
		p.at[i] = 0
	}
	if i < last || last < 0 {
		err = p.b.WriteByte('\n')
	}
	return err
}
