package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/filters"
)

// archiver runs the verb archive.
type archiver struct {
	*cli.App
	opts     archive.WriteOptions
	specs    chains.Specs
	existing existingMode
	noCheck  bool
	files    cli.Files
	sum      archiveSum
}

// archiveReport is the JSON of one archived file.
type archiveReport struct {
	File        string   `json:"file"`
	Target      string   `json:"target"`
	Size        int64    `json:"size"`
	ArchiveSize int64    `json:"archive_size"`
	Ratio       float64  `json:"ratio"`
	Layout      string   `json:"layout"`
	Blocks      int64    `json:"blocks"`
	Vars        int      `json:"variables"`
	InView      int      `json:"variables_in_zarr"`         // variables that xarray opens
	Packages    []string `json:"python_packages,omitempty"` // needed by xarray
	SHA256      string   `json:"sha256"`
	Checked     bool     `json:"checked"`
	Seconds     float64  `json:"seconds"`
	Warnings    []string `json:"warnings,omitempty"`

	unused bool // filters of -F were not used
}

// archiveSum is the JSON of the last line.
type archiveSum struct {
	Files       int64   `json:"files"`
	Unchanged   int64   `json:"unchanged"` // already archived
	Failed      int64   `json:"failed"`
	Skipped     int64   `json:"skipped"`
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Seconds     float64 `json:"seconds"`
}

func archiveCmd(a *cli.App) *cobra.Command {
	v := &archiver{App: a, opts: archive.WriteOptions{Preset: archive.PresetDefault, Zarr: archive.ZarrAuto}, existing: existingMtime}
	cmd := &cobra.Command{
		Use:   "archive [flags] FILE…",
		Short: "Make archives: x.nc becomes x.nc.cdfz beside it",
		Long: `Makes an archive of each classic netCDF file. FILE may be a folder: every classic
file below it is archived, and files of other kinds are skipped (-v lists them). It
may also be an http or https URL, or - for standard input.

Each archive is read back and compared with its source before it appears. Sources
are never changed. Archives keep the permissions and the modification time of their
source, and its owner if root runs cdfz.

A file is passed over if its archive already exists and holds the same file: size and
modification time are the same, or else size and SHA-256. --skip-existing=hash always
compares the SHA-256; --skip-existing=never makes an existing archive an error; -f
overwrites it.

` + chains.Help,
		Example: cli.Examples(
			"cdfz archive tas.nc                        # makes tas.nc.cdfz",
			"cdfz archive -o archives/ data/            # a tree of archives in another folder",
			"cdfz archive --preset max --zarr always tas.nc",
			"cdfz archive -F 'air,2|32015,19' tas.nc    # shuffle, then zstd at level 19, for air",
			"cdfz archive -F 'u&v,307,9' -F '*,1,6' tas.nc",
			"cdfz archive - <tas.nc >tas.nc.cdfz"),
		Args: cli.MinFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.specs.Parse(); err != nil {
				return err
			}
			if err := a.CheckDest(args); err != nil {
				return err
			}
			v.opts.Workers = a.Workers
			v.run(cmd.Context(), args)
			return nil
		},
	}
	f := cmd.Flags()
	v.specs.AddFlags(f)
	preset := &cli.ChoiceFlag[archive.Preset]{V: &v.opts.Preset, Choices: archive.Presets}
	f.Var(preset, "preset", "filters of all variables without -F")
	f.Var(&cli.SizeFlag{N: &v.opts.Block, Min: archive.MinBlock, Max: archive.MaxBlock}, "block", "target size of a block, as in 64K or 1M (default 256K)")
	f.Var(&cli.SizeFlag{N: &v.opts.Memory, Min: 1, Max: math.MaxInt64}, "memory", "memory for blocks of record variables (default 128M)")
	zarr := &cli.ChoiceFlag[archive.ZarrMode]{V: &v.opts.Zarr, Choices: []archive.ZarrMode{archive.ZarrAuto, archive.ZarrAlways, archive.ZarrConsolidated, archive.ZarrNever}}
	f.Var(zarr, "zarr", "whether xarray and other Zarr tools can open the archive; auto: if that costs little; consolidated: at less cost, for readers of consolidated metadata")
	existing := &cli.ChoiceFlag[existingMode]{V: &v.existing, Choices: []existingMode{existingMtime, existingHash, existingNever}}
	f.Var(existing, "skip-existing", "how to detect that a file is already archived")
	f.BoolVar(&v.noCheck, "no-check", false, "do not read the archive back")
	a.ForceFlag(cmd)
	a.StatsFlag(cmd)
	a.JSONFlag(cmd)
	a.VerboseFlag(cmd)
	a.DestFlag(cmd, "write to `OUT`: a name, a folder, or - for standard output (not read back)")
	cli.CompleteWords(cmd, "preset", preset.Words()...)
	cli.CompleteWords(cmd, "zarr", zarr.Words()...)
	cli.CompleteWords(cmd, "skip-existing", existing.Words()...)
	cli.CompleteWords(cmd, "block", "64K", "256K", "1M", "4M")
	return cmd
}

