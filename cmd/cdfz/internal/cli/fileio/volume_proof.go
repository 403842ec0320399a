package fileio

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// IsMember reports whether an input is a member of a volume.
func (in *Input) IsMember() bool { return in.volume != nil }

// InPlace returns an error unless the path of an input still leads to the file that was opened, or to the volume that has
// it. It is nil for what is no local file: an object that is replaced while it is read is an error of reading.
func (in *Input) InPlace() error {
	f := in.fileOf()
	if f == nil {
		return nil
	}
	st, err := f.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Stat(in.pathOf()); err == nil && os.SameFile(now, st) {
			return nil
		}
	}
	return fmt.Errorf("the archive is no longer %s", in.pathOf())
}

// ProveVolume returns an error unless the local volume of a member is complete, a file of its own in its folder, and on a disk
// where it stays: its index leads to the headers of all members, and it was flushed. That is done once, as long as the
// volume is open and stays as it is. The contents of members are not read.
func (n *Inputs) ProveVolume(ctx context.Context, in *Input) error {
	if in.volume == nil {
		return errors.New("it is no member of a volume")
	}
	return n.prove(ctx, in.volume)
}

func (n *Inputs) prove(ctx context.Context, v *openVolume) error {
	if v.file.File == nil {
		return errors.New("the volume is no local file")
	}
	v.proof.Lock()
	defer v.proof.Unlock()
	if !v.proved {
		if err := n.proveVolume(ctx, v); err != nil {
			return fmt.Errorf("%s: %w", terminal.ShowName(v.file.Name), err)
		}
		v.proved = true
	}
	if err := v.file.Changed(); err != nil {
		return fmt.Errorf("%s: %w", terminal.ShowName(v.file.Name), err)
	}
	return v.file.InPlace()
}

func (n *Inputs) proveVolume(ctx context.Context, v *openVolume) error {
	if why := v.Rebuilt(); why != nil {
		return terminal.Hinted(fmt.Errorf("only a complete volume proves its members: %w", why), "cdfz repair -o NEW.tar writes a volume with a new index")
	}
	dir, base, done, err := v.file.Folder()
	if err != nil {
		return err
	}
	defer done()
	if err := nofollow.Is(dir, base, v.file.Stat); err != nil {
		return atomicfile.Cause(err)
	}
	if err := protect.Durable(n.Mounts, "the volume", v.file.File, dir); err != nil {
		return err
	}
	if err := protect.Settled(v.file.File, dir); err != nil {
		return err
	}
	if err := v.Check(ctx); err != nil {
		return err
	}
	return v.file.Changed()
}
