package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// Zarr is a netCDF file as a Zarr v2 store with consolidated metadata, whether it is an
// archive with a view or not. Unlike a view, it has attributes whose texts or names are not UTF-8, which it takes as
// Latin-1. It is safe for concurrent use.
type Zarr struct {
	meta   []zarrview.MetaFile
	byName map[string][]byte // of meta
	arrays []zarrArray       // in the order of the variables
	byPath map[string]*Chunks
	header *cdf3.Header
	plan   *plan.Plan
}

// zarrArray is an array of the store.
type zarrArray struct {
	path   string
	chunks *Chunks
}

// Zarr describes the file as a Zarr store. Nil options keep chunks of variables that have
// blocks as they are stored, so that readers need the codecs of the filters. All others are
// cut as [Write] cuts variables, and have the filters of the options: variables of classic
// files, those that share blocks, and those with filters that no codec is paired with.
// Variables whose names cannot be paths are left out. The error is that of filters without
// codecs, of metadata larger than an archive may have, or of ctx.
func (f *File) Zarr(ctx context.Context, o *ChunkOptions) (*Zarr, error) {
	if o == nil {
		o = &ChunkOptions{}
	}
	z := &Zarr{byName: map[string][]byte{}, byPath: map[string]*Chunks{}}
	p := &plan.Plan{Zarr: plan.Viewed}
	names := plan.PathNames{Taken: map[string]bool{}}
	chains := map[string]int{} // of p, by their text and the length of blocks
	for i := range f.header.Vars {
		v := f.newVar(i)
		own := *o
		own.Keep = func(c filters.Chain) bool {
			for _, g := range c {
				filters.Lookup(g.ID) // which finds plugins and their codecs
			}
			_, why := plan.PlanFilters(c, f.archive.L.Geoms[f.vars[i]].BlockLen)
			return why == "" && (o.Keep == nil || o.Keep(c))
		}
		c, err := v.Chunks(&own)
		switch {
		case errors.Is(err, ErrOptions) && c == nil:
			continue // no archive has blocks of such a variable
		case err != nil:
			return nil, err
		}
		_, longest := c.geom.KeysLen()
		path, ok := names.Of(v.v.Name, i, longest)
		if !ok || strings.HasPrefix(path, ".") {
			continue
		}
		key := fmt.Sprint(c.geom.BlockLen, c.chain)
		if _, ok := chains[key]; !ok {
			list, why := plan.PlanFilters(c.chain, c.geom.BlockLen)
			if why != "" {
				return nil, fmt.Errorf("archive: variable %q with filters %s: %s", v.v.Name, c.chain, why)
			}
			chains[key] = len(p.Chains)
			p.Chains = append(p.Chains, list)
		}
		z.arrays = append(z.arrays, zarrArray{path, c})
		z.byPath[path] = c
		p.Vars = append(p.Vars, plan.PlanVar{Var: i, Path: path, PlanArray: &plan.PlanArray{Shape: v.v.Shape, Block: c.geom.Block}, Chain: chains[key]})
	}
	z.header, z.plan = f.header, p
	var err error
	if z.meta, err = zarrview.ZarrMeta(ctx, f.header, p, czip.MetaLimit(f.size, f.header.Len), latin.Text); err != nil {
		return nil, err
	}
	for _, m := range z.meta {
		z.byName[m.Name] = m.Data
	}
	return z, nil
}

// Arrays walks the arrays of the store with their paths, in the order of the variables.
func (z *Zarr) Arrays() iter.Seq2[string, *Chunks] {
	return func(yield func(string, *Chunks) bool) {
		for _, a := range z.arrays {
			if !yield(a.path, a.chunks) {
				return
			}
		}
	}
}

// Metadata walks the keys of metadata with their bytes, which must not be changed.
func (z *Zarr) Metadata() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, m := range z.meta {
			if !yield(m.Name, m.Data) {
				return
			}
		}
	}
}

// Omitted lists the attributes of the file and of the arrays' variables that the store leaves
// out. The error is that of ctx.
func (z *Zarr) Omitted(ctx context.Context) ([]Omitted, error) {
	return omitted(ctx, z.header, z.plan, latin.Text)
}

// Get returns the bytes of a key: metadata, which must not be changed, or a chunk. A key
// that the store does not have is fs.ErrNotExist. Other errors are those of reading.
func (z *Zarr) Get(ctx context.Context, key string) ([]byte, error) {
	if b, ok := z.byName[key]; ok {
		return b, nil
	}
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	c, ok := z.byPath[key[:i]]
	if !ok {
		return nil, fs.ErrNotExist
	}
	b, ok := c.geom.ParseKey(key[i+1:])
	if !ok {
		return nil, fs.ErrNotExist
	}
	return c.Zarr(ctx, nil, b)
}
