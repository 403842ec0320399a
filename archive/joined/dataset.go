package joined

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Options control Open and Build. Nil and the zero value mean the defaults.
type Options struct {
	// Open are the options for all members. Its Shared is a cache for all of them; nil: one of 32 MiB.
	// Its Name is not used.
	Open archive.OpenOptions
	// Workers is the number of members that a read opens and reads at the same time. 0 means 8, or
	// GOMAXPROCS if that is more: reads of URLs wait rather than compute.
	Workers int
}

const (
	defaultWorkers = 8
	defaultCache   = 32 << 20
	// memberIndex is the number of bytes of index pages kept for each open archive, unless the options
	// say more: many are open.
	memberIndex = 1 << 20
)

// complete returns options with the defaults in place.
func (o *Options) complete() (Options, error) {
	c := Options{}
	if o != nil {
		c = *o
	}
	if c.Workers <= 0 {
		c.Workers = max(defaultWorkers, runtime.GOMAXPROCS(0))
	}
	if c.Open.Index == 0 {
		c.Open.Index = memberIndex
	}
	c.Open.Name = ""
	if c.Open.Shared == nil && c.Open.Cache >= 0 {
		n := c.Open.Cache
		if n == 0 {
			n = defaultCache
		}
		cache, err := archive.NewCache(n)
		if err != nil {
			return c, err
		}
		c.Open.Shared = cache
	}
	return c, nil
}

// Dataset is an open dataset. It is safe for concurrent use.
type Dataset struct {
	t       *template
	members *members
	first   *member
	workers int
	header  *cdf3.Header
	starts  []int64 // first joined index of each member, and after them the number of all indices
	file    *archive.File
}

// Open opens a dataset. It opens the first member, and all others only if the description lacks their
// lengths. The caller must close the dataset, and must not change the description before that. ctx is for
// opening only.
//
// Errors are ErrDiffers with a *Problem, archive.ErrOptions for a description that contradicts itself, and
// those of opening members.
func Open(ctx context.Context, desc *Description, open Opener, o *Options) (*Dataset, error) {
	c, err := o.complete()
	if err == nil {
		err = desc.check()
	}
	if err != nil {
		return nil, err
	}
	d := &Dataset{workers: c.Workers}
	if d.t, err = openTemplate(ctx, desc, open, &c); err != nil {
		return nil, err
	}
	d.members = &members{t: d.t, opener: open, o: c.Open, open: map[*member]struct{}{}}
	if d.first, err = d.members.acquire(ctx, 0); err != nil {
		return nil, err
	}
	if err = d.measure(ctx); err == nil {
		d.header, err = d.t.header(d.starts[len(desc.Members)])
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	image, err := newImage(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	d.file = archive.FromSource(image)
	return d, nil
}

// openTemplate reads the structure of the first member.
func openTemplate(ctx context.Context, desc *Description, open Opener, o *Options) (*template, error) {
	m := &desc.Members[0]
	f, closer, err := open(ctx, m.Location, &o.Open)
	if err != nil {
		return nil, inMember(m.Location, err)
	}
	if closer != nil {
		defer closer.Close()
	}
	return newTemplate(desc, f.Header())
}

// check checks a description.
func (desc *Description) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("joined: "+format+": %w", append(args, archive.ErrOptions)...)
	}
	switch {
	case desc.Dim == "":
		return bad("expected the name of the joined dimension, found none")
	case len(desc.Members) == 0:
		return bad("expected one member or more, found none")
	case desc.New && len(desc.Vars) == 0:
		return bad("expected variables that get the new dimension %q, found none", desc.Dim)
	case !desc.New && len(desc.Vars) > 0:
		return bad("expected no list of variables for the existing dimension %q, found one", desc.Dim)
	}
	total := int64(0)
	for _, m := range desc.Members {
		switch {
		case m.Part && (desc.New || m.Len < 0 || m.Start < 0 || m.Start > math.MaxInt64-m.Len):
			return bad("member %s: expected a first index and a number of indices for a part of a file", m.shown())
		case m.Location == "":
			return bad("expected the location of a member, found none")
		case desc.New && m.Len >= 0 && m.Len != 1:
			return bad("member %s: expected one index of the new dimension %q, found %d", m.shown(), desc.Dim, m.Len)
		case m.Len > math.MaxInt64-total:
			return bad("member %s: the number of indices of dimension %q overflows", m.shown(), desc.Dim)
		}
		total += max(m.Len, 0)
	}
	return nil
}

// measure finds the joined indices of the members.
func (d *Dataset) measure(ctx context.Context) error {
	all := d.t.desc.Members
	lens := make([]int64, len(all))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(d.workers)
	for i := range all {
		switch {
		case d.t.desc.New:
			lens[i] = 1
			continue
		case all[i].Len >= 0:
			lens[i] = all[i].Len
			continue
		}
		g.Go(func() error {
			m, err := d.members.acquire(ctx, i)
			if err != nil {
				return err
			}
			lens[i] = d.t.lenOf(m.f.Header())
			d.members.release(m)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	d.starts = make([]int64, len(all)+1)
	for i, n := range lens {
		if n > math.MaxInt64-d.starts[i] {
			return fmt.Errorf("joined: the number of indices of dimension %q overflows: %w", d.t.desc.Dim, archive.ErrOptions)
		}
		d.starts[i+1] = d.starts[i] + n
	}
	return nil
}

// memberAt returns the member that has a joined index.
func (d *Dataset) memberAt(index int64) int {
	return sort.Search(len(d.starts)-1, func(i int) bool { return d.starts[i+1] > index })
}

// Len returns the number of indices along the joined dimension.
func (d *Dataset) Len() int64 { return d.starts[len(d.starts)-1] }

// Description returns what Open was given.
func (d *Dataset) Description() *Description { return d.t.desc }

// File returns the joined file, with its header, variables and image. Its Stats are the cost of reading the
// archives among the members. Closing it does nothing.
func (d *Dataset) File() *archive.File { return d.file }

// Close closes the members. Reads that still need them fail.
func (d *Dataset) Close() error {
	if d.members.shut.Swap(true) {
		return nil
	}
	d.members.release(d.first)
	return open().Close(func(k memberKey) bool { return k.of == d.members })
}