func (v *archiver) run(ctx context.Context, args []string) {
	start := time.Now()
	v.files = v.Find(ctx, args, cli.Classic, v.failed)
	v.StartProgress("archive", v.files)
	v.Each(ctx, v.files, func(j cli.Job) error { return v.one(ctx, j) }, v.failed)
	s := &v.sum
	s.Skipped = v.files.Skipped
	s.Ratio = cli.Ratio(s.Size, s.ArchiveSize)
	s.Seconds = cli.Round(time.Since(start).Seconds(), 3)
	switch {
	case v.Dest == cli.StdoutName:
	case v.JSON:
		v.Emit(struct {
			Summary archiveSum `json:"summary"`
		}{*s})
	case s.Files+s.Failed+s.Unchanged > 1 || v.files.Folders:
		line := cli.Count(s.Files, "file")
		if s.Files > 0 {
			line += fmt.Sprintf(": %s -> %s, ratio %.2f, %s", cli.Size(s.Size), cli.Size(s.ArchiveSize), s.Ratio, cli.Speed(s.Size, s.Seconds))
		}
		if s.Unchanged > 0 {
			line += fmt.Sprintf("; %d archived before", s.Unchanged)
		}
		v.Report("%s%s", line, v.files.SummaryTail(s.Failed))
	}
}

func (v *archiver) failed(name string, err error) {
	v.sum.Failed++
	v.FailFile(name, err)
}

