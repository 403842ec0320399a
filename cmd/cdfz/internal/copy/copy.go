// Package copy is the verb copy: archives and classic files with other filters.
package copy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// copier runs the verb copy.
type copier struct {
	run     *cli.Run
	opts    archive.WriteOptions
	specs   chains.Specs
	to      copyKind
	noCheck bool
	parity  bool // opts.Parity is given
	many    bool // IN is a folder, the prefix of a store or a list of files
}

// copyKind is a value of --to.
type copyKind string

const (
	toArchive copyKind = "archive"
	toClassic copyKind = "classic"
)

// copyReport is the JSON of a copy.
type copyReport struct {
	File     string   `json:"file"`
	Target   string   `json:"target"`
	To       copyKind `json:"to"`
	Size     int64    `json:"size"`        // of FILE
	Written  int64    `json:"target_size"` // bytes
	Blocks   int64    `json:"blocks"`      // of an archive
	Copied   int64    `json:"blocks_copied"`
	Parity   int64    `json:"parity_size"` // bytes of it that parity takes
	Seconds  float64  `json:"seconds"`
	Warnings []string `json:"warnings,omitempty"`
	// Loss lists values that were rounded, now or before.
	Loss *report.Loss `json:"loss,omitempty"`
}

func Command(run *cli.Run) *cobra.Command {
	v := &copier{run: run}
	cmd := &cobra.Command{
		Use:   "copy [flags] IN OUT\n  cdfz copy [flags] --files-from LIST [FOLDER] OUT/",
		Short: "Copy an archive or a classic file, with other filters",
		Long: `Copies an archive or a classic netCDF file to an archive, if OUT ends in .cdfz, or else
to a classic file. IN may be an http or https URL, or - for standard input. OUT may be a
folder, or - for standard output.

An archive keeps the filters, the size of blocks, the layout and the amount of parity of IN
where no option changes them. Blocks that stay the same are copied as they are stored, without
decompressing and compressing them. --preset replaces the filters of all variables
without -F.

IN may be a folder, the prefix s3://BUCKET/PREFIX/ of a store, or a volume. Then all archives in it are copied
to the same places below OUT, a folder or prefix. OUT may be s3://BUCKET/KEY, too.

Of a folder that archive --whole has made, and of volumes of such, other files, links and the tree file are copied, too.

With --files-from LIST, OUT is a folder. Archives are copied to archives and classic files to
classic files, unless --to says otherwise. An OUT that exists is an error of that file, and the
run goes on.

` + cli.SelectHelp + `

` + chains.Help,
		Example: cli.Examples(
			"cdfz copy -F 'air,2|32015,19' tas.nc.cdfz better.nc.cdfz   # other filters for air",
			"cdfz copy -F none tas.nc.cdfz plain.nc.cdfz                # no filters at all",
			"cdfz copy --zarr always --preset portable tas.nc.cdfz public.nc.cdfz",
			"cdfz copy -d 6 -s tas.nc tas.nc.cdfz",
			"cdfz copy tas.nc.cdfz tas.nc                               # as cdfz restore",
			"cdfz copy --preset max archives/ smaller/                  # a tree of archives",
			"cdfz copy --shard 3/40 --preset max archives/ smaller/      # a part of it, for a cluster",
			"cdfz copy --files-from list.txt --preset max archives/ smaller/"),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case run.Select.From == "":
				if err := cli.ExactArgs(2, "IN and OUT")(cmd, args); err != nil {
					return err
				}
			case len(args) == 0:
				return errors.New("--files-from: expected OUT, the folder of the copies")
			}
			return run.FilesOrList(cmd, args[:len(args)-1])
		},
		ValidArgsFunction: cli.CompleteFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.check(cmd.Context(), args); err != nil {
				return err
			}
			v.opts.Workers, v.opts.Memory = run.Limits.Coders(), run.Limits.BlockMemory()
			v.parity = cmd.Flags().Changed("parity")
			v.all(cmd.Context(), args[:len(args)-1])
			return nil
		},
	}
	v.specs.AddFlags(cmd)
	chains.WriteFlags(cmd, &v.opts, "filters of all variables without -F (default: those of IN)",
		"target size of a block, as in 64K or 1M (default: that of IN)", "make the archive a Zarr store, too (default: as IN);\nsee cdfz archive")
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.Var(&cli.ShareFlag{S: &v.opts.Parity}, "parity", "add parity of `P%` of the archive; 0: none (default: as IN)")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		cli.Choice(cmd, &v.to, "to", "what to write, whatever the name of OUT", toArchive, toClassic)
	})
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.noCheck, "no-check", false, "do not read the archive back")
		cli.Rare(f, "no-check")
	})
	run.SelectFlags(cmd)
	run.MemoryFlag(cmd)
	run.VerboseFlag(cmd)
	run.ForceFlag(cmd)
	run.StatsFlag(cmd)
	run.JSONFlag(cmd)
	return cmd
}

