package fileio

import "context"

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
	f       *Finder
	sources []source
	at      int // number of the source at work
	skipped int64
}

// add adds a source.
func (f *List) add(by *Finder, s source) {
	if f.later == nil {
		f.later = &later{f: by}
	}
	f.later.sources = append(f.later.sources, s)
}

// Next returns the next file. Those of sources are found meanwhile. ok is false at the end, or if the run was
// stopped.
func (f *List) Next(ctx context.Context) (next File, ok bool) {
	if f.at < len(f.Files) {
		f.at++
		return f.Files[f.at-1], true
	}
	if f.later == nil {
		return File{}, false
	}
	for l := f.later; l.at < len(l.sources); l.at++ {
		if next, ok = l.sources[l.at].next(ctx); ok {
			return next, true
		}
	}
	return File{}, false
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
	f.kinds.add(j.skip)
	f.later.f.skip(j.Name, j.skip)
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

// Failures calls failed for each list and prefix that could not be read to its end, after Next.
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
