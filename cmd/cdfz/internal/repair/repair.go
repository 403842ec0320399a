// Package repair is the verb repair. The module's package archive/repair does the work.
package repair

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// repairer runs the verb repair.
type repairer struct {
	run    *cli.Run
	quick  bool
	from   second
	parity string // of a volume: its path or URL
	sum    sum
}

func Command(run *cli.Run) *cobra.Command {
	v := &repairer{run: run}
	cmd := &cobra.Command{
		Use:   "repair [flags] FILE…",
		Short: "Repair archives, from parity or a second copy",
		Long: `Rebuilds index, directory, local headers and Zarr metadata of archives.
In place, unless -o names another file.

Each block is described in several places. repair trusts the description that the bytes
of the block confirm. Everything that was readable before stays readable. Remaining damage
is listed by variable and index range, and the exit code is 3. If the manifest is lost, which
follows the blocks, nothing is changed. cdfz restore --salvage restores the intact values then.

An archive with parity is healed first: see cdfz archive --parity.

--from COPY heals from a second copy what parity cannot heal. COPY is an archive for one FILE.
For others it is a folder, a prefix s3://BUCKET/PREFIX/ or a URL that ends in a slash, which
has the copies under the paths that the archives have below FILE or in the list. Both may be
damaged in different places: bytes are taken from the copy if they pass their checksums there.
Only damaged archives are compared with their copies. An archive that was cut off, or is
empty, is restored, too. A copy of another netCDF file is refused. Before anything is written,
the result restores the SHA-256 of the netCDF file, read without its index, unless damage
remains. If the copy is another archive of the same netCDF file, as one with other filters is,
-f replaces FILE by it.

In place, repair rewrites damaged local headers, metadata and blocks where they are, and then
everything after the last block. It can be interrupted and repeated. The archive keeps its
modification time. -o writes a new file instead, for every FILE. Bytes after the archive are
cut off only with -f, and another file before or after it only with --replace-other. An object of a
store is repaired with -o, into another object or a file.

A volume is never changed: with -o NEW.tar, repair writes it anew, healed from its parity, VOLUME.tar.parity or what --parity
names, or else with a new index. Both may be in a store.

FILE may be a folder: archives below it, named *.cdfz, are repaired, and other files are skipped.

` + cli.PrefixHelp + `

` + cli.SelectHelp + `

` + cli.LogHelp,
		Example: cli.Examples(
			"cdfz repair tas.nc.cdfz                    # in place",
			"cdfz repair -o repaired.nc.cdfz tas.nc.cdfz",
			"cdfz repair --from /mnt/copy/ archives/    # a tree with a second copy",
			"cdfz repair --from s3://bucket/run7/ archives/",
			"cdfz repair -o new.tar vol/0001.tar        # a volume, from 0001.tar.parity",
			"cdfz repair -o s3://bucket/repaired/ s3://bucket/tas.nc.cdfz"),
		Args:              run.FilesOrList,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			run.Dest.ToObjects = true
			run.Targets.OfMembers = !v.isVolume(args)
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			if v.from.given() && v.isVolume(args) {
				return terminal.Hinted(errors.New("--from: expected archives, found a volume"), "cdfz repair -o NEW.tar VOLUME.tar heals it from its parity; -o DIR/ --from heals its archives")
			}
			if err := v.from.check(args, run.Select.From != ""); err != nil {
				return err
			}
			if v.parity != "" && !v.isVolume(args) {
				return terminal.Hinted(errors.New("--parity: expected one volume"), "cdfz repair -o NEW.tar VOLUME.tar heals it; archives have their parity in them")
			}
			if err := run.OpenLog(cmd.Context(), "repair"); err != nil {
				run.Term.FailFile(run.LogName(), err)
				return nil
			}
			v.do(cmd.Context(), args)
			return nil
		},
	}
	run.ForceFlagFor(cmd, "overwrite a target that exists,\nbut not an archive of another file; cut off bytes after the archive; replace it by a --from of another layout")
	cli.Flags(cmd, "How to repair", func(f *pflag.FlagSet) {
		f.BoolVar(&v.quick, "quick", false, "do not read blocks whose headers are consistent")
		f.StringVar(&v.parity, "parity", "", "the parity of a volume is in `NAME` (default: VOLUME.tar.parity)")
		f.StringVar(&v.from.name, "from", "", "heal from the second `COPY`: an archive, a folder or a prefix")
	})
	run.SelectFlags(cmd)
	run.DestFlag(cmd, "write a new archive to `OUT`: a name, a folder, a URL, or -;\n- is standard output")
	run.LogFlag(cmd)
	run.MemoryFlag(cmd)
	run.JSONFlag(cmd)
	run.RequestsFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// do repairs files and those in folders.
