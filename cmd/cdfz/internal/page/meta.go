package page

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// maxText bounds the text of a description, in bytes. Headers may have 256 MiB.
const maxText = 2 << 20

type (
	// description is the answer about a file.
	description struct {
		Path       string      `json:"path"`
		Format     string      `json:"format"`
		Size       int64       `json:"size"` // bytes of the netCDF file
		Records    int64       `json:"records"`
		Archive    *stored     `json:"archive"` // null for a file that is no archive
		Attributes []attribute `json:"attributes"`
		Dimensions []dimension `json:"dimensions"`
		Variables  []variable  `json:"variables"`
		Cut        bool        `json:"cut"` // there is more than the page shows
	}
	stored struct {
		Size   int64  `json:"size"` // bytes
		SHA256 string `json:"sha256"`
		Layout string `json:"layout"`
		Writer string `json:"writer"`
		Blocks int64  `json:"blocks"`
	}
	dimension struct {
		Name       string `json:"name"`
		Length     int64  `json:"length"`
		Unlimited  bool   `json:"unlimited,omitempty"`
		Coordinate int    `json:"coordinate"` // number of its variable, or -1
		Axis       string `json:"axis,omitempty"`
		Down       bool   `json:"down,omitempty"` // the coordinate grows downwards
	}
	variable struct {
		Num        int         `json:"num"`
		Name       string      `json:"name"`
		Quoted     string      `json:"quoted"` // as in selections
		Type       string      `json:"type"`
		Dims       []int       `json:"dims"`
		Shape      []int64     `json:"shape"`
		Size       int64       `json:"size"` // bytes of the values
		Title      string      `json:"title,omitempty"`
		Units      string      `json:"units,omitempty"`
		Axis       string      `json:"axis,omitempty"` // for which the values are coordinates
		Down       bool        `json:"down,omitempty"` // they grow downwards
		Attributes []attribute `json:"attributes"`
	}
	attribute struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
	}
)

// meta answers with the description of a file.
func (h *Handler) meta(w http.ResponseWriter, _ *http.Request, f *File) error {
	header := f.Header()
	d := &description{
		Path: f.Path, Format: header.Version.String(), Size: f.Image().Size(), Records: header.NumRecs,
		Dimensions: []dimension{}, Variables: []variable{},
	}
	if info, ok := f.Info(); ok {
		d.Archive = &stored{f.Size(), info.SHA256, info.Layout, info.Writer, info.Blocks}
	}
	left := maxText
	d.Attributes = attributes(header.Attrs, &left)
	axes := coordinates(header)
	for i, dim := range header.Dims {
		if left -= len(dim.Name) + 80; left < 0 {
			break
		}
		one := dimension{Name: latin.Text(dim.Name), Length: lengthOf(header, i), Unlimited: dim.Len == 0, Coordinate: -1}
		if num, ok := axes[i]; ok {
			one.Coordinate = num
			one.Axis, one.Down = axisOf(header, num)
		}
		d.Dimensions = append(d.Dimensions, one)
	}
	for i := range header.Vars {
		v := &header.Vars[i]
		if left -= 2*len(v.Name) + 16*len(v.Shape) + 160; left < 0 {
			break
		}
		one := variable{
			Num: i, Name: latin.Text(v.Name), Quoted: quoted(v.Name), Type: v.Type.String(), Dims: append([]int{}, v.DimIDs...),
			Shape: append([]int64{}, v.Shape...), Size: v.Len, Units: text(v, "units"), Attributes: attributes(v.Attrs, &left),
		}
		one.Axis, one.Down = axisOf(header, i)
		if one.Title = text(v, "long_name"); one.Title == "" {
			one.Title = text(v, "standard_name")
		}
		d.Variables = append(d.Variables, one)
	}
	d.Cut = left < 0
	return sendJSON(w, d)
}

// lengthOf returns the length of a dimension.
func lengthOf(h *cdf3.Header, dim int) int64 {
	if n := h.Dims[dim].Len; n > 0 {
		return n
	}
	return h.NumRecs
}

// attributes formats attributes while there is text left.
func attributes(attrs []cdf3.Attr, left *int) []attribute {
	out := []attribute{}
	for i := range attrs {
		if *left < 0 {
			break
		}
		a := attribute{latin.Text(attrs[i].Name), attrs[i].Type.String(), format(&attrs[i])}
		*left -= len(a.Name) + len(a.Value) + 40
		out = append(out, a)
	}
	return out
}

// maxNumbers is how many numbers of an attribute the page shows.
const maxNumbers = 64

// format returns the value of an attribute, shortened.
func format(a *cdf3.Attr) string {
	if a.Type == cdf3.Char {
		s := a.Text()
		if len(s) > maxValue {
			return latin.Text(latin.Whole(s[:maxValue])) + "…"
		}
		return latin.Text(s)
	}
	b := *a
	if b.Len > maxNumbers {
		b.Len, b.Values = maxNumbers, b.Values[:maxNumbers*b.Type.Size()]
	}
	var words []string
	switch b.Type {
	case cdf3.Float:
		for _, x := range cdf3.Values[float32](&b) {
			words = append(words, strconv.FormatFloat(float64(x), 'g', -1, 32))
		}
	case cdf3.Double:
		for _, x := range cdf3.Values[float64](&b) {
			words = append(words, strconv.FormatFloat(x, 'g', -1, 64))
		}
	case cdf3.UInt64:
		for _, x := range cdf3.Values[uint64](&b) {
			words = append(words, strconv.FormatUint(x, 10))
		}
	default:
		for _, x := range b.Int64s() {
			words = append(words, strconv.FormatInt(x, 10))
		}
	}
	if b.Len < a.Len {
		words = append(words, fmt.Sprintf("… (%d in all)", a.Len))
	}
	return strings.Join(words, ", ")
}

// quoted returns a name as selections have it.
func quoted(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r == '.' || r == '+' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' && r < 128
	}
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	return strconv.Quote(name)
}
