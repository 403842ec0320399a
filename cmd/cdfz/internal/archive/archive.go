// Package archive is the verb archive: archives of classic netCDF files.
//
//	archive.go   options, and the work on one file
//	report.go    what is reported of each file and of all
//	targets.go   checks before anything is written
//	existing.go  archives that exist
//	others.go    other runs over the same files
//	changed.go   --replace-changed and --remove-replaced
//	copies.go    --copies and --copy-at
//	pack.go      --pack: archives go into volumes
//	whole.go     --whole: the tree, and what is known of it
//	plain.go     --whole: files that are kept as they are, and further names
//	receipts.go  --receipts and --delete-source
//	dry.go       --dry-run
//	dry_fate.go  the sources and the space of --dry-run
package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// archiver runs the verb archive.
type archiver struct {
	run      *cli.Run
	opts     archive.WriteOptions
	specs    chains.Specs
	existing existingMode
	noCheck  bool
	unpacks  bool // compressed files
	dry      bool // --dry-run
	changes  changes
	proof    proof
	whole    whole
	packs    packs
	others   others
	files    fileio.List
	sum      archiveSum
}

// work is the work on one file.
type work struct {
	*cli.Job
	in  *fileio.Input
	rep *archiveReport
	sum archiveSum // of this file
}

func Command(run *cli.Run) *cobra.Command {
	v := &archiver{run: run, opts: archive.WriteOptions{Preset: archive.PresetDefault, Zarr: archive.ZarrAuto}, existing: existingMtime}
	cmd := &cobra.Command{
		Use:   "archive [flags] FILE…",
		Short: "Make archives: x.nc becomes x.nc.cdfz next to it",
		Long: `Makes an archive of each classic netCDF file. FILE may be a folder: files of other kinds
below it are skipped (-v lists them). It may also be an http or https URL, or - for standard input.

Each archive is read back and compared with its source before it appears. Sources
are never changed, and only deleted on request. Archives keep the permissions and the
modification time of their source, and its owner if root runs cdfz. Symbolic links are
not followed below a FILE that is a folder and below -o DIR/.

A file is skipped if its archive already exists and records the same size and the same
modification time or SHA-256. The checksums of the archive's structures, and of an archive
of up to 1 MiB all checksums, are compared, but nothing is decoded. --skip-existing=hash
always compares the SHA-256, and decodes the archive to verify it. With
--skip-existing=never, an existing archive is an error, and so is a damaged one in any case.

Nothing is archived if two files have the same target, unless they hold the same netCDF
file. Several runs may work on the same files at the same time: each passes over what
another one archives.

-f makes an existing archive of the same file again, for example with other options. An
archive of another file may be its only copy, and so may a netCDF file: -f replaces them only
with --replace-other. No option replaces or deletes an archive that a receipt vouches for, and
whose source is gone or has changed. A receipt vouches for all archives of a file, wherever they
are. The receipts are those of --receipts FILE, and of --receipts-also FILE, which is only read:
a file or a folder of them, such as those of other shards.

--receipts FILE reads each archive a second time, by its local headers and without its
index, and restores the file. Then it adds a line of JSON to FILE with names, sizes,
SHA-256 and time. The lines are a chain: each has the SHA-256 of the line before. Nothing
is added to a FILE that is empty, cut off or changed. cdfz receipts checks FILE and the
archives later.

--delete-source then deletes the source, if the second reading confirmed its SHA-256, and
the archive, its name and its receipt are on disk. A source is kept if it has changed, is a symbolic
link, or is open for writing in another program (where the system can detect this), or if
archive or receipts are on a file system that may lose what is flushed (in memory, FUSE, a
volatile overlay; --durable-mount names others). A stopped run can be repeated.

With --copies 2 --copy-at PLACE, a source is deleted only if PLACE, a folder or URL, has a copy of
its archive, too, at the same path below it, on another file system or in a store, and that restores
the source without its index. File systems count once if it is unknown whether they are independent. Other programs, such as rsync, make the copy.

With -o s3://BUCKET/KEY or -o s3://BUCKET/PREFIX/, archives become objects of a store. Each
is made and compared in a temporary file, and then uploaded.

` + cli.PrefixHelp + ` The first bytes of
each object are read, to find out whether it is a classic netCDF file.

--replace-changed archives a source again if it is newer than its archive and has other bytes. The
old archive may be the only copy of the older state, so it is kept under a name with the time of
that state, x.nc.20260102T030405Z.cdfz, before the new archive takes its name. --remove-replaced
deletes the old archive once the new one is on disk and has restored the source without its index,
unless a receipt vouches for the old one. Without any receipts, it needs --replace-other.

--whole keeps everything below the FILE, which is one folder: classic files become archives, and all
other files stay as they are, below -o DIR/. Links, empty folders, modes, times, owners, ACLs and extended attributes are kept,
too: what the file system of DIR or a store may not hold is in DIR/.cdfz-tree. cdfz restore brings the tree back.
FIFOs, sockets and devices are left out, and fail. --delete-source deletes links and folders, too.

--pack SIZE puts the archives into volumes: tar files with an index, of at most SIZE bytes each, as cdfz pack
does, without a folder of archives in between. vol/0001.tar/a/b.nc.cdfz is then the path of an archive. A file whose archive the
volumes have is passed over. Another state goes into a later volume, and -f archives all files again there. A volume appears
when it is full, or at the end, and is read back before. Then its files get their receipts and their lines in the log, and
--delete-source deletes them, also in a later run. --whole and stores work, too.

--dry-run writes nothing. It lists each file that would be archived with its target, and archives a
few of them in memory, for about 10 s at most, to estimate the size of all archives and the time. It
fails for targets that cannot be made and for too little space, and tells what --delete-source would
delete and keep.

` + cli.SelectHelp + `

` + cli.LogHelp + `

--decompress also archives the classic netCDF files in *.gz, *.bz2, *.xz and *.zst:
x.nc.gz becomes x.nc.cdfz, which restores x.nc.

` + chains.Help,
		Example: cli.Examples(
			"cdfz archive tas.nc                        # makes tas.nc.cdfz",
			"cdfz archive -o archives/ data/            # a tree of archives in another folder",
			"cdfz archive --receipts proof.jsonl --delete-source data/",
			"cdfz archive --whole -o archives/ data/    # everything: cdfz restore -o back/ archives/",
			"cdfz archive --pack 100G -o vol/ data/     # volumes of 100 GB instead of many archives",
			"cdfz archive --exclude /scratch/ --exclude '*.tmp.nc' -o archives/ data/",
			"cdfz archive --preset max --zarr always tas.nc",
			"cdfz archive -o s3://bucket/tas.nc.cdfz tas.nc   # credentials as for Amazon's tools",
			"cdfz archive --parity 5% tas.nc            # heals damage of 2 % of the archive",
			"cdfz archive -F 'air,2|32015,19' tas.nc    # shuffle, then zstd at level 19, for air",
			"cdfz archive -F 'u&v,307,9' -F '*,1,6' tas.nc",
			"cdfz archive --decompress -o archives/ data/   # x.nc.gz too",
			"find data/ -name '*.nc' -print0 | cdfz archive -0 --files-from - -o archives/",
			"cdfz archive --shard $SLURM_ARRAY_TASK_ID/40 -o archives/ data/",
			"cdfz archive - <tas.nc >tas.nc.cdfz"),
		Args: run.FilesOrList,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.specs.Parse(); err != nil {
				return err
			}
			run.Dest.ToObjects = true
			run.In.Whole = fileio.WholeObject
			if v.packs.on() && isVolumeName(run.Dest.Name) {
				return terminal.Hinted(fmt.Errorf("--pack: -o %s: expected a folder for the volumes", terminal.ShowName(run.Dest.Name)), "-o DIR/ names it; its volumes are 0001.tar, 0002.tar, …")
			}
			if v.whole.on || v.packs.on() {
				run.Dest.MustBeDir()
			}
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			switch {
			case v.dry && run.Dest.IsStdout():
				return errors.New("--dry-run: the archive goes to standard output")
			case v.dry && run.LogName() != "":
				return errors.New("--dry-run: writes nothing, and no --log")
			}
			if err := v.packs.check(v); err != nil {
				return err
			}
			if err := v.changes.check(v); err != nil {
				return err
			}
			if err := v.proof.check(v, args); err != nil {
				return err
			}
			if err := v.whole.check(v, args); err != nil {
				return err
			}
			return v.do(cmd.Context(), args)
		},
	}
	cli.Flags(cmd, "What to archive", func(f *pflag.FlagSet) {
		f.BoolVar(&v.whole.on, "whole", false, "keep everything below FILE, not only classic files")
		f.Var(&cli.SizeFlag{N: &v.packs.size, Min: volumes.MinSize, Max: 1 << 60}, "pack", "put archives into volumes, tar files of at most `SIZE` bytes")
		f.Var(&cli.TimeFlag{T: &v.packs.at}, "pack-time", "the time of packing that volumes have (default: now)")
		f.BoolVar(&v.unpacks, "decompress", false, "archive the netCDF files in *.gz, *.bz2, *.xz and *.zst, too")
		cli.Choice(cmd, &v.existing, "skip-existing", "how to see that a file is archived", existingMtime, existingHash, existingNever)
		f.BoolVar(&v.changes.replaces, "replace-changed", false, "archive changed sources again, and keep the old archives")
		f.BoolVar(&v.changes.removes, "remove-replaced", false, "delete the old archives once the new ones are proved;\nneeds --replace-changed; they may be the only copies of the older states")
		f.BoolVar(&v.dry, "dry-run", false, "write nothing; report what would be archived;\nestimate size and time from a sample")
		cli.Rare(f, "pack-time", "remove-replaced")
	})
	v.specs.AddFlags(cmd)
	chains.WriteFlags(cmd, &v.opts, "filters of all variables without -F", "size of blocks, as in 64K (default 256K, with --preset max 1M)",
		"make the archive a Zarr store, too;\nauto: if that costs little; consolidated: at less cost, for readers of consolidated metadata")
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.noCheck, "no-check", false, "do not read the archive back")
		f.Var(&cli.ShareFlag{S: &v.opts.Parity}, "parity", "add parity of `P%` of the archive, from which cdfz repair heals damage")
		f.StringVar(&v.proof.name, "receipts", "", "add a receipt for each archive to `FILE`")
		f.BoolVar(&v.proof.deletes, "delete-source", false, "delete each source after its receipt is on disk (needs --receipts)")
		f.Var(cli.CountFlag(&v.proof.copies.n, 16), "copies", "delete a source only if `N` archives of it are proved (needs --copy-at),\non different file systems or stores")
		f.StringArrayVar(&v.proof.copies.places, "copy-at", nil, "a copy of the tree of archives is in `PLACE`, a folder or URL; repeatable")
		cli.Rare(f, "no-check")
	})
	run.DurableMountFlag(cmd)
	run.SelectFlags(cmd)
	run.DestFlag(cmd, "write to `OUT`: a name, a folder, or -;\n- is standard output, which is not read back")
	run.ForceFlag(cmd)
	run.LogFlag(cmd)
	run.NoWaitFlag(cmd)
	run.MemoryFlag(cmd)
	run.StatsFlag(cmd)
	run.RequestsFlag(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

func (v *archiver) do(ctx context.Context, args []string) error {
	start := time.Now()
	v.opts.Memory = v.run.Limits.BlockMemory()
	if err := v.run.OpenLog(ctx, "archive"); err != nil {
		v.run.Term.FailFile(v.run.LogName(), err)
		return nil
	}
	selects := fileio.Classic
	if v.unpacks {
		selects = unpack.Select
	}
	v.run.Finder.TakesBack = v.proof.deletes && !v.dry
	v.run.Finder.NoVolumes = true
	if v.packs.on() {
		if err := v.packs.begin(ctx, v); err != nil {
			v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
			return nil
		}
		defer v.packs.close()
	}
	if v.whole.on {
		var err error
		if v.files, err = v.whole.find(ctx, v, args[0]); err != nil {
			v.run.Term.FailFile(args[0], err)
			return nil
		}
	} else {
		v.files = v.run.Find(ctx, args, selects, v.failed)
	}
	defer func() { v.files.Close() }()
	v.run.Load(ctx, &v.files, v.failed)
	if err := v.run.Finder.Divide(&v.files); err != nil {
		return err
	}
	if err := v.checkTargets(ctx); err != nil {
		return err
	}
	if v.dry {
		v.dryRun(ctx)
		return nil
	}
	if err := v.proof.open(ctx, v); err != nil {
		v.run.Term.FailFile(v.proof.name, err)
		return nil
	}
	defer func() {
		if err := v.proof.close(); err != nil {
			v.run.Term.FailFile(v.proof.name, err)
		}
	}()
	if err := v.run.Rules.Receipts.Load(ctx); err != nil {
		v.run.Term.FailFile("--receipts-also", err)
		return nil
	}
	if err := v.checkEarlier(ctx); err != nil && !v.packs.on() { // a later state goes into a later volume
		return err
	}
	if v.whole.on {
		if err := v.whole.prepare(ctx, v); err != nil {
			v.run.Term.FailFile(terminal.ShowName(fileio.TreePath(v.run.Dest.Name)), err)
			return nil
		}
	}
	if v.packs.on() {
		v.packs.archive(ctx, v)
	} else {
		v.run.Term.StartProgress("archive", v.files.Sizes()...)
		v.run.Parallel(ctx, v.files, v.work())
	}
	if left := v.others.left; len(left) > 0 && v.run.NoWait {
		v.run.Term.SetCode(terminal.ExitBusy)
		if !v.run.Term.Quiet {
			v.run.Term.Message("another program is archiving %s, which this run leaves to it", display.Count(int64(len(left)), "file"))
		}
	} else if len(left) > 0 {
		v.others.waits = true
		rest := fileio.List{Folders: v.files.Folders, Files: left}
		v.run.Term.StartProgress("archive", rest.Sizes()...)
		v.run.Parallel(ctx, rest, v.work())
	}
	if v.whole.on {
		v.whole.finish(ctx, v)
	}
	if n := v.sum.met; n > 0 {
		v.run.Term.Message("%s archived by another program at the same time", display.Count(n, "file"))
	}
	if v.proof.deletes {
		for _, name := range v.files.Dangling() {
			v.run.Term.Message("warning: %s: the source that this symbolic link led to was deleted", terminal.ShowName(name))
		}
	}
	s := &v.sum
	if v.packs.on() {
		s.Volumes, s.VolumeSize = v.packs.out.Sum.Volumes, v.packs.out.Sum.Size
	}
	s.Skipped, s.Kinds = v.files.Skipped(), v.files.Kinds()
	s.Ratio = display.Ratio(s.Size, s.ArchiveSize)
	s.Seconds = display.Round(time.Since(start).Seconds(), 3)
	switch {
	case v.run.Dest.IsStdout():
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			Summary archiveSum `json:"summary"`
		}{*s})
	case s.Files+s.Plain+s.Failed+s.Unchanged > 1 || v.files.Folders:
		line := display.Count(s.Files, "file")
		if s.Files > 0 {
			line += fmt.Sprintf(": %s -> %s, ratio %.2f, %s", display.Size(s.Size), display.Size(s.ArchiveSize), s.Ratio, display.Speed(s.Size, s.Seconds))
		}
		if s.Plain > 0 {
			line += fmt.Sprintf("; %s kept as they are, %s", display.Count(s.Plain, "other file"), display.Size(s.PlainSize))
		}
		if s.Unchanged > 0 {
			line += fmt.Sprintf("; %d archived before", s.Unchanged)
		}
		if v.packs.on() {
			line += fmt.Sprintf("; %s, %s", display.Count(s.Volumes, "new volume"), display.Size(s.VolumeSize))
		}
		if s.Deleted > 0 {
			line += fmt.Sprintf("; %s deleted", display.Count(s.Deleted, "source"))
		}
		v.run.Term.Report("%s%s", line, v.tail(ctx, s.Failed))
	}
	return nil
}

