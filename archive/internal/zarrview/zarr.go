// Package zarrview makes the Zarr v2 metadata of archives (docs/FORMAT.md, "The Zarr view") from
// the netCDF header and the plan.
package zarrview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
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
)

type zarray struct {
	Chunks     []int64           `json:"chunks"`
	Compressor json.RawMessage   `json:"compressor"`
	Dtype      string            `json:"dtype"`
	FillValue  json.RawMessage   `json:"fill_value"`
	Filters    []json.RawMessage `json:"filters"`
	Order      string            `json:"order"`
	Shape      []int64           `json:"shape"`
	ZarrFormat int               `json:"zarr_format"`
}

// MetaFile is a metadata entry that is not yet deflated.
type MetaFile struct {
	Name string
	Data []byte
}

// ZarrMeta makes the entries of the Zarr metadata of an archive with a view, in order.
// In a consolidated archive the metadata of variables have no entries and are only in
// .zmetadata. The error wraps ErrMetadata if an entry would exceed limit bytes.
//
// text returns names and texts of attributes that are not UTF-8 in it. Nil is what archives have, without these.
func ZarrMeta(ctx context.Context, h *cdf3.Header, p *plan.Plan, limit int64, text func(string) string) ([]MetaFile, error) {
	var files, all []MetaFile
	left := limit
	add := func(name string, data []byte, own bool) error {
		f := MetaFile{name, data}
		all = append(all, f)
		if own {
			files = append(files, f)
		}
		// .zmetadata holds all the others.
		if left -= int64(len(name) + len(data)); left < 0 {
			return fmt.Errorf("archive: expected at most %d bytes of Zarr metadata, found more: %w", limit, plan.ErrMetadata)
		}
		return nil
	}
	err := add(zgroupName, encodeASCII(map[string]any{"zarr_format": 2}), true)
	if err != nil {
		return nil, err
	}
	names := dimNames(h, p)
	err = eachAttrs(ctx, h, p, text, func(pv *plan.PlanVar, attrs []viewAttr) error {
		if pv == nil {
			data, err := encodeAttrs(ctx, attrs)
			return cmp.Or(err, add(zattrsName, data, true))
		}
		v := &h.Vars[pv.Var]
		if err := add(pv.Path+"/"+zarrayName, encodeASCII(newZarray(pv, v, p.Chains[pv.Chain])), p.Zarr == plan.Viewed); err != nil {
			return err
		}
		attrs = append(attrs, viewAttr{dimsAttr, encodeASCII(varDims(v, names))})
		data, err := encodeAttrs(ctx, attrs)
		return cmp.Or(err, add(pv.Path+"/"+zattrsName, data, p.Zarr == plan.Viewed))
	}, nil)
	if err != nil {
		return nil, err
	}
	meta := make([]byte, 0, limit-left+int64(6*len(all))+64)
	meta, err = encodeObject(ctx, append(meta, `{"metadata":`...), all, func(f MetaFile) (string, []byte) { return f.Name, f.Data })
	return append(files, MetaFile{zmetadataName, append(meta, `,"zarr_consolidated_format":1}`...)}), err
}

// encodeAttrs makes a JSON object of attributes, in the order of their names.
func encodeAttrs(ctx context.Context, attrs []viewAttr) ([]byte, error) {
	return encodeObject(ctx, nil, attrs, func(a viewAttr) (string, []byte) { return a.name, a.value })
}

// encodeObject appends a JSON object whose members are those of list, which it sorts
// by their names.
func encodeObject[T any](ctx context.Context, dst []byte, list []T, member func(T) (name string, value []byte)) ([]byte, error) {
	slices.SortFunc(list, func(x, y T) int {
		a, _ := member(x)
		b, _ := member(y)
		return strings.Compare(a, b)
	})
	dst = append(dst, '{')
	for i, m := range list {
		if i%liveEvery == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		name, value := member(m)
		dst = append(append(append(dst, encodeASCII(name)...), ':'), value...)
	}
	return append(dst, '}'), nil
}

// neverCompressor lists filters whose codec is no compressor, though it is the last one.
// The list is part of the format. The registry does not matter: a program that lacks a
// filter must make the same metadata.
var neverCompressor = []uint32{filters.Shuffle, filters.Fletcher32, filters.Delta, filters.Quantize, filters.BitRound, filters.CRC32, filters.Adler32}

func newZarray(pv *plan.PlanVar, v *cdf3.Var, chain []plan.PlanFilter) zarray {
	z := zarray{Chunks: pv.Block, Dtype: v.Type.DType(), Order: "C", Shape: pv.Shape, ZarrFormat: 2, Compressor: json.RawMessage("null"),
		FillValue: fillValue(v)}
	for _, f := range chain {
		z.Filters = append(z.Filters, f.Codec)
	}
	if n := len(chain); n > 0 && !slices.Contains(neverCompressor, chain[n-1].ID) {
		z.Compressor = z.Filters[n-1]
		z.Filters = z.Filters[:n-1]
	}
	if len(z.Filters) == 0 {
		z.Filters = nil
	}
	return z
}

// dimNames returns the names in the view of the dimensions that it uses: their own
// names, unless an earlier dimension has the same name or the name is not valid text.
func dimNames(h *cdf3.Header, p *plan.Plan) map[int]string {
	names := map[int]string{}   // of the dimensions used
	first := map[string]int{}   // the first dimension of each name
	fresh := map[string]bool{}  // generated names
	nearby := map[string]bool{} // names of dimensions that equal one in fresh, except for underscores
	for i := range p.Vars {
		if p.Vars[i].View != "" {
			continue
		}
		for _, id := range h.Vars[p.Vars[i].Var].DimIDs {
			names[id] = h.Dims[id].Name
			first[h.Dims[id].Name] = -1
		}
	}
	if len(names) == 0 {
		return names
	}
	for id := range h.Dims {
		if n, ok := first[h.Dims[id].Name]; ok && n < 0 {
			first[h.Dims[id].Name] = id
		}
	}
	for id, name := range names {
		switch {
		case name == "" || !utf8.ValidString(name):
			names[id] = freshDim("", id)
		case first[name] != id:
			names[id] = freshDim(name, id)
		default:
			continue
		}
		fresh[names[id]] = true
	}
	if len(fresh) == 0 {
		return names
	}
	for i := range h.Dims {
		if base := strings.TrimRight(h.Dims[i].Name, "_"); fresh[base] {
			nearby[h.Dims[i].Name] = true
		}
	}
	for id, name := range names {
		for fresh[name] && nearby[names[id]] {
			names[id] += "_"
		}
	}
	return names
}

// freshDim returns NAME__dID. It ends with a number that no other generated name has.
func freshDim(name string, id int) string { return name + "__d" + strconv.Itoa(id) }

// varDims returns the names of a variable's dimensions, without repetitions.
func varDims(v *cdf3.Var, names map[int]string) []string {
	out := make([]string, len(v.DimIDs))
	taken := map[string]bool{}
	for i, id := range v.DimIDs {
		out[i] = names[id]
		if taken[out[i]] {
			for out[i] = freshDim(out[i], id); taken[out[i]]; {
				out[i] += "_"
			}
		}
		taken[out[i]] = true
	}
	return out
}
