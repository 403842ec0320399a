package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// A volume is never changed, and a tape takes it in one pass, so its parity is in another file, beside it.

// IsName reports whether a path or a URL is named like a volume.
func IsName(name string) bool {
	name, _ = cutQuery(filepath.ToSlash(name))
	return path.Ext(name) == volume.Suffix
}

// ParityName returns the path or the URL of the parity beside a volume.
func ParityName(name string) string {
	name, query := cutQuery(name)
	return name + parity.Suffix + query
}

// cutQuery cuts the query from a URL. Keys of objects have none.
func cutQuery(name string) (rest, query string) {
	if !remote.IsURL(name) || s3.IsURL(name) {
		return name, ""
	}
	if u, err := url.Parse(name); err == nil && u.RawQuery != "" {
		rest, _, _ = strings.Cut(name, "?")
		return rest, "?" + u.RawQuery
	}
	return name, ""
}

// Parity is the parity that a volume has.
type Parity struct {
	Made  bool  // by this call
	Bytes int64 // of it
	Size  int64 // of the volume
}

// Protect writes the parity of the volume that a job has to target. Everything in the volume is verified before, unless this run
// has written the volume from archives that it has verified: parity would preserve damage. If target is the parity that would be
// written, it stays. run is that of the job.
func Protect(ctx context.Context, run *cli.Run, j *cli.Job, target string, share parity.Share, verified bool) (p Parity, err error) {
	in, err := run.In.OpenFile(ctx, j.File)
	if err != nil {
		return p, err
	}
	defer in.Close()
	if remote.IsURL(target) && !s3.IsURL(target) {
		return p, terminal.Hinted(terminal.Lasting(errors.New("nothing can be written beside a file on a server")), "-o NAME%s names a place for the parity", parity.Suffix)
	}
	p.Size = in.Size
	if !verified {
		if err := intact(ctx, j, in); err != nil {
			return p, err
		}
	}
	o := &parity.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: j.Term.Step(in.Name, in.Size, 0, 1)}
	there := func() error {
		old, err := run.In.Open(ctx, target)
		if err == nil {
			p.Bytes, err = has(ctx, in, old, share, o)
			old.Close()
		}
		return err
	}
	if err = there(); p.Bytes > 0 || err != nil && !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	dst, err := j.Target(target, in).Sink(ctx)
	if err != nil {
		return p, err
	}
	defer dst.Abort()
	l, err := parity.AddBeside(ctx, in.R, in.Size, dst.File(), share, o)
	if err == nil {
		err = in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if errors.Is(err, fs.ErrExist) && there() == nil && p.Bytes > 0 {
		return p, nil // another run, such as one of another shard, has written the same meanwhile
	}
	if err != nil {
		return p, err
	}
	p.Made, p.Bytes = true, l.Bytes().Len
	return p, nil
}

// has returns the length of a file of parity if it is the whole and intact one of a volume with this share, else 0.
func has(ctx context.Context, in, old *fileio.Input, share parity.Share, o *parity.Options) (int64, error) {
	set, err := parity.FindBeside(ctx, in.R, in.Size, old.R, old.Size, o)
	if err != nil || set == nil || set.Share != share || set.Off != in.Size {
		return 0, err
	}
	found, err := set.Check(ctx)
	if err != nil || len(found.Damaged) > 0 {
		return 0, err
	}
	return set.Bytes().Len, nil
}

// intact returns an error unless everything in a volume is intact.
func intact(ctx context.Context, j *cli.Job, in *fileio.Input) error {
	vol, err := volume.Open(ctx, in.R, in.Size)
	if err != nil {
		return err
	}
	defer vol.Close()
	for e, err := range vol.Verify(ctx) {
		if err != nil {
			return terminal.Hinted(err, "parity would preserve the damage; cdfz verify lists it")
		}
		if e.Kind != volume.File || path.Ext(e.Path) != archive.Suffix {
			continue
		}
		if err := intactArchive(ctx, j, in, vol, e); err != nil {
			return terminal.Hinted(fmt.Errorf("%.200q: %w", e.Path, err), "cdfz verify lists the damage")
		}
	}
	return ctx.Err()
}

