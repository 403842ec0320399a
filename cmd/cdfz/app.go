package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cdfz-format/cdfz/archive"
)

// Exit codes. Part of the program's interface, never change.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDamaged = 3
)

// app is one run of the program.
type app struct {
	in  io.Reader
	out *output
	err io.Writer

	workers int
	quiet   bool
	force   bool
	dest    string // -o
	json    bool

	code    int             // the worst so far
	targets map[string]bool // written by this run
}

// output is standard output; it remembers the first error.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// isTerminal says whether a stream is a terminal.
func isTerminal(stream any) bool {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// root builds the command line: of the verb that args begin with, else all of it.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "cdfz",
		Short: "Compressed archives of classic netCDF files",
		Long: `cdfz rewrites classic netCDF files (CDF-1, CDF-2, CDF-5) into compressed archives
and restores them bit for bit. An archive x.nc.cdfz is a ZIP file, and in most
cases a Zarr store that xarray and others read as it is.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a damaged archive. With several
files the highest one counts.`,
		Version:           archive.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              unknownVerb,
		RunE:              func(cmd *cobra.Command, _ []string) error { return errors.New("a command is needed") },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetVersionTemplate("cdfz {{.Version}}\n")
	p := root.PersistentFlags()
	p.IntVarP(&a.workers, "jobs", "j", 0, "work on `N` processors (default: all)")
	p.BoolVarP(&a.quiet, "quiet", "q", false, "no progress bar, and no report where all is well")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() != "get" {
			catchStop()
		}
		if a.workers < 0 || a.workers > 1024 {
			return fmt.Errorf("-j %d: expected 1 to 1024", a.workers)
		}
		return nil
	}
	cobra.EnableCommandSorting = false
	all := verbs
	if len(args) > 0 {
		if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == args[0] }); i >= 0 {
			all = verbs[i : i+1]
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	for _, v := range all {
		root.AddCommand(v.command(a))
	}
	return root
}

// verb makes a command.
type verb struct {
	name    string
	command func(*app) *cobra.Command
}

// verbs are the commands in the order of the help.
var verbs = []verb{
	{"archive", (*app).archiveCmd}, {"restore", (*app).restoreCmd}, {"verify", (*app).verifyCmd}, {"repair", (*app).repairCmd},
	{"info", (*app).infoCmd}, {"get", (*app).getCmd}, {"dump", (*app).dumpCmd}, {"bench", (*app).benchCmd},
}

func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		return hinted(err, "cdfz %s is one", s[0])
	}
	return err
}

// flags that several verbs have.
func (a *app) forceFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.force, "force", "f", false, "overwrite targets that exist")
}

func (a *app) destFlag(cmd *cobra.Command, help string) {
	cmd.Flags().StringVarP(&a.dest, "output", "o", "", help)
}

func (a *app) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "report as JSON, one object a line")
}

// minFiles is cobra.MinimumNArgs in our words.
func minFiles(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < n {
			return errors.New("no FILE given")
		}
		return nil
	}
}

// oneFile is cobra.ExactArgs(1) in our words.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments, expected one FILE", len(args))
	}
	return nil
}

// hintError adds advice to an error.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

func hinted(err error, format string, args ...any) error {
	return &hintError{err, fmt.Sprintf(format, args...)}
}

// message prints one line on standard error.
func (a *app) message(format string, args ...any) {
	fmt.Fprintln(a.err, "cdfz: "+printable(fmt.Sprintf(format, args...)))
}

// usage reports a wrong command line.
func (a *app) usage(err error) {
	a.code = exitUsage
	a.message("%s", plainText(err, ""))
	var h *hintError
	if errors.As(err, &h) {
		a.message("hint: %s", h.hint)
	} else {
		a.message("hint: --help shows how")
	}
}

// fail reports what went wrong with a file and keeps the worst exit code. It
// returns the text and the code.
func (a *app) fail(file string, err error) (string, int) {
	code := exitFailed
	if errors.Is(err, archive.ErrCorrupt) {
		code = exitDamaged
	}
	a.code = max(a.code, code)
	text := plainText(err, file)
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	a.message("%s: %s", file, text)
	var h *hintError
	if errors.As(err, &h) && text != "interrupted" {
		a.message("hint: %s", h.hint)
	}
	return text, code
}

// stopped says whether the run was cancelled and no further file is to be begun.
func (a *app) stopped(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	if a.code == exitDone {
		a.code = exitFailed
		a.message("interrupted")
	}
	return true
}

// packagePrefix is what our packages put before their messages.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: )(?:(?:archive|remote|cdf3|cdl|cf|export|filters|slab|unlimited|blockidx): )+`)
})

// plainText is the text of an error for people: without names of packages, and
// without the name of the file, which the message begins with.
func plainText(err error, file string) string {
	s := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) && p.Path == file {
		s = strings.Replace(s, p.Error(), p.Err.Error(), 1)
	}
	return packagePrefix().ReplaceAllString(s, "$1")
}

// failure is the report of a file that failed.
type failure struct {
	File  string `json:"file"`
	Error string `json:"error"`
	Exit  int    `json:"exit"`
}

// failFile is fail with a line of JSON where that is wanted.
func (a *app) failFile(file string, err error) {
	text, code := a.fail(file, err)
	if a.json {
		a.emit(failure{file, text, code})
	}
}

// emit prints one line of JSON.
func (a *app) emit(v any) {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	// The only error is that of the output, which remembers it.
	_ = e.Encode(v)
}

// report prints a line on standard output unless -q or --json is given.
func (a *app) report(format string, args ...any) {
	if !a.quiet && !a.json {
		fmt.Fprintln(a.out, printable(fmt.Sprintf(format, args...)))
	}
}
