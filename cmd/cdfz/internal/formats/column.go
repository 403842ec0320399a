package formats

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// column reads parts of selected values and writes them as text or bytes.
type column interface {
	// read reads n values.
	read(ctx context.Context, s slab.Sel, n int64) error
	// appendText appends value i of those that were read.
	appendText(dst []byte, i int64) []byte
	// bytes returns the values that were read, in the given byte order. They are valid
	// until the next read.
	bytes() []byte
}

// style defines how a format writes values as text.
type style struct {
	null  string // text of missing values
	quote func(dst, str []byte) []byte
	// notFinite appends NaN and infinities.
	notFinite func(dst []byte, x float64) []byte
}

// numbers is a column of numbers.
type numbers[T cdf3.Number] struct {
	load    func(ctx context.Context, dst []T, s slab.Sel) error
	format  func(dst []byte, x T) []byte
	missing []T
	null    string
	buf     []T
	out     []byte
}

func (c *numbers[T]) read(ctx context.Context, s slab.Sel, n int64) error {
	c.buf = resize(c.buf, n)
	return c.load(ctx, c.buf, s)
}

func (c *numbers[T]) appendText(dst []byte, i int64) []byte {
	x := c.buf[i]
	if cf.Contains(c.missing, x) {
		return append(dst, c.null...)
	}
	return c.format(dst, x)
}

func (c *numbers[T]) bytes() []byte {
	// Cannot fail: the types of cdf3.Number have fixed sizes.
	c.out, _ = binary.Append(c.out[:0], binary.BigEndian, c.buf)
	return c.out
}

// chars is a column of strings of n characters.
type chars struct {
	array slab.Array
	n     int64
	quote func(dst, str []byte) []byte
	buf   []uint8
}

func (c *chars) read(ctx context.Context, s slab.Sel, n int64) error {
	c.buf = resize(c.buf, n)
	return slab.ReadInto(ctx, c.array, c.buf, s)
}

func (c *chars) appendText(dst []byte, i int64) []byte {
	s := c.buf[i*c.n : (i+1)*c.n]
	for len(s) > 0 && s[len(s)-1] == 0 {
		s = s[:len(s)-1] // strip the NULs that pad a string
	}
	return c.quote(dst, s)
}

func (c *chars) bytes() []byte { return c.buf }

func resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// maxString is the length of the longest string that is written. Strings are held in
// memory whole.
const maxString = 64 << 20

// layout is the arrangement of the values of a selection: one by one, or as strings
// along the last dimension.
type layout struct {
	axes []int // kept axes, without the one of strings
	n    int64 // values in each position
}

func (x *Values) layout() (l layout, err error) {
	l = layout{x.kept(), 1}
	last := len(x.axes) - 1
	if x.v.Type == cdf3.Char && last >= 0 && x.axes[last].keep {
		l.n, l.axes = x.axes[last].count, l.axes[:len(l.axes)-1]
		if l.n > maxString {
			return l, fmt.Errorf("%s: expected strings of at most %d bytes, found %d", x.text, maxString, l.n)
		}
	}
	return l, nil
}

// shape returns the number of positions along each axis.
func (l layout) shape(x *Values) (shape []int64) {
	for _, i := range l.axes {
		shape = append(shape, x.axes[i].count)
	}
	return shape
}

// column makes the column of the values, with strings of n characters for text. st may
// be nil if only bytes are needed.
func (x *Values) column(st *style, n int64) column {
	if st == nil {
		st = &style{}
	}
	if x.v.Type == cdf3.Char {
		return &chars{array: x.array, n: n, quote: st.quote}
	}
	if x.units != nil {
		return x.times(st)
	}
	t := x.v.Type
	if x.o.Unpack {
		if t = x.packing.Type; !x.packing.Plain() {
			if t == cdf3.Float {
				return unpacked[float32](x, st)
			}
			return unpacked[float64](x, st)
		}
	}
	switch t {
	case cdf3.Byte:
		return stored[int8](x, st)
	case cdf3.UByte:
		return stored[uint8](x, st)
	case cdf3.Short:
		return stored[int16](x, st)
	case cdf3.UShort:
		return stored[uint16](x, st)
	case cdf3.Int:
		return stored[int32](x, st)
	case cdf3.UInt:
		return stored[uint32](x, st)
	case cdf3.Int64:
		return stored[int64](x, st)
	case cdf3.UInt64:
		return stored[uint64](x, st)
	case cdf3.Float:
		return stored[float32](x, st)
	}
	return stored[float64](x, st)
}

// stored returns a column of stored values.
func stored[T cdf3.Number](x *Values, st *style) column {
	array := x.array
	c := &numbers[T]{format: formatOf[T](st), null: st.null}
	if x.o.Unpack {
		array = x.packing.Array(array)
	} else if !x.o.KeepFill {
		c.missing = cf.Missing[T](x.packing, x.v.Type)
	}
	c.load = func(ctx context.Context, dst []T, s slab.Sel) error { return slab.ReadInto(ctx, array, dst, s) }
	return c
}

// unpacked returns a column of unpacked values. Missing values are NaN.
func unpacked[T float32 | float64](x *Values, st *style) column {
	c := &numbers[T]{format: formatOf[T](st), null: st.null}
	c.load = func(ctx context.Context, dst []T, s slab.Sel) error {
		return cf.ReadInto(ctx, x.array, dst, s, x.packing)
	}
	if format := c.format; !x.o.KeepFill {
		c.format = func(dst []byte, y T) []byte {
			if y != y {
				return append(dst, st.null...)
			}
			return format(dst, y)
		}
	}
	return c
}

// times returns a column of times as text. Values that are not times are missing.
func (x *Values) times(st *style) column {
	var text []byte
	return &numbers[float64]{
		load: func(ctx context.Context, dst []float64, s slab.Sel) error {
			return cf.ReadInto(ctx, x.array, dst, s, x.packing)
		},
		format: func(dst []byte, y float64) []byte {
			d, ok := x.units.Date(y)
			if !ok {
				return append(dst, st.null...)
			}
			text = d.Append(text[:0])
			return st.quote(dst, text)
		},
	}
}

// formatOf returns a function that formats numbers of a type with the fewest digits
// that read back as the same number.
func formatOf[T cdf3.Number](st *style) func(dst []byte, x T) []byte {
	var z T
	switch any(z).(type) {
	case uint64:
		return func(dst []byte, x T) []byte { return strconv.AppendUint(dst, uint64(x), 10) }
	case float32:
		return func(dst []byte, x T) []byte { return appendFloat(dst, float64(x), 32, st) }
	case float64:
		return func(dst []byte, x T) []byte { return appendFloat(dst, float64(x), 64, st) }
	}
	return func(dst []byte, x T) []byte { return strconv.AppendInt(dst, int64(x), 10) }
}

// appendFloat appends the shortest number that reads back as the same float or double.
func appendFloat(dst []byte, x float64, bits int, st *style) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return st.notFinite(dst, x)
	}
	if abs := math.Abs(x); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, x, 'f', -1, bits)
	}
	return strconv.AppendFloat(dst, x, 'e', -1, bits)
}
