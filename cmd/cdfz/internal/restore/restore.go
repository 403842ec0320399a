// Package restore is the verb restore: netCDF files from archives, or with --salvage from damaged ones.
package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// restorer runs the verb restore.
type restorer struct {
	run      *cli.Run
	salvages bool // damaged archives
	folders  bool // a FILE is a folder, and an earlier run may have restored some of its files
	sha256   bool // is always compared
	dry      bool // --dry-run
	sparse   atomicfile.Sparse
	sum      restoreSum
	tree     *tree // of the FILE, nil for none
}

// restoreReport is the JSON of one restored file.
type restoreReport struct {
	File        string  `json:"file"`
	Target      string  `json:"target"`
	Kind        string  `json:"kind,omitempty"` // plain for a file that was kept as it is
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	SHA256      string  `json:"sha256,omitempty"` // unknown for joined files
	Seconds     float64 `json:"seconds"`
	// Loss lists values that were rounded before they were archived.
	Loss *report.Loss `json:"loss,omitempty"`
}

// restoreSum is the JSON of the last line.
type restoreSum struct {
	Files       int64   `json:"files"`
	Plain       int64   `json:"other_files,omitempty"` // that were kept as they are
	PlainSize   int64   `json:"other_size,omitempty"`
	Failed      int64   `json:"failed"`
	Unchanged   int64   `json:"unchanged"` // already restored
	Skipped     int64   `json:"skipped"`
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	Seconds     float64 `json:"seconds"`
}

// add adds the sums of a part of the files.
func (s *restoreSum) add(t *restoreSum) {
	s.Files += t.Files
	s.Plain += t.Plain
	s.PlainSize += t.PlainSize
	s.Unchanged += t.Unchanged
	s.Size += t.Size
	s.ArchiveSize += t.ArchiveSize
}