func intactArchive(ctx context.Context, j *cli.Job, in *fileio.Input, vol *volume.Volume, e *volume.Entry) error {
	r, size, err := vol.Contents(ctx, e)
	if err != nil {
		return err
	}
	from := ioat.Bind(ctx, r)
	if in.File == nil && size <= fileio.WholeObject { // one request for all of it
		if from, err = ioat.KeepEnd(ctx, from, size, size); err != nil {
			return err
		}
	}
	rep, err := verify.Verify(ctx, from, size, &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()})
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return nil // a file that has the name of one
	case err == nil && len(rep.Damage) > 0:
		return fmt.Errorf("found damage, which parity would preserve: %w", archive.ErrCorrupt)
	}
	return err
}

// protect writes the parity of a volume of the folder, if that is wanted, and reports it. An error is one of the parity: the volume is
// complete.
func (o *Writer) protect(ctx context.Context, name string, verified bool) {
	if o.o.Parity == 0 {
		return
	}
	p, err := Protect(ctx, o.run, o.run.Job(fileio.File{Name: name, Rel: fileio.BaseName(name)}), ParityName(name), o.o.Parity, verified)
	switch {
	case err != nil:
		o.unprotected(name, err)
		return
	case !p.Made:
		return
	}
	o.Sum.Parity += p.Bytes
	if o.run.Term.JSON {
		o.run.Term.Emit(struct {
			Parity  string  `json:"parity"`
			Volume  string  `json:"volume"`
			Percent float64 `json:"percent"`
			Size    int64   `json:"size"`
		}{terminal.ReportName(ParityName(name)), terminal.ReportName(name), float64(o.o.Parity), p.Bytes})
		return
	}
	o.run.Term.Report("%s: %s of parity, %s for %s", terminal.ShowTarget(ParityName(name)), o.o.Parity, display.Size(p.Bytes), display.Size(p.Size))
}

// unprotected reports that a volume is without the parity that is wanted.
func (o *Writer) unprotected(name string, err error) {
	o.run.FailLogged(terminal.ShowTarget(ParityName(name)), err)
	if o.Unprotected == nil {
		o.Unprotected = fmt.Errorf("the parity of %s is not there", terminal.ShowTarget(name))
	}
}

// protectEarlier writes the parity of volumes of the folder that have none: an earlier run was killed, or did not write any. They
// are those of all series, since members of any may prove sources that are deleted.
func (o *Writer) protectEarlier(ctx context.Context) {
	for name := range o.Earlier.Opened() {
		if o.o.Parity == 0 || ctx.Err() != nil {
			return
		}
		switch err := o.isProtected(ctx, name); {
		case errors.Is(err, fs.ErrNotExist):
			o.protect(ctx, name, false)
		case err != nil:
			o.unprotected(name, err)
		}
	}
}

// volumeEnd is the length of the end of a volume that has the trailer, with the time of packing and the checksum of the index.
const volumeEnd = 64 << 10

// isProtected returns an error unless a volume has parity of some share beside it, which may be damaged. It reads the end of the
// volume alone, which no two volumes have in common.
func (o *Writer) isProtected(ctx context.Context, name string) error {
	beside, err := o.run.In.Open(ctx, ParityName(name))
	if err != nil {
		return err
	}
	defer beside.Close()
	in, err := o.run.In.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	set, err := parity.FindBeside(ctx, in.R, in.Size, beside.R, beside.Size, nil)
	if err != nil {
		return err
	}
	if set == nil || set.Off != in.Size {
		return fmt.Errorf("expected the parity of the volume, found another file: %w", archive.ErrCorrupt)
	}
	differs, err := set.Differs(ctx, parity.Range{Off: in.Size - volumeEnd, Len: volumeEnd})
	if differs && err == nil {
		return fmt.Errorf("expected the parity of the volume, found that of another one, or the end of the volume is damaged: %w", archive.ErrCorrupt)
	}
	return err
}
