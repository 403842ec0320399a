package archive

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/runlog"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Several runs may work on the same files at the same time. Each locks the source that it archives.
// A run that finds a source locked does the others first, and then waits. What another run has
// archived or deleted meanwhile is passed over. The locks only save work: on file systems without
// them, a run that archives what another one has just archived finds the target, and passes over it.

// waitFor is how long a run waits for the source that another program has locked. It may be a
// program of another kind.
const waitFor = time.Minute

// others is what a run knows of other runs over the same files.
type others struct {
	waits bool          // for locks, instead of leaving the file for later
	once  sync.Once     // of the message that it waits
	left  []fileio.File // that another program has locked
}

// lock locks a source until it is closed. It returns false if another program has locked it.
func (v *archiver) lock(ctx context.Context, w *work) bool {
	if w.in.File == nil || v.run.Dest.IsStdout() {
		return true
	}
	for start := time.Now(); errors.Is(atomicfile.Lock(w.in.File), atomicfile.ErrLocked); {
		switch {
		case !v.others.waits:
			return false
		case ctx.Err() != nil || time.Since(start) > waitFor:
			return true
		}
		v.others.once.Do(func() { w.Term.Message("another program is archiving the same files; waiting for it") })
		cli.Pause(ctx)
	}
	return true
}

// gone reports whether another run has archived and deleted a source that is gone, and passes over
// it. Unless this run has made it, the archive must have the source's time and size.
func (v *archiver) gone(ctx context.Context, w *work) bool {
	if w.Modified.IsZero() || w.Place == "" || s3.IsURL(v.run.Dest.Name) {
		return false
	}
	old, err := v.run.In.Open(ctx, w.Place)
	if err != nil {
		return false
	}
	defer old.Close()
	f, err := archive.New(ctx, old.R, old.Size, &archive.OpenOptions{Cache: -1})
	if err != nil || f.CheckStored(ctx, old.Size <= smallArchive) != nil {
		return false
	}
	info, ok := f.Info()
	own := v.run.Targets.Taken(w.Place) // this run has compared the sources of the target
	compressed := v.unpacks && info.ImageName != filepath.Base(w.Name)
	same := old.Stat.ModTime().Equal(w.Modified) && (info.ImageSize == w.Size || compressed)
	if !ok || info.Loss != nil || !own && !same {
		return false
	}
	v.passOver(w, w.Name, "archived in "+w.Place+", and its source is gone", false)
	if !own {
		w.sum.met++
	}
	return true
}

// met passes over a file that another run has archived meanwhile, as cause, the error of making the archive, tells. It
// returns the error of the file.
func (v *archiver) met(ctx context.Context, w *work, d decision, cause error) error {
	if !errors.Is(cause, fs.ErrExist) || d.Action == protect.Replace || v.existing == existingNever {
		return cause
	}
	d, err := v.decide(ctx, w)
	switch {
	case err != nil:
		return err
	case d.Action != protect.Done:
		return cause
	}
	if err := v.finish(ctx, w, d.found); err != nil {
		return err
	}
	w.sum.met++
	return nil
}

// passOver counts and reports a file that is already archived.
func (v *archiver) passOver(w *work, name, reason string, always bool) {
	w.sum.Unchanged++
	w.Entry.Outcome = runlog.Unchanged
	w.Term.PassOver()
	switch {
	case w.Term.JSON:
		w.Term.Emit(fileio.Skipped{File: w.rep.File, Reason: reason})
	case w.Term.Verbose || !v.files.Folders || always:
		w.Term.Report("%s: %s", name, reason)
	}
}
