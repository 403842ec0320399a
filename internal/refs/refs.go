// Package refs writes references to the chunks of an archive, in kerchunk's formats: JSON
// and Parquet. With them, fsspec, zarr and xarray read ranges of the archive itself as a
// Zarr v2 store.
package refs

import (
	"context"
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
)

// MaxInline bounds the values in the references of one archive, in bytes.
const MaxInline = 64 << 20

// Errors of WriteJSON and WriteParquet.
var (
	// ErrClassic reports a file that is not an archive and so has no blocks.
	ErrClassic = errors.New("refs: only archives have blocks to refer to")
	// ErrInline reports an archive with more than MaxInline bytes of values without blocks.
	ErrInline = errors.New("refs: too many values without blocks")
	// ErrMask reports a block that was stored without one of its filters. References cannot
	// express that.
	ErrMask = errors.New("refs: a block without some of its filters")
)

// Result describes written references.
type Result struct {
	Size     int64 // of all files, in bytes
	Chunks   int64
	Referred int64             // chunks that are ranges of the archive. The values of others are in the references.
	Packages []string          // Python packages, in addition to numcodecs, whose codecs readers need
	Omitted  []archive.Omitted // attributes that are left out
}

// store is the Zarr view of an archive.
func store(ctx context.Context, f *archive.File) (*archive.Zarr, error) {
	if _, ok := f.Info(); !ok {
		return nil, ErrClassic
	}
	return f.Zarr(ctx, nil)
}

// sink receives the chunks of a store: those of an array together, in order.
type sink interface {
	// value takes a chunk that is not a block. It may keep b.
	value(a *array, b []byte) error
	// place takes the range of a chunk in the archive.
	place(a *array, off, n int64) error
}

// array is an array of the store.
type array struct {
	path string
	c    *archive.Chunks
	next int64 // chunk
}

// walk passes all chunks to a sink, with the next chunk in the array.
func walk(ctx context.Context, f *archive.File, z *archive.Zarr, to sink) (*Result, error) {
	res := &Result{}
	var err error
	if res.Omitted, err = z.Omitted(ctx); err != nil {
		return nil, err
	}
	if err := res.values(ctx, z, to); err != nil {
		return nil, err
	}
	return res, res.places(ctx, f, z, to)
}

// values passes the chunks that are not blocks.
func (r *Result) values(ctx context.Context, z *archive.Zarr, to sink) error {
	left := int64(MaxInline)
	for path, c := range z.Arrays() {
		if c.Kept() {
			continue
		}
		each := c.Var().Type().Size()
		for _, n := range c.Shape() {
			each *= n
		}
		if c.Len() > 0 && each > left/c.Len() {
			return fmt.Errorf("%w: expected at most %d bytes, found more in variable %q", ErrInline, int64(MaxInline), c.Var().Name())
		}
		left -= each * c.Len()
		for a := (&array{path: path, c: c}); a.next < c.Len(); a.next++ {
			b, err := c.Zarr(ctx, nil, a.next)
			if err != nil {
				return err
			}
			if err := to.value(a, b); err != nil {
				return err
			}
			r.Chunks++
		}
	}
	return nil
}

// places passes the places of blocks.
func (r *Result) places(ctx context.Context, f *archive.File, z *archive.Zarr, to sink) error {
	arrays := map[int]*array{} // by number of the variable
	for path, c := range z.Arrays() {
		if c.Kept() {
			arrays[c.Var().Num()] = &array{path: path, c: c}
			r.need(c.Chain())
		}
	}
	for b, err := range f.Blocks(ctx) {
		if err != nil {
			return err
		}
		a := arrays[b.Var]
		if a == nil {
			continue
		}
		if b.Mask != 0 {
			return fmt.Errorf("%w: block %d of variable %q", ErrMask, a.next, a.c.Var().Name())
		}
		if err := to.place(a, b.Off, b.Len); err != nil {
			return err
		}
		a.next++
		r.Chunks++
		r.Referred++
	}
	return nil
}

// need adds the packages of a chain.
func (r *Result) need(c filters.Chain) {
	for _, f := range c {
		m, ok := filters.Lookup(f.ID)
		if !ok || m.Codec == nil || m.Codec.Package == "" {
			continue
		}
		known := false
		for _, p := range r.Packages {
			known = known || p == m.Codec.Package
		}
		if !known {
			r.Packages = append(r.Packages, m.Codec.Package)
		}
	}
}