// one archives one file.
func (v *archiver) one(ctx context.Context, j cli.Job) error {
	in, err := v.Open(ctx, j.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	err = v.oneOpen(ctx, j, in)
	if err != nil && ctx.Err() == nil {
		// The change is the cause, whatever the error.
		if changed := in.Changed(); changed != nil {
			return changed
		}
	}
	return err
}

func (v *archiver) oneOpen(ctx context.Context, j cli.Job, in *cli.Input) error {
	path, err := v.TargetPath(j, func(s string) (string, error) { return s + cli.Suffix, nil })
	if err != nil {
		return err
	}
	if err := cli.RefuseArchive(in); err != nil {
		return err
	}
	if v.Dest != cli.StdoutName && !v.Force {
		if done, err := v.isDone(ctx, j.Name, in, path); done || err != nil {
			return err
		}
	}
	opts := v.opts
	if j.Name != cli.StdinName {
		opts.Name = cli.BaseName(j.Name)
	}
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	if opts.Filters, err = v.specs.ForFile(h, false); err != nil {
		return err
	}
	rep := &archiveReport{File: cli.ReportName(j.Name), Target: path, Size: in.Size}
	if text := truncated(h, in.Size); text != "" {
		rep.Warnings = append(rep.Warnings, text)
	}
	rep.Warnings = append(rep.Warnings, v.specs.Warnings()...)
	if err := v.write(ctx, in, &opts, rep); err != nil {
		return err
	}
	for _, text := range rep.Warnings {
		v.Message("warning: %s: %s", in.Name, text)
	}
	if rep.unused && !archive.Layout(rep.Layout).HasView() {
		v.Message("hint: --zarr always makes blocks of more variables")
	}
	v.done(rep)
	return nil
}

// write archives an input to the target in the report and completes the report.
func (v *archiver) write(ctx context.Context, in *cli.Input, opts *archive.WriteOptions, rep *archiveReport) error {
	passes := 2
	if v.noCheck || v.Dest == cli.StdoutName {
		passes = 1
	}
	opts.Progress = v.Step(in.Name, in.Size, 0, passes)
	start := time.Now()
	var res *archive.Result
	var err error
	if v.Dest == cli.StdoutName {
		res, err = v.writeStdout(ctx, in, opts)
	} else {
		err = v.WriteTo(rep.Target, in, func(o *archive.FileOptions) error {
			o.NoCheck, o.CheckProgress = v.noCheck, v.Step(in.Name, in.Size, 1, passes)
			o.Accept = func(f *archive.File) error {
				rep.describe(f, opts.Filters)
				return in.Changed()
			}
			res, err = archive.WriteFile(ctx, rep.Target, in.R, in.Size, opts, o)
			return err
		})
	}
	if err != nil {
		return err
	}
	rep.ArchiveSize, rep.Ratio = res.Size, cli.Ratio(in.Size, res.Size)
	rep.Layout, rep.Blocks, rep.SHA256 = string(res.Layout), res.Blocks, res.SHA256
	rep.Checked, rep.Seconds = passes == 2, cli.Round(time.Since(start).Seconds(), 6)
	return nil
}

func (v *archiver) writeStdout(ctx context.Context, in *cli.Input, opts *archive.WriteOptions) (*archive.Result, error) {
	w := bufio.NewWriterSize(v.Out, 1<<18)
	res, err := archive.Write(ctx, w, in.R, in.Size, opts)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.Changed()
	}
	return res, err
}

// describe adds the counts and warnings of variables.
func (r *archiveReport) describe(f *archive.File, given []archive.VarFilter) {
	for _, w := range f.Vars() {
		r.Vars++
		info := w.Info()
		if !info.InView {
			continue
		}
		r.InView++
		for _, g := range info.Chain {
			if p := filters.CodecPackage(g.ID); p != "" && !slices.Contains(r.Packages, p) {
				r.Packages = append(r.Packages, p)
			}
		}
	}
	unused := chains.WithoutEffect(f, given)
	r.unused = len(unused) > 0
	r.Warnings = append(r.Warnings, unused...)
}

func (v *archiver) done(rep *archiveReport) {
	v.sum.Files++
	v.sum.Size += rep.Size
	v.sum.ArchiveSize += rep.ArchiveSize
	switch {
	case v.Dest == cli.StdoutName:
	case v.JSON:
		v.Emit(rep)
	default:
		v.Report("%s: %s -> %s, ratio %.2f, %s, %s", rep.File, cli.Size(rep.Size), cli.Size(rep.ArchiveSize), rep.Ratio,
			cli.Speed(rep.Size, rep.Seconds), rep.xarray())
	}
}

// xarray describes whether xarray opens the archive and what it needs for that.
func (r *archiveReport) xarray() string {
	if !archive.Layout(r.Layout).HasView() {
		return "not for xarray"
	}
	text := "opens in xarray"
	if missing := r.Vars - r.InView; missing > 0 {
		text += " without " + cli.Count(int64(missing), "variable")
	}
	if len(r.Packages) > 0 {
		text += " with Python package " + strings.Join(r.Packages, ", ")
	}
	return text
}