func (v *repairer) do(ctx context.Context, args []string) {
	failed := func(name string, err error) {
		switch {
		case errors.Is(err, archive.ErrCorrupt):
			v.sum.Files++
			v.sum.Damaged++
		case !terminal.Interrupted(err):
			v.sum.Failed++
		}
		v.run.Term.FailFile(name, err)
	}
	if v.isVolume(args) {
		v.volume(ctx, args[0])
		return
	}
	v.run.Finder.NoVolumes = v.run.Dest.Name == "" // nothing in a volume can be changed in place
	files := v.run.Find(ctx, args, fileio.Archives, failed)
	defer func() { files.Close() }()
	if v.run.Select.Balance {
		v.run.Load(ctx, &files, failed)
		if err := v.run.Finder.Divide(&files); err != nil {
			v.run.Term.Usage(err)
			return
		}
	}
	v.run.Term.StartProgress("repair", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Failed: failed, Fixed: 48 << 20, PerByte: 8, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		rep, err := v.one(ctx, j)
		return func() {
			if err == nil {
				v.sum.add(rep)
			}
		}, err
	}})
	s := &v.sum
	s.Skipped = files.Skipped()
	switch {
	case s.Files+s.Failed == 0 && v.run.Select.Shard.N == 0 && !v.run.Term.Stopped(ctx):
		v.run.NoArchives(args)
	case v.run.Dest.IsStdout() || len(args) < 2 && !files.Folders:
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			Summary sum `json:"summary"`
		}{*s})
	default:
		v.run.Term.Report("%s%s", s.text(), files.SummaryTail(ctx, s.Failed))
	}
}

// one repairs a file. An error of class ErrCorrupt means that it is beyond repair.
func (v *repairer) one(ctx context.Context, j *cli.Job) (*repairReport, error) {
	in, err := v.run.In.OpenToChange(ctx, j.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	j.Entry.ArchiveSize = in.Size
	w, err := v.mend(ctx, j, in, nil)
	if v.from.given() && (err == nil && w.needsCopy() || errors.Is(err, archive.ErrNotArchive) || ioat.Unreadable(err)) {
		end := int64(-1)
		if w != nil {
			end = w.end()
			w.close()
		}
		w, err = v.mendFrom(ctx, j, in, end, err)
	}
	if err != nil {
		return nil, fileio.ExplainNotArchive(in, err)
	}
	defer w.close()
	if w.replaced != nil {
		return w.replaced, nil
	}
	if w.h.Lost != nil {
		j.Term.Message("warning: %s: %s", in.Name, terminal.WithoutPackages(w.h.Lost.Error()))
	}
	if w.p == nil {
		return nil, v.healOnly(ctx, in, w)
	}
	return v.finish(ctx, j, in, w)
}

// work is an archive as it will be.
type work struct {
	h   *repair.Healed
	p   *repair.Repaired // nil with err
	err error            // the structures cannot be repaired

	from     string // the second copy that was used, or ""
	second   io.Closer
	replaced *repairReport // of an archive that was replaced by its copy
}

// close removes temporary files.
func (w *work) close() {
	if w.p != nil {
		w.p.Close()
	}
	if w.h != nil {
		w.h.Close()
	}
	if w.second != nil {
		w.second.Close()
	}
}

// end returns the length of the archive, or -1 if that is lost.
func (w *work) end() int64 {
	if w.p == nil {
		return -1
	}
	return w.p.Size
}

// needsCopy reports whether damage remains.
func (w *work) needsCopy() bool { return w.p == nil || len(w.p.Damage) > 0 }

// mend heals and repairs an archive without writing. The caller must close the result.
func (v *repairer) mend(ctx context.Context, j *cli.Job, in *fileio.Input, second *io.SectionReader) (*work, error) {
	h, err := repair.Heal(ctx, in.R, in.Size, &repair.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Quick: v.quick, CutAfter: v.run.Rules.Force, Second: second})
	if err != nil {
		return nil, err
	}
	p, err := repair.Repair(ctx, h, h.Size(), &repair.Options{Quick: v.quick, Progress: j.Term.Step(in.Name, in.Size, 0, 1)})
	if err != nil && !errors.Is(err, archive.ErrCorrupt) {
		return nil, errors.Join(err, h.Close())
	}
	return &work{h: h, p: p, err: err}, nil
}

