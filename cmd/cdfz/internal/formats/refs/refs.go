// Package refs writes references to the chunks of an archive, or of many joined archives, in
// kerchunk's formats: JSON and Parquet. With them, fsspec, zarr and xarray read ranges of the archives
// themselves as a Zarr v2 store.
package refs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/filters"
)

// MaxInline bounds the values in references, in bytes.
const MaxInline = 64 << 20

// Errors of WriteJSON and WriteParquet.
var (
	// ErrClassic reports a file that is not an archive and so has no blocks.
	ErrClassic = errors.New("refs: only archives have blocks to refer to")
	// ErrInline reports values of more than MaxInline bytes that no blocks can be referred to for.
	// Their variables have no blocks, or joined files have blocks that do not fit into one array.
	ErrInline = errors.New("refs: too many values without blocks")
	// ErrBlocks reports a member of joined files whose blocks are not like those of the first one.
	ErrBlocks = errors.New("refs: blocks of another shape or with other filters")
	// ErrMask reports a block that was stored without one of its filters. References cannot
	// express that.
	ErrMask = errors.New("refs: a block without some of its filters")
)

// Result describes written references.
type Result struct {
	Size     int64 // of all files, in bytes
	Chunks   int64
	Referred int64             // chunks that are ranges of archives. The values of others are in the references.
	Packages []string          // Python packages, in addition to numcodecs, whose codecs readers need
	Codecs   []string          // codecs that plugins define, which readers need, too
	Omitted  []archive.Omitted // attributes that are left out
}

// Source is what is referred to: an archive, or a dataset of many.
type Source struct {
	Archive *archive.File
	Dataset *joined.Dataset // instead of an archive
	// URL is the URL or path at which readers find the archive, or the description of the dataset:
	// members are at their locations relative to it.
	URL string
	// Changed, if not nil, is called when all is read. With its error nothing is written in the place of
	// older references.
	Changed func() error
}

// store is the Zarr view of a source.
type store struct {
	*archive.Zarr
	s Source
	// blocks are the arrays whose chunks are blocks, by the number of the variable.
	blocks map[int]*array
}

// newStore describes the Zarr view of a source.
func newStore(ctx context.Context, s Source) (st *store, err error) {
	st = &store{s: s, blocks: map[int]*array{}}
	if s.Dataset != nil {
		st.Zarr, err = st.joined(ctx)
		return st, err
	}
	if _, ok := s.Archive.Info(); !ok {
		return nil, ErrClassic
	}
	if st.Zarr, err = s.Archive.Zarr(ctx, nil); err != nil {
		return nil, err
	}
	for path, c := range st.Arrays() {
		if c.Kept() {
			st.blocks[c.Var().Num()] = &array{path: path, c: c}
		}
	}
	return st, nil
}

// sink receives the chunks of a store: those of an array in order.
type sink interface {
	// value takes a chunk that is not a block. It may keep b.
	value(a *array, b []byte) error
	// place takes the range of a chunk in the archive at a URL or path.
	place(a *array, url string, off, n int64) error
}

// array is an array of the store.
type array struct {
	path string
	c    *archive.Chunks
	next int64 // chunk
}

// walk passes all chunks to a sink, with the next chunk in the array.
func (st *store) walk(ctx context.Context, to sink) (*Result, error) {
	res := &Result{}
	var err error
	if res.Omitted, err = st.Omitted(ctx); err != nil {
		return nil, err
	}
	for _, a := range st.blocks {
		res.need(a.c.Chain())
	}
	slices.Sort(res.Packages)
	slices.Sort(res.Codecs)
	if err := res.values(ctx, st, to); err != nil {
		return nil, err
	}
	if st.s.Dataset != nil {
		err = res.parts(ctx, st, to)
	} else {
		err = res.places(ctx, st.s.Archive, st.s.URL, func(v int) *array { return st.blocks[v] }, to)
	}
	if err == nil && st.s.Changed != nil {
		err = st.s.Changed()
	}
	return res, err
}

// values passes the chunks that are not blocks.
func (r *Result) values(ctx context.Context, st *store, to sink) error {
	left := int64(MaxInline)
	for path, c := range st.Arrays() {
		if st.blocks[c.Var().Num()] != nil {
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

// places passes the places of blocks in an archive at a URL or path. of returns the array of a
// variable of the archive, or nil.
func (r *Result) places(ctx context.Context, f *archive.File, url string, of func(v int) *array, to sink) error {
	for b, err := range f.Blocks(ctx) {
		if err != nil {
			return err
		}
		if b.Var < 0 {
			continue
		}
		a := of(b.Var)
		if a == nil {
			continue
		}
		if b.Mask != 0 {
			return fmt.Errorf("%w: block %d of variable %q", ErrMask, a.next, a.c.Var().Name())
		}
		if err := to.place(a, url, b.Off, b.Len); err != nil {
			return err
		}
		a.next++
		r.Chunks++
		r.Referred++
	}
	return nil
}

// need adds what readers need for a chain.
func (r *Result) need(c filters.Chain) {
	for _, f := range c {
		m, ok := filters.Lookup(f.ID)
		if !ok || m.Codec == nil {
			continue
		}
		if p := m.Codec.Package; p != "" && !slices.Contains(r.Packages, p) {
			r.Packages = append(r.Packages, p)
		}
		if id := m.Codec.ID; m.Codec.Origin != "" && !slices.Contains(r.Codecs, id) {
			r.Codecs = append(r.Codecs, id)
		}
	}
}
