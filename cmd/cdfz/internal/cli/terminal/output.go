package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Output is standard output. It remembers the first error.
type Output struct {
	w        io.Writer
	err      error
	reported bool // err is in a message
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Err is the first error of Write.
func (o *Output) Err() error { return o.err }

// File returns the file that standard output goes to.
func (o *Output) File() (f *os.File, ok bool) {
	f, ok = o.w.(*os.File)
	return f, ok
}

// Goes reports whether a name such as /dev/stdout leads to an open file.
func Goes(f *os.File, name string) bool {
	st, err := os.Stat(name)
	if err != nil {
		return false
	}
	own, err := f.Stat()
	return err == nil && os.SameFile(own, st)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	if o, ok := stream.(*Output); ok {
		stream = o.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of a terminal.
func columns(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
