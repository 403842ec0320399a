package fileio

import (
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Sink receives the result of a job: a file, an object of a store, or standard output.
type Sink struct {
	io.Writer
	a      *IO
	guard  *guard                // of an object
	file   *atomicfile.File      // nil for others
	object *atomicfile.Temporary // what is uploaded; nil for others
}

// Sink starts the result of a job. src may be nil.
func (a *IO) Sink(ctx context.Context, path string, src *Input) (*Sink, error) {
	switch {
	case path == terminal.StdoutName && a.Dest == terminal.StdoutName:
		return &Sink{Writer: a.Out, a: a}, nil
	case a.ToObjects && s3.IsURL(path):
		if path[len(path)-1] == '/' {
			return nil, fmt.Errorf("%s: expected the name of an object, found a folder", terminal.ShowName(path))
		}
		if err := a.prepare(path, src); err != nil {
			return nil, err
		}
		t, err := atomicfile.Temp()
		if err != nil {
			a.targets.free(path)
			return nil, err
		}
		return &Sink{Writer: t, a: a, guard: a.guard(path, src), object: t}, nil
	}
	t, err := a.Create(ctx, path, src)
	if err != nil {
		return nil, err
	}
	return &Sink{Writer: t, a: a, file: t}, nil
}

// Target returns the file that the sink writes, nil for standard output.
func (s *Sink) Target() Target {
	switch {
	case s.file != nil:
		return s.file
	case s.object != nil:
		return s.object
	}
	return nil
}

// Commit makes the target appear.
func (s *Sink) Commit(ctx context.Context) error {
	switch {
	case s.file != nil:
		return s.a.Commit(s.file)
	case s.object != nil:
		st, err := s.object.Stat()
		if err != nil {
			return err
		}
		return s.guard.upload(ctx, s.object, st.Size())
	}
	return nil
}

// Abort discards the target unless it was committed.
func (s *Sink) Abort() {
	switch {
	case s.file != nil:
		s.file.Close()
	case s.object != nil:
		s.object.Close()
	}
}
