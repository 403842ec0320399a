// Package cli has the parts that the verbs of cdfz share: flags, input and output
// files, reports, messages, exit codes, and the progress bar. A verb is a function that
// makes a cobra command around an App. The package knows archive, remote and
// internal/atomicfile, but no verb.
package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
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
	// ReplaceOther is --replace-other: -f also replaces an archive of another file.
	ReplaceOther bool
	// Vouched, if not nil, returns an error if an archive must not be replaced by one of another
	// file, even with --replace-other.
	Vouched func(path string, old *Held) error
	JSON    bool
	Dest    string // -o
	// ToObjects is set by verbs that take the URL of an object as -o.
	ToObjects bool
	// TakesBack is set by verbs that delete files: what a killed run was deleting gets its name
	// again in the folders that are walked.
	TakesBack bool
	// PluginPath is --plugin-path: folders of HDF5 plugins.
	PluginPath []string
	Memory     int64 // --memory; 0 for no limit

	code    int       // highest so far
	targets *targets  // of this run
	inputs  *inputs   // that the run is reading
	job     int       // number of the file that this copy of the App works on; see Each
	written func()    // of that file: it needs no more processor; nil: the App is no copy
	secrets *secrets  // of this run
	status  *Progress // of the files of this run; nil if none is shown
	atExit  func()    // prints statistics; nil for none
}

// New makes a run with the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	return &App{In: stdin, Out: &Output{w: stdout}, Err: stderr, targets: newTargets(), inputs: &inputs{open: map[*Input]fs.FileInfo{}}, secrets: new(secrets)}
}

// Exit makes the final reports and returns the exit code. ctx is the context of the
// run.
func (a *App) Exit(ctx context.Context) int {
	if a.atExit != nil {
		a.atExit()
	}
	switch err := a.Out.err; {
	case err == nil:
	case isBrokenPipe(err):
		// The reader has read enough, as in `cdfz dump x.nc | head`. The code is that
		// of a program killed by the signal.
		if a.code == ExitDone {
			a.code = exitSignal + sigpipe
		}
	case !a.Out.reported:
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
