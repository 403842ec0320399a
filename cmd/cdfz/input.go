package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/remote"
)

// stdinName stands for standard input on the command line.
const stdinName = "-"

// input is a FILE argument that is open for reading.
type input struct {
	name  string // as messages show it
	r     io.ReaderAt
	size  int64
	file  *os.File    // nil if it is not a file of this machine
	stat  fs.FileInfo // of the file when it was opened
	close func() error
}

var (
	errFolder     = errors.New("is a folder, not a file")
	errNotRegular = errors.New("not a regular file")
)

// showName is a FILE argument as messages show it: of a URL what is no secret.
func showName(name string) string {
	if name == stdinName {
		return "standard input"
	}
	if u, ok := asURL(name); ok {
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	return name
}

// reportName is a FILE argument as reports have it: as it was given, but for what
// is secret in a URL.
func reportName(name string) string {
	if name == stdinName {
		return name
	}
	return showName(name)
}

// asURL says whether a FILE argument is a URL.
func asURL(name string) (*url.URL, bool) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return nil, false
	}
	u, err := url.Parse(name)
	return u, err == nil
}

// localName is the path from which that of a target follows: a FILE itself, or
// the last element of a URL, of one without a path the host.
func localName(name string) string {
	u, ok := asURL(name)
	if !ok {
		return name
	}
	if base := path.Base("/" + u.Path); base != "/" {
		return base
	}
	return u.Hostname()
}

// baseName is what a FILE is called without the folders it is in.
func baseName(name string) string { return filepath.Base(localName(name)) }

// open opens a FILE argument. It is the only place that knows what such an
// argument may be: a file, a URL, or "-" for standard input, which is kept in an
// unnamed temporary file unless it is a file itself. Reads fail when the context
// is cancelled.
func (a *app) open(ctx context.Context, name string) (*input, error) {
	if _, ok := asURL(name); ok {
		return openRemote(ctx, name)
	}
	var in *input
	var err error
	if name == stdinName {
		in, err = a.openStdin(ctx)
	} else {
		in, err = openFile(name, os.O_RDONLY)
	}
	if err != nil {
		return nil, err
	}
	in.r = ctxReaderAt{ctx, in.r}
	return in, nil
}

func openRemote(ctx context.Context, name string) (*input, error) {
	r, err := remote.Open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return &input{name: showName(name), r: remoteReaderAt{ctx, r}, size: r.Size(), close: r.Close}, nil
}

// remoteReaderAt reads a URL until the context is cancelled.
type remoteReaderAt struct {
	ctx context.Context
	*remote.File
}

func (r remoteReaderAt) ReadAt(p []byte, off int64) (int, error) {
	return r.File.ReadAtContext(r.ctx, p, off)
}

// openFile opens a regular file. A pipe is not opened: that could wait for ever.
func openFile(name string, flag int) (*input, error) {
	st, err := os.Stat(name)
	if err == nil {
		err = checkRegular(st)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = checkRegular(st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &input{name: name, r: f, size: st.Size(), file: f, stat: st, close: f.Close}, nil
}

func checkRegular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errFolder
	case !st.Mode().IsRegular():
		return hinted(errNotRegular, "cdfz reads a pipe as FILE -")
	}
	return nil
}

func (a *app) openStdin(ctx context.Context) (*input, error) {
	name := showName(stdinName)
	if f, ok := a.in.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return &input{name: name, r: f, size: st.Size(), file: f, stat: st, close: func() error { return nil }}, nil
		}
		if isTerminal(f) {
			return nil, errors.New("is a terminal, expected a file or a pipe")
		}
	}
	catchStop()
	tmp, err := atomicfile.Temp()
	if err != nil {
		return nil, err
	}
	// A read that waits for a pipe cannot be stopped, but need not be waited for.
	type copied struct {
		n   int64
		err error
	}
	done := make(chan copied, 1)
	go func() {
		n, err := io.Copy(tmp, a.in)
		done <- copied{n, err}
	}()
	select {
	case c := <-done:
		if c.err != nil {
			tmp.Close()
			return nil, c.err
		}
		return &input{name: name, r: tmp, size: c.n, close: tmp.Close}, nil
	case <-ctx.Done():
		tmp.Close()
		return nil, ctx.Err()
	}
}

// changed is archive.ErrChanged if size or time of the file are no longer those
// it was opened with.
func (in *input) changed() error {
	if in.file == nil {
		return nil
	}
	st, err := in.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() != in.size || !st.ModTime().Equal(in.stat.ModTime()) {
		return archive.ErrChanged
	}
	return nil
}

// readerOptions are those that the flags give.
func (a *app) readerOptions() *archive.OpenOptions {
	return &archive.OpenOptions{Workers: a.workers}
}

// openArchive opens a FILE argument that must be an archive. Close the input
// when done.
func (a *app) openArchive(ctx context.Context, name string) (*input, *archive.File, error) {
	in, err := a.open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := archive.New(in.r, in.size, a.readerOptions())
	if err == nil {
		if _, ok := r.Info(); !ok {
			err = archive.ErrNotArchive
		}
	}
	if err != nil {
		err = explainNotArchive(in, err)
		in.close()
		return nil, nil, err
	}
	return in, r, nil
}

// explainNotArchive says more about what cannot be opened as an archive.
func explainNotArchive(in *input, err error) error {
	var format *cdf3.FormatError
	switch {
	case errors.Is(err, archive.ErrNotArchive), errors.As(err, &format):
		switch {
		case in.size == 0:
			return fmt.Errorf("%w: the file is empty", archive.ErrNotArchive)
		case isClassic(in.r):
			return hinted(fmt.Errorf("%w: it is a classic netCDF file", archive.ErrNotArchive), "cdfz archive makes an archive of it")
		}
		return archive.ErrNotArchive
	case errors.Is(err, archive.ErrCorrupt):
		return hinted(err, "cdfz verify lists all damage, cdfz repair rebuilds the end of an archive")
	}
	return err
}

// isClassic says whether a file begins like a classic netCDF file.
func isClassic(r io.ReaderAt) bool {
	var b [4]byte
	if n, _ := r.ReadAt(b[:], 0); n < len(b) {
		return false
	}
	return string(b[:3]) == "CDF" && (b[3] == 1 || b[3] == 2 || b[3] == 5)
}

// ctxReaderAt fails once the context is cancelled.
type ctxReaderAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (r ctxReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.ReadAt(p, off)
}