// tail returns the end of the last line: what failed and was skipped, and why.
func (v *archiver) tail(ctx context.Context, failed int64) string {
	text := v.files.SummaryTail(ctx, failed)
	kinds, others := v.files.Kinds().Text()
	if kinds != "" {
		text += " (" + kinds + ")"
	}
	if others && !v.whole.on {
		text += "; --whole keeps such files, too"
	}
	return text
}

func (v *archiver) failed(name string, err error) {
	if !terminal.Interrupted(err) {
		v.sum.Failed++
	}
	if errors.Is(err, syscall.ENAMETOOLONG) {
		err = terminal.Hinted(err, "cdfz archive -o NAME.cdfz FILE gives the archive another name")
	}
	v.run.Term.FailFile(name, err)
}

// work is the work on the files.
func (v *archiver) work() cli.Work {
	return cli.Work{One: v.one, Failed: v.failed, Fixed: 48 << 20, PerByte: 6}
}

// one archives one file, or passes over it. Each stage returns what the next one needs.
func (v *archiver) one(ctx context.Context, j *cli.Job) (end func(), err error) {
	w := &work{Job: j, rep: &archiveReport{File: terminal.ReportName(j.Name)}}
	end = func() { v.sum.add(&w.sum) }
	w.in, err = v.run.In.OpenFile(ctx, j.File)
	if errors.Is(err, fs.ErrNotExist) && v.gone(ctx, w) {
		return end, nil
	}
	if err != nil {
		return end, err
	}
	defer w.in.Close()
	if !v.packs.on() && !v.lock(ctx, w) { // a volume is of one run
		j.Entry.Later = true
		return func() { v.others.left = append(v.others.left, j.File) }, nil
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			// The change is the cause, whatever the error.
			if changed := w.in.Changed(); changed != nil {
				err = changed
			}
		}
	}()
	defer func() {
		if (err == nil || errors.Is(err, protect.ErrKept)) && w.Turn == nil {
			v.whole.record(w)
		}
	}()
	if w.Plain {
		return end, v.plain(ctx, w)
	}
	if err := v.aim(ctx, w); err != nil {
		return end, err
	}
	d, err := v.decide(ctx, w)
	if err != nil {
		return end, err
	}
	if d.Action == protect.Done {
		return end, v.finish(ctx, w, d.found)
	}
	opts, err := v.optionsOf(w)
	if err != nil && v.whole.on && isDamaged(err) {
		w.At = filepath.ToSlash(w.Rel)
		return end, v.plain(ctx, w)
	}
	if err != nil {
		return end, err
	}
	if g := v.packs.again[w.Rel]; g != nil && g.first != w.Rel {
		v.packs.link(ctx, v, w, g)
		return end, nil
	}
	if v.packs.on() {
		return end, v.packs.make(ctx, v, w, opts)
	}
	old, err := v.keepOlder(w, &d)
	if err != nil {
		return end, err
	}
	if err := v.write(ctx, w, opts, d.Decision); err != nil {
		v.changes.undo(w, old)
		return end, report.ExplainLoss(v.met(ctx, w, d, err))
	}
	return end, v.settle(ctx, w, old)
}

