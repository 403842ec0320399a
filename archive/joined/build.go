package joined

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// BuildOptions control Build. Nil and the zero value join along the unlimited dimension.
type BuildOptions struct {
	Options
	Dim string // joined dimension; "": the unlimited dimension of the first file
	New bool   // Dim is new
	// Vars are the variables that get a new dimension. nil means all but the coordinate variables, as
	// in ncecat.
	Vars []string
	// First takes attributes and variables without Dim from the first file if others differ, unless
	// the attributes change the meaning of values. See Description.First.
	First bool
	// SkipMissing leaves out indices whose coordinate is missing: a fill value, 1e20, NaN or no time. A file with
	// such indices becomes several members, each a part of it. Other programs do not know parts.
	SkipMissing bool
	// SHA256 reads all of each classic file for its SHA-256. That of an archive is known without.
	SHA256 bool
	// Progress, if not nil, is called after each file with the number of files done so far. The calls
	// come from several goroutines.
	Progress func(done int64)
}

// Build compares files and describes how they are joined, in the given order. Locations of archives lose
// their suffix in the description, unless a netCDF file of that name exists as well.
//
// All files must have the variables of the first one, with the same types, dimensions and attributes.
// Only global attributes may differ. Variables without the joined dimension must have the same values
// in all files. The coordinate variable of an existing dimension must rise, or fall, across all files.
// Times in other units of the same calendar are converted to those of the first file if the results are
// exact. Values of the coordinate variable that are missing or no times are errors.
// Everything that contradicts this is named in the error, which wraps ErrDiffers and is a list of
// [*Problem] joined by errors.Join. Gaps, which are steps of the coordinate variable other than the
// usual one, are returned as warnings, and so are times whose units cannot be read. Steps of months and years are understood if package cf
// understands the units.
func Build(ctx context.Context, locations []string, open Opener, o *BuildOptions) (*Description, []*Problem, error) {
	if o == nil {
		o = &BuildOptions{}
	}
	return build(ctx, locations, open, o, nil)
}

// build is Build. known are the members of a description that the files are to be compared with, or nil:
// then SHA-256 and sample are those that can be compared.
func build(ctx context.Context, locations []string, open Opener, o *BuildOptions, known []Member) (*Description, []*Problem, error) {
	c, err := o.Options.complete()
	if err != nil {
		return nil, nil, err
	}
	switch n := len(locations); {
	case n == 0:
		return nil, nil, fmt.Errorf("joined: expected one file or more, found none: %w", archive.ErrOptions)
	case n > MaxMembers:
		return nil, nil, fmt.Errorf("joined: expected at most %d files, found %d: %w", MaxMembers, n, archive.ErrOptions)
	}
	b := &builder{open: open, o: c, progress: o.Progress, hash: o.SHA256, skip: o.SkipMissing, known: known}
	first, f, closer, err := b.openFile(ctx, locations[0])
	if err != nil {
		return nil, nil, err
	}
	if closer != nil {
		defer closer.Close()
	}
	desc := &Description{Dim: o.Dim, New: o.New, Vars: o.Vars, First: o.First, Members: []Member{first}}
	if err := desc.choose(f.Header()); err != nil {
		return nil, nil, err
	}
	if b.t, err = newTemplate(desc, f.Header()); err != nil {
		return nil, nil, err
	}
	b.t.convert = true
	parts, err := b.parts(ctx, locations)
	if err != nil {
		return nil, nil, err
	}
	return b.merge(desc, parts)
}

// choose sets the dimension and the variables that the options leave open.
func (desc *Description) choose(h *cdf3.Header) error {
	if desc.Dim == "" {
		for _, d := range h.Dims {
			if d.Len == 0 {
				desc.Dim = d.Name
			}
		}
		if desc.Dim == "" {
			return &Problem{desc.Members[0].shown(), "", "expected an unlimited dimension, found none: the joined dimension must be named"}
		}
	}
	if !desc.New || desc.Vars != nil {
		return nil
	}
	for i := range h.Vars {
		if v := &h.Vars[i]; !(len(v.DimIDs) == 1 && h.Dims[v.DimIDs[0]].Name == v.Name) {
			desc.Vars = append(desc.Vars, v.Name)
		}
	}
	return nil
}