// check checks the command line.
func (v *copier) check(ctx context.Context, args []string) error {
	if err := v.specs.Parse(); err != nil {
		return err
	}
	v.run.Dest.Name, v.run.Dest.IsArg, v.run.Dest.ToObjects, v.run.In.Whole = args[len(args)-1], true, true, fileio.WholeObject
	if v.run.Dest.Name == "" {
		return errors.New("expected OUT, found an empty name")
	}
	tree := v.run.Select.From == "" && (isTree(args[0]) || v.run.Finder.IsVolume(ctx, fileio.File{Name: args[0]}))
	v.many = v.run.Select.From != "" || tree
	if tree {
		if !v.run.Dest.IsDir() {
			return terminal.Hinted(fmt.Errorf("%s: expected a folder for the copies of %s", terminal.ShowTarget(v.run.Dest.Name), terminal.ShowName(args[0])), "%s/ is one", v.run.Dest.Name)
		}
		if inside(v.run.Dest.Name, args[0]) {
			return fmt.Errorf("%s: the folder of the copies lies in %s", terminal.ShowTarget(v.run.Dest.Name), terminal.ShowName(args[0]))
		}
	}
	if err := v.run.Targets.Check(args[:len(args)-1]); err != nil {
		return err
	}
	if !v.many && (v.run.Select.Shard.N > 0 || len(v.run.Select.Rules) > 0) {
		return fmt.Errorf("expected a folder, a prefix or a list for --shard, --include and --exclude, found %s", terminal.ShowName(args[0]))
	}
	if v.many {
		return nil // each file is checked
	}
	return v.checkKind(v.kindOf(args[0]))
}

// kindOf returns what a copy of a file is to be.
func (v *copier) kindOf(name string) copyKind {
	if v.to != "" {
		return v.to
	}
	if strings.HasSuffix(v.run.Dest.Name, fileio.Suffix) || v.run.Dest.IsStdout() || v.run.Dest.IsDir() && strings.HasSuffix(name, fileio.Suffix) {
		return toArchive
	}
	return toClassic
}

// checkKind checks the options for what is to be written.
func (v *copier) checkKind(to copyKind) error {
	if to == toClassic && (v.specs.Given() || v.opts.Block != 0 || v.opts.Preset != "" || v.opts.Zarr != "" || v.opts.Parity != 0) {
		return terminal.Hinted(errors.New("a classic file has no filters, no blocks and no parity"), "--to archive, or an OUT that ends in %s, makes an archive", fileio.Suffix)
	}
	return nil
}

// isTree reports whether IN is a folder or the prefix of a store.
func isTree(in string) bool {
	st, err := os.Stat(in)
	return s3.IsPrefix(in) || err == nil && st.IsDir()
}

