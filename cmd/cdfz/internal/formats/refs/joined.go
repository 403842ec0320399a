package refs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/filters"
)

// joined describes a dataset as a store. An array consists of the blocks of the members if the first
// member has blocks for it and each member begins with a new chunk. All others are values.
func (st *store) joined(ctx context.Context) (*archive.Zarr, error) {
	d := st.s.Dataset
	f := d.File()
	first := map[int]*archive.Chunks{} // the blocks of the first member, by the number of the variable
	err := d.Part(ctx, 0, func(p *joined.Part) error {
		for v, n := range p.Vars {
			if c, err := stored(p.File, n); err != nil {
				return err
			} else if c != nil && regular(d, v, c) {
				first[v] = c
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	z, err := f.Zarr(ctx, &archive.ChunkOptions{Cut: func(v *archive.Var) ([]int64, filters.Chain) {
		c := first[v.Num()]
		if c == nil {
			return nil, nil
		}
		return shape(d, v.Num(), c), c.Chain()
	}})
	if err != nil {
		return nil, err
	}
	for path, c := range z.Arrays() {
		if v := c.Var().Num(); first[v] != nil {
			st.blocks[v] = &array{path: path, c: c}
		}
	}
	return z, nil
}

// stored returns the blocks of variable number n of a file, or nil if it has none.
func stored(f *archive.File, n int) (*archive.Chunks, error) {
	if n < 0 {
		return nil, nil
	}
	v, err := f.Var(f.Header().Vars[n].Name)
	if err != nil {
		return nil, err
	}
	if len(v.Shape()) == 0 {
		return nil, nil
	}
	c, err := v.Chunks(nil)
	if err != nil || !c.Kept() {
		return nil, nil // what cannot be cut into chunks has no blocks
	}
	return c, nil
}

// shape returns the shape of the chunks of a joined variable with the blocks c.
func shape(d *joined.Dataset, v int, c *archive.Chunks) []int64 {
	if d.Joins(v) && d.Description().New {
		return append([]int64{1}, c.Shape()...)
	}
	return c.Shape()
}

// regular reports whether each member begins with a new chunk of the joined variable, and its blocks have the
// joined values.
func regular(d *joined.Dataset, v int, c *archive.Chunks) bool {
	switch {
	case d.Converts(v): // blocks have times in other units
		return false
	case !d.Joins(v) || d.Description().New:
		return true
	}
	for i := range d.Description().Members {
		if d.Description().Members[i].Part || d.Start(i)%c.Shape()[0] != 0 {
			return false
		}
	}
	return true
}

// parts passes the places of blocks in the members of a dataset.
func (r *Result) parts(ctx context.Context, st *store, to sink) error {
	d := st.s.Dataset
	for i := range d.Description().Members {
		err := d.Part(ctx, i, func(p *joined.Part) error {
			url, err := joined.Resolve(st.s.URL, p.Location)
			if err != nil {
				return err
			}
			own := map[int]*array{} // by the number of the variable in the member
			for _, v := range slices.Sorted(maps.Keys(st.blocks)) {
				a := st.blocks[v]
				if d.Joins(v) && p.Len == 0 || !d.Joins(v) && i > 0 {
					continue
				}
				if err := like(d, v, a, p); err != nil {
					return err
				}
				own[p.Vars[v]] = a
			}
			return r.places(ctx, p.File, url, func(v int) *array { return own[v] }, to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// like checks that the blocks of a member are chunks of an array.
func like(d *joined.Dataset, v int, a *array, p *joined.Part) error {
	c, err := stored(p.File, p.Vars[v])
	switch {
	case err != nil:
		return err
	case c == nil:
		return fmt.Errorf("%w: expected blocks of variable %q, found none", ErrBlocks, a.path)
	}
	if got := shape(d, v, c); !slices.Equal(got, a.c.Shape()) {
		return fmt.Errorf("%w: expected blocks of shape %v of variable %q, found %v", ErrBlocks, a.c.Shape(), a.path, got)
	}
	if want, got := a.c.Chain().String(), c.Chain().String(); got != want {
		return fmt.Errorf("%w: expected blocks of variable %q with filters %s, found %s", ErrBlocks, a.path, want, got)
	}
	return nil
}