// builder compares files.
type builder struct {
	t        *template
	open     Opener
	o        Options
	progress func(int64)
	hash     bool     // BuildOptions.SHA256
	skip     bool     // BuildOptions.SkipMissing
	known    []Member // as in build
}

// part is what is known of a file that was compared.
type part struct {
	m        Member
	same     map[string][sha256.Size]byte // sums of the values of variables without the joined dimension
	axis     *axis                        // nil without a coordinate variable
	kept     []section                    // the indices with a coordinate, if others are left out
	converts bool                         // its times have other units
	err      error
}

// openFile opens a file and describes it without its length.
func (b *builder) openFile(ctx context.Context, location string) (Member, *archive.File, io.Closer, error) {
	m := Member{Location: location, Len: -1}
	if plain, ok := strings.CutSuffix(location, archive.Suffix); ok && plain != "" && !strings.HasSuffix(plain, "/") {
		f, closer, err := b.open(ctx, plain, &b.o.Open)
		if err == nil {
			if i, ok := f.Info(); ok {
				m.Location, m.Size, m.SHA256 = plain, i.ImageSize, i.SHA256
				return m, f, closer, nil
			}
			if closer != nil {
				closer.Close()
			}
		}
	}
	f, closer, err := b.open(ctx, location, &b.o.Open)
	if err != nil {
		return m, nil, nil, inMember(location, err)
	}
	m.Size = f.Image().Size()
	if i, ok := f.Info(); ok {
		m.SHA256 = i.SHA256
	}
	return m, f, closer, nil
}

