package fileio

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// The names that systems have for the open files of a process. A target next to one would be in a
// folder of the system.
var (
	stdinNames  = names(`/dev/stdin|/dev/fd/0|/proc/(self|thread-self)/fd/0`)
	stdoutNames = names(`/dev/stdout|/dev/fd/1|/proc/(self|thread-self)/fd/1`)
	openNames   = names(`/dev/(stdin|stdout|stderr)|/dev/fd/\d+|/proc/(self|thread-self|\d+)/fd/\d+`)
)

func names(pattern string) func(name string) bool {
	r := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) })
	return func(name string) bool {
		return name != "" && os.IsPathSeparator(name[0]) && r().MatchString(filepath.ToSlash(filepath.Clean(name)))
	}
}

// named refuses FILE arguments that have no name for a target.
func named(args []string) error {
	for _, name := range args {
		what := name
		switch {
		case name == terminal.StdinName:
			what = "standard input"
		case !openNames(name):
			continue
		}
		return terminal.Hinted(errors.New(what+" has no name for a target"), "-o FILE names it, -o - writes to standard output")
	}
	return nil
}

// notOutput refuses an input that standard output is redirected to, as with >>FILE.
func (n *Inputs) notOutput(in *Input) error {
	out, ok := n.term.Out.File()
	if !ok || in.Stat == nil || !n.dest.IsStdout() {
		return nil
	}
	if st, err := out.Stat(); err == nil && os.SameFile(st, in.Stat) {
		return errors.New("standard output goes to this file")
	}
	return nil
}
