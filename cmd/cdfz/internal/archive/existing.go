package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// existingMode is the way archive detects that a file is already archived.
type existingMode string

const (
	existingMtime existingMode = "mtime" // by size and modification time, else like hash
	existingHash  existingMode = "hash"  // by size and SHA-256
	existingNever existingMode = "never" // an existing target is an error
)

// decision is what becomes of the target of a file.
type decision struct {
	protect.Decision
	found *found // the target if it is done
	older *found // the archive of an older state, which is to be kept under another name
}

// decide returns what becomes of the target, before the work. Whether a file that is there may be replaced, package
// protect decides again when the archive is complete.
func (v *archiver) decide(ctx context.Context, w *work) (d decision, err error) {
	if v.packs.on() {
		return v.packs.decide(ctx, v, w)
	}
	d.Decision = v.run.Rules.Decide()
	switch {
	case v.run.Dest.IsStdout():
		return d, nil
	case v.run.Rules.Force && !v.run.Targets.Taken(w.rep.Target):
		return d, v.mayBegin(ctx, w)
	}
	old, st, err := v.open(ctx, w)
	if old == nil || err != nil {
		return d, err
	}
	defer old.Close()
	e, err := v.read(ctx, w, old, st)
	if e == nil || err != nil {
		return d, err
	}
	same, err := v.holds(ctx, w, e)
	switch {
	case err != nil:
		return d, err
	case !same && v.changes.replaces && e.holdsOlder(w.in, w.rep.image):
		d.Action, d.older = protect.Replace, e
		return d, nil
	case !same:
		return d, v.differs(ctx, w, e)
	case e.loss != nil && len(v.specs.Lossy()) == 0:
		return d, terminal.Hinted(fmt.Errorf("%s exists, and %s", e.path, e.loss), againHint)
	}
	d.Action, d.found = protect.Done, e
	return d, v.intact(ctx, w, old, e)
}

// mayBegin asks before the work whether -f may replace what has the name of the target.
func (v *archiver) mayBegin(ctx context.Context, w *work) error {
	if s3.IsURL(w.rep.Target) {
		return nil
	}
	return v.run.Rules.MayBegin(ctx, w.rep.Target, w.in.Stat, w.in.Size, func() (*protect.Held, error) { return v.sourceOf(ctx, w) })
}

// open opens the target if it exists. old is nil if it does not, or if making the target finds any other obstacle. st
// is nil for an object.
func (v *archiver) open(ctx context.Context, w *work) (old *fileio.Input, st fs.FileInfo, err error) {
	path := w.rep.Target
	object := s3.IsURL(path)
	if v.existing == existingNever && !v.run.Targets.Taken(path) {
		return nil, nil, nil
	}
	if !object {
		if st, err = os.Stat(path); err != nil || !st.Mode().IsRegular() || w.in.Stat != nil && os.SameFile(st, w.in.Stat) {
			return nil, nil, nil
		}
	}
	old, err = v.run.In.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || !object && errors.Is(err, fs.ErrPermission) {
		return nil, nil, nil
	}
	return old, st, fileio.OfTarget(err)
}

// read reads an existing target. It returns nil if that is no archive.
func (v *archiver) read(ctx context.Context, w *work, old *fileio.Input, st fs.FileInfo) (*found, error) {
	path := w.rep.Target
	small := old.Size <= smallArchive
	if small {
		b := make([]byte, old.Size)
		if _, err := old.R.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		old.Replace(bytes.NewReader(b), old.Size, nil)
	}
	f, err := archive.New(ctx, old.R, old.Size, &archive.OpenOptions{Cache: -1})
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return nil, nil
	case errors.Is(err, archive.ErrCorrupt) && st != nil:
		return nil, v.damaged(ctx, w, st, fmt.Errorf("%s: %w", path, err))
	case err != nil:
		return nil, err
	}
	if _, ok := f.Info(); !ok {
		return nil, nil
	}
	e := &found{path: path, f: f, small: small, held: protect.HeldBy(f), loss: report.LossOf(f)}
	if e.source = e.held.SHA256; e.loss != nil {
		e.source = e.loss.SourceSHA256
	}
	if st != nil {
		e.st, e.held.Time = st, st.ModTime()
		e.sameTime = w.in.Stat != nil && st.ModTime().Equal(w.in.Stat.ModTime())
	}
	return e, nil
}

// holds reports whether an archive is one of the input.
func (v *archiver) holds(ctx context.Context, w *work, e *found) (bool, error) {
	switch {
	case e.held.Size != w.in.Size:
		return false, nil
	case v.existing != existingHash && e.sameTime && e.loss == nil:
		return true, nil
	}
	sum, err := v.sumOf(ctx, w)
	return sum == e.source, err
}

