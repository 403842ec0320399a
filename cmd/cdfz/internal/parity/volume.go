package parity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
)

// selects selects archives and volumes.
func selects(e fileio.Entry) (string, error) {
	if !volumes.IsName(e.Name) {
		return fileio.Archives(e)
	}
	f, err := e.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	vol, err := volume.Open(context.Background(), f, size) // by its end, or else by its front
	switch {
	case errors.Is(err, volume.ErrNotVolume):
		return fileio.Archives(e)
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrVersion): // it says so itself
		return "", nil
	case err != nil:
		return "", err
	}
	return "", vol.Close()
}

// volume writes the parity of a volume.
func (v *protector) volume(ctx context.Context, j *cli.Job) error {
	start := time.Now()
	target := volumes.ParityName(j.Name)
	if v.run.Dest.Name != "" {
		target = v.run.Dest.Name
	}
	rep := &added{File: terminal.ReportName(j.Name), Target: target, Percent: float64(v.share)}
	if v.share == 0 {
		return fmt.Errorf("the parity of a volume is a file of its own, %s, that can be deleted", terminal.ShowName(rep.Target))
	}
	p, err := volumes.Protect(ctx, v.run, j, target, v.share, false)
	if err != nil {
		return err
	}
	rep.Size, rep.Changed, rep.Parity = p.Size, p.Made, p.Bytes
	return v.done(j, rep, start)
}

// besideVolume reports whether -o is missing, or names a file of parity: volumes get theirs beside them, or there.
func (v *protector) besideVolume() bool {
	name := v.run.Dest.Name
	return name == "" || strings.HasSuffix(path.Clean(name), volume.Suffix+parity.Suffix)
}

// isVolume reports whether a file is one that gets its parity beside it.
func (v *protector) isVolume(j *cli.Job) bool { return v.besideVolume() && volumes.IsName(j.Name) }
