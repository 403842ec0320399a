package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/ioat"
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

// openRemoteMember is openMember for URLs.
func openRemoteMember(ctx context.Context, name string, o *OpenOptions) (*File, error) {
	for at, member := range volume.Split(name) {
		r, err := urls.Open(ctx, at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // it may be a folder of a server
		}
		if err != nil {
			return nil, err
		}
		out, err := newRemoteMember(ctx, r, name, member, o)
		if err == nil {
			return out, nil
		}
		r.Close()
		if !errors.Is(err, volume.ErrNotVolume) {
			return nil, &fs.PathError{Op: "open", Path: urls.Redact(name), Err: err}
		}
	}
	return nil, nil
}

func newRemoteMember(ctx context.Context, r urls.File, name, member string, o *OpenOptions) (*File, error) {
	v, err := volume.Open(ctx, r, r.Size())
	if err != nil {
		return nil, err
	}
	in, size, err := contentsOf(ctx, v, member)
	if err != nil {
		return nil, err
	}
	kept, err := ioat.KeepEnd(ctx, in, size, memberEnd)
	if err != nil {
		return nil, err
	}
	m := &remoteMember{Source: kept, whole: r, name: urls.Redact(name), size: size}
	out, err := newRemote(ctx, m, o)
	if err != nil {
		return nil, err
	}
	out.closer = r
	return out, nil
}

// remoteMember is a member of a volume at a URL.
type remoteMember struct {
	*ioat.Source
	whole urls.File // the volume
	name  string
	size  int64
}

var _ urls.File = (*remoteMember)(nil)

func (m *remoteMember) Name() string { return m.name }
func (m *remoteMember) Size() int64  { return m.size }
func (m *remoteMember) Close() error { return m.whole.Close() }

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
