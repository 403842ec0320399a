package archive

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// Packing reads how stored values stand for real ones from the attributes
// scale_factor, add_offset, _FillValue, missing_value and _Unsigned. Attributes of a
// useless type or length are ignored. Fill values of integers are unsigned where
// _Unsigned says so.
func (v *Var) Packing() slab.Packing {
	w := v.v
	var p slab.Packing
	for i := range w.Attrs {
		if a := &w.Attrs[i]; a.Name == "_Unsigned" && a.Type == cdf3.Char {
			p.Unsigned = strings.EqualFold(string(bytes.TrimRight(a.Values, "\x00")), "true")
		}
	}
	seen := map[string]bool{}
	for i := range w.Attrs {
		a := &w.Attrs[i]
		if a.Type == cdf3.Char || a.Len == 0 || seen[a.Name] {
			continue
		}
		seen[a.Name] = true
		switch a.Name {
		case "scale_factor":
			p.Scale = attrFloat(a, 0, false)
		case "add_offset":
			p.Offset = attrFloat(a, 0, false)
		case "_FillValue", "missing_value":
			for k := range a.Len {
				p.Missing = append(p.Missing, attrFloat(a, k, p.Unsigned))
			}
		}
	}
	return p
}

// attrFloat is element k of a numeric attribute.
func attrFloat(a *cdf3.Attr, k int64, unsigned bool) float64 {
	b := a.Values[k*a.Type.Size():]
	be := binary.BigEndian
	t := a.Type
	if unsigned {
		switch t {
		case cdf3.Byte:
			t = cdf3.UByte
		case cdf3.Short:
			t = cdf3.UShort
		case cdf3.Int:
			t = cdf3.UInt
		case cdf3.Int64:
			t = cdf3.UInt64
		}
	}
	switch t {
	case cdf3.Byte:
		return float64(int8(b[0]))
	case cdf3.UByte:
		return float64(b[0])
	case cdf3.Short:
		return float64(int16(be.Uint16(b)))
	case cdf3.UShort:
		return float64(be.Uint16(b))
	case cdf3.Int:
		return float64(int32(be.Uint32(b)))
	case cdf3.UInt:
		return float64(be.Uint32(b))
	case cdf3.Int64:
		return float64(int64(be.Uint64(b)))
	case cdf3.UInt64:
		return float64(be.Uint64(b))
	case cdf3.Float:
		return float64(math.Float32frombits(be.Uint32(b)))
	}
	return math.Float64frombits(be.Uint64(b))
}
