package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// repairReport is the JSON of a repaired file.
type repairReport struct {
	File      string       `json:"file"`
	Target    string       `json:"target"`    // the file itself, or -o
	Intact    bool         `json:"intact"`    // there was nothing to do
	Identical bool         `json:"identical"` // it is now known to be the archive that was written
	Blocks    int64        `json:"blocks"`
	Kept      int64        `json:"kept"`    // bytes before the index
	Written   int64        `json:"written"` // bytes of index, directory and end
	Headers   int64        `json:"headers"` // local headers written anew
	Front     bool         `json:"front"`   // README and Zarr metadata were written anew
	After     int64        `json:"after"`   // bytes after the archive, cut off
	Size      int64        `json:"size"`
	Damage    []damageJSON `json:"damage"` // that remains
}

func (a *app) repairCmd() *cobra.Command {
	quick := false
	cmd := &cobra.Command{
		Use:   "repair [flags] FILE",
		Short: "Repair the structures of an archive",
		Long: `Rebuilds index, directory, local headers, README and Zarr metadata of an archive.
Each block is described in several places; repair takes what the bytes of the block
confirm. Whatever could be read before can be read afterwards. Damage that remains
is listed, by variable and index range, and the exit code is 3.

In place, repair rewrites damaged local headers and metadata where they are, and
then everything after the last block. It can be interrupted and repeated. -o writes
a new file instead. Bytes that follow the archive are only cut off with -f.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkDest(args); err != nil {
				return err
			}
			if err := a.repair(cmd.Context(), args[0], quick); err != nil {
				a.failFile(showName(args[0]), err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&a.force, "force", "f", false, "overwrite a target that exists; cut off bytes after the archive")
	cmd.Flags().BoolVar(&quick, "quick", false, "do not read blocks whose headers are consistent")
	a.jsonFlag(cmd)
	a.destFlag(cmd, "`OUT`: a new archive instead of the changed one; a folder, or - for standard output")
	return cmd
}

func (a *app) repair(ctx context.Context, name string, quick bool) error {
	in, err := a.openToRepair(ctx, name)
	if err != nil {
		return err
	}
	defer in.close()
	bar := a.progress("repair", in.name, in.size)
	p, err := archive.Repair(ctx, in.r, in.size, &archive.RepairOptions{Quick: quick, Progress: bar.report()})
	bar.end()
	if err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			return hinted(err, "nothing was changed; plan, manifest and blocks cannot be rebuilt")
		}
		return explainNotArchive(in, err)
	}
	defer p.Close()
	rep := &repairReport{
		File: name, Target: name, Intact: p.Intact(), Identical: p.Identical, Blocks: p.Blocks, Kept: p.Keep, Headers: p.Headers,
		Front: p.Front, After: p.After, Size: in.size, Damage: damageList(p.Damage),
	}
	switch {
	case a.dest != "":
		err = a.repairTo(ctx, in, p, rep)
	case p.After > 0 && !a.force:
		err = fmt.Errorf("%d bytes follow the archive, which ends at byte %d: %w", p.After, p.Size, archive.ErrCorrupt)
		return hinted(err, "-f cuts them off, -o OUT leaves them out; nothing was changed")
	case !rep.Intact:
		err = repairInPlace(ctx, in, p, rep)
	}
	if err == nil && p.Unsure && !quick && a.dest != stdoutName {
		err = a.checkRepaired(ctx, rep)
	}
	if err != nil {
		return err
	}
	a.reportRepair(rep)
	return nil
}

// checkRepaired compares the SHA-256 of the image, where nothing else tells
// whether an archive was repaired rightly.
func (a *app) checkRepaired(ctx context.Context, rep *repairReport) error {
	in, r, err := a.openArchive(ctx, rep.Target)
	if err != nil {
		return err
	}
	defer in.close()
	return r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: a.workers})
}

func (a *app) reportRepair(rep *repairReport) {
	if len(rep.Damage) > 0 {
		a.code = max(a.code, exitDamaged)
	}
	shown := showName(rep.File)
	switch {
	case a.dest == stdoutName:
		for i := range rep.Damage {
			a.message("%s: %s", shown, rep.Damage[i].Text)
		}
		return
	case a.json:
		a.emit(rep)
		return
	}
	a.printDamage(shown, rep.Damage)
	if rep.Intact {
		if len(rep.Damage) == 0 {
			a.report("%s: nothing to repair", shown)
		} else {
			a.report("%s: nothing that can be repaired", shown)
		}
		return
	}
	line := fmt.Sprintf("%s: %s found, %d bytes kept, %d rewritten", shown, count(rep.Blocks, "block"), rep.Kept, rep.Written)
	if rep.Headers > 0 {
		line += ", " + count(rep.Headers, "local header") + " mended"
	}
	if rep.Front {
		line += ", metadata regenerated"
	}
	if rep.After > 0 {
		line += fmt.Sprintf(", %d bytes after the archive cut off", rep.After)
	}
	if rep.Identical {
		line += "; identical to the original archive"
	}
	a.report("%s", line)
}

// openToRepair opens an archive for reading, and for writing if it is to be
// changed in place.
func (a *app) openToRepair(ctx context.Context, name string) (*input, error) {
	if a.dest != "" {
		return a.open(ctx, name)
	}
	if _, ok := asURL(name); ok {
		return nil, hinted(errors.New("a URL cannot be changed in place"), "-o OUT writes the repaired archive to a file")
	}
	in, err := openFile(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Lock(in.file); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// repairInPlace rewrites what is damaged. What the new tail stands on is on the
// disk before the old one is touched.
func repairInPlace(ctx context.Context, in *input, p *archive.Repaired, rep *repairReport) error {
	err := p.Patch(ctx, in.file)
	if err == nil && (p.Front || p.Headers > 0) {
		err = in.file.Sync()
	}
	if err == nil && (p.Tail || p.After > 0) {
		err = writeTail(ctx, in, p, rep)
	}
	if err == nil {
		err = in.file.Sync()
	}
	if err != nil {
		return hinted(err, "run repair again: nothing that it needs was changed")
	}
	rep.Size = p.Size
	return nil
}

func writeTail(ctx context.Context, in *input, p *archive.Repaired, rep *repairReport) error {
	if p.Tail {
		w := bufio.NewWriterSize(ctxWriter{ctx, io.NewOffsetWriter(in.file, p.Keep)}, 1<<18)
		n, err := p.WriteTail(w)
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
		rep.Written = n
	}
	return in.file.Truncate(p.Size)
}

// repairTo writes a new archive.
func (a *app) repairTo(ctx context.Context, in *input, p *archive.Repaired, rep *repairReport) error {
	path, err := a.targetPath(job{in.name, baseName(in.name)}, func(s string) (string, error) { return s, nil })
	if err != nil {
		return err
	}
	dst, err := a.sink(path, in)
	if err != nil {
		return err
	}
	defer dst.abort()
	w := bufio.NewWriterSize(ctxWriter{ctx, dst}, 1<<18)
	n, err := p.WriteTo(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.changed()
	}
	if err != nil {
		return err
	}
	rep.Target, rep.Written, rep.Size = path, n-p.Keep, n
	return dst.commit()
}

// ctxWriter fails once the context is cancelled.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w ctxWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