// finish writes what was repaired, and reports it.
func (v *repairer) finish(ctx context.Context, j *cli.Job, in *fileio.Input, w *work) (rep *repairReport, err error) {
	h, p := w.h, w.p
	rep = &repairReport{
		File: terminal.ReportName(j.Name), Target: terminal.ReportName(j.Name), Parity: report.Healed(h), Intact: p.Intact() && !h.Changed(), Identical: p.Identical, Blocks: p.Blocks, Kept: p.Keep, Headers: p.Headers,
		Front: p.Front, Healed: p.Healed(), After: h.After + p.After, Size: p.Size, Damage: report.DamageList(p.Damage), From: w.from, Copied: h.Copied,
	}
	if w.from != "" && len(p.Damage) == 0 {
		if err := h.Prove(ctx, p); err != nil {
			return nil, terminal.Hinted(fmt.Errorf("with the bytes of %s: %w", w.from, err), "nothing was changed")
		}
	}
	if v.run.Dest.Name == "" {
		if err := v.keepsOther(ctx, in, h, p.Size); err != nil {
			return nil, err
		}
	}
	switch {
	case v.run.Dest.Name != "":
		err = v.repairTo(ctx, j, in, p, rep)
	case p.After > 0 && !v.run.Rules.Force:
		err = fmt.Errorf("%d bytes follow the archive, which ends at byte %d: %w", p.After, p.Size, archive.ErrCorrupt)
		return nil, terminal.Hinted(err, "-f cuts them off, -o OUT leaves them out; nothing was changed")
	default:
		if err = h.Commit(ctx, in.File); err == nil && !p.Intact() {
			rep.Written, err = p.Commit(ctx, in.File)
		}
		if err != nil {
			err = terminal.Hinted(err, "repair can be run again: it changed nothing that it needs")
		}
	}
	if v.run.Dest.Name == "" && !rep.Intact {
		// restore gives this time to the netCDF file, and archive compares it with that of the source.
		in.KeepTime()
	}
	if err == nil && p.Unsure && !v.quick && !v.run.Dest.IsStdout() {
		err = v.checkRepaired(ctx, j, rep)
	}
	if err != nil {
		return nil, err
	}
	if rep.Intact && v.run.Dest.Name == "" {
		j.Entry.Outcome = runlog.Unchanged
	}
	j.Entry.Target, j.Entry.ArchiveSize = rep.Target, rep.Size
	v.report(j, rep)
	return rep, nil
}

// keepsOther returns an error if the archive, written in place with size bytes, would take the place of another file, or cut
// it off: the file that was damaged begins with that, or has it before or after the bytes of the archive.
func (v *repairer) keepsOther(ctx context.Context, in *fileio.Input, h *repair.Healed, size int64) error {
	if v.run.Rules.ReplaceOther {
		return nil
	}
	if h.Changed() {
		const enough = 1 << 20 // to see it
		n := min(in.Size, enough)
		if held, err := protect.Look(ctx, "", io.NewSectionReader(in.R, 0, n), n); err == nil && held.NetCDF {
			return terminal.Hinted(fmt.Errorf("the file begins with a netCDF file, which is kept: %w", archive.ErrCorrupt), "-o OUT writes the archive alone; nothing was changed")
		}
	}
	lost := in.Size - size
	if lost <= 0 {
		return ctx.Err()
	}
	// If bytes were inserted, the end of the archive is where the file ends, and these bytes are lost.
	if same := sameEnd(ctx, in.R, in.Size, h, size); same >= lost {
		if !protect.HoldsFile(ctx, in.R, size-same, in.Size-same) {
			return ctx.Err()
		}
		err := fmt.Errorf("bytes %d to %d of the file are another file, which is kept: %w", size-same, in.Size-same, archive.ErrCorrupt)
		return terminal.Hinted(err, "-o OUT writes the archive alone; nothing was changed")
	}
	return v.keepsAfter(ctx, in, size)
}

