package fileio

import (
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// Dest is where the targets of a run are.
type Dest struct {
	Name string // -o
	// IsArg is set by verbs that take Name as an argument, not as -o.
	IsArg bool
	// ToObjects is set by verbs that take the URL of an object.
	ToObjects bool
	// Beside is set by verbs whose targets, without a name, lie beside their FILEs, also in stores.
	Beside bool
}

// IsStdout reports whether it is standard output.
func (d *Dest) IsStdout() bool { return d.Name == terminal.StdoutName }

// IsDir reports whether it is a folder.
func (d *Dest) IsDir() bool {
	if d.Name == "" || d.IsStdout() {
		return false
	}
	if os.IsPathSeparator(d.Name[len(d.Name)-1]) {
		return true
	}
	if s3.IsURL(d.Name) {
		return d.Name[len(d.Name)-1] == '/'
	}
	st, err := os.Stat(d.Name)
	return err == nil && st.IsDir()
}

// MustBeDir takes a name for that of a folder, though it may be missing.
func (d *Dest) MustBeDir() {
	if d.Name != "" && !d.IsStdout() && !d.IsDir() {
		if _, err := os.Stat(d.Name); err != nil {
			d.Name += "/"
		}
	}
}

// CheckURL refuses URLs that the verb cannot write.
func (d *Dest) CheckURL() error {
	switch {
	case d.ToObjects && !s3.IsURL(d.Name) && (remote.IsURL(d.Name) || otherScheme().MatchString(d.Name)):
		return fmt.Errorf("%s: cannot write to a URL of this kind, expected s3 or gs", d.show())
	case remote.IsURL(d.Name) && !d.ToObjects:
		return fmt.Errorf("%s: cannot write to a URL", d.show())
	}
	return nil
}

// flag is the flag before the name in messages: "-o ", or nothing.
func (d *Dest) flag() string {
	if d.IsArg {
		return ""
	}
	return "-o "
}

// show is the name as messages show it.
func (d *Dest) show() string {
	if d.IsArg {
		return terminal.ShowTarget(d.Name)
	}
	return d.flag() + terminal.ReportName(d.Name)
}

// stdNames replaces the names of standard input and output in the command line.
func (d *Dest) stdNames(args []string) error {
	for i, name := range args {
		if stdinNames(name) {
			args[i] = terminal.StdinName
		}
	}
	switch {
	case stdoutNames(d.Name):
		d.Name = terminal.StdoutName
	case openNames(d.Name):
		return terminal.Hinted(fmt.Errorf("%s: not a file", d.show()), "%s- writes to standard output", d.flag())
	}
	return nil
}
