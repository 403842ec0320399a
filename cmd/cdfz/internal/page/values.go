package page

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/internal/latin"
	"github.com/cdfz-format/cdfz/slab"
)

const (
	// defaultLength bounds the values along an axis, unless the request has another limit. Longer
	// ones are read in steps.
	defaultLength = 1024
	// maxValues bounds the values of an answer, and so those along an axis: the cells of a mesh have only one.
	maxValues = 1 << 20
	// maxWork bounds the decoded bytes of the blocks that an answer needs.
	maxWork = 2 << 30
)

// The answer to values is a line of JSON, padded with spaces to a multiple of 8 bytes,
// and then the values, little-endian, in row-major order. Missing values are NaN, and so
// are those that equal netCDF's default fill value if the variable declares no other, as
// in netCDF4-python.
//
// The parameter at has a word for each dimension of the variable: an index, or x or y for
// one that the answer spans, with a range as in x100:200 if it spans a part. Words are
// separated by commas.
//
// The axis of a series has the values of the coordinate variable of its dimension, or those of the
// variable by, which has this dimension and no other than the series' variable.
//
// With bare=1, the axes have no values, which only double what a mesh needs.
//
// A series that is longer than the limit is read in steps. With extremes=1, it is read
// completely, if the limits of the server allow that, and the answer has the smallest and
// the largest value of each run of Step values, in their order. At has their indices.
type (
	slice struct {
		Type  string `json:"type"` // float32 or float64
		Shape []int  `json:"shape"`
		Axes  []axis `json:"axes"`  // of the shape: y and x, or only one
		Fixed []axis `json:"fixed"` // of the other dimensions
		// Min and Max are those of the values, null if all are missing.
		Min     *float64 `json:"min"`
		Max     *float64 `json:"max"`
		Missing int      `json:"missing"`
	}
	axis struct {
		Dim    int      `json:"dim"` // number of the dimension in the file
		Name   string   `json:"name"`
		Units  string   `json:"units,omitempty"`
		Word   string   `json:"word"`         // x, y or the index
		Start  int64    `json:"start"`        // first index
		Step   int64    `json:"step"`         // between indices
		At     []int64  `json:"at,omitempty"` // indices, if they have no constant step
		Values []number `json:"values"`       // of the coordinate variable, or indices
		Dates  []string `json:"dates,omitempty"`
	}
)

// number is JSON's null if it is not finite.
type number float64

// MarshalJSON implements json.Marshaler.
func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(x), 'g', -1, 64), nil
}

// values answers with a slice or a series.
func (h *Handler) values(w http.ResponseWriter, r *http.Request, f *File) error {
	num, err := varOf(r, f)
	if err != nil {
		return err
	}
	limit := int64(defaultLength)
	if s := r.FormValue("max"); s != "" {
		if limit, err = strconv.ParseInt(s, 10, 64); err != nil || limit < 1 || limit > maxValues {
			return badf("max: expected a number from 1 to %d, found %.80q", maxValues, s)
		}
	}
	header := f.Header()
	v := &header.Vars[num]
	if v.Type == cdf3.Char {
		return h.characters(w, r, f, num)
	}
	p, err := parsePlace(v, r.FormValue("at"), limit)
	if err != nil {
		return err
	}
	if s := r.FormValue("by"); s != "" {
		if err := p.setBy(header, v, s); err != nil {
			return err
		}
	}
	array := f.Array(num)
	p.bare = r.FormValue("bare") == "1"
	p.coarsen(array)
	packing, _ := cf.NewPacking(v) // one that is wrong has no effect
	out := &slice{Type: "float64", Shape: []int{}, Axes: []axis{}, Fixed: []axis{}}
	extremes := r.FormValue("extremes") == "1" && p.whole(array)
	var b bytes.Buffer
	if t := packing.Type; t == cdf3.Float || t.Size() <= 2 {
		out.Type = "float32"
		err = answer[float32](r.Context(), &b, f, v, array, p, packing, extremes, out)
	} else {
		err = answer[float64](r.Context(), &b, f, v, array, p, packing, extremes, out)
	}
	if err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Content-Length", strconv.Itoa(b.Len()))
	head.Set("X-Content-Type-Options", "nosniff")
	_, err = w.Write(b.Bytes())
	return cut(err)
}

// varOf returns the variable of a request.
func varOf(r *http.Request, f *File) (int, error) {
	n, err := strconv.Atoi(r.FormValue("var"))
	if err != nil || n < 0 || n >= len(f.Header().Vars) {
		return 0, badf("var: expected the number of a variable below %d, found %.80q", len(f.Header().Vars), r.FormValue("var"))
	}
	return n, nil
}

// place is the part of a variable that an answer holds.
type place struct {
	sel    slab.Sel
	order  []int    // the dimensions that it spans: y and x, or only one
	words  []string // x, y or the index
	length []int64  // indices from the start on; the selection may skip some
	at     []int64  // indices of the only dimension, if they have no constant step
	bare   bool     // axes without values
	by     *int     // number of the variable with the coordinates of the only dimension
}