func Command(run *cli.Run) *cobra.Command {
	v := &restorer{run: run, sparse: atomicfile.SparseAuto}
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE…",
		Short: "Restore netCDF files: x.nc.cdfz becomes x.nc next to it",
		Long: `Restores the netCDF file of each archive, bit for bit, and checks it before
it appears. FILE may be a folder, a URL, or - for standard input.

Files shorter than 8 MiB are checked by their SHA-256, others by a sum of 128 bits that all
cores compute. --sha256 checks the SHA-256 of all, on one core. With -o - the data is
written before the check: it is right only if the exit code is 0. If values were rounded
before they were archived (--lossy), a warning says that the file differs from the source.
The file gets the permissions and the modification time of the archive, and its owner if
root runs cdfz.

Zeros become holes, as with cp and rsync --sparse, from the 4 KiB that file systems give out at
once: the file takes no more room on disk than any file of its bytes. --sparse never writes
all of them, so that later writes in place cannot run out of room.

--salvage restores the intact parts of a damaged archive, lists lost values by variable
and index range, and writes fill values in their place. The exit code is then 3. If the
index is lost and a block has two intact versions that differ, the first is restored,
the block is listed, and the exit code is 3, too. --salvage does not use parity: cdfz repair
heals an archive that has some.

A FILE that ends in .ncml, which cdfz join makes, is restored as one file of all its
members: tas.ncml becomes tas.nc, as ncrcat or ncecat would make it.

FILE may be a folder: archives below it, named *.cdfz, are restored, and other files
are skipped, as are targets that exist and have the SHA-256 of the archive's netCDF file,
so that a run can be repeated. If archive --whole has made the folder, it is the only FILE, and all of the tree comes back:
other files, links and folders, modes, times, owners and attributes. It may also be an http, https, s3 or gs URL, or - for
standard input. Volumes, which cdfz pack makes, are folders, too. Of several in one folder, the last that has a
file is taken, and its name is no part of the path below -o. --as-of TIME leaves out volumes that were packed later.

` + cli.PrefixHelp + ` An object fails
whose key is not the path of a file, such as a/../b.

` + cli.SelectHelp + `

` + cli.LogHelp + `

--dry-run writes nothing. It lists what would be restored, with targets and sizes, and fails for targets that
cannot be made and for too little room.

With -o s3://BUCKET/KEY or -o s3://BUCKET/PREFIX/, the files become objects of a store. Each
is first restored and checked in a temporary file.`,
		Example: cli.Examples(
			"cdfz restore tas.nc.cdfz              # makes tas.nc",
			"cdfz restore -o back/ archives/       # a whole tree",
			"cdfz restore -o - tas.nc.cdfz | md5sum",
			"cdfz restore -o s3://bucket/tas.nc tas.nc.cdfz   # credentials as for Amazon's tools",
			"cdfz restore -o back/ s3://bucket/run7/          # a whole tree from a store",
			"cdfz restore --salvage -o rescued.nc damaged.nc.cdfz"),
		Args:              run.FilesOrList,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.salvages && s3.IsURL(run.Dest.Name) {
				return terminal.Hinted(errors.New("-o: --salvage does not write to object stores"), "-o OUT writes to a file")
			}
			run.Dest.ToObjects = true
			run.In.Whole = fileio.WholeObject
			run.Targets.OfMembers = true
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			if v.salvages && run.Dest.IsStdout() {
				return terminal.Hinted(errors.New("-o -: --salvage does not write in order"), "-o OUT writes to a file")
			}
			switch {
			case v.dry && (run.Dest.IsStdout() || v.salvages):
				return errors.New("--dry-run: contradicts -o - and --salvage")
			case v.dry && run.LogName() != "":
				return errors.New("--dry-run: writes nothing, and no --log")
			}
			if err := run.OpenLog(cmd.Context(), "restore"); err != nil {
				run.Term.FailFile(run.LogName(), err)
				return nil
			}
			v.do(cmd.Context(), args)
			return nil
		},
	}
	run.MemoryFlag(cmd)
	cli.Flags(cmd, "What to restore", func(f *pflag.FlagSet) {
		f.BoolVar(&v.salvages, "salvage", false, "restore the intact parts of a damaged archive")
		f.BoolVar(&v.dry, "dry-run", false, "write nothing; report what would be restored,\nand whether there is room for it")
		f.Var(&cli.TimeFlag{T: &run.Finder.AsOf, End: true}, "as-of", "from volumes, restore what they had at `TIME`: later ones are left out")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		cli.Choice(cmd, &v.sparse, "sparse", "leave holes where a file is zero", atomicfile.SparseAuto, atomicfile.SparseAlways, atomicfile.SparseNever)
	})
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.sha256, "sha256", false, "check the SHA-256 of each netCDF file, too")
	})
	run.SelectFlags(cmd)
	run.LogFlag(cmd)
	run.NoWaitFlag(cmd, cli.NoWaitText)
	run.DestFlag(cmd, "write to `OUT`: a name, a folder, the URL of an object, or -;\n- is standard output")
	run.ForceFlag(cmd)
	run.StatsFlag(cmd)
	run.RequestsFlag(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

func (v *restorer) do(ctx context.Context, args []string) {
	start := time.Now()
	failed := func(name string, err error) {
		if !terminal.Interrupted(err) {
			v.sum.Failed++
		}
		v.run.Term.FailFile(name, err)
	}
	v.run.Finder.Current = true
	pred := fileio.Archives
	for _, arg := range args {
		if err := v.findTree(ctx, arg); err != nil {
			v.sum.Failed++
			v.run.FailLogged(terminal.ShowName(fileio.TreePath(arg)), err)
		}
		if v.tree != nil && len(args) > 1 { // of several, only archives would come back
			v.run.Term.Usage(terminal.Hinted(fmt.Errorf("%s: a whole tree is restored as the only FILE, found %d", terminal.ShowName(arg), len(args)),
				"a run for each, or one for the folder that has them all, brings back all that is in them"))
			return
		}
	}
	if v.tree != nil {
		pred = v.tree.selects
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
	v.folders = files.Folders
	if v.dry {
		v.dryRun(ctx, args, &files, failed)
		return
	}
	v.run.Term.StartProgress("restore", files.Sizes()...)
	work := cli.Work{Failed: failed, Fixed: 24 << 20, PerByte: 8, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		one := v.one
		switch {
		case fileio.IsDataset(j.Name) && v.salvages:
			return nil, errors.New("--salvage is for archives, found a description of joined files")
		case fileio.IsDataset(j.Name):
			one = v.dataset
		case v.salvages:
			one = v.salvage
		}
		if v.tree.isPlain(j) {
			one = v.plain
		}
		sum := new(restoreSum)
		err := one(ctx, j, sum)
		return func() { v.sum.add(sum) }, err
	}}
	v.run.Parallel(ctx, files, work)
	if v.tree != nil && ctx.Err() == nil {
		v.restTree(ctx, work, failed)
	}
	s := &v.sum
	s.Skipped = files.Skipped()
	s.Seconds = display.Round(time.Since(start).Seconds(), 3)
	switch {
	case s.Files+s.Plain+s.Unchanged == 0 && v.nothing(ctx):
		v.run.NoArchives(args)
	case v.run.Dest.IsStdout():
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			Summary restoreSum `json:"summary"`
		}{*s})
	case len(args) > 1 || files.Folders:
		line := display.Count(s.Files, "file")
		if s.Files > 0 {
			line += fmt.Sprintf(": %s -> %s, %s", display.Size(s.ArchiveSize), display.Size(s.Size), display.Speed(s.Size, s.Seconds))
		}
		if s.Plain > 0 {
			line += fmt.Sprintf("; %s as they were, %s", display.Count(s.Plain, "other file"), display.Size(s.PlainSize))
		}
		if s.Unchanged > 0 {
			line += fmt.Sprintf("; %d restored before", s.Unchanged)
		}
		v.run.Term.Report("%s%s", line, files.SummaryTail(ctx, s.Failed))
	}
}

