package terminal

import (
	"io"
)

// Printer prints reports and messages, for a run or for one of its files, and has the exit code of that so far.
// The Printer of a file may keep what it prints until its turn.
type Printer struct {
	*screen
	Out *Output
	Err io.Writer

	code int  // highest so far
	file int  // number of the file that it is for
	kept *log // what was printed; nil if that appears at once
}

// screen is what all Printers of a run share.
type screen struct {
	Flags
	secrets  secrets
	progress *Progress // of the files of this run; nil if none is shown
	advise   func(error) string
}

// Flags are the flags for what is printed.
type Flags struct {
	Quiet      bool
	Verbose    bool
	JSON       bool
	Timestamps bool // before messages and reports
}

// ForFile returns a Printer for the work on file number i. Join ends the work. With keep, nothing
// appears before that.
func (t *Terminal) ForFile(i int, keep bool) *Printer {
	p := &Printer{screen: t.screen, Out: t.Out, Err: t.Err, file: i}
	if keep {
		p.kept = new(log)
		p.Out, p.Err = &Output{w: logWriter{p.kept, false}}, logWriter{p.kept, true}
	}
	return p
}

// Join prints what the Printer of a file has kept and takes over its exit code.
func (t *Terminal) Join(p *Printer) {
	t.SetCode(p.code)
	if p.kept != nil {
		p.kept.print(t)
	}
}

// log keeps the lines of a file.
type log []logLine

type logLine struct {
	err  bool // on standard error
	text []byte
}

type logWriter struct {
	log *log
	err bool
}

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	*w.log = append(*w.log, logLine{w.err, append([]byte(nil), p...)})
	return len(p), nil
}

// print prints the lines on the streams of the program.
func (l log) print(t *Terminal) {
	if len(l) > 0 {
		t.progress.clear()
	}
	for _, line := range l {
		w := io.Writer(t.Out)
		if line.err {
			w = t.Err
		}
		_, _ = w.Write(line.text) // Output remembers errors
	}
}