// finish passes over a file whose target is done: a receipt may be missing, or the source is still to be deleted.
func (v *archiver) finish(ctx context.Context, w *work, e *found) error {
	rep := w.rep
	rep.SHA256, rep.ArchiveSize, rep.Ratio = e.source, e.f.Size(), display.Ratio(w.in.Size, e.f.Size())
	err := v.proof.settleDone(ctx, v, w, e)
	if err != nil && !errors.Is(err, protect.ErrKept) {
		return err
	}
	if e.st != nil && !v.dry && !v.packs.on() {
		atomicfile.RemoveStale(filepath.Dir(e.path)) // of a run that was to overwrite it
	}
	w.countDeleted()
	w.Entry.ArchiveSize, w.Entry.Ratio, w.Entry.SHA256 = rep.ArchiveSize, rep.Ratio, rep.SHA256
	v.passOver(w, w.in.Name, "archived before in "+e.path+rep.deletion(), rep.Deleted)
	if err != nil {
		w.Entry.Outcome = runlog.Kept
	}
	return err
}

// smallArchive is the length in bytes up to which existing archives are read whole. Reading less
// would take as long.
const smallArchive = 1 << 20

// intact returns an error if an existing archive of the source is damaged. --skip-existing=hash
// decodes it. Otherwise its structures are compared with their checksums, and if it is small, all
// blocks, too.
func (v *archiver) intact(ctx context.Context, w *work, old *fileio.Input, e *found) error {
	var err error
	if v.existing == existingHash {
		var rep *verify.Report
		rep, err = verify.Verify(ctx, old.R, old.Size, &verify.Options{Workers: w.Limits.Workers, Memory: w.Limits.BlockMemory(), SHA256: true})
		if err == nil && len(rep.Damage) > 0 {
			err = fmt.Errorf("%s: %w", strings.TrimSuffix(rep.Damage[0].Text, ": "+archive.ErrCorrupt.Error()), archive.ErrCorrupt)
		}
	} else {
		err = e.f.CheckStored(ctx, e.small)
	}
	if errors.Is(err, archive.ErrCorrupt) {
		err = terminal.Hinted(fmt.Errorf("%s exists, but is damaged: %w", old.Name, err), againHint+", cdfz verify lists all damage")
	}
	return err
}

// found is an archive that has the name of a target.
type found struct {
	path     string
	source   string      // SHA-256 that its source has
	st       fs.FileInfo // nil for an object
	f        *archive.File
	small    bool // it was read whole
	held     *protect.Held
	loss     *report.Loss
	sameTime bool // as the source
}

// againHint is the advice for an archive of the source that is to be made again. With -f, that
// fails for an archive of another file.
const againHint = "-f makes the archive again"

func (v *archiver) sumOf(ctx context.Context, w *work) (string, error) {
	return w.in.SHA256(ctx, w.Term.Step(w.in.Name, w.in.Size, 0, 1))
}

// sourceOf describes the image of an input, as an archive of it would be described.
func (v *archiver) sourceOf(ctx context.Context, w *work) (*protect.Held, error) {
	h := &protect.Held{Archive: true, Name: filepath.Base(w.in.Name), Size: w.in.Size}
	if w.in.Stat != nil && !s3.IsURL(w.rep.Target) { // which cannot be kept under another name
		flag := "--replace-changed"
		if v.run.Rules.Force {
			flag += " instead of -f"
		}
		h.Changed = "if the file was changed, " + flag + " archives it again and keeps the old archive under another name"
	}
	if w.in.Stat != nil {
		h.Time = w.in.Stat.ModTime()
	}
	var err error
	h.SHA256, err = v.sumOf(ctx, w)
	return h, err
}

// differs is the error of an archive that does not hold the input.
func (v *archiver) differs(ctx context.Context, w *work, e *found) error {
	src, err := v.sourceOf(ctx, w)
	if err != nil {
		return err
	}
	if src.Size == e.held.Size && e.sameTime {
		err := fmt.Errorf("the source has other bytes than its archive: SHA-256 %s, in %s %s", src.SHA256, e.path, e.held.SHA256)
		return terminal.Hinted(err, "size and time are equal, so the source may be damaged and the archive good; cdfz verify checks the archive")
	}
	return fmt.Errorf("%s: %w", e.path, protect.Other(e.held, src))
}

// damaged is the error of an existing archive that does not open.
func (v *archiver) damaged(ctx context.Context, w *work, st fs.FileInfo, cause error) error {
	path := w.rep.Target
	old, err := protect.LookAt(ctx, path)
	if err != nil || !old.Archive {
		return cause
	}
	src, err := v.sourceOf(ctx, w)
	if err != nil {
		return err
	}
	if src.Covers(old) {
		return terminal.Hinted(cause, againHint)
	}
	old.Time = st.ModTime()
	return fmt.Errorf("%s: %w: %w", path, protect.Other(old, src), archive.ErrCorrupt)
}
