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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
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
	waits bool       // for locks, instead of leaving the file for later
	busy  bool       // the file is locked and left for later
	once  *sync.Once // of the message that it waits
}

// lock locks a source until it is closed. It returns false if another program has locked it.
func (v *archiver) lock(ctx context.Context, in *fileio.Input) bool {
	if in.File == nil || v.Dest == terminal.StdoutName {
		return true
	}
	for start := time.Now(); errors.Is(atomicfile.Lock(in.File), atomicfile.ErrLocked); {
		switch {
		case !v.others.waits:
			return false
		case ctx.Err() != nil || time.Since(start) > waitFor:
			return true
		}
		v.others.once.Do(func() { v.Message("another program is archiving the same files; waiting for it") })
		cli.Pause(ctx)
	}
	return true
}

// gone reports whether another run has archived and deleted a source that is gone, and passes over
// it. Unless this run has made it, the archive must have the source's time and size.
func (v *archiver) gone(ctx context.Context, j fileio.File) bool {
	if j.Modified.IsZero() || j.Place == "" || s3.IsURL(v.Dest) {
		return false
	}
	old, err := v.Open(ctx, j.Place)
	if err != nil {
		return false
	}
	defer old.Close()
	f, err := archive.New(ctx, old.R, old.Size, &archive.OpenOptions{Cache: -1})
	if err != nil || f.CheckStored(ctx, old.Size <= smallArchive) != nil {
		return false
	}
	info, ok := f.Info()
	own := v.Taken(j.Place) // this run has compared the sources of the target
	compressed := v.unpacks && info.ImageName != filepath.Base(j.Name)
	same := old.Stat.ModTime().Equal(j.Modified) && (info.ImageSize == j.Size || compressed)
	if !ok || info.Loss != nil || !own && !same {
		return false
	}
	v.passOver(j.Name, terminal.ReportName(j.Name), "archived in "+j.Place+", and its source is gone", false)
	if !own {
		v.sum.met++
	}
	return true
}

// met reports whether another run has archived the input meanwhile, as the error of making the
// archive tells, and passes over it.
func (v *archiver) met(ctx context.Context, in *fileio.Input, rep *archiveReport, cause error) (bool, error) {
	if !errors.Is(cause, fs.ErrExist) || v.Force || v.existing == existingNever {
		return false, cause
	}
	done, err := v.isDone(ctx, in, rep)
	switch {
	case err != nil:
		return false, err
	case !done:
		return false, cause
	}
	v.sum.met++
	return true, nil
}

// passOver counts and reports a file that is already archived.
func (v *archiver) passOver(name, file, reason string, always bool) {
	v.sum.Unchanged++
	v.Entry.Outcome = runlog.Unchanged
	v.PassOver()
	switch {
	case v.JSON:
		v.Emit(fileio.Skipped{File: file, Reason: reason})
	case v.Verbose || !v.files.Folders || always:
		v.Report("%s: %s", name, reason)
	}
}

// all archives files. It returns those that another program has locked.
func (v *archiver) all(ctx context.Context, files fileio.List, waits bool) fileio.List {
	left := fileio.List{Folders: files.Folders}
	fresh := *v // sums in v change while files are at work
	fresh.sum = archiveSum{}
	fresh.others = others{waits: waits, once: new(sync.Once)}
	v.Parallel(ctx, files, cli.Work{Failed: v.failed, Fixed: 48 << 20, PerByte: 6, One: func(a *cli.Run, j fileio.File) (func(), error) {
		w := fresh
		w.Run, w.opts.Workers = a, a.Workers
		err := w.one(ctx, j)
		return func() {
			v.sum.add(&w.sum)
			if w.others.busy {
				left.Files = append(left.Files, j)
			}
		}, err
	}})
	return left
}
