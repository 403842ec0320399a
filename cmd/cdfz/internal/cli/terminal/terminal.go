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

// Terminal is the terminal of a run: its streams, what is printed at once, and the exit code.
type Terminal struct {
	Printer
	In io.Reader

	atExit []func()
}

// New makes a terminal from the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *Terminal {
	return &Terminal{Printer: Printer{screen: new(screen), Out: &Output{w: stdout}, Err: stderr}, In: stdin}
}

// AtExit makes Exit call f first, after functions of earlier calls.
func (t *Terminal) AtExit(f func()) { t.atExit = append(t.atExit, f) }

// Exit makes the final reports and returns the exit code. ctx is the context of the
// run.
func (t *Terminal) Exit(ctx context.Context) int {
	for _, f := range t.atExit {
		f()
	}
	switch err := t.Out.err; {
	case err == nil:
	case errors.Is(err, syscall.EPIPE):
		// The reader has read enough, as in `cdfz dump x.nc | head`. The code is that
		// of a program killed by the signal.
		if t.code == ExitDone {
			t.code = stop.ExitSignal + stop.Pipe
		}
	case !t.Out.reported:
		t.Fail("standard output", err)
	}
	if ctx.Err() != nil && t.code != ExitDone {
		t.code = stop.ExitCode(ctx)
	}
	return t.code
}

// Stopped reports whether the run was cancelled. No further file is started then.
func (t *Terminal) Stopped(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if t.code == ExitDone {
		t.code = ExitFailed
		t.Message("interrupted")
	}
	return true
}
