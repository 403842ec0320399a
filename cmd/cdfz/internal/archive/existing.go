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

// isDone reports whether the target exists and is an archive of the input, and reports
// such a file. It is an error if the target is an archive of something else.
func (v *archiver) isDone(ctx context.Context, in *fileio.Input, rep *archiveReport) (bool, error) {
	path := rep.Target
	st, err := os.Stat(path)
	object := s3.IsURL(path)
	if v.existing == existingNever && !v.Taken(path) || !object && (err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat)) {
		return false, nil // making the target finds any other obstacle
	}
	old, err := v.Open(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), !object && errors.Is(err, fs.ErrPermission):
		return false, nil
	case err != nil:
		return false, fileio.OfTarget(err)
	}
	defer old.Close()
	small := old.Size <= smallArchive
	if small {
		b := make([]byte, old.Size)
		if _, err := old.R.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		old.Replace(bytes.NewReader(b), old.Size, nil)
	}
	f, err := archive.New(ctx, old.R, old.Size, &archive.OpenOptions{Cache: -1})
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return false, nil
	case errors.Is(err, archive.ErrCorrupt) && !object:
		return false, v.damaged(ctx, in, path, st, fmt.Errorf("%s: %w", path, err))
	case err != nil:
		return false, err
	}
	info, ok := f.Info()
	if !ok {
		return false, nil
	}
	e := &found{path: path, st: st, held: protect.HeldBy(f), sameTime: !object && in.Stat != nil && st.ModTime().Equal(in.Stat.ModTime())}
	if !object {
		e.held.Time = st.ModTime()
	}
	same, sameTime := info.ImageSize == in.Size, e.sameTime
	loss := report.LossOf(f)
	if loss != nil {
		info.SHA256, sameTime = loss.SourceSHA256, false
	}
	if same && (v.existing == existingHash || !sameTime) {
		sum, err := v.sumOf(ctx, in)
		if err != nil {
			return false, err
		}
		same = sum == info.SHA256
	}
	if !same {
		err := v.differs(ctx, in, e)
		if !object && e.holdsOlder(in, rep.image) {
			return false, &olderError{err, e}
		}
		return false, err
	}
	if loss != nil && len(v.specs.Lossy()) == 0 {
		return false, terminal.Hinted(fmt.Errorf("%s exists, and %s", path, loss), againHint)
	}
	if err := v.intact(ctx, old, f, small); err != nil {
		return false, err
	}
	rep.SHA256, rep.ArchiveSize, rep.Ratio = info.SHA256, f.Size(), display.Ratio(in.Size, f.Size())
	if err = v.proof.settleDone(ctx, v, in, e, rep); err != nil && !errors.Is(err, protect.ErrKept) {
		return false, err
	}
	if !object && !v.dry {
		atomicfile.RemoveStale(filepath.Dir(path)) // of a run that was to overwrite it
	}
	v.countDeleted(rep)
	v.Entry.ArchiveSize, v.Entry.Ratio, v.Entry.SHA256 = rep.ArchiveSize, rep.Ratio, rep.SHA256
	v.passOver(in.Name, rep.File, "archived before in "+path+rep.deletion(), rep.Deleted)
	if err != nil {
		v.Entry.Outcome = runlog.Kept
	}
	return true, err
}

// smallArchive is the length in bytes up to which existing archives are read whole. Reading less
// would take as long.
const smallArchive = 1 << 20

// intact returns an error if an existing archive of the source is damaged. --skip-existing=hash
// decodes it. Otherwise its structures are compared with their checksums, and if it is small, all
// blocks, too.
func (v *archiver) intact(ctx context.Context, old *fileio.Input, f *archive.File, small bool) error {
	var err error
	if v.existing == existingHash {
		var rep *verify.Report
		rep, err = verify.Verify(ctx, old.R, old.Size, &verify.Options{Workers: v.Workers, Memory: v.BlockMemory(), SHA256: true})
		if err == nil && len(rep.Damage) > 0 {
			err = fmt.Errorf("%s: %w", strings.TrimSuffix(rep.Damage[0].Text, ": "+archive.ErrCorrupt.Error()), archive.ErrCorrupt)
		}
	} else {
		err = f.CheckStored(ctx, small)
	}
	if errors.Is(err, archive.ErrCorrupt) {
		err = terminal.Hinted(fmt.Errorf("%s exists, but is damaged: %w", old.Name, err), againHint+", cdfz verify lists all damage")
	}
	return err
}

// found is an archive that has the name of a target.
type found struct {
	path     string
	st       fs.FileInfo // nil for an object
	held     *protect.Held
	sameTime bool // as the source
}

// againHint is the advice for an archive of the source that is to be made again. With -f, that
// fails for an archive of another file.
const againHint = "-f makes the archive again"

func (v *archiver) sumOf(ctx context.Context, in *fileio.Input) (string, error) {
	return in.SHA256(ctx, v.Step(in.Name, in.Size, 0, 1))
}

// sourceOf describes the image of an input, as an archive of it would be described.
func (v *archiver) sourceOf(ctx context.Context, in *fileio.Input) (*protect.Held, error) {
	h := &protect.Held{Archive: true, Name: filepath.Base(in.Name), Size: in.Size}
	if in.Stat != nil {
		h.Time = in.Stat.ModTime()
	}
	var err error
	h.SHA256, err = v.sumOf(ctx, in)
	return h, err
}

// differs is the error of an archive that does not hold the input.
func (v *archiver) differs(ctx context.Context, in *fileio.Input, e *found) error {
	src, err := v.sourceOf(ctx, in)
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
func (v *archiver) damaged(ctx context.Context, in *fileio.Input, path string, st fs.FileInfo, cause error) error {
	old, err := v.look(ctx, path)
	if err != nil || !old.Archive {
		return cause
	}
	src, err := v.sourceOf(ctx, in)
	if err != nil {
		return err
	}
	if src.Covers(old) {
		return terminal.Hinted(cause, againHint)
	}
	old.Time = st.ModTime()
	return fmt.Errorf("%s: %w: %w", path, protect.Other(old, src), archive.ErrCorrupt)
}

// look returns what an existing file holds.
func (v *archiver) look(ctx context.Context, path string) (*protect.Held, error) {
	e, err := fileio.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return protect.Look(ctx, path, e.R, e.Size)
}

// mayStart returns an error if -f must not replace an existing file by an archive of the input. It
// is asked before the work. The guard of package fileio asks again when the archive is complete.
// Images of the same size are compared when the archive is complete.
func (v *archiver) mayStart(ctx context.Context, in *fileio.Input, path string) error {
	st, err := os.Stat(path)
	if s3.IsURL(path) || err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat) {
		return nil // making the target finds any other obstacle
	}
	old, err := v.look(ctx, path)
	if err != nil || !old.Archive || old.SHA256 != "" && old.Size == in.Size {
		return nil
	}
	old.Time = st.ModTime()
	src, err := v.sourceOf(ctx, in)
	if err != nil {
		return err
	}
	if err := v.MayLose(ctx, path, st, old, src); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
