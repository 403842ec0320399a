package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/storage"
)

// maxJobs is the largest -j.
const maxJobs = 1024

// CommonFlags adds the flags of every verb.
func (r *Run) CommonFlags(root *cobra.Command) {
	p := root.PersistentFlags()
	p.VarP(&countFlag{&r.Limits.Workers, maxJobs}, "jobs", "j", "work on `N` processors (default: all)")
	p.BoolVarP(&r.Term.Quiet, "quiet", "q", false, "no progress, and no report of successes")
	p.BoolVar(&r.Term.Timestamps, "timestamps", false, "begin messages and reports with the date and time, as logs need them")
	p.StringArrayVar(&r.PluginPath, "plugin-path", nil, "search `FOLDERS` for HDF5 plugins, before those in HDF5_PLUGIN_PATH;\nthe word default stands for HDF5's own folders, which are searched only then")
	p.SortFlags = false
	Rare(p, "timestamps", "plugin-path")
	if err := root.MarkPersistentFlagDirname("plugin-path"); err != nil {
		panic("internal error: " + err.Error())
	}
}

// Examples formats the examples of a help page.
func Examples(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }

// ForceFlag adds -f, --replace-other and --receipts-also.
func (r *Run) ForceFlag(cmd *cobra.Command) {
	r.ForceFlagFor(cmd, "overwrite targets that exist,\nbut not archives of other files, and no other netCDF files")
}

// ForceFlagFor is ForceFlag with another description of -f.
func (r *Run) ForceFlagFor(cmd *cobra.Command, usage string) {
	Flags(cmd, OutputFlags, func(f *pflag.FlagSet) { f.BoolVarP(&r.Rules.Force, "force", "f", false, usage) })
	r.ReplaceOtherFlags(cmd)
}

// ReplaceOtherFlags adds --replace-other and --receipts-also.
func (r *Run) ReplaceOtherFlags(cmd *cobra.Command) {
	Flags(cmd, OutputFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&r.Rules.ReplaceOther, "replace-other", false, "let -f overwrite archives of other files and other netCDF files, too:\neach may be the only copy")
		f.StringArrayVar(&r.Rules.Receipts.Also, "receipts-also", nil, "keep the archives that the receipts in `FILE` vouch for,\nwhatever the other flags say; a folder means all in it; repeatable")
		Rare(f, "receipts-also")
	})
}

// DestFlag adds -o.
func (r *Run) DestFlag(cmd *cobra.Command, help string) {
	Flags(cmd, OutputFlags, func(f *pflag.FlagSet) { f.StringVarP(&r.Dest.Name, "output", "o", "", help) })
}

// DurableMountFlag adds --durable-mount.
func (r *Run) DurableMountFlag(cmd *cobra.Command) {
	Flags(cmd, ProofFlags, func(f *pflag.FlagSet) {
		f.Var(&mountFlag{m: r.In.Mounts}, "durable-mount", "the file system mounted on `DIR` keeps what is flushed,\nand shows no files of others: cdfz does not assume that of FUSE; repeatable")
		Rare(f, "durable-mount")
	})
}

// mountFlag is --durable-mount.
type mountFlag struct {
	m     *storage.Mounts
	given []string
}

// Type returns the name of the value in help.
func (f *mountFlag) Type() string { return "DIR" }

func (f *mountFlag) String() string { return strings.Join(f.given, ", ") }

// Set names a mount.
func (f *mountFlag) Set(dir string) error {
	f.given = append(f.given, dir)
	return atomicfile.Cause(f.m.Name(dir))
}

// JSONFlag adds --json.
func (r *Run) JSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.Term.JSON, "json", false, "report as JSON, one object per line")
}

// VerboseFlag adds -v.
func (r *Run) VerboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&r.Term.Verbose, "verbose", "v", false, "list skipped files, each with the reason")
}

// MinFiles is cobra.MinimumNArgs(1) with a message of cdfz.
func MinFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return terminal.Hinted(errors.New("no FILE given"), "%s --help has examples", cmd.CommandPath())
	}
	return nil
}

// OneFile is ExactArgs for a verb with one FILE.
var OneFile = ExactArgs(1, "one FILE")

// ExactArgs is cobra.ExactArgs with a message that names the arguments.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return terminal.Hinted(fmt.Errorf("expected %s, found %s", what, display.Count(int64(len(args)), "argument")), "%s --help has examples", cmd.CommandPath())
		}
		return nil
	}
}

// countFlag is a flag with a number from 1 to max.
type countFlag struct {
	n   *int
	max int
}

// CountFlag returns a flag with a number from 1 to max.
func CountFlag(n *int, max int) *countFlag { return &countFlag{n, max} }

func (f *countFlag) Type() string { return "N" }

func (f *countFlag) String() string {
	if *f.n == 0 {
		return ""
	}
	return strconv.Itoa(*f.n)
}

func (f *countFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > f.max {
		return fmt.Errorf("expected a number from 1 to %d", f.max)
	}
	*f.n = n
	return nil
}