// isDamaged reports whether an error is that of the header of a netCDF file.
func isDamaged(err error) bool {
	var format *cdf3.FormatError
	return errors.As(err, &format) || errors.Is(err, cdf3.ErrNotCDF)
}

// aim opens a compressed source and chooses the target.
func (v *archiver) aim(ctx context.Context, w *work) (err error) {
	inner := func(name string) string { return name }
	if v.unpacks {
		if w.rep.Compressed, err = unpack.Open(ctx, w.in); err != nil {
			return err
		}
		if w.rep.Compressed != nil {
			inner = unpack.Name
		}
	}
	w.rep.image = inner(fileio.BaseName(w.Name))
	path, err := v.run.Targets.PathOf(w.File, func(s string) (string, error) { return inner(s) + fileio.Suffix, nil })
	if err != nil {
		return err
	}
	w.rep.below = filepath.ToSlash(inner(w.Rel) + fileio.Suffix)
	if w.At != "" {
		w.rep.below = w.At
	}
	if v.run.Dest.Name != "" && !v.run.Dest.IsDir() {
		w.rep.below = filepath.Base(path)
	}
	w.rep.Target, w.rep.Size = path, w.in.Size
	w.Entry.Target, w.Entry.Size = path, w.in.Size
	return fileio.RefuseArchive(w.in)
}

