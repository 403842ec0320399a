package terminal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
)

// hintError adds advice to an error.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// Hinted adds advice to an error. It is printed on a separate line.
func Hinted(err error, format string, args ...any) error {
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// Hint returns the advice attached to an error, or "".
func Hint(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// Message prints one line on standard error.
func (p *Printer) Message(format string, args ...any) {
	text := display.Printable(p.redact(fmt.Sprintf(format, args...)))
	p.progress.clear()
	fmt.Fprintln(p.Err, "cdfz: "+p.stamp()+text)
}

// timestamp returns the date and time of now in a form that sorts, with the time zone.
func timestamp() string { return time.Now().Format("2006-01-02T15:04:05Z07:00") }

// stamp returns what --timestamps puts before a line.
func (p *Printer) stamp() string {
	if !p.Timestamps {
		return ""
	}
	return timestamp() + "  "
}

// Log writes a line on standard error as it is.
func (p *Printer) Log(line []byte) {
	p.progress.clear()
	_, _ = p.Err.Write(line)
}

// Advise sets a function that returns advice for errors to which none is attached, or "".
func (t *Terminal) Advise(advice func(err error) string) { t.advise = advice }

// hint prints the advice attached to an error.
func (p *Printer) hint(err error) {
	h := Hint(err)
	if h == "" && p.advise != nil {
		h = p.advise(err)
	}
	if h != "" {
		p.Message("hint: %s", h)
	}
}

// Usage reports a wrong command line.
func (t *Terminal) Usage(err error) {
	t.code = ExitUsage
	t.Message("%s", PlainText(err, ""))
	t.hint(err)
}

// Fail reports an error of a file and raises the exit code. It returns the text and the
// code. It reports nothing if the reader of standard output has read enough: see Exit.
func (p *Printer) Fail(file string, err error) (string, int) {
	text, code := p.Describe(file, err)
	isOut := p.Out.err != nil && errors.Is(err, p.Out.err)
	if isOut && errors.Is(err, syscall.EPIPE) {
		return text, code
	}
	p.SetCode(code)
	if p.Quiet && errors.Is(err, ErrBusy) {
		return text, code
	}
	if file == "" {
		file = `""`
	}
	p.Message("%s: %s", file, text)
	p.Out.reported = p.Out.reported || isOut
	if text != "interrupted" {
		p.hint(err)
	}
	return text, code
}

// Interrupted reports whether an error is that of a run that was stopped. The file has not failed.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// Describe returns the text and the exit code of an error of a file.
func (p *Printer) Describe(file string, err error) (string, int) {
	if Interrupted(err) {
		return "interrupted", ExitFailed
	}
	return p.redact(PlainText(err, file)), codeOf(err)
}

// Failure is the JSON of a file that failed.
type Failure struct {
	File  string `json:"file"`
	Error string `json:"error"`
	Exit  int    `json:"exit"`
}

// FailFile is Fail, plus a line of JSON if requested.
func (p *Printer) FailFile(file string, err error) {
	text, code := p.Fail(file, err)
	if p.JSON {
		p.Emit(Failure{p.redact(file), text, code})
	}
}

// packagePrefix matches the package names at the start of error messages.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: )(?:(?:archive|catalogue|remote|s3|cdf3|cdl|cf|export|filters|fsck|joined|plugin|slab|unlimited|blockidx): )+`)
})

// WithoutPackages removes the names of this module's packages from a message.
func WithoutPackages(text string) string { return packagePrefix().ReplaceAllString(text, "$1") }

// namedOnce removes names that an error and its cause both have, as in "member a.nc: open a.nc: no such file".
func namedOnce(text string) string {
	parts := strings.Split(text, ": ")
	out := parts[:1]
	for _, part := range parts[1:] {
		before := out[len(out)-1]
		name := part
		if op, path, ok := strings.Cut(part, " "); ok && (op == "open" || op == "stat" || op == "lstat") {
			name = path
		}
		switch {
		case before == name, strings.ContainsAny(name, "./") && strings.HasSuffix(before, " "+name):
		case strings.HasPrefix(part, before+"["): // variable "a": variable "a"[0:2]
			out[len(out)-1] = part
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, ": ")
}

// PlainText returns the text of an error for users, without package names and without
// the file name, since messages begin with it.
func PlainText(err error, file string) string {
	s := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) && ShowName(p.Path) == file {
		s = strings.Replace(s, p.Error(), p.Err.Error(), 1)
	}
	s = namedOnce(WithoutPackages(s))
	if file != "" {
		s = strings.TrimPrefix(s, file+": ")
	}
	return s
}
