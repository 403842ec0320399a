package archive

import (
	"context"
	"io/fs"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Zarr is a netCDF file as a Zarr v2 store with consolidated metadata, whether it is an
// archive with a view or not. It is safe for concurrent use.
type Zarr struct {
	f      *File
	meta   map[string][]byte
	arrays map[string]zarrArray // by path
}

// zarrArray is an array of the store.
type zarrArray struct {
	num  int              // of its variable
	pos  int              // in the plan, or -1: its chunks are decoded
	geom *format.Geometry // of its chunks
}

// Zarr describes the file as a Zarr store. Chunks of variables that have blocks are these,
// as they are stored, so that readers need the codecs of the filters. All others are cut
// as [Write] cuts variables, and have no codecs: variables of classic files, those that
// share blocks, and those with filters that no codec is paired with. Variables whose names
// cannot be paths are left out. The error is that of metadata larger than an archive may
// have, or of ctx.
func (f *File) Zarr(ctx context.Context) (*Zarr, error) {
	z := &Zarr{f: f, meta: map[string][]byte{}, arrays: map[string]zarrArray{}}
	p := &format.Plan{Layout: format.Viewed, Chains: [][]format.PlanFilter{{}}}
	names := format.PathNames{Taken: map[string]bool{}}
	chains := map[int]int{} // of the archive's plan, to those of p
	for i := range f.header.Vars {
		v := &f.header.Vars[i]
		a := zarrArray{num: i, pos: -1}
		pv := format.PlanVar{Var: i, Shape: v.Shape}
		if pos := f.vars[i]; pos >= 0 {
			l := f.archive.L
			c := l.Vars[pos].Chain
			if filters, why := format.PlanFilters(l.Filters[c], l.Geoms[pos].BlockLen); why == "" {
				if _, ok := chains[c]; !ok {
					chains[c] = len(p.Chains)
					p.Chains = append(p.Chains, filters)
				}
				a.pos, a.geom, pv.Block, pv.Chain = pos, l.Geoms[pos], l.Vars[pos].Block, chains[c]
			}
		}
		if a.pos < 0 {
			pv.Block = format.BlockShape(v.Shape, v.Type.Size(), DefaultBlock)
			var err error
			if a.geom, err = format.NewGeometry(v.Shape, pv.Block, v.Type.Size()); err != nil {
				continue // no archive has blocks of such a variable
			}
		}
		_, longest := a.geom.KeysLen()
		path, ok := names.Of(v.Name, i, longest)
		if !ok || strings.HasPrefix(path, ".") {
			continue
		}
		pv.Path = path
		z.arrays[path] = a
		p.Vars = append(p.Vars, pv)
	}
	files, err := format.ZarrMeta(ctx, f.header, p, format.MetaLimit(f.size, f.header.Len))
	if err != nil {
		return nil, err
	}
	for _, m := range files {
		z.meta[m.Name] = m.Data
	}
	return z, nil
}

// Get returns the bytes of a key: metadata, which must not be changed, or a chunk. A key
// that the store does not have is fs.ErrNotExist. Other errors are those of reading.
func (z *Zarr) Get(ctx context.Context, key string) ([]byte, error) {
	if b, ok := z.meta[key]; ok {
		return b, nil
	}
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	a, ok := z.arrays[key[:i]]
	if !ok {
		return nil, fs.ErrNotExist
	}
	b, ok := a.geom.ParseKey(key[i+1:])
	if !ok {
		return nil, fs.ErrNotExist
	}
	if a.pos >= 0 {
		return z.f.archive.ReadStored(ctx, z.f.archive.L.BlockOf(a.pos, b))
	}
	off, n := a.geom.At(b)
	chunk := make([]byte, a.geom.BlockLen)
	if err := ioat.ReadFull(ioat.Bind(ctx, z.f.newVar(a.num).values), chunk[:n], off); err != nil {
		return nil, err
	}
	a.geom.Pad(chunk, n)
	return chunk, nil
}
