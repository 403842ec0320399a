package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// Zarr v2 metadata, docs/FORMAT.md, "The Zarr view". Key names and the meaning of
// members are those of https://zarr.readthedocs.io/en/stable/spec/v2.html.

const (
	zgroupName    = ".zgroup"
	zattrsName    = ".zattrs"
	zarrayName    = ".zarray"
	zmetadataName = ".zmetadata"
	dimsAttr      = "_ARRAY_DIMENSIONS"
	fillAttr      = "_FillValue"
)

type zarray struct {
	Chunks     []int64           `json:"chunks"`
	Compressor json.RawMessage   `json:"compressor"`
	Dtype      string            `json:"dtype"`
	FillValue  any               `json:"fill_value"`
	Filters    []json.RawMessage `json:"filters"`
	Order      string            `json:"order"`
	Shape      []int64           `json:"shape"`
	ZarrFormat int               `json:"zarr_format"`
}

// metaFile is one entry of metadata, not yet deflated.
type MetaFile struct {
	Name string
	Data []byte
}

// Omitted is an attribute that the Zarr view leaves out.
type Omitted struct {
	Var  int    // number of the variable, -1: of the file
	Attr string // its name, as in the file
	Why  string
}

// ZarrMeta makes the entries of the Zarr metadata of an archive with a view, in their
// order, and lists the attributes that the view leaves out. In a consolidated archive
// the metadata of variables have no entries: they are in .zmetadata alone.
func ZarrMeta(h *cdf3.Header, p *Plan) ([]MetaFile, []Omitted) {
	var files []MetaFile
	var omitted []Omitted
	all := map[string]json.RawMessage{}
	addRoot := func(name string, v any) {
		data := encodeASCII(v)
		files = append(files, MetaFile{name, data})
		all[name] = data
	}
	addVar := addRoot
	if p.Layout == Consolidated {
		addVar = func(name string, v any) { all[name] = encodeASCII(v) }
	}
	room := maxAttrsJSON
	attrs := func(n int, list []cdf3.Attr, t cdf3.Type) map[string]any {
		m, o := zarrAttrs(n, list, t, &room)
		omitted = append(omitted, o...)
		return m
	}
	addRoot(zgroupName, map[string]any{"zarr_format": 2})
	addRoot(zattrsName, attrs(-1, h.Attrs, 0))
	names := dimNames(h)
	for i := range p.Vars {
		pv := &p.Vars[i]
		if pv.View != "" {
			continue
		}
		v := &h.Vars[pv.Var]
		addVar(pv.Path+"/"+zarrayName, newZarray(pv, v.Type, p.Chains[pv.Chain]))
		m := attrs(pv.Var, v.Attrs, v.Type)
		m[dimsAttr] = varDims(v, names)
		addVar(pv.Path+"/"+zattrsName, m)
	}
	meta := encodeASCII(map[string]any{"metadata": all, "zarr_consolidated_format": 1})
	return append(files, MetaFile{zmetadataName, meta}), omitted
}

// encodeASCII is JSON in which all characters beyond ASCII are escaped:
// zarr-python up to 2.13 refuses any other (zarr-developers/zarr-python#1308).
func encodeASCII(v any) []byte {
	data := EncodeJSON(v)
	out := make([]byte, 0, len(data))
	for _, r := range string(data) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func newZarray(pv *PlanVar, t cdf3.Type, chain []PlanFilter) zarray {
	z := zarray{Chunks: pv.Block, Dtype: t.DType(), Order: "C", Shape: pv.Shape, ZarrFormat: 2, Compressor: json.RawMessage("null")}
	for _, f := range chain {
		z.Filters = append(z.Filters, f.Codec)
	}
	// The last codec is the compressor, except shuffle, which numcodecs has only
	// as a filter's kind of codec.
	if n := len(chain); n > 0 && (filters.Filter{ID: chain[n-1].ID}).Compresses() {
		z.Compressor = z.Filters[n-1]
		z.Filters = z.Filters[:n-1]
	}
	if len(z.Filters) == 0 {
		z.Filters = nil
	}
	return z
}

// dimNames returns the names of dimensions in the view: their own, unless an earlier
// dimension has the same name or it is not valid text.
func dimNames(h *cdf3.Header) []string {
	own := map[string]bool{}
	for _, d := range h.Dims {
		own[d.Name] = true
	}
	taken := map[string]bool{}
	names := make([]string, len(h.Dims))
	for i, d := range h.Dims {
		switch {
		case d.Name == "" || !utf8.ValidString(d.Name):
			names[i] = freshDim("", i, own, taken)
		case taken[d.Name]:
			names[i] = freshDim(d.Name, i, own, taken)
		default:
			names[i] = d.Name
		}
		taken[names[i]] = true
	}
	return names
}

// freshDim is NAME__dID, lengthened while another dimension is called so.
func freshDim(name string, id int, own, taken map[string]bool) string {
	name += "__d" + strconv.Itoa(id)
	for own[name] || taken[name] {
		name += "_"
	}
	return name
}

// varDims are the names of a variable's dimensions, each once.
func varDims(v *cdf3.Var, names []string) []string {
	out := make([]string, len(v.DimIDs))
	taken := map[string]bool{}
	for i, id := range v.DimIDs {
		out[i] = names[id]
		if taken[out[i]] {
			out[i] = freshDim(names[id], id, nil, taken)
		}
		taken[out[i]] = true
	}
	return out
}

// zarrAttrs turns attributes into JSON values, those of variable n, of type t. Room is
// the bytes that values may still take; zarrAttrs takes its share.
func zarrAttrs(n int, list []cdf3.Attr, t cdf3.Type, room *int) (map[string]any, []Omitted) {
	m := map[string]any{}
	var omitted []Omitted
	seen := map[string]bool{}
	for i := range list {
		a := &list[i]
		value, why := attrValue(a)
		switch {
		case !utf8.ValidString(a.Name):
			why = "its name is not UTF-8"
		case seen[a.Name]:
			why = "an earlier attribute has the same name"
		case a.Name == dimsAttr:
			why = "the name is taken by the view"
		case n >= 0 && a.Name == fillAttr && (a.Type != t || a.Len != 1):
			why = "it is not one value of the variable's type"
		case len(value) > *room:
			why = "the view has too many attributes"
		}
		seen[a.Name] = true
		if why != "" {
			omitted = append(omitted, Omitted{n, a.Name, why})
			continue
		}
		*room -= len(value)
		m[a.Name] = value
	}
	return m, omitted
}

const tooLong = "its value is too long"

// attrValue returns the JSON value of an attribute, or why it has none.
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
	// C programs count the NUL at the end, which is no part of the text: xarray
	// decodes no time whose units end with one.
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

// attrNumbers returns the values of an attribute, a comma before each, if a JSON reader
// that works in float64 gets them exactly.
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

// jsonFloat writes a point or an exponent, so that readers keep it a float.
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
