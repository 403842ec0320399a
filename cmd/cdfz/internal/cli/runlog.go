package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// LogFlag adds --log.
func (r *Run) LogFlag(cmd *cobra.Command) {
	cmd.Flags().Var((*logFlag)(&r.logName), "log", "add a line of JSON for each file to `FILE`, and one with the sums")
}

// logFlag is --log.
type logFlag string

// Type returns the type of the value.
func (f *logFlag) Type() string { return "string" }

func (f *logFlag) String() string { return string(*f) }

// Set parses a value.
func (f *logFlag) Set(s string) error {
	if s == terminal.StdoutName {
		return terminal.Hinted(errors.New("expected the name of a file"), "--json reports on standard output")
	}
	*f = logFlag(s)
	return nil
}

// LogHelp describes --log and what a scheduler does with the exit code.
const LogHelp = `--log FILE adds a line of JSON for each file as soon as it is done: start, end, source, target,
sizes, outcome (ok, unchanged, kept, other, damaged, failed, interrupted) and error. The last line
has the sums. FILE may also be a pipe or /dev/stdout.

Schedulers can run the same command again after any exit code but 2, also after a kill: what is done is
passed over.`

// OpenLog begins the run in the log of --log, if there is one, after another run that adds to it has
// ended. EndLog ends it.
func (r *Run) OpenLog(ctx context.Context, verb string) error {
	if r.logName == "" {
		return nil
	}
	return r.Await(ctx, r.logName, func() (err error) {
		var streams []*os.File
		if f, ok := r.Term.Out.File(); ok {
			if terminal.Goes(f, r.logName) && r.Dest.IsStdout() {
				return errors.New("--log: the data go to standard output, too")
			}
			streams = append(streams, f)
		}
		if f, ok := r.Term.Err.(*os.File); ok {
			streams = append(streams, f)
		}
		r.log, err = runlog.Open(r.logName, verb, r.Select.Shard.String(), archive.Version, streams...)
		return err
	})
}

// LogName returns the file of --log, or "".
func (r *Run) LogName() string { return r.logName }

// EndLog ends the log of a run with an exit code, and returns that, or another one if the log failed.
func (r *Run) EndLog(code int) int {
	if r.log == nil {
		return code
	}
	if err := r.log.Close(code); err != nil {
		r.Term.Fail(r.logName, err)
		return terminal.Worse(code, terminal.ExitFailed)
	}
	return code
}

// Find is [fileio.Finder.Find]. What fails there is in the log, too.
func (r *Run) Find(ctx context.Context, args []string, pred fileio.Pred, failed func(name string, err error)) fileio.List {
	return r.Finder.Find(ctx, args, pred, r.logged(failed))
}

// FindWhole is [fileio.Finder.FindWhole]. What fails there is in the log, too.
func (r *Run) FindWhole(ctx context.Context, arg string, failed func(name string, err error)) (*fileio.Whole, error) {
	return r.Finder.FindWhole(ctx, arg, r.logged(failed))
}

// LogFailure adds a failure to the log that a message about several files has.
func (r *Run) LogFailure(name string, err error) { r.logged(func(string, error) {})(name, err) }

// Load is [fileio.List.Load]. What fails there is in the log, too.
func (r *Run) Load(ctx context.Context, files *fileio.List, failed func(name string, err error)) {
	files.Load(ctx, r.logged(failed))
}

// FailLogged is FailFile for a file that is not worked on. It is in the log, too.
func (r *Run) FailLogged(name string, err error) { r.logged(r.Term.FailFile)(name, err) }

// logged returns a function that adds a failure to the log before it calls failed.
func (r *Run) logged(failed func(name string, err error)) func(name string, err error) {
	return func(name string, err error) {
		r.logEntry(&runlog.Entry{Start: time.Now(), Source: name}, err)
		failed(name, err)
	}
}

// logEntry completes the entry of a file and adds it to the log.
func (r *Run) logEntry(e *runlog.Entry, err error) {
	if r.log == nil {
		return
	}
	e.Start, e.End = e.Start.UTC().Truncate(time.Millisecond), time.Now().UTC().Truncate(time.Millisecond)
	if err != nil {
		if e.Outcome != runlog.Kept {
			e.Outcome = outcomeOf(err)
		}
		e.Error, e.Exit = r.Term.Describe(e.Source, err)
	}
	if e.Outcome == "" {
		e.Outcome = runlog.OK
	}
	r.log.Add(e)
}

// outcomeOf returns the class of an error.
func outcomeOf(err error) runlog.Outcome {
	var header *cdf3.FormatError
	switch {
	case terminal.Interrupted(err):
		return runlog.Interrupted
	case errors.Is(err, archive.ErrCorrupt), errors.As(err, &header):
		return runlog.Damaged
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, archive.ErrVersion), errors.Is(err, cdf3.ErrNotCDF):
		return runlog.Other
	}
	return runlog.Failed
}