// parsePlace parses the parameter at. Its ranges have at most limit indices.
func parsePlace(v *cdf3.Var, at string, limit int64) (*place, error) {
	rank := len(v.Shape)
	p := &place{sel: slab.Sel{Start: make([]int64, rank), Count: make([]int64, rank), Stride: make([]int64, rank)}, length: make([]int64, rank)}
	if at != "" {
		p.words = strings.SplitN(at, ",", rank+1)
	}
	if len(p.words) != rank {
		return nil, badf("at: expected %d words, found %.80q", rank, at)
	}
	x, y := -1, -1
	for i, word := range p.words {
		p.sel.Count[i], p.sel.Stride[i], p.length[i] = 1, 1, 1
		to := &x
		switch {
		case strings.HasPrefix(word, "y"):
			to = &y
			fallthrough
		case strings.HasPrefix(word, "x"):
			if *to >= 0 {
				return nil, badf("at: expected %s once, found %.80q", word[:1], at)
			}
			*to = i
			start, end, ok := parseRange(word[1:], v.Shape[i])
			if !ok {
				return nil, badf("at: expected a range within 0:%d, found %.80q", v.Shape[i], word)
			}
			p.words[i], p.sel.Start[i], p.length[i] = word[:1], start, end-start
			p.sel.Stride[i] = max(1, (p.length[i]+limit-1)/limit)
			p.sel.Count[i] = (p.length[i] + p.sel.Stride[i] - 1) / p.sel.Stride[i]
		default:
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil || n < 0 || n >= v.Shape[i] {
				return nil, badf("at: expected x, y or an index below %d, found %.80q", v.Shape[i], word)
			}
			p.sel.Start[i] = n
		}
	}
	for _, i := range []int{y, x} {
		if i >= 0 {
			p.order = append(p.order, i)
		}
	}
	return p, nil
}

// setBy parses the parameter by.
func (p *place) setBy(h *cdf3.Header, v *cdf3.Var, text string) error {
	num, err := strconv.Atoi(text)
	if err != nil || num < 0 || num >= len(h.Vars) || h.Vars[num].Type == cdf3.Char || len(p.order) != 1 {
		return badf("by: expected the number of a variable, and a series, found %.80q", text)
	}
	dims := h.Vars[num].DimIDs
	if !slices.Contains(dims, v.DimIDs[p.order[0]]) || slices.ContainsFunc(dims, func(dim int) bool { return !slices.Contains(v.DimIDs, dim) }) {
		return badf("by: expected a variable along the series, without other dimensions, found %.80q", text)
	}
	p.by = &num
	return nil
}

// parseRange parses the indices of an axis, from a start to an end. An empty text stands
// for all of them.
func parseRange(text string, length int64) (start, end int64, ok bool) {
	if text == "" {
		return 0, length, true
	}
	a, b, _ := strings.Cut(text, ":")
	start, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	end, err = strconv.ParseInt(b, 10, 64)
	return start, end, err == nil && 0 <= start && start < end && end <= length
}

// coarsen lengthens the steps until the answer is small enough, and needs few enough
// blocks.
func (p *place) coarsen(a slab.Array) {
	for !p.small(a) {
		widest := -1
		for _, i := range p.order {
			if widest < 0 || p.sel.Count[i] > p.sel.Count[widest] {
				widest = i
			}
		}
		if widest < 0 || p.sel.Count[widest] < 2 {
			return
		}
		p.sel.Count[widest] = (p.sel.Count[widest] + 1) / 2
		p.sel.Stride[widest] *= 2
	}
}

// small reports whether an answer is within its limits.
func (p *place) small(a slab.Array) bool {
	n, err := p.sel.Len(a.Shape())
	if err != nil || n > maxValues {
		return err != nil
	}
	return cheap(a, p.sel)
}

// cheap reports whether the blocks of a selection are within maxWork.
func cheap(a slab.Array, sel slab.Sel) bool {
	shaped, ok := a.Values().(slab.Shaped)
	if !ok || shaped.BlockShape() == nil {
		return true
	}
	bytes := a.Type().Size()
	for _, k := range shaped.BlockShape() {
		bytes *= k
	}
	left := maxWork / max(1, bytes)
	err := sel.Grid(a.Shape(), shaped.BlockShape(), func([]int64, int64, int64) bool {
		left--
		return left >= 0
	})
	return err != nil || left >= 0
}