// optionsOf returns the options for archiving a file, and adds warnings to the report.
func (v *archiver) optionsOf(w *work) (*archive.WriteOptions, error) {
	h, opts, err := v.optionsFor(w.Job, w.in)
	if err != nil {
		return nil, err
	}
	if w.Name != terminal.StdinName {
		opts.Name = w.rep.image
	}
	refused := overlapping(h, w.in.Size)
	if refused == "" {
		refused = misplaced(h)
	}
	for _, text := range []string{truncated(h, w.in.Size), refused} {
		if text != "" {
			w.rep.Warnings = append(w.rep.Warnings, text)
		}
	}
	w.rep.Warnings = append(w.rep.Warnings, v.specs.Warnings()...)
	return &opts, nil
}

// settle does what follows a new archive: it deletes what that has replaced, writes the receipt, and reports. old is the
// archive of an older state, or nil.
func (v *archiver) settle(ctx context.Context, w *work, old *replaced) error {
	for _, text := range w.rep.Warnings {
		w.Term.Message("warning: %s: %s", w.in.Name, text)
	}
	if w.rep.unused && !w.rep.view {
		w.Term.Message("hint: --zarr always makes blocks of more variables")
	}
	var removed error
	if old != nil {
		w.rep.Replaced = old.path
		if v.changes.removes {
			removed = v.changes.remove(ctx, v, w, old)
			if w.rep.Removed = removed == nil; w.rep.Removed {
				w.rep.Replaced = ""
			}
		}
	}
	err := errors.Join(removed, v.proof.settle(ctx, v, w))
	if errors.Is(err, protect.ErrKept) {
		w.Entry.Outcome = runlog.Kept
	}
	if err == nil || removed != nil || errors.Is(err, protect.ErrKept) {
		v.done(w)
	}
	return err
}

