// Package join is the verb join: many files as one dataset. The module's package archive/joined does
// the work.
package join

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/remote"
)

// joiner runs the verb join.
type joiner struct {
	run        *cli.Run
	dim, fresh string // --dim, --new
	vars       []string
	first      bool
	sha256     bool
	skip       bool // --skip-missing
}

// Command makes cdfz join.
func Command(run *cli.Run) *cobra.Command {
	v := &joiner{run: run}
	cmd := &cobra.Command{
		Use:   "join [flags] -o OUT.ncml FILE…",
		Short: "Describe many files as one dataset, joined along time or a new dimension",
		Long: `Compares the FILEs and writes an NcML file that describes them as one dataset: an aggregation
joinExisting along their record dimension, or --dim DIM, or joinNew along --new DIM. cdfz get, dump,
info, restore and export read OUT.ncml as one file. NcML is the language of netCDF-Java and THREDDS.

The FILEs stay as they are. OUT names them relative to its folder. Absolute paths to other
folders stay as they are given.

The FILEs are joined in the given order. All have the variables, types, dimensions and attributes
of the first one. Attributes of the file itself may differ, and those of the first count, as in
ncrcat. Variables without the dimension have the same values in all FILEs. The values of the
coordinate variable rise, or fall, from the first to the last. Times in other units of the same
calendar are converted if the results are exact. Everything else is reported, with
the file and the variable, nothing is written, and the exit code is 1. Gaps in the coordinate
variable are reported as warnings.

--first takes variables without the dimension, and attributes that do not change the meaning of
values, from the first FILE if others differ.

A coordinate that is a fill value, 1e20, NaN or no time is an error. --skip-missing leaves such records out. Other
programs than cdfz do not know how.

A FILE that is replaced later is an error of everything that reads it: OUT has its size, a sum of its
header, coordinates and some values, and the SHA-256 that an archive contains. --sha256 also
computes that of classic netCDF files. cdfz verify OUT.ncml compares it.

FILE is an archive, a classic netCDF file, a URL, or a folder, whose archives *.cdfz are taken in
the order of their names.

` + cli.ListHelp,
		Example: cli.Examples(
			"cdfz join -o tas.ncml tas_*.nc.cdfz",
			"cdfz get --time tas.ncml 'tas[lat=52.5, lon=13.4]'",
			"cdfz restore tas.ncml                        # makes tas.nc, as ncrcat does",
			"cdfz join -o ens.ncml --new member r?i1p1.nc.cdfz",
			"find run7 -name 'tas_*.cdfz' | sort | cdfz join -o tas.ncml --files-from -"),
		Args:              run.FilesOrList,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.check(); err != nil {
				return err
			}
			v.do(cmd.Context(), args)
			return nil
		},
	}
	run.DestFlag(cmd, "write to `OUT`: a name that ends in .ncml, or - for standard output")
	cli.Flags(cmd, "How to join", func(f *pflag.FlagSet) {
		f.StringVar(&v.dim, "dim", "", "join along the existing dimension `DIM` (default: the record dimension)")
		f.StringVar(&v.fresh, "new", "", "join along a new dimension `DIM`")
		f.StringSliceVar(&v.vars, "vars", nil, "variables `A,B` that get the dimension of --new (default: all with data);\nthose are all but coordinate variables")
		f.BoolVar(&v.first, "first", false, "take what differs without a change of meaning from the first FILE")
		f.BoolVar(&v.skip, "skip-missing", false, "leave out records whose coordinate is missing")
		f.BoolVar(&v.sha256, "sha256", false, "read classic netCDF files for their SHA-256, which cdfz verify compares")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		f.BoolVarP(&run.Rules.Force, "force", "f", false, "overwrite OUT if it describes joined files")
	})
	run.ListFlags(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// check checks the flags.
func (v *joiner) check() error {
	switch {
	case v.run.Dest.Name == "":
		return terminal.Hinted(errors.New("no OUT given"), "-o OUT%s names it", fileio.DatasetSuffix)
	case !v.run.Dest.IsStdout() && !fileio.IsDataset(v.run.Dest.Name):
		return fmt.Errorf("-o %s: expected a name that ends in %s", terminal.ShowTarget(v.run.Dest.Name), fileio.DatasetSuffix)
	case v.dim != "" && v.fresh != "":
		return errors.New("expected --dim or --new, found both")
	case len(v.vars) > 0 && v.fresh == "":
		return errors.New("--vars: expected --new, too")
	}
	v.run.Rules.Overwrites = &protect.Kind{Name: "an NcML file of joined files", Check: func(r io.ReaderAt, size int64) error {
		_, err := joined.ReadNcML(context.Background(), r, size)
		return err
	}}
	return v.run.Targets.CheckOfAll()
}

// report is the JSON of a run.
type report struct {
	Target  string   `json:"target"`
	Dim     string   `json:"dim"`
	Files   int      `json:"files"`
	Len     int64    `json:"length"` // of the dimension
	Gaps    []string `json:"gaps"`
	Seconds float64  `json:"seconds"`
}

func (v *joiner) do(ctx context.Context, args []string) {
	start := time.Now()
	locations, ok := v.locations(ctx, args)
	if !ok {
		return
	}
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	defer out.Abort()
	desc, gaps, err := v.build(ctx, locations)
	rep := &report{Target: terminal.ReportName(v.run.Dest.Name), Gaps: []string{}}
	for _, g := range gaps {
		text := terminal.WithoutPackages(g.Error())
		if rep.Gaps = append(rep.Gaps, text); !v.run.Term.JSON {
			v.run.Term.Message("warning: %s", display.Printable(text))
		}
	}
	if err == nil {
		if err = desc.WriteNcML(out); err == nil {
			err = out.Commit(ctx)
		}
	}
	if err != nil {
		v.fail(err)
		return
	}
	rep.Dim, rep.Files, rep.Seconds = desc.Dim, desc.FileCount(), display.Round(time.Since(start).Seconds(), 6)
	for _, m := range desc.Members {
		rep.Len += m.Len
	}
	switch {
	case v.run.Dest.IsStdout():
	case v.run.Term.JSON:
		v.run.Term.Emit(rep)
	default:
		v.run.Term.Report("%s: %s, %s = %d", terminal.ShowTarget(v.run.Dest.Name), display.Count(int64(rep.Files), "file"), display.Quoted(rep.Dim), rep.Len)
	}
}

// fail reports each of the errors that are joined in one.
func (v *joiner) fail(err error) {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	for _, e := range list.Unwrap() {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), e)
	}
}

