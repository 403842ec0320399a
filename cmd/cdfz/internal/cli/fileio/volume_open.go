package fileio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/remote"
)

// maxVolumes is the number of volumes that stay open while no member of them is read. Each has a descriptor, and the top
// level of its index.
const maxVolumes = 64

// tailRead is what volume.Open reads of a volume: a request has all of it.
const tailRead = 64 << 10

// openVolume is an open volume of a run.
type openVolume struct {
	*volume.Volume
	file *Input // it is

	proof  sync.Mutex
	proved bool // see ProveVolume
}

// Close implements io.Closer for the pool.
func (v *openVolume) Close() error { return errors.Join(v.Volume.Close(), v.file.Close()) }

// filed returns the time of the volume's file, the zero time for one at a URL.
func (v *openVolume) filed() time.Time {
	if v.file.Stat == nil {
		return time.Time{}
	}
	return v.file.Stat.ModTime()
}

type volumeItem = kept.Item[string, *openVolume]

func newVolumePool() *kept.Pool[string, *openVolume] {
	return kept.New[string, *openVolume](kept.Limits{Idle: int(min(maxVolumes, max(1, kept.MaxOpen()/8)))})
}

// useVolume opens a volume, or finds it open. The caller must release it. The error is volume.ErrNotVolume for other
// files.
func (n *Inputs) useVolume(ctx context.Context, j File) (*volumeItem, error) {
	if j.empty { // stores answer no range of it
		return nil, volume.ErrNotVolume
	}
	if i := n.volumes.Use(j.Name); i != nil {
		return i, nil
	}
	n.opening.Lock() // a message appears once
	defer n.opening.Unlock()
	if i := n.volumes.Use(j.Name); i != nil {
		return i, nil
	}
	in, err := n.openFileOfVolume(ctx, j)
	if errors.Is(err, errFolder) || errors.Is(err, errNotRegular) {
		return nil, volume.ErrNotVolume
	}
	if err != nil {
		return nil, err
	}
	v, err := volume.Open(ctx, in.R, in.Size)
	if errors.Is(err, archive.ErrCorrupt) && in.remote != nil {
		err = terminal.Hinted(err, "cdfz repair -o NEW%s writes a volume with a new index", volume.Suffix)
	} else if errors.Is(err, archive.ErrCorrupt) {
		var rebuilt *volume.Volume
		if rebuilt, err = volume.Rebuild(ctx, in.R, in.Size, err); err == nil {
			v = rebuilt
			n.term.Message("warning: %s: %s; the headers of the members are read instead", in.Name, terminal.PlainText(v.Rebuilt(), j.Name))
		}
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return n.volumes.Add(&volumeItem{Key: j.Name, Value: &openVolume{Volume: v, file: in}}), nil
}

// openFileOfVolume opens the file that a volume is. It is not bound to a context.
func (n *Inputs) openFileOfVolume(ctx context.Context, j File) (*Input, error) {
	switch {
	case remote.IsURL(j.Name):
		n.term.Hide(j.Name)
		stop.Catch()
		r, err := remote.Open(ctx, j.Name, &remote.Options{Tail: tailRead})
		if err != nil {
			return nil, err
		}
		in := inputOf(j.Name, r)
		in.R = r
		return in, nil
	case j.tree != nil:
		return openBelow(j, os.O_RDONLY)
	}
	return OpenRegular(j.Name, os.O_RDONLY)
}

// openInVolume opens a member by a name such as vol/0001.tar/1987/tas.nc.cdfz. It returns nil if the name does not lead
// into a volume.
func (n *Inputs) openInVolume(ctx context.Context, name string) (in *Input, err error) {
	isURL := remote.IsURL(name)
	for file, member := range volume.Split(name) {
		if !isURL {
			if st, e := os.Stat(file); e != nil || !st.Mode().IsRegular() {
				continue
			}
			member = filepath.ToSlash(member)
		}
		in, err = n.openMember(ctx, File{Name: name, volume: &File{Name: file}, member: member})
		other := isURL && errors.Is(err, errNoVolume) && !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrVersion)
		if !other && !errors.Is(err, volume.ErrNotVolume) {
			return in, err
		}
		// It may be a folder of the server.
	}
	return nil, nil
}

// isVolumeFile reports whether a path, which may end in a slash or lead further, leads to a volume.
func isVolumeFile(name string) bool {
	for file := range volume.Split(filepath.ToSlash(name) + "/x") {
		if in, err := OpenRegular(file, os.O_RDONLY); err == nil {
			is, err := protect.IsVolume(context.Background(), in.R, in.Size)
			in.Close()
			return is && err == nil
		}
	}
	return false
}

// Readlink returns what a symbolic link has, which may be a member of a local volume.
func (n *Inputs) Readlink(ctx context.Context, name string) (string, error) {
	for file, member := range volume.Split(name) {
		if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
			continue
		}
		item, err := n.useVolume(ctx, File{Name: file})
		if err != nil {
			return "", err
		}
		defer n.volumes.Release(item)
		e, err := item.Value.Lookup(ctx, filepath.ToSlash(member))
		if err == nil && e.Kind != volume.Symlink {
			err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
		}
		if err != nil {
			return "", err
		}
		return e.Target, nil
	}
	return os.Readlink(name)
}

// errNoVolume is the error of a volume that cannot be opened.
var errNoVolume = errors.New("the volume cannot be opened")

// openMember opens a member of a volume.
func (n *Inputs) openMember(ctx context.Context, j File) (*Input, error) {
	item, err := n.useVolume(ctx, *j.volume)
	if err != nil {
		if !errors.Is(err, volume.ErrNotVolume) {
			err = &volumeError{err}
		}
		return nil, err
	}
	v := item.Value
	in, err := v.member(ctx, j, n.Whole)
	if err != nil {
		n.volumes.Release(item)
		return nil, err
	}
	in.close = func() error {
		n.volumes.Release(item)
		return nil
	}
	return n.note(in), nil
}

// volumeError is an error of a volume, not of a member.
type volumeError struct{ error }

func (e *volumeError) Unwrap() []error { return []error{e.error, errNoVolume} }

// member opens a member. Of distant ones, the end is read at once, or all if that is at most whole bytes.
func (v *openVolume) member(ctx context.Context, j File, whole int64) (*Input, error) {
	e, err := v.Resolve(ctx, j.member)
	if err != nil {
		return nil, err
	}
	if e.Kind == volume.Folder {
		return nil, errFolder
	}
	r, size, err := v.Contents(ctx, e)
	if err != nil {
		return nil, err
	}
	in := &Input{Name: terminal.ShowName(j.Name), R: ioat.Live(ctx, r), Size: size, Stat: memberInfo{e.Info(), e}, volume: v, member: e.Path}
	if f := v.file; f.remote != nil {
		in.ETag, in.Modified, in.Stat = f.ETag, f.Modified, nil
		in.remote = &answered{j.Name, f.remote.shown}
		n := int64(wholeEnds)
		if size <= whole {
			n = size
		}
		if in.R, err = ioat.KeepEnd(ctx, in.R, size, n); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// fileOf returns the open file in which an input lies, or nil.
func (in *Input) fileOf() *os.File {
	if in.volume != nil {
		return in.volume.file.File
	}
	return in.File
}

// pathOf returns the path of that file.
func (in *Input) pathOf() string {
	if in.volume != nil {
		return in.volume.file.Name
	}
	return in.Name
}

// memberInfo describes a member as a file with an owner.
type memberInfo struct {
	fs.FileInfo
	e *volume.Entry
}
