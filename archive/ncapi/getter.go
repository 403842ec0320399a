package ncapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/batchatco/go-native-netcdf/netcdf/api"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"
	"github.com/batchatco/go-native-netcdf/netcdf/util"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// errSlice means that the end is before the beginning. The library's error is not
// exported.
var errSlice = errors.New("invalid slice parameters")

// getter reads a variable. Indices beyond a dimension are slab.ErrBounds.
type getter struct {
	group *group
	array slab.Array
	shape []int64 // returned to callers
	dims  []string
	attrs *util.OrderedMap
}

// Len implements api.VarGetter.
func (v *getter) Len() int64 {
	if len(v.array.Shape()) == 0 {
		return 1
	}
	return v.array.Shape()[0]
}

// Values implements api.VarGetter.
func (v *getter) Values() (any, error) { return v.GetSlice(0, v.Len()) }

// GetSlice implements api.VarGetter. For a variable without records every range is
// empty. For a scalar every range that begins at 0 returns its value.
func (v *getter) GetSlice(begin, end int64) (any, error) {
	shape := v.array.Shape()
	switch {
	case end < begin:
		return nil, errSlice
	case len(shape) == 0 && begin != 0:
		return nil, fmt.Errorf("ncapi: slice [%d:%d] of a scalar: %w", begin, end, slab.ErrBounds)
	case len(shape) == 0:
		return v.read(nil, nil)
	case shape[0] == 0:
		begin, end = 0, 0
	}
	from, to := make([]int64, len(shape)), slices.Clone(shape)
	from[0], to[0] = begin, end
	return v.read(from, to)
}

// GetSliceMD implements api.VarGetter.
func (v *getter) GetSliceMD(begin, end []int64) (any, error) {
	if len(begin) != len(v.array.Shape()) || len(end) != len(begin) {
		return nil, cdf.ErrTooManyDimensions
	}
	for i := range begin {
		if end[i] < begin[i] {
			return nil, errSlice
		}
	}
	return v.read(begin, end)
}

// Shape implements api.VarGetter.
func (v *getter) Shape() []int64 { return v.shape }

// Dimensions implements api.VarGetter.
func (v *getter) Dimensions() []string { return v.dims }

// Attributes implements api.VarGetter.
func (v *getter) Attributes() api.AttributeMap { return v.attrs }

// Type implements api.VarGetter.
func (v *getter) Type() string { return v.array.Type().String() }

// GoType implements api.VarGetter.
func (v *getter) GoType() string { return goTypes[v.array.Type()] }

var goTypes = [...]string{
	cdf3.Byte: "int8", cdf3.Char: "string", cdf3.Short: "int16", cdf3.Int: "int32",
	cdf3.Float: "float32", cdf3.Double: "float64", cdf3.UByte: "uint8",
	cdf3.UShort: "uint16", cdf3.UInt: "uint32", cdf3.Int64: "int64", cdf3.UInt64: "uint64",
}

// read reads the box of indices from begin to just before end.
func (v *getter) read(begin, end []int64) (any, error) {
	if err := v.group.open(); err != nil {
		return nil, err
	}
	s := slab.Sel{Start: begin, Count: make([]int64, len(begin))}
	for i := range begin {
		s.Count[i] = end[i] - begin[i]
	}
	switch v.array.Type() {
	case cdf3.Byte:
		return numericBox[int8](v, s)
	case cdf3.Char:
		return textBox(v, s)
	case cdf3.Short:
		return numericBox[int16](v, s)
	case cdf3.Int:
		return numericBox[int32](v, s)
	case cdf3.Float:
		return numericBox[float32](v, s)
	case cdf3.Double:
		return numericBox[float64](v, s)
	case cdf3.UByte:
		return numericBox[uint8](v, s)
	case cdf3.UShort:
		return numericBox[uint16](v, s)
	case cdf3.UInt:
		return numericBox[uint32](v, s)
	case cdf3.Int64:
		return numericBox[int64](v, s)
	case cdf3.UInt64:
		return numericBox[uint64](v, s)
	}
	return nil, cdf.ErrUnknownType
}

// flat reads a box as one slice in row-major order.
func flat[T cdf3.Number](v *getter, s slab.Sel) ([]T, error) {
	values, err := slab.Read[T](context.Background(), v.array, s)
	if err != nil {
		return nil, damage(err)
	}
	return values, nil
}

func numericBox[T cdf3.Number](v *getter, s slab.Sel) (any, error) {
	values, err := flat[T](v, s)
	if err != nil {
		return nil, err
	}
	return nest(values, s.Count), nil
}

// textBox reads strings along the last dimension.
func textBox(v *getter, s slab.Sel) (any, error) {
	text, err := flat[uint8](v, s)
	if err != nil {
		return nil, err
	}
	rank, width := len(s.Count), int64(1)
	if rank > 2 && s.Count[0] == 0 {
		return nest(text, s.Count), nil // the library's type for no strings
	}
	outer := s.Count
	if rank > 0 {
		outer, width = s.Count[:rank-1], s.Count[rank-1]
	}
	words := make([]string, product(outer))
	for i := range words {
		words[i] = string(text[int64(i)*width : int64(i+1)*width])
	}
	return nest(words, outer), nil
}

// nest cuts values in row-major order into nested slices, one level per dimension.
// Without dimensions it returns the single value.
func nest[T any](values []T, dims []int64) any {
	switch len(dims) {
	case 0:
		return values[0]
	case 1:
		return values
	}
	last := len(dims) - 1
	rows := make([][]T, product(dims[:last]))
	for i := range rows {
		from, to := int64(i)*dims[last], int64(i+1)*dims[last]
		rows[i] = values[from:to:to]
	}
	level := reflect.ValueOf(rows)
	for i := last - 1; i > 0; i-- {
		n, step := int(product(dims[:i])), int(dims[i])
		up := reflect.MakeSlice(reflect.SliceOf(level.Type()), n, n)
		for k := range n {
			up.Index(k).Set(level.Slice3(k*step, (k+1)*step, (k+1)*step))
		}
		level = up
	}
	return level.Interface()
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// GetVariable implements api.Group.
func (g *group) GetVariable(name string) (*api.Variable, error) {
	v, err := g.getter(name)
	if err != nil {
		return nil, err
	}
	values, err := v.Values()
	if err != nil {
		return nil, err
	}
	return &api.Variable{Values: values, Dimensions: v.dims, Attributes: v.attrs}, nil
}

// GetVarGetter implements api.Group.
func (g *group) GetVarGetter(name string) (api.VarGetter, error) {
	v, err := g.getter(name)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (g *group) getter(name string) (*getter, error) {
	i, ok := g.vars[name]
	if !ok {
		return nil, cdf.ErrNotFound
	}
	h := g.file.Header()
	v := &getter{group: g, array: g.file.Array(i), dims: make([]string, len(h.Vars[i].DimIDs)), attrs: g.varAttrs[i]}
	v.shape = append([]int64{}, v.array.Shape()...)
	for k, id := range h.Vars[i].DimIDs {
		v.dims[k] = cName(h.Dims[id].Name)
	}
	return v, nil
}
