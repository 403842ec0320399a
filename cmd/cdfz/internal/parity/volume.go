package parity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
)

// A volume is never changed, and a tape takes it in one pass. So its parity is a file of its own beside it.

// selects selects archives and volumes.
func selects(e fileio.Entry) (string, error) {
	if path.Ext(filepath.ToSlash(e.Name)) != volume.Suffix {
		return fileio.Archives(e)
	}
	f, err := e.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	const front = 1 << 10
	is, err := volume.IsVolume(f, front)
	if is || err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return fileio.Archives(e)
}

// volume writes the parity of a volume.
func (v *protector) volume(ctx context.Context, j *cli.Job) error {
	start := time.Now()
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	rep := &added{File: terminal.ReportName(j.Name), Target: j.Name + parity.Suffix, Percent: float64(v.share), Size: in.Size}
	if v.share == 0 {
		return fmt.Errorf("the parity of a volume is a file of its own, %s, that can be deleted", terminal.ShowName(rep.Target))
	}
	if err := v.intact(ctx, j, in); err != nil {
		return err
	}
	if old, err := v.run.In.Open(ctx, rep.Target); err == nil {
		set, err := parity.FindBeside(ctx, in.R, in.Size, old.R, old.Size, options(j))
		same := false
		if err == nil && set != nil && set.Share == v.share {
			var found *parity.Report
			if found, err = set.Check(ctx); err == nil {
				same = len(found.Damaged) == 0 && set.Off == in.Size
			}
		}
		old.Close()
		if err != nil && !errors.Is(err, archive.ErrCorrupt) {
			return err
		}
		if same {
			rep.Parity = set.Bytes().Len
			return v.done(j, rep, start)
		}
	}
	dst, err := j.Target(rep.Target, in).Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	l, err := parity.AddBeside(ctx, in.R, in.Size, dst.File(), v.share, options(j))
	if err == nil {
		err = in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if err != nil {
		return err
	}
	rep.Changed, rep.Parity = true, l.Bytes().Len
	return v.done(j, rep, start)
}

// intact returns an error unless everything in a volume is intact: parity would preserve damage.
func (v *protector) intact(ctx context.Context, j *cli.Job, in *fileio.Input) error {
	vol, err := volume.Open(ctx, in.R, in.Size)
	if err != nil {
		return err
	}
	defer vol.Close()
	for e, err := range vol.Verify(ctx) {
		if err != nil {
			return terminal.Hinted(err, "parity would preserve the damage; cdfz verify lists it")
		}
		if e.Kind != volume.File || path.Ext(e.Path) != fileio.Suffix {
			continue
		}
		r, size, err := vol.Contents(ctx, e)
		if err != nil {
			return err
		}
		rep, err := verify.Verify(ctx, ioat.Bind(ctx, r), size, &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()})
		if errors.Is(err, archive.ErrNotArchive) {
			continue // a file that has the name of one
		}
		if err == nil && len(rep.Damage) > 0 {
			err = fmt.Errorf("found damage, which parity would preserve: %w", archive.ErrCorrupt)
		}
		if err != nil {
			return terminal.Hinted(fmt.Errorf("%.200q: %w", e.Path, err), "cdfz verify lists the damage")
		}
	}
	return ctx.Err()
}

// isVolume reports whether a file is one that gets its parity beside it.
func (v *protector) isVolume(j *cli.Job) bool {
	return v.run.Dest.Name == "" && path.Ext(filepath.ToSlash(j.Name)) == volume.Suffix && !remote.IsURL(j.Name)
}
