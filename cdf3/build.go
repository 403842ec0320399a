package cdf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Builder makes a classic file from scratch: its dimensions, attributes, variables and their
// values. The first error of any step is returned by [Builder.Header] and [Builder.WriteFile],
// so that the steps before need no checks. A Builder is for one goroutine.
type Builder struct {
	h    Header
	vars []*VarBuilder
	err  error
}

// VarBuilder adds attributes and values to a variable of a [Builder].
type VarBuilder struct {
	b    *Builder
	n    int // its number
	data Data
}

// Unlimited is the length of the unlimited dimension for [Builder.Dim].
const Unlimited = 0

// NewBuilder begins a file of a version.
func NewBuilder(v Version) *Builder { return &Builder{h: Header{Version: v}} }

// Dim adds a dimension of n elements, or the unlimited one, and returns its number.
func (b *Builder) Dim(name string, n int64) int {
	b.h.Dims = append(b.h.Dims, Dim{Name: name, Len: n})
	return len(b.h.Dims) - 1
}

// Attr adds an attribute of the file. See [NewAttr] for its values.
func (b *Builder) Attr(name string, values any) *Builder {
	b.h.Attrs = b.attr(b.h.Attrs, "", name, values)
	return b
}

func (b *Builder) attr(to []Attr, of, name string, values any) []Attr {
	a, err := newAttr(name, of, values)
	if b.err == nil {
		b.err = err
	}
	return append(to, a)
}

// Var adds a variable without values, over dimensions given by their numbers, the slowest first.
func (b *Builder) Var(name string, t Type, dims ...int) *VarBuilder {
	v := &VarBuilder{b: b, n: len(b.h.Vars)}
	b.h.Vars = append(b.h.Vars, Var{Name: name, Type: t, DimIDs: slices.Clone(dims)})
	b.vars = append(b.vars, v)
	return v
}

// of names the variable in errors.
func (v *VarBuilder) of() string {
	return fmt.Sprintf(" of variable %d %s", v.n, quote(v.b.h.Vars[v.n].Name))
}

// Attr adds an attribute. See [NewAttr] for its values.
func (v *VarBuilder) Attr(name string, values any) *VarBuilder {
	a := &v.b.h.Vars[v.n].Attrs
	*a = v.b.attr(*a, v.of(), name, values)
	return v
}

// Values sets the values, in row-major order with the records one after the other: a slice of the
// Go type of the variable's type (see [Values]), or a string for char. All fixed variables have as
// many as their shape says, or none, and then fill values. The record variable with the most
// records decides how many the file has. The slice is not kept.
func (v *VarBuilder) Values(values any) *VarBuilder {
	t := v.b.h.Vars[v.n].Type
	raw, found, _ := encode(values)
	if raw == nil || found != t && !(t == Char && found == UByte) {
		if v.b.err == nil {
			v.b.err = fmt.Errorf("cdf3: values%s: expected %s for type %v, found %T", v.of(), sliceOf(t), t, values)
		}
		return v
	}
	return v.Data(Data{Values: bytes.NewReader(raw), Len: int64(len(raw))})
}

// sliceOf names the Go types of values of type t.
func sliceOf(t Type) string {
	if t == Char {
		return "a string or []uint8"
	}
	return fmt.Sprintf("%T", (&Attr{Type: t}).Value())
}

// Data is Values for values that are elsewhere. They are read by WriteFile.
func (v *VarBuilder) Data(d Data) *VarBuilder {
	v.data = d
	return v
}

// Header lays out the file, and returns its header.
func (b *Builder) build() (*Header, error) {
	if b.err != nil {
		return nil, b.err
	}
	h := &b.h
	h.NumRecsField = 0
	if err := h.Layout(); err != nil {
		return nil, err
	}
	for i, v := range b.vars {
		hv := &h.Vars[i]
		switch {
		case hv.Record && hv.RecLen > 0:
			if v.data.Len%hv.RecLen != 0 {
				return nil, fmt.Errorf("cdf3: values%s: expected a multiple of the %d bytes of a record, found %d", v.of(), hv.RecLen, v.data.Len)
			}
			h.NumRecsField = max(h.NumRecsField, uint64(v.data.Len/hv.RecLen))
		case v.data.Len != 0 && v.data.Len != hv.Len:
			return nil, fmt.Errorf("cdf3: values%s: expected %d bytes for shape %s, found %d", v.of(), hv.Len, shapeText(hv.Shape), v.data.Len)
		}
	}
	return h, h.Layout()
}

// WriteFile lays out the file, and writes it to w as the function [WriteFile] does.
func (b *Builder) WriteFile(ctx context.Context, w io.Writer) error {
	h, err := b.build()
	if err != nil {
		return err
	}
	return WriteFile(ctx, w, h, func(v int) Data { return b.vars[v].data })
}

// NewAttr returns an attribute with the values of a string, which becomes char, of a [Number], or of a
// slice of numbers. Its type is that of the Go type: byte for int8, ubyte for uint8, double for
// float64. An int has no such type and is an error: write int32(3), not 3.
func NewAttr(name string, values any) (Attr, error) { return newAttr(name, "", values) }

func newAttr(name, of string, values any) (Attr, error) {
	raw, t, n := encode(values)
	if raw == nil {
		return Attr{}, fmt.Errorf("cdf3: attribute %s%s: expected a string, a number or a slice of numbers of a fixed size such as int32, found %T", quote(name), of, values)
	}
	return Attr{Name: name, Type: t, Len: n, Values: raw}, nil
}

// encode returns the bytes of values, their type and their number. The bytes are nil for other Go
// types.
func encode(values any) (raw []byte, t Type, n int64) {
	switch x := values.(type) {
	case string:
		return append([]byte{}, x...), Char, int64(len(x))
	case int8, []int8:
		t = Byte
	case uint8, []uint8:
		t = UByte
	case int16, []int16:
		t = Short
	case uint16, []uint16:
		t = UShort
	case int32, []int32:
		t = Int
	case uint32, []uint32:
		t = UInt
	case int64, []int64:
		t = Int64
	case uint64, []uint64:
		t = UInt64
	case float32, []float32:
		t = Float
	case float64, []float64:
		t = Double
	default:
		return nil, 0, 0
	}
	raw, _ = binary.Append([]byte{}, binary.BigEndian, values)
	return raw, t, int64(len(raw)) / t.Size()
}
