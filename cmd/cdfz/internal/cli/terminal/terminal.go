// Package terminal has what a run prints: reports on standard output, messages and a progress bar on
// standard error, and the exit code.
package terminal

import (
	"context"
	"errors"
	"io"
	"syscall"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
)

// Terminal has the streams of the program, the flags for what is printed, and the exit code so far.
type Terminal struct {
	In  io.Reader
	Out *Output
	Err io.Writer

	Quiet      bool
	Verbose    bool
	JSON       bool
	Timestamps bool // before messages and reports

	code    int       // highest so far
	secrets *secrets  // of this run
	status  *Progress // of the files of this run; nil if none is shown
	job     int       // number of the file that a fork works on
	kept    *log      // what a fork has printed; nil if that appears at once
	atExit  []func()
}

// New makes a terminal from the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *Terminal {
	return &Terminal{In: stdin, Out: &Output{w: stdout}, Err: stderr, secrets: new(secrets)}
}

// AtExit makes Exit call f first, after functions of earlier calls.
func (a *Terminal) AtExit(f func()) { a.atExit = append(a.atExit, f) }

// Exit makes the final reports and returns the exit code. ctx is the context of the
// run.
func (a *Terminal) Exit(ctx context.Context) int {
	for _, f := range a.atExit {
		f()
	}
	switch err := a.Out.err; {
	case err == nil:
	case errors.Is(err, syscall.EPIPE):
		// The reader has read enough, as in `cdfz dump x.nc | head`. The code is that
		// of a program killed by the signal.
		if a.code == ExitDone {
			a.code = stop.ExitSignal + stop.Pipe
		}
	case !a.Out.reported:
		a.Fail("standard output", err)
	}
	if ctx.Err() != nil && a.code != ExitDone {
		a.code = stop.ExitCode(ctx)
	}
	return a.code
}

// Stopped reports whether the run was cancelled. No further file is started then.
func (a *Terminal) Stopped(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if a.code == ExitDone {
		a.code = ExitFailed
		a.Message("interrupted")
	}
	return true
}
