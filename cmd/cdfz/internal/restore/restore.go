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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// restorer runs the verb restore.
type restorer struct {
	*cli.Run
	salvages bool // damaged archives
	folders  bool // a FILE is a folder, and an earlier run may have restored some of its files
	sha256   bool // is always compared
	sum      restoreSum
}

// restoreReport is the JSON of one restored file.
type restoreReport struct {
	File        string  `json:"file"`
	Target      string  `json:"target"`
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
	s.Unchanged += t.Unchanged
	s.Size += t.Size
	s.ArchiveSize += t.ArchiveSize
}

func Command(a *cli.Run) *cobra.Command {
	v := &restorer{Run: a}
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

--salvage restores the intact parts of a damaged archive, lists lost values by variable
and index range, and writes fill values in their place. The exit code is then 3. If the
index is lost and a block has two intact versions that differ, the first is restored,
the block is listed, and the exit code is 3, too. --salvage does not use parity: cdfz repair
heals an archive that has some.

A FILE that ends in .ncml, which cdfz join makes, is restored as one file of all its
members: tas.ncml becomes tas.nc, as ncrcat or ncecat would make it.

FILE may be a folder: archives below it, named *.cdfz, are restored, and other files
are skipped, as are targets that exist and have the SHA-256 of the archive's netCDF file,
so that a run can be repeated. It may also be an http, https, s3 or gs URL, or - for
standard input.

` + cli.PrefixHelp + ` An object fails
whose key is not the path of a file, such as a/../b.

` + cli.SelectHelp + `

` + cli.LogHelp + `

With -o s3://BUCKET/KEY or -o s3://BUCKET/PREFIX/, the files become objects of a store. Each
is first restored and checked in a temporary file.`,
		Example: cli.Examples(
			"cdfz restore tas.nc.cdfz              # makes tas.nc",
			"cdfz restore -o back/ archives/       # a whole tree",
			"cdfz restore -o - tas.nc.cdfz | md5sum",
			"cdfz restore -o s3://bucket/tas.nc tas.nc.cdfz   # credentials as for Amazon's tools",
			"cdfz restore -o back/ s3://bucket/run7/          # a whole tree from a store",
			"cdfz restore --salvage -o rescued.nc damaged.nc.cdfz"),
		Args:              a.FilesOrList,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.salvages && s3.IsURL(a.Dest) {
				return terminal.Hinted(errors.New("-o: --salvage does not write to object stores"), "-o OUT writes to a file")
			}
			a.ToObjects = true
			a.Whole = fileio.WholeObject
			if err := a.CheckDest(args); err != nil {
				return err
			}
			if v.salvages && a.Dest == terminal.StdoutName {
				return terminal.Hinted(errors.New("-o -: --salvage does not write in order"), "-o OUT writes to a file")
			}
			if err := a.OpenLog(cmd.Context(), "restore"); err != nil {
				a.FailFile(a.LogName(), err)
				return nil
			}
			v.run(cmd.Context(), args)
			return nil
		},
	}
	a.MemoryFlag(cmd)
	cli.Flags(cmd, "What to restore", func(f *pflag.FlagSet) {
		f.BoolVar(&v.salvages, "salvage", false, "restore the intact parts of a damaged archive")
	})
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.sha256, "sha256", false, "check the SHA-256 of each netCDF file, too")
	})
	a.SelectFlags(cmd)
	a.LogFlag(cmd)
	a.NoWaitFlag(cmd)
	a.DestFlag(cmd, "write to `OUT`: a name, a folder, the URL of an object, or -;\n- is standard output")
	a.ForceFlag(cmd)
	a.StatsFlag(cmd)
	a.RequestsFlag(cmd)
	a.JSONFlag(cmd)
	a.VerboseFlag(cmd)
	return cmd
}

func (v *restorer) run(ctx context.Context, args []string) {
	start := time.Now()
	failed := func(name string, err error) {
		if !terminal.Interrupted(err) {
			v.sum.Failed++
		}
		v.FailFile(name, err)
	}
	files := v.Find(ctx, args, fileio.Archives, failed)
	defer func() { files.Close() }()
	if v.Select.Balance {
		v.Load(ctx, &files, failed)
		if err := v.Divide(&files); err != nil {
			v.Usage(err)
			return
		}
	}
	v.folders = files.Folders
	v.StartProgress("restore", files.Sizes()...)
	fresh := *v // sums in v change while files are at work
	fresh.sum = restoreSum{}
	v.Parallel(ctx, files, cli.Work{Failed: failed, Fixed: 24 << 20, PerByte: 8, One: func(a *cli.Run, j fileio.File) (func(), error) {
		w := fresh
		w.Run = a
		one := w.one
		switch {
		case fileio.IsDataset(j.Name) && v.salvages:
			return nil, errors.New("--salvage is for archives, found a description of joined files")
		case fileio.IsDataset(j.Name):
			one = w.dataset
		case v.salvages:
			one = w.salvage
		}
		err := one(ctx, j)
		return func() { v.sum.add(&w.sum) }, err
	}})
	s := &v.sum
	s.Skipped = files.Skipped()
	s.Seconds = display.Round(time.Since(start).Seconds(), 3)
	switch {
	case v.Dest == terminal.StdoutName:
	case v.JSON:
		v.Emit(struct {
			Summary restoreSum `json:"summary"`
		}{*s})
	case len(args) > 1 || files.Folders:
		line := display.Count(s.Files, "file")
		if s.Files > 0 {
			line += fmt.Sprintf(": %s -> %s, %s", display.Size(s.ArchiveSize), display.Size(s.Size), display.Speed(s.Size, s.Seconds))
		}
		if s.Unchanged > 0 {
			line += fmt.Sprintf("; %d restored before", s.Unchanged)
		}
		v.Report("%s%s", line, files.SummaryTail(ctx, s.Failed))
	}
}

// one restores one file.
func (v *restorer) one(ctx context.Context, j fileio.File) error {
	in, f, err := v.OpenArchive(ctx, j)
	if err != nil {
		return err
	}
	defer in.Close()
	path, err := v.TargetPath(j, fileio.StripSuffix)
	if err != nil {
		return err
	}
	info, _ := f.Info()
	v.Entry.Target, v.Entry.Size, v.Entry.ArchiveSize = path, info.ImageSize, in.Size
	v.Entry.Ratio, v.Entry.SHA256 = display.Ratio(info.ImageSize, in.Size), info.SHA256
	if done, err := v.isDone(ctx, j, path, &info); done || err != nil {
		return err
	}
	start := time.Now()
	o := &archive.CopyOptions{Workers: v.Workers, Memory: v.BlockMemory(), Progress: v.Step(in.Name, info.ImageSize, 0, 1), SHA256: v.sha256}
	if v.Dest == terminal.StdoutName {
		err = f.Image().Copy(ctx, v.Out, o)
	} else {
		err = v.WriteTo(ctx, path, in, info.ImageSize, true, func(t fileio.Target) error { return f.Image().Copy(ctx, t, o) })
	}
	if err != nil {
		return fileio.ExplainDamage(err, f, "cdfz verify lists all damage, cdfz restore --salvage restores the rest")
	}
	rep := restoreReport{File: terminal.ReportName(j.Name), Target: path, Size: info.ImageSize, ArchiveSize: in.Size, SHA256: info.SHA256,
		Seconds: display.Round(time.Since(start).Seconds(), 6), Loss: report.LossOf(f)}
	rep.Loss.Warn(&v.Terminal, in.Name)
	v.restored(&rep)
	return nil
}

// restored counts and reports a restored file.
func (v *restorer) restored(rep *restoreReport) {
	v.sum.Files++
	v.sum.Size += rep.Size
	v.sum.ArchiveSize += rep.ArchiveSize
	switch {
	case v.Dest == terminal.StdoutName:
	case v.JSON:
		v.Emit(rep)
	default:
		v.Report("%s: %s, %s", rep.Target, display.Size(rep.Size), display.Speed(rep.Size, rep.Seconds))
	}
}

// isDone reports whether a target below a folder exists and has the content that would be
// restored, and reports such a file. Making the target finds any other obstacle.
func (v *restorer) isDone(ctx context.Context, j fileio.File, path string, info *archive.Info) (bool, error) {
	if !v.folders || v.Force || v.Dest == terminal.StdoutName || s3.IsURL(path) {
		return false, nil
	}
	t, err := fileio.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return false, nil
	}
	defer t.Close()
	if t.Size != info.ImageSize {
		return false, nil
	}
	sum, err := t.SHA256(ctx, nil)
	if err != nil || sum != info.SHA256 {
		return false, ctx.Err()
	}
	atomicfile.RemoveStale(filepath.Dir(path))
	v.sum.Unchanged++
	v.Entry.Outcome = runlog.Unchanged
	v.PassOver()
	switch reason := "restored before to " + path; {
	case v.JSON:
		v.Emit(fileio.Skipped{File: terminal.ReportName(j.Name), Reason: reason})
	case v.Verbose:
		v.Report("%s: %s", terminal.ShowName(j.Name), reason)
	}
	return true, nil
}
