package archive

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
)

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
		s.Volumes, s.VolumeSize, s.ParitySize = v.packs.out.Sum.Volumes, v.packs.out.Sum.Size, v.packs.out.Sum.Parity
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
			line += fmt.Sprintf("; %s, %s", display.Count(s.Volumes, "new volume"), v.packs.out.Sum.Text())
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