// nothing reports whether a run that has restored no file has found none, which is an error: the FILE may be misspelt, or
// its disk not mounted. Of a whole tree, folders and links come back, and a shard can be empty. So can a list that another
// command makes.
func (v *restorer) nothing(ctx context.Context) bool {
	return v.sum.Failed == 0 && v.tree == nil && v.run.Select.From == "" && v.run.Select.Shard.N == 0 && !v.run.Term.Stopped(ctx)
}

// one restores one file, and counts it.
func (v *restorer) one(ctx context.Context, j *cli.Job, sum *restoreSum) error {
	e := v.tree.place(j) // it was found, also if it cannot be opened
	in, f, err := v.run.In.OpenArchive(ctx, j.File, j.Limits.OpenOptions())
	if err != nil {
		return err
	}
	defer in.Close()
	t := j.Target("", in)
	if t.Path, err = v.run.Targets.PathOf(j.File, fileio.StripSuffix); err != nil {
		return err
	}
	info, _ := f.Info()
	v.tree.describe(e, &info, j, t)
	t.Size, t.Sparse, t.Proved = info.ImageSize, v.sparse, true
	j.Entry.Target, j.Entry.Size, j.Entry.ArchiveSize = t.Path, info.ImageSize, in.Size
	j.Entry.Ratio, j.Entry.SHA256 = display.Ratio(info.ImageSize, in.Size), info.SHA256
	if t.Decision, err = v.decide(ctx, t.Path, &info); err != nil {
		return err
	}
	if t.Decision.Action == protect.Done {
		v.tree.again(e, t)
		v.passOver(j, t.Path, sum)
		return nil
	}
	start := time.Now()
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	o := &archive.CopyOptions{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: j.Term.Step(in.Name, info.ImageSize, 0, 1), SHA256: v.sha256}
	if err = f.Image().Copy(ctx, dst, o); err == nil {
		err = dst.Commit(ctx)
	}
	if err != nil {
		return fileio.ExplainDamage(err, in, f, "cdfz verify lists all damage, cdfz restore --salvage restores the rest")
	}
	rep := restoreReport{File: terminal.ReportName(j.Name), Target: t.Path, Size: info.ImageSize, ArchiveSize: in.Size, SHA256: info.SHA256,
		Seconds: display.Round(time.Since(start).Seconds(), 6), Loss: report.LossOf(f)}
	rep.Loss.Warn(j.Term, in.Name)
	v.restored(j, &rep, sum)
	return nil
}

// restored counts and reports a restored file.
func (v *restorer) restored(j *cli.Job, rep *restoreReport, sum *restoreSum) {
	if rep.Kind != "" {
		sum.Plain++
		sum.PlainSize += rep.Size
	} else {
		sum.Files++
		sum.Size += rep.Size
		sum.ArchiveSize += rep.ArchiveSize
	}
	switch {
	case v.run.Dest.IsStdout():
	case j.Term.JSON:
		j.Term.Emit(rep)
	default:
		j.Term.Report("%s: %s, %s", rep.Target, display.Size(rep.Size), display.Speed(rep.Size, rep.Seconds))
	}
}

// decide returns what becomes of a target: one below a folder that has the content that would be restored is done.
// Making the target finds any obstacle. An object is made only at the end, so that its target is looked at before.
func (v *restorer) decide(ctx context.Context, path string, info *archive.Info) (protect.Decision, error) {
	d := v.run.Rules.Decide()
	object := s3.IsURL(path)
	switch {
	case d.Action == protect.Replace || v.run.Dest.IsStdout():
		return d, nil
	case object && v.run.Targets.Taken(path), !object && !v.folders:
		return d, nil
	}
	var t *fileio.Input
	var err error
	if object {
		t, err = v.run.In.OpenObject(ctx, path)
	} else {
		t, err = fileio.OpenRegular(path, os.O_RDONLY)
	}
	if t == nil || err != nil {
		return d, ctx.Err()
	}
	defer t.Close()
	if v.folders && t.Size == info.ImageSize {
		sum, err := t.SHA256(ctx, nil)
		if err == nil && sum == info.SHA256 {
			d.Action = protect.Done
			return d, ctx.Err()
		}
	}
	if object && ctx.Err() == nil {
		return d, v.run.Targets.Hinted(fmt.Errorf("%s: %w", terminal.ShowName(path), atomicfile.ErrExists), path)
	}
	return d, ctx.Err()
}

// passOver counts and reports a file that was restored before.
func (v *restorer) passOver(j *cli.Job, path string, sum *restoreSum) {
	if !s3.IsURL(path) {
		atomicfile.RemoveStale(filepath.Dir(path))
	}
	sum.Unchanged++
	j.Entry.Outcome = runlog.Unchanged
	j.Term.PassOver()
	switch reason := "restored before to " + path; {
	case j.Term.JSON:
		j.Term.Emit(fileio.Skipped{File: terminal.ReportName(j.Name), Reason: reason})
	case j.Term.Verbose:
		j.Term.Report("%s: %s", terminal.ShowName(j.Name), reason)
	}
}
