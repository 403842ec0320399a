package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/remote"
)

// OpenToChange opens an archive that is changed in place, or without that if there is -o.
// It locks the file, so that only one cdfz changes it at a time. A volume is never changed in place.
func (n *Inputs) OpenToChange(ctx context.Context, j File) (in *Input, err error) {
	switch {
	case n.dest.Name != "":
		return n.OpenFile(ctx, j)
	case j.volume != nil:
		return nil, terminal.Hinted(errInVolume, "-o OUT writes a new archive")
	case remote.IsURL(j.Name):
		return nil, terminal.Hinted(errors.New("a URL cannot be changed in place"), "-o OUT writes a new archive")
	case j.tree != nil:
		in, err = openBelow(j, os.O_RDWR)
	default:
		in, err = OpenRegular(j.Name, os.O_RDWR)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		if member, e := n.openInVolume(ctx, j.Name); member != nil && e == nil {
			member.Close()
			err = terminal.Hinted(errInVolume, "-o OUT writes a new archive")
		}
	}
	if err != nil {
		return nil, err
	}
	n.waitForNames(in)
	if err = atomicfile.Lock(in.File); err == nil {
		in.Stat, err = in.File.Stat()
	}
	if err == nil {
		in.Size = in.Stat.Size()
		err = refuseVolume(ctx, in)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// waitForNames waits while the run changes the same file under another name. Then other names wait for this one.
func (n *Inputs) waitForNames(in *Input) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.changes(in.Stat) {
		n.changed.Wait()
	}
	n.change[in] = in.Stat
	closes := in.close
	in.close = func() error {
		err := closes() // first, since it frees the lock
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.change, in)
		n.changed.Broadcast()
		return err
	}
}

// changes reports whether the run changes a file. n.mu must be locked.
func (n *Inputs) changes(st fs.FileInfo) bool {
	for _, own := range n.change {
		if os.SameFile(own, st) {
			return true
		}
	}
	return false
}

// refuseVolume returns an error for a volume. Where a disk cannot read its front or its end, the name tells.
func refuseVolume(ctx context.Context, in *Input) error {
	is, err := protect.IsVolume(ctx, in.R, in.Size)
	if ioat.Unreadable(err) {
		is, err = path.Ext(in.Name) == volume.Suffix, nil
	}
	if err == nil && is {
		err = terminal.Hinted(errIsVolume, "cdfz repair -o NEW%s writes it anew, healed from its parity or with a new index", volume.Suffix)
	}
	return err
}

var errIsVolume = terminal.Lasting(errors.New("a volume cannot be changed in place"))

// errInVolume is the error of a change in a volume.
var errInVolume = terminal.Lasting(errors.New("a member of a volume cannot be changed in place"))
