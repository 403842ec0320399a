package repair

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// second is --from: a second copy of FILE, or a folder or prefix of copies.
type second struct {
	name   string // "" for none
	folder bool
}

func (s *second) given() bool { return s.name != "" }

// check checks --from for the FILE arguments. list tells that the files are those of a list.
func (s *second) check(args []string, list bool) error {
	if !s.given() {
		return nil
	}
	if s.name == terminal.StdinName {
		return errors.New("--from: expected a file, a folder or a URL, found -")
	}
	s.folder = isFolder(s.name)
	if s.folder || !list && len(args) == 1 && !isFolder(args[0]) {
		return nil
	}
	return fmt.Errorf("--from: expected a folder or a prefix of copies for several files, found %s", terminal.ShowName(s.name))
}

// isFolder reports whether a name is that of a folder, or of a prefix of URLs.
func isFolder(name string) bool {
	if remote.IsURL(name) {
		return strings.HasSuffix(urls.Redact(name), "/")
	}
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// of returns the name of the copy of a file.
func (s *second) of(j fileio.File) (string, error) {
	switch {
	case !s.folder:
		return s.name, nil
	case s3.IsURL(s.name):
		return s.name + filepath.ToSlash(j.Rel), nil
	case remote.IsURL(s.name):
		u, err := url.Parse(s.name)
		if err != nil {
			return "", errors.New("--from: malformed URL")
		}
		u.Path, u.RawPath = u.Path+filepath.ToSlash(j.Rel), ""
		return u.String(), nil
	}
	if err := j.HasPath(); err != nil {
		return "", err
	}
	return filepath.Join(s.name, j.Rel), nil
}

// mendFrom is mend with the second copy. end and found are the length of the archive and the error without it, -1 for a length that
// is lost.
func (v *repairer) mendFrom(ctx context.Context, j *cli.Job, in *fileio.Input, end int64, found error) (*work, error) {
	name, err := v.from.of(j.File)
	if err != nil {
		return nil, err
	}
	shown := terminal.ShowName(name)
	hint := "nothing was changed; without --from, repair uses what the archive has"
	fail := func(err error) (*work, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		err = fmt.Errorf("damaged, and nothing is taken from %s: %s", shown, terminal.PlainText(err, name))
		return nil, terminal.Hinted(err, "%s", hint)
	}
	other, err := v.run.In.Open(ctx, name)
	if err != nil {
		return fail(err)
	}
	if in.Stat != nil && other.Stat != nil && os.SameFile(in.Stat, other.Stat) {
		other.Close()
		return fail(errors.New("it is the same file"))
	}
	w, err := v.mend(ctx, j, in, io.NewSectionReader(other.R, 0, other.Size))
	switch {
	case err == nil:
		w.from, w.second = shown, other
		return w, nil
	case errors.Is(err, repair.ErrOtherLayout) && v.run.Dest.Name == "" && v.run.Rules.Force:
		defer other.Close()
		if err := v.keepsRest(ctx, in, end); err != nil {
			return nil, err
		}
		rep, err := v.replace(ctx, j, in, other)
		if err != nil {
			return fail(err)
		}
		return &work{replaced: rep}, nil
	}
	other.Close()
	switch {
	case errors.Is(err, repair.ErrOtherLayout) && v.run.Dest.Name == "":
		hint = "nothing was changed; -f replaces the archive by the copy, once that has restored the netCDF file"
	case found != nil && errors.Is(err, repair.ErrOtherImage):
		return nil, found // it is no archive
	}
	return fail(err)
}

// keepsRest returns an error if another file may follow the archive that a copy is to replace. end is as in mendFrom.
func (v *repairer) keepsRest(ctx context.Context, in *fileio.Input, end int64) error {
	if end >= 0 {
		return v.keepsAfter(ctx, in, end)
	}
	const last = 512 // bytes, which have the end line
	n := min(in.Size, last)
	if ends, err := archive.IsArchive(io.NewSectionReader(in.R, in.Size-n, n), n); ends || err != nil || v.run.Rules.ReplaceOther {
		return err
	}
	err := fmt.Errorf("the end of the archive is lost, and another file may follow it: %w", archive.ErrCorrupt)
	return terminal.Hinted(err, "-f --replace-other replaces the whole file by the copy; nothing was changed")
}

// replace replaces an archive by another one of the same netCDF file, which is read without its index first.
func (v *repairer) replace(ctx context.Context, j *cli.Job, in, other *fileio.Input) (*repairReport, error) {
	if _, err := verify.Walk(ctx, other.R, other.Size, &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()}); err != nil {
		return nil, err
	}
	t := j.Target(in.Name, in)
	t.Proved, t.Decision = true, protect.InPlace
	dst, err := t.Sink(ctx)
	if err != nil {
		return nil, err
	}
	defer dst.Abort()
	w := bufio.NewWriterSize(fileio.CtxWriter{Ctx: ctx, W: dst}, 1<<18)
	if _, err = io.Copy(w, io.NewSectionReader(other.R, 0, other.Size)); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = errors.Join(in.Changed(), other.Changed())
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if err != nil {
		return nil, err
	}
	rep := &repairReport{File: terminal.ReportName(j.Name), Target: terminal.ReportName(j.Name), From: other.Name, Copied: other.Size, Size: other.Size, Written: other.Size, Replaced: true}
	if f, err := archive.New(ctx, other.R, other.Size, j.Limits.OpenOptions()); err == nil {
		if info, ok := f.Info(); ok {
			rep.Blocks = info.Blocks
		}
		f.Close()
	}
	j.Entry.Target, j.Entry.ArchiveSize = rep.Target, rep.Size
	v.report(j, rep)
	return rep, nil
}