// keepsAfter returns an error if the bytes after an archive of size bytes are another file.
func (v *repairer) keepsAfter(ctx context.Context, in *fileio.Input, size int64) error {
	if v.run.Rules.ReplaceOther || size >= in.Size || !protect.HoldsFile(ctx, in.R, size, in.Size) {
		return ctx.Err()
	}
	n := in.Size - size
	err := fmt.Errorf("the archive ends at byte %d, and the %d bytes after it are another file, which is kept: %w", size, n, archive.ErrCorrupt)
	return terminal.Hinted(err, "-o OUT writes the archive alone, tail -c %d FILE >OTHER the bytes after it; nothing was changed", n)
}

// sameEnd returns how many bytes at the ends of two files are the same, as far as they can be read.
func sameEnd(ctx context.Context, a io.ReaderAt, aEnd int64, b io.ReaderAt, bEnd int64) (same int64) {
	const part = 1 << 16
	x, y := make([]byte, part), make([]byte, part)
	for n := min(aEnd, bEnd); same < n && ctx.Err() == nil; {
		k := min(part, n-same)
		if ioat.ReadFull(a, x[:k], aEnd-same-k) != nil || ioat.ReadFull(b, y[:k], bEnd-same-k) != nil {
			return same
		}
		for i := k - 1; i >= 0; i-- {
			if x[i] != y[i] {
				return same
			}
			same++
		}
	}
	return same
}

// healOnly writes what was healed of an archive whose structures cannot be repaired, and returns the error.
func (v *repairer) healOnly(ctx context.Context, in *fileio.Input, w *work) error {
	h, err := w.h, w.err
	if in.IsMember() {
		return terminal.Hinted(err, "nothing was changed; %s; cdfz restore --salvage restores the intact parts", fileio.HealsVolume)
	}
	if v.run.Dest.Name != "" || !h.Changed() {
		return terminal.Hinted(err, "nothing was changed; cdfz restore --salvage restores the intact parts")
	}
	if kept := v.keepsOther(ctx, in, h, h.Size()); errors.Is(kept, archive.ErrCorrupt) {
		return terminal.Hinted(err, "nothing was changed, since another file is before or after the archive; cdfz restore --salvage restores the intact parts")
	} else if kept != nil {
		return kept
	}
	if err := h.Commit(ctx, in.File); err != nil {
		return terminal.Hinted(err, "repair can be run again: it changed nothing that it needs")
	}
	in.KeepTime()
	text := report.Healed(h).Text()
	if h.Copied > 0 {
		text += fmt.Sprintf(", %s taken from %s", display.Count(h.Copied, "byte"), w.from)
	}
	return terminal.Hinted(err, "%s; cdfz restore --salvage restores the intact parts", strings.TrimPrefix(text, ", "))
}

// checkRepaired compares the SHA-256 of the image if nothing else shows whether the
// repair was right.
func (v *repairer) checkRepaired(ctx context.Context, j *cli.Job, rep *repairReport) error {
	file := j.File
	if v.run.Dest.Name != "" {
		file = fileio.File{Name: rep.Target}
	}
	in, r, err := v.run.In.OpenArchive(ctx, file, j.Limits.OpenOptions())
	if err != nil {
		return err
	}
	defer in.Close()
	return r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), SHA256: true})
}

// repairTo writes a new archive.
func (v *repairer) repairTo(ctx context.Context, j *cli.Job, in *fileio.Input, p *repair.Repaired, rep *repairReport) error {
	path, err := v.run.Targets.PathOf(j.File, func(s string) (string, error) { return s, nil })
	if err != nil {
		return err
	}
	dst, err := j.Target(path, in).Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	w := bufio.NewWriterSize(fileio.CtxWriter{Ctx: ctx, W: dst}, 1<<18)
	n, err := p.WriteTo(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.Changed()
	}
	if err != nil {
		return err
	}
	rep.Target, rep.Written, rep.Size = path, n-p.Keep, n
	return dst.Commit(ctx)
}