// SizeFlag is a flag with a number of bytes.
type SizeFlag struct {
	N        *int64
	Min, Max int64
	given    string
}

func (f *SizeFlag) String() string { return f.given }

// Type returns the name of the value in help.
func (f *SizeFlag) Type() string { return "SIZE" }

// Set parses a value.
func (f *SizeFlag) Set(s string) error {
	n, err := display.ParseSize(s)
	if err != nil {
		return err
	}
	if n < f.Min && f.Max >= 1<<60 {
		return fmt.Errorf("expected %s or more", display.SizeName(f.Min)) // nobody has the maximum
	}
	if n < f.Min || n > f.Max {
		return fmt.Errorf("expected %s to %s", display.SizeName(f.Min), display.SizeName(f.Max))
	}
	*f.N, f.given = n, s
	return nil
}

// ShareFlag is a flag with an amount of parity.
type ShareFlag struct{ S *parity.Share }

// Type returns the name of the value in help.
func (f *ShareFlag) Type() string { return "P%" }

func (f *ShareFlag) String() string {
	if f.S == nil || *f.S == 0 {
		return ""
	}
	return f.S.String()
}

// Set parses a value.
func (f *ShareFlag) Set(s string) (err error) {
	*f.S, err = parity.ParseShare(s)
	return err
}

// Choice adds a flag with one of several words, which shells complete.
func Choice[T ~string](cmd *cobra.Command, v *T, name, usage string, choices ...T) {
	f := &choiceFlag[T]{v, choices}
	cmd.Flags().Var(f, name, usage)
	CompleteWords(cmd, name, f.words()...)
}

type choiceFlag[T ~string] struct {
	v       *T
	choices []T
}

func (f *choiceFlag[T]) String() string { return string(*f.v) }

func (f *choiceFlag[T]) words() []string {
	words := make([]string, len(f.choices))
	for i, c := range f.choices {
		words[i] = string(c)
	}
	return words
}

// Type returns the name of the value in help.
func (f *choiceFlag[T]) Type() string { return strings.Join(f.words(), "|") }

// Set parses a value.
func (f *choiceFlag[T]) Set(s string) error {
	for _, c := range f.choices {
		if string(c) == s {
			*f.v = c
			return nil
		}
	}
	return fmt.Errorf("expected %s", orList(f.words()))
}

// orList formats words as "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// FlagError rephrases an error of the flag library.
func FlagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		return fmt.Errorf("%s %s: %w", flagName(value.GetFlag()), value.GetValue(), plainNumber(value.Unwrap()))
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &missing):
		name := "--" + missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" {
			name = "-" + missing.GetSpecifiedName()
		}
		return fmt.Errorf("%s needs a value", name)
	}
	return err
}

// flagName is a flag as messages show it.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// places are the names in help of values that are files, folders or URLs.
var places = []string{"FILE", "OUT", "DIR", "LIST", "PLACE", "ORIGINAL", "CAT.parquet", "FOLDERS", "URL"}

// CheckPlaces refuses an empty value of a flag for a file, a folder or a URL. It would mean that the flag
// was not given, and mostly comes from a variable of the shell that is not set.
func CheckPlaces(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		empty := f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(list.GetSlice(), "")
		}
		if err == nil && empty && slices.Contains(places, what) {
			err = terminal.Hinted(fmt.Errorf("%s: expected %s, found an empty value", flagName(f), what), "is a variable of the shell not set?")
		}
	})
	return err
}

// CheckOptional refuses an argument that is a value of a flag before it which takes values only after "=". The
// argument would be a FILE.
func CheckOptional(cmd *cobra.Command, args []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		words, ok := f.Value.(optional)
		if err != nil || !ok || f.Value.String() != f.NoOptDefVal {
			return
		}
		for _, arg := range args {
			if _, missing := os.Lstat(arg); missing != nil && words.takes(arg) {
				err = terminal.Hinted(fmt.Errorf("%s: no such file", arg), "%s takes its value after an equals sign: %s=%s", flagName(f), flagName(f), arg)
			}
		}
	})
	return err
}

// optional is a flag whose value can be omitted.
type optional interface{ takes(value string) bool }

// plainNumber replaces the texts of package strconv.
func plainNumber(err error) error {
	if s := err.Error(); strings.HasPrefix(s, "strconv.ParseInt: ") {
		return errors.New("expected an integer")
	} else if strings.HasPrefix(s, "strconv.ParseBool: ") {
		return errors.New("expected true or false")
	}
	return err
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	if e.GetSpecifiedShortnames() != "" {
		return terminal.Hinted(fmt.Errorf("unknown flag -%s", e.GetSpecifiedName()), "%s --help lists the flags", cmd.CommandPath())
	}
	err := fmt.Errorf("unknown flag --%s", e.GetSpecifiedName())
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := display.Nearest(e.GetSpecifiedName(), names); near != "" {
		return terminal.Hinted(err, "did you mean --%s?", near)
	}
	return terminal.Hinted(err, "%s --help lists the flags", cmd.CommandPath())
}
