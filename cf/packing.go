package cf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Packing describes how to unpack the stored values of a variable, according to its
// attributes scale_factor, add_offset, _FillValue, missing_value and _Unsigned:
//
//	value = stored*scale_factor + add_offset, or NaN if stored is missing
//
// valid_min, valid_max, valid_range and netCDF's default fill values have no effect.
type Packing struct {
	// Stored is the type of the stored values. It differs from the variable's type
	// if _Unsigned switches the signedness of integers.
	Stored cdf3.Type
	// Type is the type of the unpacked values. Without Scaled and Missing it is
	// Stored. Otherwise it is Float or Double: Float if that holds all stored values
	// exactly and neither attribute is a double, else Double.
	Type cdf3.Type
	// Scaled is set if there is a scale_factor or an add_offset.
	Scaled bool
	// Scale and Offset are scale_factor and add_offset, or 1 and 0.
	Scale, Offset float64

	missing []*cdf3.Attr // _FillValue and missing_value
	own     cdf3.Type    // type of the variable
}

// packingAttrs are the attributes that describe stored values and do not apply to
// unpacked ones.
var packingAttrs = map[string]bool{
	"scale_factor": true, "add_offset": true, "_FillValue": true, "missing_value": true, "_Unsigned": true,
	"valid_min": true, "valid_max": true, "valid_range": true,
}

// IsPackingAttr reports whether an attribute describes stored values and is wrong for
// unpacked ones.
func IsPackingAttr(name string) bool { return packingAttrs[name] }

// NewPacking returns the packing of a variable. Text is never packed. If scale_factor
// or add_offset is not a single number, it returns an error, and a packing without
// either. Other nonsensical attributes are ignored.
func NewPacking(v *cdf3.Var) (*Packing, error) {
	p := &Packing{Stored: v.Type, Type: v.Type, Scale: 1, own: v.Type}
	if v.Type == cdf3.Char {
		return p, nil
	}
	p.Stored = resigned(v.Type, v.Attr("_Unsigned").Text())
	p.Type = p.Stored
	for _, name := range []string{"_FillValue", "missing_value"} {
		if a := v.Attr(name); a != nil && someNumber(a) {
			p.missing = append(p.missing, a)
		}
	}
	wide := v.Type == cdf3.Double || v.Type.Size() > 2 && v.Type != cdf3.Float
	var err error
	for _, x := range []struct {
		name string
		to   *float64
	}{{"scale_factor", &p.Scale}, {"add_offset", &p.Offset}} {
		a := v.Attr(x.name)
		if a == nil {
			continue
		}
		if a.Type == cdf3.Char || a.Len != 1 {
			p.Scaled, p.Scale, p.Offset = false, 1, 0
			err = fmt.Errorf("cf: variable %s: expected one number as %s, found %s", strconv.Quote(v.Name), x.name, describe(a))
			break
		}
		*x.to = a.Float64s()[0]
		p.Scaled = true
		wide = wide || a.Type != cdf3.Float && v.Type != cdf3.Float
	}
	if p.Scaled || p.HasMissing() {
		if p.Type = cdf3.Float; wide {
			p.Type = cdf3.Double
		}
	}
	return p, err
}

// someNumber reports whether an attribute holds a number other than NaN.
func someNumber(a *cdf3.Attr) bool {
	if a.Type != cdf3.Float && a.Type != cdf3.Double {
		return a.Type != cdf3.Char && a.Len > 0
	}
	for _, x := range a.Float64s() {
		if x == x {
			return true
		}
	}
	return false
}

func describe(a *cdf3.Attr) string {
	if a.Type == cdf3.Char {
		return "text"
	}
	return fmt.Sprintf("%d", a.Len)
}

// HasMissing reports whether the variable has a _FillValue or missing_value.
func (p *Packing) HasMissing() bool { return len(p.missing) > 0 }

// Plain reports whether unpacking leaves the stored values unchanged.
func (p *Packing) Plain() bool { return !p.Scaled && !p.HasMissing() }

// resigned returns the integer type of the same size that _Unsigned asks for.
func resigned(t cdf3.Type, unsigned string) cdf3.Type {
	pairs := [...][2]cdf3.Type{{cdf3.Byte, cdf3.UByte}, {cdf3.Short, cdf3.UShort}, {cdf3.Int, cdf3.UInt}, {cdf3.Int64, cdf3.UInt64}}
	for _, p := range pairs {
		switch {
		case t == p[0] && strings.EqualFold(unsigned, "true"):
			return p[1]
		case t == p[1] && strings.EqualFold(unsigned, "false"):
			return p[0]
		}
	}
	return t
}

// Missing returns the stored values that mean missing and that S can hold. t is the
// type of the stored values, either p.Stored or the variable's own type, and S is its
// Go type. NaN is not listed, because it stays NaN anyway. The values are sorted for
// Contains.
func Missing[S cdf3.Number](p *Packing, t cdf3.Type) []S {
	var out []S
	for _, a := range p.missing {
		b := *a
		if b.Type == p.own {
			b.Type = t
		}
		out = append(out, exactly[S](&b)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Contains reports whether x is one of the values that Missing returned.
func Contains[S cdf3.Number](missing []S, x S) bool {
	const few = 8
	if len(missing) > few {
		_, ok := slices.BinarySearch(missing, x)
		return ok
	}
	for _, m := range missing {
		if x == m {
			return true
		}
	}
	return false
}
