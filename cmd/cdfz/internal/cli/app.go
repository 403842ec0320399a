// Package cli has the parts that the verbs of cdfz share: flags, input and output
// files, reports, messages, exit codes, and the progress bar. A verb is a function that
// makes a cobra command around an App. The package knows archive and
// internal/atomicfile, but no verb.
package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// App is one run of the program: its streams, the flags shared by several verbs, and
// the exit code so far.
type App struct {
	In  io.Reader
	Out *Output
	Err io.Writer

	Workers int // -j; 0 for all processors
	Quiet   bool
	Verbose bool
	Force   bool
	JSON    bool
	Dest    string // -o

	code    int             // highest so far
	targets map[string]bool // written by this run
	secrets []string        // pairs for strings.NewReplacer: secrets and their replacements
	status  *Progress       // of the files of this run; nil if none is shown
}

// New makes a run with the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	return &App{In: stdin, Out: &Output{w: stdout}, Err: stderr, targets: map[string]bool{}}
}

// Output is standard output. It remembers the first error.
type Output struct {
	w   io.Writer
	err error
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

// Exit codes. They are part of the program's interface and never change.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitDamaged = 3
	exitSignal  = 128 // plus the number of the signal that ended the program
)

// Numbers of signals, the same in all shells.
const (
	sigint  = 2
	sigpipe = 13
)

// ExitText describes the exit codes in help and manual pages.
const ExitText = `0 success, 1 failure, 2 wrong usage, 3 damaged archive, 130 interrupted.
With several files the highest code wins.`

// SetCode raises the exit code.
func (a *App) SetCode(code int) { a.code = max(a.code, code) }

// Exit makes the final reports and returns the exit code. ctx is the context of the
// run.
func (a *App) Exit(ctx context.Context) int {
	switch err := a.Out.err; {
	case err == nil:
	case isBrokenPipe(err):
		// The reader has read enough, as in `cdfz dump x.nc | head`. The code is that
		// of a program killed by the signal.
		if a.code == ExitDone {
			a.code = exitSignal + sigpipe
		}
	case a.code == ExitDone:
		a.Fail("standard output", err)
	}
	if ctx.Err() != nil && a.code != ExitDone {
		a.code = exitSignal + sigint
		var s *signalError
		if errors.As(context.Cause(ctx), &s) {
			a.code = exitSignal + s.number
		}
	}
	return a.code
}

// Stopped reports whether the run was cancelled. No further file is started then.
func (a *App) Stopped(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if a.code == ExitDone {
		a.code = ExitFailed
		a.Message("interrupted")
	}
	return true
}
