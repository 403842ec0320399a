package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// originals are the files that verify --against compares archives with.
type originals struct {
	names  []string
	folder bool // names is one folder of originals
}

func (o *originals) given() bool { return len(o.names) > 0 }

// check checks --against for the FILE arguments. list tells that the files are those of a list.
func (o *originals) check(args []string, list bool) error {
	if !o.given() {
		return nil
	}
	isDir := func(name string) bool {
		st, err := os.Stat(name)
		return err == nil && st.IsDir()
	}
	if len(o.names) == 1 && (isDir(o.names[0]) || s3.IsPrefix(o.names[0])) {
		o.folder = true
		return nil
	}
	if list {
		return errors.New("--against: expected a folder of originals for the archives of a list")
	}
	if len(o.names) != len(args) {
		return fmt.Errorf("--against: expected %s, one for each FILE, found %d", display.Count(int64(len(args)), "original"), len(o.names))
	}
	for _, arg := range args {
		if isDir(arg) || s3.IsPrefix(arg) {
			return fmt.Errorf("--against: expected a folder for the folder %s", terminal.ShowName(arg))
		}
	}
	return nil
}

// of returns the original of an archive.
func (o *originals) of(j fileio.File) (string, error) {
	if !o.folder {
		return o.names[j.N], nil
	}
	image, err := fileio.StripSuffix(j.Rel)
	if err != nil {
		return "", err
	}
	if err := j.HasPath(); err != nil && !s3.IsPrefix(o.names[0]) {
		return "", err
	}
	return urls.Below(o.names[0], filepath.ToSlash(image)), nil
}

// openOriginal opens the original of an archive. If a folder of originals does not have it, it is the first
// compressed file with its name. An archive of an older state, whose image has that name, may have none: then in is nil.
func (v *verifier) openOriginal(ctx context.Context, j *cli.Job, image string) (in *fileio.Input, name string, err error) {
	if name, err = v.originalOf(j.File); err != nil {
		return nil, "", err
	}
	in, err = v.run.In.Open(ctx, name)
	if v.against.folder && errors.Is(err, fs.ErrNotExist) && !remote.IsURL(name) {
		for _, other := range unpack.Names(name) {
			if packed, openErr := v.run.In.Open(ctx, other); !errors.Is(openErr, fs.ErrNotExist) {
				in, name, err = packed, other, openErr
				break
			}
		}
	}
	if v.against.folder && errors.Is(err, fs.ErrNotExist) {
		if older, e := v.isOlder(ctx, j, image); older || e != nil {
			return nil, "", e
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if err != nil {
		err = fmt.Errorf("original %s: %s", terminal.ShowName(name), terminal.PlainText(err, name))
	}
	return in, name, err
}

// isOlder reports whether an archive is that of an older state, as archive --replace-changed keeps it: by its name, by the name
// of its image, and since the archive of the current state is beside it.
func (v *verifier) isOlder(ctx context.Context, j *cli.Job, image string) (bool, error) {
	current := fileio.CurrentName(j.Name)
	if current == "" || filepath.Base(current) != image+fileio.Suffix {
		return false, nil
	}
	in, err := v.run.In.Open(ctx, current)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	return true, in.Close()
}

// compare compares the original of an archive with the size and the SHA-256 of its
// image, and notes it in the report. The archive itself is no original of its own, and nothing that cdfz shows
// is one.
func (v *verifier) compare(ctx context.Context, j *cli.Job, arch *fileio.Input, rep *verifyReport) error {
	in, name, err := v.openOriginal(ctx, j, rep.Image)
	if err != nil {
		return err
	}
	if in == nil {
		rep.older = true
		return nil
	}
	defer in.Close()
	if err := v.mayProve(ctx, in, name); err != nil {
		return err
	}
	size, sha256, loss := rep.ImageSize, rep.SHA256, rep.Loss
	shown := terminal.ReportName(name)
	if rep.Compressed, err = unpack.Open(ctx, in); err != nil {
		return fmt.Errorf("original %s: %w", shown, err)
	}
	rep.Original = shown
	if rep.Compressed != nil {
		shown = "the file in " + shown
	}
	have, sum := in.Size, func() (string, error) { return in.SHA256(ctx, j.Term.Step(j.Name, size, 1, 2)) }
	if is, err := archive.IsArchive(in.R, in.Size); err != nil {
		return fmt.Errorf("original %s: %w", shown, err)
	} else if is {
		if err := v.run.In.Same(arch, in); err != nil {
			return nothing(name, err)
		}
		f, err := archive.New(ctx, in.R, in.Size, j.Limits.OpenOptions())
		if err != nil {
			return fmt.Errorf("original %s: %w", shown, err)
		}
		defer f.Close()
		info, _ := f.Info()
		have = f.Image().Size()
		sum = func() (string, error) {
			o := &archive.CopyOptions{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: j.Term.Step(j.Name, size, 1, 2), SHA256: true}
			return info.SHA256, f.Image().Copy(ctx, nil, o)
		}
	}
	if have != size {
		return fmt.Errorf("differs from %s, which has %d bytes instead of %d", shown, have, size)
	}
	got, err := sum()
	if err != nil {
		return fmt.Errorf("original %s: %w", shown, err)
	}
	if got != sha256 && loss != nil && got == loss.SourceSHA256 {
		return fmt.Errorf("differs from its source %s: %s", shown, loss)
	}
	if got != sha256 {
		return fmt.Errorf("differs from %s, which has SHA-256 %s instead of %s", shown, got, sha256)
	}
	return nil
}

// mayProve returns an error if an original is certainly not independent of archives, and lets it be read at the rate of the
// run.
func (v *verifier) mayProve(ctx context.Context, in *fileio.Input, name string) error {
	place, err := v.run.In.Stored(in)
	switch {
	case err != nil:
		return fmt.Errorf("original %s: %w", terminal.ReportName(name), err)
	case place.Shown():
		return nothing(name, errors.New("cdfz shows it, from an archive"))
	case place.Deleted():
		return nothing(name, errors.New("it was deleted from a layer of the overlay that shows it"))
	}
	v.scrub.slow(ctx, in)
	return nil
}

// nothing is the error of an original that may be the archive itself.
func nothing(name string, err error) error {
	return terminal.Hinted(fmt.Errorf("proves nothing: the original %s may be the archive itself: %w", terminal.ReportName(name), err), "without --against, cdfz verify checks an archive alone")
}
