package fileio

import (
	"context"
	"iter"
)

// source finds files while a run goes on: a list of names, or the objects below a prefix.
type source interface {
	// name returns the name of the source for messages.
	name() string
	// next returns the next file. ok is false at the end, or if the run was stopped.
	next(ctx context.Context) (j File, ok bool)
	// failure returns the error that has ended the source, nil if next has not come to the end.
	failure() error
	// close ends the source.
	close()
}

// later are the files of a command line that are found while the run goes on.
type later struct {
	a       *IO
	sources []source
	skipped int64
}

// add adds a source.
func (f *List) add(a *IO, s source) {
	if f.later == nil {
		f.later = &later{a: a}
	}
	f.later.sources = append(f.later.sources, s)
}

// All returns the files in order. Those of sources are found meanwhile, so it can be called only once.
func (f *List) All(ctx context.Context) iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, j := range f.Files {
			if !yield(j) {
				return
			}
		}
		if f.later == nil {
			return
		}
		for _, s := range f.later.sources {
			for {
				j, ok := s.next(ctx)
				if !ok {
					break
				}
				if !yield(j) {
					return
				}
			}
		}
	}
}

// Load finds the rest of the files, for runs that need all before they begin. It calls failed with the name
// and the error of each list and prefix that could not be read to its end.
func (f *List) Load(ctx context.Context, failed func(name string, err error)) {
	l := f.later
	if l == nil {
		return
	}
	for _, s := range l.sources {
		for {
			j, ok := s.next(ctx)
			if !ok {
				break
			}
			if !f.Skip(j) {
				f.Files = append(f.Files, j)
			}
		}
	}
	f.Failures(ctx, failed)
	f.skipped += l.skipped
	l.close()
	f.later = nil
}

func (l *later) close() {
	for _, s := range l.sources {
		s.close()
	}
}

// Skip reports and counts a file that the user has excluded, or that is of another kind. It returns false
// for others.
func (f *List) Skip(j File) bool {
	if j.skip == "" {
		return false
	}
	f.later.skipped++
	f.later.a.skip(j.Name, j.skip)
	return true
}

// Excluded reports whether a file is to be skipped.
func (j *File) Excluded() bool { return j.skip != "" }

// Skipped returns the number of skipped files, and of folders that were excluded.
func (f *List) Skipped() int64 {
	if f.later != nil {
		return f.skipped + f.later.skipped
	}
	return f.skipped
}

// Single reports whether there is only one file.
func (f *List) Single() bool { return f.later == nil && len(f.Files) == 1 }

// Grows reports whether the number of files is not known yet.
func (f *List) Grows() bool { return f.later != nil }

// Failures calls failed for each list and prefix that could not be read to its end, after All.
func (f *List) Failures(ctx context.Context, failed func(name string, err error)) {
	if f.later == nil || ctx.Err() != nil {
		return
	}
	for _, s := range f.later.sources {
		if err := s.failure(); err != nil {
			failed(s.name(), err)
		}
	}
}
