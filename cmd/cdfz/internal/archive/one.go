package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// work is the work on one file.
type work struct {
	*cli.Job
	in  *fileio.Input
	rep *archiveReport
	sum archiveSum // of this file
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
		if errors.Is(err, cdf3.ErrNotCDF) && !v.unpacks && unpack.Takes(in) {
			err = terminal.Hinted(err, "--decompress archives the netCDF file in it")
		}
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
