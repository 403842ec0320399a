package zarrview

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/cdf3"
)

// The limits of docs/FORMAT.md, "Limits". Part of the format, never to change.
const (
	maxAttrJSON  = 1 << 16 // an attribute's value, in bytes of JSON
	maxAttrsJSON = 1 << 22 // all of them, with their names
)

// liveEvery is the number of small steps after which a loop checks its context.
const liveEvery = 1024

const (
	dimsAttr = "_ARRAY_DIMENSIONS"
	fillAttr = "_FillValue"
)

// viewAttr is an attribute in the view.
type viewAttr struct {
	name  string
	value []byte // JSON
}

// Omitted is an attribute that the Zarr view leaves out.
type Omitted struct {
	Var  int    // number of the variable, or -1 for the file
	Attr string // its name, as in the file
	Why  string
}

// OmittedAttrs lists the attributes that the Zarr view of an archive leaves out. For text, see ZarrMeta.
func OmittedAttrs(ctx context.Context, h *cdf3.Header, p *plan.Plan, text func(string) string) ([]Omitted, error) {
	var out []Omitted
	err := eachAttrs(ctx, h, p, text, func(*plan.PlanVar, []viewAttr) error { return nil }, func(o Omitted) { out = append(out, o) })
	return out, err
}

// eachAttrs calls use with the attributes in the view, for the file (pv is nil) and for
// each variable. It calls omit, if not nil, with all other attributes.
func eachAttrs(ctx context.Context, h *cdf3.Header, p *plan.Plan, text func(string) string, use func(pv *plan.PlanVar, attrs []viewAttr) error, omit func(Omitted)) error {
	room := maxAttrsJSON
	attrs, err := zarrAttrs(ctx, -1, h.Attrs, 0, text, &room, omit)
	if err == nil {
		err = use(nil, attrs)
	}
	for i := range p.Vars {
		if err == nil && i%liveEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		pv := &p.Vars[i]
		if pv.View != "" {
			continue
		}
		v := &h.Vars[pv.Var]
		if attrs, err = zarrAttrs(ctx, pv.Var, v.Attrs, v.Type, text, &room, omit); err == nil {
			err = use(pv, attrs)
		}
	}
	return err
}

// zarrAttrs returns the attributes in the view of variable n of type t. room is the
// number of bytes that names and values may still take, which zarrAttrs reduces. For text, see ZarrMeta.
func zarrAttrs(ctx context.Context, n int, list []cdf3.Attr, t cdf3.Type, text func(string) string, room *int, omit func(Omitted)) ([]viewAttr, error) {
	var kept []viewAttr
	if text != nil {
		list = inUTF8(list, text)
	}
	names := newNameSet(list)
	for i := range list {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		a := &list[i]
		var value []byte
		why, again := "", names.add(i)
		switch {
		case !utf8.ValidString(a.Name):
			why = "its name is not UTF-8"
		case again:
			why = "an earlier attribute has the same name"
		case a.Name == dimsAttr:
			why = "the name is taken by the view"
		default:
			if value, why = attrValue(a); why == "" && len(a.Name)+len(value) > *room {
				why = "the view has too many attributes"
			}
		}
		if why == "" {
			*room -= len(a.Name) + len(value)
			kept = append(kept, viewAttr{a.Name, value})
		} else if omit != nil && (n < 0 || again || a.Name != fillAttr || !isFill(a, t)) { // else fill_value has it
			omit(Omitted{n, a.Name, why})
		}
	}
	return kept, nil
}

// inUTF8 returns attributes with names and texts in UTF-8. _FillValue is no text, and texts that are too long for the view
// stay as they are.
func inUTF8(list []cdf3.Attr, text func(string) string) []cdf3.Attr {
	shared := true
	for i := range list {
		a := list[i]
		if a.Type == cdf3.Char && a.Name != fillAttr && len(a.Values) <= maxAttrJSON && !utf8.Valid(a.Values) {
			a.Values = []byte(text(string(a.Values)))
			a.Len = int64(len(a.Values))
		} else if utf8.ValidString(a.Name) {
			continue
		}
		if shared {
			list, shared = slices.Clone(list), false
		}
		a.Name = text(a.Name)
		list[i] = a
	}
	return list
}