// inside reports whether the copies of a tree would become part of it.
func inside(out, in string) bool {
	if s3.IsURL(out) || s3.IsURL(in) {
		return strings.HasPrefix(out, in)
	}
	// OUT may not be there yet, but a folder above it is.
	for at, err := filepath.Abs(out); err == nil; at = filepath.Dir(at) {
		if a, e := os.Stat(at); e == nil {
			if b, e := os.Stat(in); e == nil && os.SameFile(a, b) {
				return true
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// all copies IN, or the archives of a folder, or the files of a list.
func (v *copier) all(ctx context.Context, args []string) {
	if !v.many {
		name := args[0]
		if err := v.one(ctx, v.run.Job(fileio.File{Name: name, Rel: fileio.BaseName(name)})); err != nil {
			v.run.Term.FailFile(terminal.ShowName(name), err)
		}
		return
	}
	v.run.Finder.Current = true
	t, err := v.findTree(ctx, args)
	if err == nil && t != nil {
		err = t.write(ctx, v)
	}
	if err != nil {
		v.run.Term.FailFile(terminal.ShowName(args[0]), err)
		return
	}
	pred := fileio.Archives
	if t != nil {
		pred = t.selects
	}
	some := false // files or failures
	failed := func(name string, err error) {
		some = true
		v.run.Term.FailFile(name, err)
	}
	files := v.run.Find(ctx, args, pred, failed)
	defer func() { files.Close() }()
	if v.run.Select.Balance {
		v.run.Load(ctx, &files, failed)
		if err := v.run.Finder.Divide(&files); err != nil {
			v.run.Term.Usage(err)
			return
		}
	}
	v.run.Each(ctx, files, func(j *cli.Job) (err error) {
		some = true
		e := t.found(j.Name)
		if e != nil && e.Kind == treefile.Plain {
			err = v.copyPlain(ctx, j, e)
		} else {
			err = v.one(ctx, j)
		}
		if e != nil && err == nil {
			t.copied[e.Path] = true
		}
		return err
	}, failed)
	if t == nil {
		if !some && v.run.Select.Shard.N == 0 && !v.run.Term.Stopped(ctx) {
			v.run.NoArchives(args)
		}
		return
	}
	if err := t.complete(ctx, v); err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
	}
	if ctx.Err() == nil {
		t.missing(v)
		t.rest(ctx, v, args[0])
	}
}

// one copies a file.
func (v *copier) one(ctx context.Context, j *cli.Job) error {
	to := v.kindOf(j.Name)
	if err := v.checkKind(to); err != nil {
		return err
	}
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	o := j.Limits.OpenOptions()
	// Blocks that change shape need several blocks of the input, for each record variable.
	if j.Limits.Memory == 0 {
		o.Cache = archive.DefaultMemory
	}
	f, err := archive.New(ctx, in.R, in.Size, o)
	if err != nil {
		return fileio.ExplainNotNetCDF(in, err)
	}
	path, err := v.run.Targets.PathOf(j.File, func(s string) (string, error) { return s, nil })
	if err != nil {
		return err
	}
	v.run.Term.StartProgress("copy", f.Image().Size())
	defer v.run.Term.StopProgress()
	rep := &copyReport{File: terminal.ReportName(j.Name), Target: path, To: to, Size: in.Size}
	start := time.Now()
	if to == toClassic {
		err = v.restore(ctx, j, in, f, rep)
	} else {
		err = v.rewrite(ctx, j, in, f, rep)
	}
	if err != nil {
		return fileio.ExplainDamage(err, in, f, "cdfz verify lists all damage")
	}
	rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	v.run.Term.StopProgress()
	v.report(j, in, rep)
	return nil
}

func (v *copier) report(j *cli.Job, in *fileio.Input, rep *copyReport) {
	for _, text := range rep.Warnings {
		j.Term.Message("warning: %s: %s", in.Name, text)
	}
	rep.Loss.Warn(j.Term, rep.Target)
	switch {
	case v.run.Dest.IsStdout():
	case j.Term.JSON:
		j.Term.Emit(rep)
	case rep.To == toPlain:
		j.Term.Report("%s: %s, as it is", rep.Target, display.Size(rep.Written))
	case rep.To == toClassic:
		j.Term.Report("%s: %s", rep.Target, display.Size(rep.Written))
	default:
		text := ""
		if rep.Parity > 0 {
			text = ", " + display.Size(rep.Parity) + " of parity"
		}
		j.Term.Report("%s: %s -> %s, %d of %s copied as stored%s", rep.Target, display.Size(rep.Size), display.Size(rep.Written), rep.Copied, display.Count(rep.Blocks, "block"), text)
	}
}

// restore writes the classic file.
func (v *copier) restore(ctx context.Context, j *cli.Job, in *fileio.Input, f *archive.File, rep *copyReport) error {
	rep.Written, rep.Loss = f.Image().Size(), report.LossOf(f)
	o := &archive.CopyOptions{Workers: v.opts.Workers, Memory: v.opts.Memory, Progress: j.Term.Step(in.Name, rep.Written, 0, 1)}
	if v.run.Dest.IsStdout() {
		if err := f.Image().Copy(ctx, j.Term.Out, o); err != nil {
			return err
		}
		return in.Changed()
	}
	t := j.Target(rep.Target, in)
	t.Size, t.Sparse, t.Proved = rep.Written, atomicfile.SparseAuto, true
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	if err := f.Image().Copy(ctx, dst, o); err != nil {
		return err
	}
	if err := in.Changed(); err != nil { // nothing else notices that of a classic file
		return err
	}
	return dst.Commit(ctx)
}

// rewrite writes an archive.
func (v *copier) rewrite(ctx context.Context, j *cli.Job, in *fileio.Input, f *archive.File, rep *copyReport) error {
	opts := v.opts
	info, isArchive := f.Info()
	opts.Name = info.ImageName
	if !isArchive && rep.File != terminal.StdinName {
		opts.Name = fileio.BaseName(rep.File)
	}
	var err error
	if opts.Filters, err = v.specs.ForFile(f.Header(), isArchive); err != nil {
		return err
	}
	opts.Lossy = v.specs.Lossy()
	rep.Warnings = v.specs.Warnings()
	if !v.parity {
		p, err := report.DescribeParity(ctx, in, f)
		if err != nil {
			return err
		}
		if p != nil {
			opts.Parity = p.Share()
		}
		if p != nil && opts.Parity == 0 {
			rep.Warnings = append(rep.Warnings, "its parity is lost, and the copy has none: --parity adds it")
		}
	}
	passes := 2
	if v.noCheck || v.run.Dest.IsStdout() {
		passes = 1
	}
	size := f.Image().Size()
	opts.Progress = j.Term.Step(in.Name, size, 0, passes)
	var res *archive.Result
	if v.run.Dest.IsStdout() {
		w := bufio.NewWriterSize(j.Term.Out, 1<<18)
		if res, err = archive.Rewrite(ctx, w, f, &opts); err == nil {
			err = w.Flush()
		}
		if err == nil {
			err = in.Changed()
		}
	} else {
		opts.NoCheck, opts.CheckProgress = v.noCheck, j.Term.Step(in.Name, size, 1, passes)
		res, err = v.toTarget(ctx, j, in, f, &opts, rep)
	}
	if err != nil {
		return report.ExplainLoss(err)
	}
	rep.Written, rep.Blocks, rep.Copied = res.Size, res.Blocks, res.Copied
	rep.Parity = res.Parity
	return nil
}

// toTarget writes an archive to the target in the report.
func (v *copier) toTarget(ctx context.Context, j *cli.Job, in *fileio.Input, f *archive.File, opts *archive.WriteOptions, rep *copyReport) (*archive.Result, error) {
	t := j.Target(rep.Target, in)
	t.Proved = !opts.NoCheck
	dst, err := t.Sink(ctx)
	if err != nil {
		return nil, err
	}
	defer dst.Abort()
	res, made, err := archive.RewriteTarget(ctx, dst.File(), f, opts)
	if err != nil {
		return nil, err
	}
	rep.Warnings = append(rep.Warnings, chains.WithoutEffect(made, opts.Filters)...)
	rep.Loss = report.LossOf(made)
	if err := in.Changed(); err != nil {
		return nil, err
	}
	return res, dst.Commit(ctx)
}
