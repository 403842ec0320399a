package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

var (
	errNoObjects = errors.New("there are no objects below this prefix")
	errNoPath    = terminal.Lasting(errors.New("the key is not the path of a file: a part of it is empty, . or .., or has a zero byte"))
)

// looking is the number of objects that are looked at together. Each takes a request or two.
const looking = 16

// prefix is a FILE argument such as s3://BUCKET/PREFIX/: the objects below it are its files. They are
// listed as the run goes on.
type prefix struct {
	url    string
	n      int // number of the FILE argument
	pred   Pred
	choose *Selection
	below  bool // targets are below -o DIR/
	jobs   chan File
	stop   context.CancelFunc
	err    error // of the listing, or of volumes, once jobs is closed

	f       *Finder
	volumes map[string][]File // by the folder that they are in
}

// openPrefix begins to list a prefix.
func (f *Finder) openPrefix(ctx context.Context, url string, n int, pred Pred) *prefix {
	f.term.Hide(url)
	stop.Catch()
	ctx, cancel := context.WithCancel(ctx)
	p := &prefix{url: url, n: n, pred: pred, choose: f.sel, below: f.targets.dest.IsDir(), jobs: make(chan File, namesAhead), stop: cancel, f: f, volumes: map[string][]File{}}
	l := f.listing(url)
	go func() {
		defer close(p.jobs)
		found := false
		p.err = l.Each(ctx, func(page []s3.Object) error {
			found = true
			return p.send(ctx, page)
		})
		if p.err == nil && !found {
			p.err = errNoObjects
		}
		if p.err == nil {
			p.err = p.sendMembers(ctx)
		}
	}()
	return p
}

// send sends the files of a page.
func (p *prefix) send(ctx context.Context, page []s3.Object) error {
	jobs := make([]File, 0, len(page))
	for _, o := range page {
		if o.Rel == "" || strings.HasSuffix(o.Rel, "/") {
			continue // it marks a folder
		}
		j := below(p.url, o.Rel)
		j.Size, j.Modified, j.ETag, j.N, j.empty = o.Size, o.Modified, o.ETag, p.n, o.Size == 0
		if p.f.IsVolume(ctx, j) {
			p.volumes[path.Dir(o.Rel)] = append(p.volumes[path.Dir(o.Rel)], j)
			continue
		}
		if p.choose.takes(j.Rel) {
			j.skip = reason(p.choose.Rules.JudgeFile(o.Rel))
			jobs = append(jobs, j)
		}
	}
	var g errgroup.Group
	g.SetLimit(looking)
	for i := range jobs {
		if jobs[i].skip == "" {
			g.Go(func() error {
				p.look(ctx, &jobs[i])
				return nil
			})
		}
	}
	_ = g.Wait() // jobs have their errors
	for _, j := range jobs {
		if errors.Is(j.err, fs.ErrNotExist) { // another program has removed it since
			continue
		}
		select {
		case p.jobs <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// sendMembers sends the files in volumes.
func (p *prefix) sendMembers(ctx context.Context) error {
	var errs []error
	failed := func(name string, err error) { errs = append(errs, fmt.Errorf("%s: %w", name, err)) }
	for _, dir := range slices.Sorted(maps.Keys(p.volumes)) {
		under := dir
		if under == "." {
			under = ""
		}
		sources, _ := p.f.membersIn(ctx, p.volumes[dir], under, p.pred, failed)
		for _, m := range sources {
			for j, ok := m.next(ctx); ok; j, ok = m.next(ctx) {
				if p.below && j.skip == "" && j.err == nil && !filepath.IsLocal(j.Rel) { // it need not be UTF-8
					j.noPath, j.err = true, errNoPath
				}
				select {
				case p.jobs <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			if err := m.failure(); err != nil {
				failed(m.name(), err)
			}
		}
		for _, m := range sources {
			m.close()
		}
	}
	return errors.Join(errs...)
}

// below returns the object with a key below a prefix.
func below(prefix, key string) File {
	j := File{Name: urls.Below(prefix, key), Rel: key, object: true}
	if path, err := filepath.Localize(key); err != nil || path == "." {
		j.noPath = true
	} else {
		j.Rel = path
	}
	return j
}

// look decides whether a file is to be skipped.
func (p *prefix) look(ctx context.Context, j *File) {
	j.skip, j.err = p.pred(Entry{Name: j.Name, object: ctx, size: j.Size})
	if j.skip == "" && j.err == nil && p.below {
		j.err = j.HasPath()
	}
}

// HasPath returns an error for an object whose key below a prefix is not the path of a file. Such objects
// can be read, but not be written below a folder.
func (j File) HasPath() error {
	if j.noPath {
		return errNoPath
	}
	return nil
}

func (p *prefix) name() string { return terminal.ShowName(p.url) }

func (p *prefix) next(ctx context.Context) (File, bool) {
	select {
	case j, ok := <-p.jobs:
		return j, ok
	case <-ctx.Done():
		return File{}, false
	}
}

func (p *prefix) failure() error {
	if _, more := <-p.jobs; more {
		return nil // the run has ended before
	}
	return p.err
}

func (p *prefix) close() { p.stop() }

// Content is an open file below a folder.
type Content interface {
	io.ReadSeeker
	io.ReaderAt
	io.Closer
}

// openObject opens an object of size bytes for reading.
func openObject(ctx context.Context, name string, size int64) (Content, error) {
	if size == 0 { // stores answer no range of it
		return struct {
			*bytes.Reader
			io.Closer
		}{bytes.NewReader(nil), io.NopCloser(nil)}, nil
	}
	f, err := remote.Open(ctx, name, &remote.Options{Tail: int(min(size, wholeEnds))})
	if err != nil {
		return nil, err
	}
	return struct {
		*io.SectionReader
		io.Closer
	}{io.NewSectionReader(ioat.Bind(ctx, f), 0, f.Size()), f}, nil
}
