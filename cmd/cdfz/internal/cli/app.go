// Package cli has what the verbs of cdfz share. A verb is a function that makes a cobra command around
// an Run. The package itself has the flags, the work on many files, and the limit of memory. Below it:
//
//	display   numbers, names and tables as text
//	stop      signals
//	terminal  reports, messages, progress, exit codes
//	fileio    files and folders of the command line, and targets
//	chains    the options about filters, such as -F
//	report    what several verbs report in the same way: damage, loss, parity
//	patterns  --include and --exclude
//	jsonlines files of lines of JSON that grow
//	runlog    --log
//	shards    --shard and --balance
//	stats     statistics of filters
//
// No package here knows a verb.
package cli

import (
	"io"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Run is one run of the program.
type Run struct {
	fileio.IO

	// PluginPath is --plugin-path: folders of HDF5 plugins.
	PluginPath []string
	NoWait     bool // --no-wait
	// Entry is what the log will have of the file that this copy of the Run works on. Verbs add what
	// they know.
	Entry *runlog.Entry

	requests *s3.Requests // of this run
	barriers *barriers    // of this run

	logName string      // --log, "" for none
	log     *runlog.Log // nil for none
	adds    []string    // names of the files that Await has opened
}

// New makes a run with the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *Run {
	return &Run{IO: *fileio.New(stdin, stdout, stderr), Entry: new(runlog.Entry), requests: new(s3.Requests), barriers: new(barriers)}
}
