// Package cli has what the verbs of cdfz share. A verb is a function that makes a cobra command around
// a Run. The package itself has the flags, the work on many files, and the limit of memory. Below it:
//
//	display   numbers, names and tables as text
//	stop      signals
//	terminal  reports, messages, progress, exit codes
//	fileio    files and folders of the command line, and targets
//	chains    the options about filters, such as -F
//	report    what several verbs report in the same way: damage, loss, parity
//	patterns  --include and --exclude
//	shards    --shard and --balance
//	stats     statistics of filters
//
// No package here knows a verb.
package cli

import (
	"io"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Run is one run of the program: its flags, and what all its files share. It is never copied. The work on one
// file is a [Job].
type Run struct {
	Term    *terminal.Terminal
	Limits  fileio.Limits
	Select  fileio.Selection // of the files
	Dest    fileio.Dest      // of the targets
	Rules   protect.Rules    // for targets that exist
	In      *fileio.Inputs
	Targets *fileio.Targets
	Finder  *fileio.Finder

	// PluginPath is --plugin-path: folders of HDF5 plugins.
	PluginPath []string
	NoWait     bool // --no-wait

	requests s3.Requests
	barriers barriers

	logName string      // --log, "" for none
	log     *runlog.Log // nil for none
	adds    []string    // names of the files that Await has opened
}

// New makes a run with the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *Run {
	r := &Run{Term: terminal.New(stdin, stdout, stderr)}
	r.In = fileio.NewInputs(r.Term, &r.Dest)
	r.Rules.Receipts = &protect.Receipts{Open: fileio.OpenReceipts, Mounts: r.In.Mounts}
	r.Targets = fileio.NewTargets(r.In, &r.Rules, &r.Select)
	r.Finder = fileio.NewFinder(r.Targets)
	return r
}
