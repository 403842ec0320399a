package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// unpacker turns the stored values of a variable into what they stand for, by
// the conventions of CF and NUG: value * scale_factor + add_offset, NaN for
// _FillValue and missing_value, integers without or with a sign by _Unsigned.
type unpacker struct {
	size          int64
	typ           cdf3.Type // that _Unsigned makes of the stored one
	scaled        bool
	scale, offset float64
	missing       []float64
	missing64     []uint64 // of integers of 64 bits, bit by bit
}

// packing is the attributes that unpacking uses up. Those of valid values are
// among them: they are of the stored values.
var packing = []string{"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "valid_min", "valid_max", "valid_range"}

// findAttr is the first attribute of a name, nil if there is none.
func findAttr(attrs []cdf3.Attr, name string) *cdf3.Attr {
	for i := range attrs {
		if attrs[i].Name == name {
			return &attrs[i]
		}
	}
	return nil
}

// newUnpacker is nil for a variable with nothing to unpack.
func newUnpacker(v *cdf3.Var) (*unpacker, error) {
	if v.Type == cdf3.Char {
		return nil, nil
	}
	u := &unpacker{size: v.Type.Size(), typ: v.Type, scale: 1}
	found := false
	for _, x := range []struct {
		name string
		to   *float64
	}{{"scale_factor", &u.scale}, {"add_offset", &u.offset}} {
		a := findAttr(v.Attrs, x.name)
		if a == nil {
			continue
		}
		if a.Type == cdf3.Char || a.Len != 1 {
			return nil, fmt.Errorf("cannot unpack %s: %s is not one number", quoted(v.Name), x.name)
		}
		*x.to = number(a.Values, a.Type)
		u.scaled, found = true, true
	}
	if a := findAttr(v.Attrs, "_Unsigned"); a != nil && a.Type == cdf3.Char {
		if t, ok := resigned(v.Type, strings.TrimRight(string(a.Values), "\x00")); ok {
			u.typ, found = t, true
		}
	}
	for _, name := range []string{"_FillValue", "missing_value"} {
		a := findAttr(v.Attrs, name)
		if a == nil || a.Type == cdf3.Char {
			continue // text is equal to no number
		}
		found = true
		u.addMissing(v, a)
	}
	if !found {
		return nil, nil
	}
	return u, nil
}

func (u *unpacker) addMissing(v *cdf3.Var, a *cdf3.Attr) {
	t := a.Type
	if t == v.Type {
		t = u.typ
	}
	size := t.Size()
	for i := range a.Len {
		b := a.Values[i*size : (i+1)*size]
		if u.size == 8 && u.typ != cdf3.Double && a.Type == v.Type {
			u.missing64 = append(u.missing64, binary.BigEndian.Uint64(b))
			continue
		}
		x := number(b, t)
		if u.typ == cdf3.Float {
			x = float64(float32(x))
		}
		u.missing = append(u.missing, x)
	}
}

// resigned is the integer type of the same size that _Unsigned names.
func resigned(t cdf3.Type, unsigned string) (cdf3.Type, bool) {
	pairs := [][2]cdf3.Type{{cdf3.Byte, cdf3.UByte}, {cdf3.Short, cdf3.UShort}, {cdf3.Int, cdf3.UInt}, {cdf3.Int64, cdf3.UInt64}}
	for _, p := range pairs {
		switch {
		case t == p[0] && strings.EqualFold(unsigned, "true"):
			return p[1], true
		case t == p[1] && strings.EqualFold(unsigned, "false"):
			return p[0], true
		}
	}
	return t, false
}

// number is a big-endian number of a type.
func number(b []byte, t cdf3.Type) float64 {
	switch t {
	case cdf3.Byte:
		return float64(int8(b[0]))
	case cdf3.Short:
		return float64(int16(binary.BigEndian.Uint16(b)))
	case cdf3.UShort:
		return float64(binary.BigEndian.Uint16(b))
	case cdf3.Int:
		return float64(int32(binary.BigEndian.Uint32(b)))
	case cdf3.UInt:
		return float64(binary.BigEndian.Uint32(b))
	case cdf3.Float:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case cdf3.Double:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	case cdf3.Int64:
		return float64(int64(binary.BigEndian.Uint64(b)))
	case cdf3.UInt64:
		return float64(binary.BigEndian.Uint64(b))
	}
	return float64(b[0])
}

// quietNaN is the NaN of missing values, the one that C and numpy have.
const quietNaN = 0x7ff8 << 48

// unpack converts stored values to doubles, both big-endian.
func (u *unpacker) unpack(dst, src []byte) {
	for i := 0; len(src) > 0; i, src = i+8, src[u.size:] {
		stored := number(src[:u.size], u.typ)
		x := stored
		if u.scaled {
			// The conversion keeps the two operations apart on every processor.
			x = float64(x*u.scale) + u.offset
		}
		w := math.Float64bits(x)
		for _, m := range u.missing {
			if stored == m {
				w = quietNaN
			}
		}
		for _, m := range u.missing64 {
			if binary.BigEndian.Uint64(src) == m {
				w = quietNaN
			}
		}
		binary.BigEndian.PutUint64(dst[i:], w)
	}
}
