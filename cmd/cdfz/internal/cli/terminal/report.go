package terminal

import (
	"fmt"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
)

// Print prints a line on standard output, made safe for a terminal.
func (a *Terminal) Print(format string, args ...any) {
	text := display.Printable(fmt.Sprintf(format, args...))
	a.status.clear()
	fmt.Fprintln(a.Out, text)
}

// Report is Print of what a run did, except with -q or --json.
func (a *Terminal) Report(format string, args ...any) {
	if !a.Quiet && !a.JSON {
		a.Print("%s", a.stamp()+fmt.Sprintf(format, args...))
	}
}

// Emit prints an object as a line of JSON on standard output.
func (a *Terminal) Emit(v any) {
	a.status.clear()
	_, _ = a.Out.Write(display.JSON(v)) // Output remembers errors
}
