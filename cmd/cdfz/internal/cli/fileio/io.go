// Package fileio opens the files that a command line names, walks its folders, and makes the targets.
//
//	names.go, std.go      what a FILE argument and -o may be
//	walk.go, tree.go      FILE arguments to files
//	list.go, prefix.go    lists of names, and prefixes of stores, to files
//	later.go              files that are found while the run goes on
//	input.go, sniff.go    a file to bytes
//	stored.go             on what a file is stored
//	target.go, object.go  bytes to a file, an object of a store or standard output
//	replace.go            asks whether a target may replace what is there
package fileio

import (
	"context"
	"io"
	"io/fs"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/storage"
)

// IO is the files of a run: those that it reads and those that it writes, with the flags for them.
type IO struct {
	terminal.Terminal
	protect.Rules

	Select  Selection
	Workers int    // -j; 0 for all processors
	Memory  int64  // --memory, a limit for the whole program in bytes; 0 for none
	Dest    string // -o
	// DestArg is set by verbs that take Dest as an argument, not as -o.
	DestArg bool
	// ToObjects is set by verbs that take the URL of an object as -o.
	ToObjects bool
	// Whole is the longest object below a prefix, in bytes, that is read with one request when it is
	// opened. Verbs that read whole files set it to WholeObject.
	Whole int64
	// TakesBack is set by verbs that delete files: what a killed run was deleting gets its name
	// again in the folders that are walked.
	TakesBack bool
	// Written, if not nil, is called when a target is complete but not yet on disk: it needs no
	// processor from then on.
	Written func()

	// Mounts has what --durable-mount states.
	Mounts *storage.Mounts

	targets *targets // of this run
	inputs  *inputs  // that the run is reading
}

const (
	// WholeObject is the longest object that is received at once, for verbs that read all of it.
	WholeObject = 1 << 20
	wholeEnds   = 64 << 10 // for verbs that read the structure of archives only
)

// destFlag is the flag before Dest in messages: "-o ", or nothing.
func (a *IO) destFlag() string {
	if a.DestArg {
		return ""
	}
	return "-o "
}

// destName is Dest as messages show it.
func (a *IO) destName() string {
	if a.DestArg {
		return terminal.ShowTarget(a.Dest)
	}
	return a.destFlag() + terminal.ReportName(a.Dest)
}

// New makes the files of a run with the streams of the program.
func New(stdin io.Reader, stdout, stderr io.Writer) *IO {
	a := &IO{Whole: wholeEnds, Mounts: new(storage.Mounts), Terminal: *terminal.New(stdin, stdout, stderr), targets: newTargets(), inputs: &inputs{open: map[*Input]fs.FileInfo{}}}
	a.Receipts = &protect.Receipts{Open: openReceipts, Mounts: a.Mounts}
	return a
}

// openReceipts opens the URL of receipts.
func openReceipts(ctx context.Context, name string) (*receiptfile.Source, error) {
	in, err := openRemote(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return &receiptfile.Source{ReaderAt: in.R, Size: in.Size, Close: in.Close}, nil
}