// nameSet finds attributes of a list with the name of an earlier one. A map of the
// names would take several times as much memory, and lists may be as long as headers.
type nameSet struct {
	list  []cdf3.Attr
	slots []int32 // numbers of attributes plus 1, by the hashes of their names
	seed  maphash.Seed
}

func newNameSet(list []cdf3.Attr) *nameSet {
	return &nameSet{list, make([]int32, 1<<bits.Len(uint(2*len(list)))), maphash.MakeSeed()}
}

// add reports whether an earlier attribute has the same name as attribute i.
func (s *nameSet) add(i int) bool {
	mask := uint64(len(s.slots) - 1)
	for at := maphash.String(s.seed, s.list[i].Name) & mask; ; at = (at + 1) & mask {
		switch k := s.slots[at]; {
		case k == 0:
			s.slots[at] = int32(i) + 1
			return false
		case s.list[k-1].Name == s.list[i].Name:
			return true
		}
	}
}

// isFill reports whether the attribute _FillValue of a variable of type t is one of its values.
func isFill(a *cdf3.Attr, t cdf3.Type) bool { return a.Type == t && a.Len == 1 }

// fillValue returns the fill value of a variable as .zarray has it.
func fillValue(v *cdf3.Var) json.RawMessage {
	a := v.Attr(fillAttr)
	if a == nil || !isFill(a, v.Type) {
		return json.RawMessage("null")
	}
	switch v.Type {
	case cdf3.Char:
		return encodeASCII(base64.StdEncoding.EncodeToString(a.Values[:1]))
	case cdf3.UInt64:
		return strconv.AppendUint(nil, binary.BigEndian.Uint64(a.Values), 10)
	case cdf3.Float, cdf3.Double:
		x := a.Float64s()[0]
		if s, ok := jsonFloat(x); ok {
			return json.RawMessage(s)
		}
		switch {
		case x > 0:
			return json.RawMessage(`"Infinity"`)
		case x < 0:
			return json.RawMessage(`"-Infinity"`)
		}
		return json.RawMessage(`"NaN"`)
	}
	return strconv.AppendInt(nil, a.Int64s()[0], 10)
}

const tooLong = "its value is too long"

// attrValue returns the JSON value of an attribute, or the reason why it has none.
func attrValue(a *cdf3.Attr) (json.RawMessage, string) {
	if a.Type == cdf3.Char {
		return attrText(a.Values)
	}
	if a.Len > maxAttrJSON/2 { // each value takes a digit and a comma
		return nil, tooLong
	}
	out, ok := attrNumbers(a)
	if !ok {
		return nil, "JSON cannot hold its value exactly"
	}
	if a.Len == 1 {
		return out[1:], ""
	}
	if len(out) == 0 {
		out = append(out, '[')
	}
	out[0] = '['
	if out = append(out, ']'); len(out) > maxAttrJSON {
		return nil, tooLong
	}
	return out, ""
}

// attrText is attrValue for text.
func attrText(b []byte) (json.RawMessage, string) {
	// C programs count the NUL at the end, which is not part of the text: xarray cannot
	// decode times whose units end with one.
	b = bytes.TrimRight(b, "\x00")
	if len(b) > maxAttrJSON {
		return nil, tooLong
	}
	if !utf8.Valid(b) {
		return nil, "its text is not UTF-8"
	}
	out := encodeASCII(string(b))
	if len(out) > maxAttrJSON {
		return nil, tooLong
	}
	return out, ""
}

// attrNumbers returns the values of an attribute, with a comma before each, if a JSON
// reader that uses float64 reads them exactly.
func attrNumbers(a *cdf3.Attr) (out []byte, ok bool) {
	switch a.Type {
	case cdf3.Float, cdf3.Double:
		for _, x := range a.Float64s() {
			s, ok := jsonFloat(x)
			if !ok {
				return nil, false
			}
			out = append(append(out, ','), s...)
		}
		return out, true
	}
	ints := a.Int64s()
	for _, x := range ints {
		if x < -1<<53 || x > 1<<53 {
			return nil, false
		}
		out = strconv.AppendInt(append(out, ','), x, 10)
	}
	return out, int64(len(ints)) == a.Len
}

// jsonFloat formats a number with a point or an exponent, so that readers keep it a
// float.
func jsonFloat(x float64) (string, bool) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "", false
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	for i := range len(s) {
		if s[i] == '.' || s[i] == 'e' {
			return s, true
		}
	}
	return s + ".0", true
}