// optionsFor returns the header of a netCDF file and the options for archiving it.
func (v *archiver) optionsFor(j *cli.Job, in *fileio.Input) (h *cdf3.Header, opts archive.WriteOptions, err error) {
	opts = v.opts
	opts.Workers = j.Limits.Workers
	if h, err = cdf3.Read(in.R, in.Size); err != nil {
		return nil, opts, err
	}
	opts.Filters, err = v.specs.ForFile(h, false)
	opts.Lossy = v.specs.Lossy()
	return h, opts, err
}

// write archives an input to the target in the report and completes the report.
func (v *archiver) write(ctx context.Context, w *work, opts *archive.WriteOptions, d protect.Decision) error {
	start := time.Now()
	t := w.Target(w.rep.Target, w.in)
	t.Decision, t.Proved = d, !v.noCheck
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	var res *archive.Result
	if file := dst.File(); file == nil {
		opts.Progress, opts.NoCheck = w.Term.Step(w.in.Name, w.in.Size, 0, 1), true
		out := bufio.NewWriterSize(dst, 1<<18)
		if res, err = archive.Write(ctx, out, w.in.R, w.in.Size, opts); err == nil {
			err = out.Flush()
		}
	} else {
		_, err = v.fill(ctx, w, opts, file)
		if err == nil {
			err = dst.Commit(ctx)
		}
		return err
	}
	if err == nil {
		err = w.in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if err == nil {
		w.wrote(res, false, start)
	}
	return err
}

// fill archives an input to a file that can be read back, and completes the report. It returns the length of the archive.
func (v *archiver) fill(ctx context.Context, w *work, opts *archive.WriteOptions, file fileio.Rewritable) (int64, error) {
	passes := 2
	if v.noCheck {
		passes = 1
	}
	opts.Progress, opts.CheckProgress, opts.NoCheck = w.Term.Step(w.in.Name, w.in.Size, 0, passes), w.Term.Step(w.in.Name, w.in.Size, 1, passes), v.noCheck
	start := time.Now()
	res, f, err := archive.WriteTarget(ctx, file, w.in.R, w.in.Size, opts)
	if err == nil {
		w.rep.describe(f, opts.Filters)
		err = w.in.Changed()
	}
	if err != nil {
		return 0, err
	}
	w.wrote(res, passes == 2, start)
	return res.Size, nil
}

// wrote completes the report of a new archive.
func (w *work) wrote(res *archive.Result, checked bool, start time.Time) {
	if n := report.Rounded(res); n > 0 && w.rep.Loss == nil {
		w.rep.Warnings = append(w.rep.Warnings, fmt.Sprintf("values of %s were rounded: the archive does not restore the source", display.Count(int64(n), "variable")))
	}
	w.rep.ArchiveSize, w.rep.ParitySize, w.rep.Ratio = res.Size, res.Parity, display.Ratio(w.in.Size, res.Size)
	w.rep.Layout, w.rep.view, w.rep.Blocks, w.rep.SHA256 = res.Layout, res.View, res.Blocks, res.SHA256
	w.rep.Checked, w.rep.Seconds = checked, display.Round(time.Since(start).Seconds(), 6)
}