// parts looks at all files, some at the same time.
func (b *builder) parts(ctx context.Context, locations []string) ([]part, error) {
	parts := make([]part, len(locations))
	var done atomic.Int64
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(b.o.Workers)
	for i, location := range locations {
		if within.Err() != nil {
			break
		}
		g.Go(func() error {
			parts[i] = b.part(within, i, location)
			if n := done.Add(1); b.progress != nil {
				b.progress(n)
			}
			return within.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return parts, ctx.Err()
}

// part looks at one file.
func (b *builder) part(ctx context.Context, i int, location string) part {
	m, f, closer, err := b.openFile(ctx, location)
	if err != nil {
		return part{m: m, err: err}
	}
	if closer != nil {
		defer closer.Close()
	}
	p := part{m: m}
	vars, convs, err := b.t.compare(m.shown(), f.Header())
	if err != nil {
		p.err = err
		return p
	}
	p.converts = convs != nil
	p.m.Len = b.t.lenOf(f.Header())
	err = b.identify(ctx, i, f, &p.m)
	if err != nil {
		p.err = inMember(m.Location, err)
		return p
	}
	if p.axis, p.kept, err = b.t.axisOf(ctx, m.shown(), f, vars, convs, b.skip); err == nil && !b.t.desc.First {
		p.same, err = b.t.sums(ctx, f, vars)
	}
	if err == nil {
		err = checkConversions(ctx, f, vars, convs)
	}
	if err != nil {
		var differs *Problem
		if errors.As(err, &differs) {
			p.err = differs
		} else {
			p.err = inMember(m.Location, err)
		}
	}
	return p
}

// members returns the parts of a file with a coordinate, or the whole file, and how many indices are left out.
func (p *part) members() (list []Member, left int64) {
	if p.axis == nil || p.axis.n == p.m.Len {
		return []Member{p.m}, 0
	}
	if len(p.kept) == 0 {
		p.kept = []section{{}}
	}
	for _, s := range p.kept {
		m := p.m
		m.Part, m.Start, m.Len = true, s.start, s.n
		list = append(list, m)
	}
	return list, p.m.Len - p.axis.n
}

// identify adds the sums of file i to its description.
func (b *builder) identify(ctx context.Context, i int, f *archive.File, m *Member) (err error) {
	hash, pieces := b.hash, piecesOfClassic
	if m.SHA256 != "" {
		pieces = piecesOfArchive
	}
	if b.known != nil {
		hash = b.known[i].SHA256 != ""
		if n, ok := piecesOf(b.known[i].Sample); ok {
			pieces = n
		}
	}
	if m.Sample, err = sample(ctx, b.t.desc.Dim, f, pieces); err != nil || !hash || m.SHA256 != "" {
		return err
	}
	sum := sha256.New()
	err = f.Image().Copy(ctx, sum, nil)
	m.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return err
}

// sums returns the SHA-256 of each variable that all files must have in common.
func (t *template) sums(ctx context.Context, f *archive.File, vars []int) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	var buf []byte
	for n, v := range vars {
		if t.joins[n] {
			continue
		}
		w := &f.Header().Vars[v]
		sum := sha256.New()
		values := ioat.Bind(ctx, f.Array(v).Values())
		for off := int64(0); off < w.Len; off += int64(len(buf)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			buf = slices.Grow(buf[:0], boxLen)[:min(boxLen, w.Len-off)]
			if err := ioat.ReadFull(values, buf, off); err != nil {
				return nil, fmt.Errorf("variable %q: %w", w.Name, err)
			}
			sum.Write(buf)
		}
		sums[w.Name] = [sha256.Size]byte(sum.Sum(nil))
	}
	return sums, nil
}

// maxErrors bounds the problems of all files together.
const maxErrors = 100

// merge describes the dataset.
func (b *builder) merge(desc *Description, parts []part) (*Description, []*Problem, error) {
	var errs []error
	more := 0
	add := func(list ...error) {
		for _, err := range list {
			if len(errs) < maxErrors {
				errs = append(errs, err)
			} else {
				more++
			}
		}
	}
	desc.Members = desc.Members[:0]
	line := newAxis()
	var leftOut []*Problem
	for i := range parts {
		p := &parts[i]
		list, left := p.members()
		if desc.Members = append(desc.Members, list...); left > 0 {
			leftOut = append(leftOut, &Problem{p.m.shown(), desc.Dim, fmt.Sprintf("leaves out %d of %d indices, whose coordinate is missing", left, p.m.Len)})
		}
		desc.Convert = desc.Convert || p.converts
		if p.err != nil {
			add(flatten(p.err)...)
			continue
		}
		for n := range b.t.first.Vars {
			name := b.t.first.Vars[n].Name
			if sum, ok := p.same[name]; ok && sum != parts[0].same[name] && parts[0].err == nil {
				add(&Problem{p.m.shown(), name, fmt.Sprintf("has no dimension %q: expected the values that it has in %s, found others", desc.Dim, parts[0].m.shown())})
			}
		}
		if p.axis != nil {
			line.append(p.axis, b.t.kind)
		}
	}
	var gaps []*Problem
	if len(errs) == 0 {
		var wrong []*Problem
		wrong, gaps = b.t.checkAxis(line)
		for _, w := range wrong {
			add(w)
		}
		if err := b.t.noTime; err != nil {
			gaps = append([]*Problem{{"", desc.Dim, fmt.Sprintf("times are compared as numbers: %v", err)}}, gaps...)
		}
	}
	if more > 0 {
		errs = append(errs, &Problem{text: fmt.Sprintf("and %d more differences", more)})
	}
	gaps = append(leftOut, gaps...)
	if n := len(gaps); n > maxErrors {
		gaps = append(gaps[:maxErrors], &Problem{text: fmt.Sprintf("and %d more gaps", n-maxErrors)})
	}
	if n := len(desc.Members); n > MaxMembers {
		errs = append(errs, &Problem{text: fmt.Sprintf("expected at most %d parts of files between missing coordinates, found %d", MaxMembers, n)})
	}
	if len(errs) > 0 {
		return nil, gaps, errors.Join(errs...)
	}
	return desc, gaps, desc.check()
}

// flatten returns the errors that errors.Join has joined.
func flatten(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	return []error{err}
}
