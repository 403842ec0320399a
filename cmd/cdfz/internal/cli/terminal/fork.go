package terminal

import (
	"io"
)

// Fork returns a terminal for the work on file number job. Join ends the work. With keep, nothing
// appears before that.
func (a *Terminal) Fork(job int, keep bool) Terminal {
	f := *a
	f.job, f.code = job, 0
	if keep {
		f.kept = new(log)
		f.Out, f.Err = &Output{w: logWriter{f.kept, false}}, logWriter{f.kept, true}
	}
	return f
}

// Join prints what a fork has kept and takes over its exit code.
func (a *Terminal) Join(f *Terminal) {
	a.SetCode(f.code)
	if f.kept != nil {
		f.kept.print(a)
	}
}

// log keeps the lines of a job.
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
func (l log) print(a *Terminal) {
	if len(l) > 0 {
		a.status.clear()
	}
	for _, line := range l {
		w := io.Writer(a.Out)
		if line.err {
			w = a.Err
		}
		_, _ = w.Write(line.text) // Output remembers errors
	}
}
