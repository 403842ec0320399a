package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// memberEnd is the number of bytes at the end of a distant member that are read at once: many archives are shorter.
const memberEnd = 64 << 10

// openMember opens a member of a local volume. It returns nil if the name does not lead into one.
func openMember(ctx context.Context, name string, o *OpenOptions) (*File, error) {
	for at, member := range volume.Split(name) {
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() {
			continue
		}
		f, size, err := openNamed(at)
		if err != nil {
			return nil, err
		}
		v, err := volume.Open(ctx, f, size)
		if errors.Is(err, ErrCorrupt) {
			v, err = volume.Rebuild(ctx, f, size, err)
		}
		var out *File
		if err == nil {
			if out, err = newMember(ctx, v, filepath.ToSlash(member), o); err == nil {
				out.closer = closers{v, f}
				return out, nil
			}
			v.Close()
		}
		f.Close()
		if !errors.Is(err, volume.ErrNotVolume) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return nil, nil
}

// contentsOf returns the contents of a member.
func contentsOf(ctx context.Context, v *volume.Volume, member string) (io.ReaderAt, int64, error) {
	e, err := v.Resolve(ctx, member)
	if err != nil {
		return nil, 0, err
	}
	if e.Kind == volume.Folder {
		return nil, 0, errFolder
	}
	return v.Contents(ctx, e)
}

func newMember(ctx context.Context, v *volume.Volume, member string, o *OpenOptions) (*File, error) {
	r, size, err := contentsOf(ctx, v, member)
	if err != nil {
		return nil, err
	}
	return newNamed(ctx, r, size, o)
}

// remoteVolume is an open volume at a URL. Open members share it.
type remoteVolume struct {
	*volume.Volume
	file urls.File
}

// Close implements io.Closer.
func (v *remoteVolume) Close() error { return errors.Join(v.Volume.Close(), v.file.Close()) }

// idleVolumes and idleTime bound the volumes at URLs that are kept open while no member of them is: many files are opened
// and closed one after the other, and each has the top level of its index in memory.
const (
	idleVolumes = 8
	idleTime    = time.Minute
)

var remoteVolumes = kept.New[string, *remoteVolume](kept.Limits{Idle: idleVolumes, Time: idleTime})

// openRemoteMember is openMember for URLs.
func openRemoteMember(ctx context.Context, name string, o *OpenOptions) (*File, error) {
	for at, member := range volume.Split(name) {
		out, err := openRemoteIn(ctx, at, name, member, o)
		switch {
		case err == nil:
			return out, nil
		case errors.Is(err, errNoSuchVolume), errors.Is(err, volume.ErrNotVolume):
			continue // it may be a folder of a server
		}
		return nil, err
	}
	return nil, nil
}

// errNoSuchVolume reports a URL that leads to no file, or to none that may be read.
var errNoSuchVolume = errors.New("no such volume")

// openRemoteIn opens a member of the volume at a URL, which another member may have opened. If the server has another file
// there since then, it opens that one.
func openRemoteIn(ctx context.Context, at, name, member string, o *OpenOptions) (*File, error) {
	failed := func(err error) error { return &fs.PathError{Op: "open", Path: urls.Redact(name), Err: err} }
	if i := remoteVolumes.Use(at); i != nil {
		out, err := newRemoteMember(ctx, i, name, member, o)
		if err == nil {
			return out, nil
		}
		again := errors.Is(err, urls.ErrChanged) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt)
		if !again || ctx.Err() != nil {
			remoteVolumes.Release(i)
			return nil, failed(err)
		}
		remoteVolumes.Forget(i)
		remoteVolumes.Release(i)
	}
	r, err := urls.Open(ctx, at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, errNoSuchVolume
	}
	if err != nil {
		return nil, err
	}
	v, err := volume.Open(ctx, r, r.Size())
	if err != nil {
		r.Close()
		return nil, failed(err)
	}
	own := &kept.Item[string, *remoteVolume]{Key: at, Value: &remoteVolume{v, r}}
	i := remoteVolumes.Add(own)
	if i != own { // opened at the same time
		own.Value.Close()
	}
	out, err := newRemoteMember(ctx, i, name, member, o)
	if err != nil {
		remoteVolumes.Release(i)
		return nil, failed(err)
	}
	return out, nil
}

// newRemoteMember opens a member of an open volume. Closing it releases the volume.
func newRemoteMember(ctx context.Context, i *kept.Item[string, *remoteVolume], name, member string, o *OpenOptions) (*File, error) {
	v, r := i.Value.Volume, i.Value.file
	in, size, err := contentsOf(ctx, v, member)
	if err != nil {
		return nil, err
	}
	end, err := ioat.KeepEnd(ctx, in, size, memberEnd)
	if err != nil {
		return nil, err
	}
	m := &remoteMember{Source: end, whole: r, item: i, name: urls.Redact(name), size: size}
	out, err := newRemote(ctx, m, o)
	if err != nil {
		return nil, err
	}
	out.closer = m
	return out, nil
}

// remoteMember is a member of a volume at a URL.
type remoteMember struct {
	*ioat.Source
	whole urls.File // the volume
	item  *kept.Item[string, *remoteVolume]
	once  sync.Once
	name  string
	size  int64
}

var _ urls.File = (*remoteMember)(nil)

func (m *remoteMember) Name() string { return m.name }
func (m *remoteMember) Size() int64  { return m.size }

// Close implements urls.File. The volume may stay open.
func (m *remoteMember) Close() error {
	m.once.Do(func() { remoteVolumes.Release(m.item) })
	return nil
}

// Preload implements urls.File. The header of a classic file is read when it is needed, in one part or two.
func (m *remoteMember) Preload(ctx context.Context, n int64) error { return nil }

// CheckTail implements urls.File. Members do not change unless the volume does.
func (m *remoteMember) CheckTail(ctx context.Context) error { return m.whole.CheckTail(ctx) }

// closers closes several things.
type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, x := range c {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}
