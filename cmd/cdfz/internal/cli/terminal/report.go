package terminal

import (
	"fmt"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
)

// Print prints a line on standard output, made safe for a terminal.
func (p *Printer) Print(format string, args ...any) {
	text := display.Printable(fmt.Sprintf(format, args...))
	p.progress.clear()
	fmt.Fprintln(p.Out, text)
}

// Report is Print of what a run did, except with -q or --json.
func (p *Printer) Report(format string, args ...any) {
	if !p.Quiet && !p.JSON {
		p.Print("%s", p.stamp()+fmt.Sprintf(format, args...))
	}
}

// Emit prints an object as a line of JSON on standard output.
func (p *Printer) Emit(v any) {
	p.progress.clear()
	_, _ = p.Out.Write(display.JSON(v)) // Output remembers errors
}