// build compares the files.
func (v *joiner) build(ctx context.Context, locations []string) (*joined.Description, []*joined.Problem, error) {
	o := &joined.BuildOptions{Options: joined.Options{Open: *v.run.Limits.OpenOptions(), Workers: v.run.Limits.Workers}, Dim: v.dim, Vars: v.vars, First: v.first, SHA256: v.sha256, SkipMissing: v.skip}
	if v.fresh != "" {
		o.Dim, o.New = v.fresh, true
	}
	v.run.Term.StartProgress("join", int64(len(locations)))
	defer v.run.Term.StopProgress()
	o.Progress = v.run.Term.Step(v.run.Dest.Name, int64(len(locations)), 0, 1)
	base := v.run.Dest.Name
	if base == terminal.StdoutName {
		base = ""
	}
	return joined.Build(ctx, locations, joined.Folder(base), o)
}

// locations returns the files, relative to the folder of OUT. ok is false if some cannot be found.
func (v *joiner) locations(ctx context.Context, args []string) (locations []string, ok bool) {
	ok = true
	failed := func(name string, err error) {
		ok = false
		v.run.Term.FailFile(name, err)
	}
	v.run.Select.Repeats = true // as members
	v.run.Finder.Current = true
	files := v.run.Find(ctx, args, fileio.Archives, failed)
	defer files.Close()
	v.run.Each(ctx, files, func(j *cli.Job) error {
		if len(locations) == joined.MaxMembers {
			return fmt.Errorf("expected at most %d files, found more", joined.MaxMembers)
		}
		v.run.In.Uses(j.Name)
		location, err := v.location(j.Name)
		if err == nil {
			locations = append(locations, location)
		}
		return err
	}, failed)
	if ok && len(locations) == 0 && !v.run.Term.Stopped(ctx) {
		failed(terminal.ShowTarget(v.run.Dest.Name), errors.New("no files to join"))
	}
	return locations, ok && !v.run.Term.Stopped(ctx)
}

// location returns the name of a file relative to the folder of OUT, with slashes. Absolute names of files
// elsewhere stay as they are.
func (v *joiner) location(name string) (string, error) {
	switch {
	case name == terminal.StdinName:
		return "", errors.New("standard input has no path that OUT could name")
	case fileio.IsDataset(name):
		return "", errors.New("expected an archive or a classic netCDF file, found a description of joined files")
	case remote.IsURL(name):
		return name, nil
	}
	folder := "."
	if !v.run.Dest.IsStdout() {
		folder = filepath.Dir(v.run.Dest.Name)
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(folder, full)
	if filepath.IsAbs(name) && (err != nil || !filepath.IsLocal(rel)) {
		return filepath.ToSlash(name), nil
	}
	return filepath.ToSlash(rel), err
}
