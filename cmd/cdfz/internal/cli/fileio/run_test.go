package fileio

import (
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// testRun has the files of a run.
type testRun struct {
	term  *terminal.Terminal
	dest  Dest
	rules protect.Rules
	sel   Selection
	*Inputs
	*Targets
	*Finder
}

func newRun() *testRun {
	return newRunTo(io.Discard, io.Discard)
}

func newRunTo(stdout, stderr io.Writer) *testRun {
	r := &testRun{term: terminal.New(strings.NewReader(""), stdout, stderr)}
	r.Inputs = NewInputs(r.term, &r.dest)
	r.rules.Receipts = &protect.Receipts{Mounts: r.Mounts}
	r.Targets = NewTargets(r.Inputs, &r.rules, &r.sel)
	r.Finder = NewFinder(r.Targets)
	return r
}

// target returns a target, which is made from src.
func (r *testRun) target(path string, src *Input) *Target {
	return &Target{Path: path, Source: src, Decision: r.rules.Decide(), Targets: r.Targets, Term: &r.term.Printer}
}
