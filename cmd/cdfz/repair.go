package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// repairReport is the JSON of a repaired file.
type repairReport struct {
	File    string `json:"file"`
	Target  string `json:"target"` // the file itself, or -o
	Intact  bool   `json:"intact"` // there was nothing to do
	Blocks  int64  `json:"blocks"`
	Kept    int64  `json:"kept"` // bytes
	Written int64  `json:"written"`
	Size    int64  `json:"size"`
}

func (a *app) repairCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [flags] FILE",
		Short: "Rebuild the end of an archive",
		Long: `Rebuilds the index and directory at the end of an archive from what precedes them.
In place, only bytes behind the last good entry are written, so that repair can be
interrupted and repeated; -o writes a new file instead. Damaged blocks stay as they
are: cdfz verify lists them.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkDest(args); err != nil {
				return err
			}
			if err := a.repair(cmd.Context(), args[0]); err != nil {
				a.failFile(showName(args[0]), err)
			}
			return nil
		},
	}
	a.forceFlag(cmd)
	a.jsonFlag(cmd)
	a.destFlag(cmd, "`OUT`: a new archive instead of the changed one; a folder, or - for standard output")
	return cmd
}

func (a *app) repair(ctx context.Context, name string) error {
	in, err := a.openToRepair(ctx, name)
	if err != nil {
		return err
	}
	defer in.close()
	p, err := archive.Repair(ctx, in.r, in.size)
	if err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			return hinted(err, "only what lies behind the last block can be rebuilt")
		}
		return explainNotArchive(in, err)
	}
	defer p.Close()
	rep := &repairReport{File: name, Target: name, Intact: p.Intact, Blocks: p.Blocks, Kept: p.Keep, Size: in.size}
	switch {
	case a.dest != "":
		err = a.repairTo(ctx, in, p, rep)
	case !p.Intact:
		err = repairInPlace(ctx, in, p, rep)
	}
	if err != nil {
		return err
	}
	shown := showName(name)
	switch {
	case a.dest == stdoutName:
	case a.json:
		a.emit(rep)
	case p.Intact:
		a.report("%s: nothing to repair", shown)
	default:
		a.report("%s: %s found, %d bytes kept, %d rewritten", shown, count(p.Blocks, "block"), rep.Kept, rep.Written)
	}
	return nil
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

// repairInPlace writes the new end over the old one.
func repairInPlace(ctx context.Context, in *input, p *archive.Repaired, rep *repairReport) error {
	w := bufio.NewWriterSize(ctxWriter{ctx, io.NewOffsetWriter(in.file, p.Keep)}, 1<<18)
	n, err := p.WriteTail(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.file.Truncate(p.Keep + n)
	}
	if err == nil {
		err = in.file.Sync()
	}
	if err != nil {
		return hinted(err, "run repair again: nothing that it needs was changed")
	}
	rep.Written, rep.Size = n, p.Keep+n
	return nil
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
	if _, err := io.Copy(w, io.NewSectionReader(in.r, 0, p.Keep)); err != nil {
		return err
	}
	n, err := p.WriteTail(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.changed()
	}
	if err != nil {
		return err
	}
	rep.Target, rep.Written, rep.Size = path, n, p.Keep+n
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
