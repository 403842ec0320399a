package cli

import (
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// Job is the work on one file of a run.
type Job struct {
	fileio.File
	Term   *terminal.Printer // for this file
	Limits fileio.Limits     // for this file
	// Entry is what the log will have of the file. Verbs add what they know.
	Entry *runlog.Entry
	// Turn, if One sets it, is called after One, when the turn of the file comes: in the order of the files, and not
	// concurrently, also after the run was stopped. The files after it are at work meanwhile, but few of them can be done.
	Turn func() error

	run     *Run
	written func() // see fileio.Target.Written
}

// Job returns the work on a file of a run that works on nothing else at the same time.
func (r *Run) Job(f fileio.File) *Job {
	return &Job{File: f, Term: &r.Term.Printer, Limits: r.Limits, Entry: new(runlog.Entry), run: r}
}

// Target returns the target of the file, which is made from src. Unless the verb changes the decision, -f replaces a
// target that exists.
func (j *Job) Target(path string, src *fileio.Input) *fileio.Target {
	return &fileio.Target{
		Path: path, Source: src, Decision: j.run.Rules.Decide(), Targets: j.run.Targets, Term: j.Term, Workers: j.Limits.Workers, Written: j.written,
	}
}

// Target returns a target of the whole run. It is made from src, or from all that the run reads if that is nil.
func (r *Run) Target(path string, src *fileio.Input) *fileio.Target {
	return r.Job(fileio.File{}).Target(path, src)
}