// addAxes describes the axes of an answer.
func (p *place) addAxes(ctx context.Context, f *File, v *cdf3.Var, out *slice) error {
	header := f.Header()
	coords := coordinates(header)
	for i, dim := range v.DimIDs {
		a := axis{Dim: dim, Name: latin.Text(header.Dims[dim].Name), Word: p.words[i], Start: p.sel.Start[i], Step: p.sel.Stride[i]}
		if word := p.words[i]; p.at != nil && (word == "x" || word == "y") {
			a.At = p.at
		}
		num, ok := coords[dim]
		if p.by != nil && i == p.order[0] {
			num, ok = *p.by, true
		}
		if p.bare && slices.Contains(p.order, i) {
			ok = false
		}
		if ok {
			if err := a.read(ctx, f, num, p.of(header, v, num), slices.Index(header.Vars[num].DimIDs, dim)); err != nil {
				return err
			}
		} else if a.At != nil {
			for _, k := range a.At {
				a.Values = append(a.Values, number(k))
			}
		} else if !p.bare || !slices.Contains(p.order, i) {
			for k := range p.sel.Count[i] {
				a.Values = append(a.Values, number(a.Start+k*a.Step))
			}
		}
		if a.Values == nil {
			a.Values = []number{}
		}
		switch a.Word {
		case "y":
			out.Axes = append([]axis{a}, out.Axes...)
		case "x":
			out.Axes = append(out.Axes, a)
		default:
			out.Fixed = append(out.Fixed, a)
		}
	}
	return nil
}

// of returns the same selection of variable num, which has only dimensions of v.
func (p *place) of(h *cdf3.Header, v *cdf3.Var, num int) slab.Sel {
	var sel slab.Sel
	for _, dim := range h.Vars[num].DimIDs {
		i := slices.Index(v.DimIDs, dim)
		sel.Start = append(sel.Start, p.sel.Start[i])
		sel.Count = append(sel.Count, p.sel.Count[i])
		sel.Stride = append(sel.Stride, p.sel.Stride[i])
	}
	return sel
}

// read reads values of variable num, the coordinates. Dimension i is that of the axis.
func (a *axis) read(ctx context.Context, f *File, num int, sel slab.Sel, i int) error {
	header := f.Header()
	v := &header.Vars[num]
	packing, _ := cf.NewPacking(v)
	var x []float64
	if a.At == nil {
		var err error
		x, err = cf.Read[float64](ctx, f.Array(num), sel, packing)
		if err != nil {
			return err
		}
	}
	for _, k := range a.At {
		sel.Start[i], sel.Count[i], sel.Stride[i] = k, 1, 1
		y, err := cf.Read[float64](ctx, f.Array(num), sel, packing)
		if err != nil {
			return err
		}
		x = append(x, y...)
	}
	for _, y := range x {
		a.Values = append(a.Values, number(y))
	}
	a.Units = text(v, "units")
	units, err := cf.UnitsOf(header, num)
	if err != nil {
		return nil
	}
	for _, y := range x {
		date := ""
		if d, ok := units.Date(y); ok {
			date = d.String()
		}
		a.Dates = append(a.Dates, date)
	}
	return nil
}

// answer reads the values and appends the answer to b.
func answer[T float32 | float64](ctx context.Context, b *bytes.Buffer, f *File, v *cdf3.Var, a slab.Array, p *place, packing *cf.Packing, extremes bool, out *slice) error {
	var x []T
	var err error
	if extremes {
		x, err = thinned[T](ctx, a, p, packing)
	} else {
		x, err = read[T](ctx, a, p.sel, packing)
	}
	if err != nil {
		return err
	}
	for _, i := range p.order {
		out.Shape = append(out.Shape, int(p.sel.Count[i]))
	}
	if err := p.addAxes(ctx, f, v, out); err != nil {
		return err
	}
	if len(p.order) == 2 && p.order[0] > p.order[1] {
		x = transposed(x, out.Shape)
	}
	return encode(b, x, out)
}

// read reads values. Those that are missing are NaN.
func read[T float32 | float64](ctx context.Context, a slab.Array, sel slab.Sel, packing *cf.Packing) ([]T, error) {
	x, err := cf.Read[T](ctx, a, sel, packing)
	if err != nil {
		return nil, err
	}
	if fill, filled := defaultFill(packing); filled {
		for i, y := range x {
			if y == T(fill) {
				x[i] = T(cf.NaN())
			}
		}
	}
	return x, nil
}

// encode appends the answer to b.
func encode[T float32 | float64](b *bytes.Buffer, x []T, out *slice) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, y := range x {
		z := float64(y)
		switch {
		case y != y:
			out.Missing++
		case !math.IsInf(z, 0):
			low, high = min(low, z), max(high, z)
		}
	}
	if low <= high {
		out.Min, out.Max = &low, &high
	}
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	b.Write(line)
	for b.Len()%8 != 7 {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	return binary.Write(b, binary.LittleEndian, x)
}

// transposed returns values, read with the axis x before y, in the order of the shape.
func transposed[T any](x []T, shape []int) []T {
	rows, columns := shape[0], shape[1]
	out := make([]T, len(x))
	for i := range rows {
		for k := range columns {
			out[i*columns+k] = x[k*rows+i]
		}
	}
	return out
}

// defaultFill returns netCDF's default fill value for a variable that declares no missing
// values. Bytes have none.
func defaultFill(p *cf.Packing) (x float64, ok bool) {
	if p.HasMissing() || p.Scaled || p.Stored.Size() < 2 {
		return 0, false
	}
	a := cdf3.Attr{Type: p.Stored, Len: 1, Values: p.Stored.Fill()}
	return a.Float64s()[0], true
}
