package archivefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/kept"
)

// maxOpenVolumes is the number of volumes that stay open without uses.
const maxOpenVolumes = 16

// Volumes returns a file system in which the volumes of another one are folders with their members. Volumes are recognized by
// their names, which end in [volume.Suffix], and by their bytes. Files of fsys must implement io.ReaderAt. Of a volume
// whose end is damaged, the headers are read, and report is called; if report is nil, it stays a file. It is safe for
// concurrent use if fsys is.
func Volumes(fsys fs.FS, report func(name string, err error)) fs.ReadLinkFS {
	not, _ := lru.New[Ident, bool](maxKinds) // fails for no size only
	return &volumes{fsys, report, not, kept.New[Ident, *openVolume](kept.Limits{Idle: int(min(maxOpenVolumes, max(1, kept.MaxOpen()/16))), Time: idleTime})}
}

type volumes struct {
	fsys   fs.FS
	report func(name string, err error)
	not    *lru.Cache[Ident, bool] // files that are no volumes
	open   *kept.Pool[Ident, *openVolume]
}

// openVolume is an open volume, and the file that it is.
type openVolume struct {
	*volume.Volume
	file fs.File
	info fs.FileInfo
}

// Close implements io.Closer for the pool.
func (v *openVolume) Close() error { return errors.Join(v.Volume.Close(), v.file.Close()) }

type volumeItem = kept.Item[Ident, *openVolume]

// use opens a volume. The error is volume.ErrNotVolume for other files. The caller must release it.
func (v *volumes) use(name string) (*volumeItem, error) {
	info, err := fs.Stat(v.fsys, name)
	if err != nil {
		return nil, err
	}
	id := IdentOf(name, info)
	if !info.Mode().IsRegular() || v.not.Contains(id) {
		return nil, volume.ErrNotVolume
	}
	if i := v.open.Use(id); i != nil {
		return i, nil
	}
	f, err := v.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	o, err := v.openFile(name, f)
	if err != nil {
		f.Close()
		if errors.Is(err, volume.ErrNotVolume) {
			v.not.Add(id, true)
		}
		return nil, err
	}
	i := &volumeItem{Key: IdentOf(name, o.info), Value: o}
	in := v.open.Add(i)
	if in != i {
		o.Close()
	}
	return in, nil
}

func (v *volumes) openFile(name string, f fs.File) (*openVolume, error) {
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err == nil && (!ok || !info.Mode().IsRegular()) {
		err = volume.ErrNotVolume
	}
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	vol, err := volume.Open(ctx, r, info.Size())
	if errors.Is(err, archive.ErrCorrupt) {
		if v.report == nil {
			return nil, volume.ErrNotVolume
		}
		why := err
		if vol, err = volume.Rebuild(ctx, r, info.Size(), why); err == nil {
			v.report(name, why)
		}
	}
	return &openVolume{vol, f, info}, err
}

// split finds the volume that a name leads into, and the name there. It returns nil if the name leads to no volume.
func (v *volumes) split(name string) (i *volumeItem, rest string) {
	for at := 0; at < len(name); {
		n := strings.IndexByte(name[at:], '/')
		if n < 0 {
			n = len(name) - at
		}
		at += n
		if strings.HasSuffix(name[:at], volume.Suffix) {
			if i, err := v.use(name[:at]); err == nil {
				return i, path.Clean(strings.TrimPrefix(name[at:], "/"))
			}
		}
		at++
	}
	return nil, ""
}

// VolumeOf returns the identity of the volume that a description in a file system of Volumes is of, or of a member of
// which it is.
func VolumeOf(info fs.FileInfo) (id Ident, ok bool) {
	switch info := info.(type) {
	case volumeInfo:
		return info.id, true
	case memberInfo:
		return info.id, true
	}
	return id, false
}

// memberInfo describes a member of a volume.
type memberInfo struct {
	fs.FileInfo
	id Ident // of the volume
}

// volumeInfo describes a volume as a folder.
type volumeInfo struct {
	fs.FileInfo
	id Ident
}

func (i volumeInfo) Mode() fs.FileMode { // who may read it may search it
	m := i.FileInfo.Mode().Perm() &^ 0o222
	return fs.ModeDir | m | m>>2&0o111
}
func (i volumeInfo) IsDir() bool { return true }

// at calls use with the file system that a name leads to, and its name there.
func at[T any](v *volumes, name string, use func(fsys fs.FS, name string, in *volumeItem) (T, error)) (T, error) {
	var none T
	if !valid(name) {
		return none, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	i, rest := v.split(name)
	if i == nil {
		return use(v.fsys, name, nil)
	}
	defer v.open.Release(i)
	return use(i.Value.FS(context.Background()), rest, i)
}

// Stat implements fs.StatFS.
func (v *volumes) Stat(name string) (fs.FileInfo, error) { return v.info(name, fs.Stat) }

// Lstat implements fs.ReadLinkFS.
func (v *volumes) Lstat(name string) (fs.FileInfo, error) { return v.info(name, fs.Lstat) }

func (v *volumes) info(name string, stat func(fs.FS, string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	return at(v, name, func(fsys fs.FS, rest string, in *volumeItem) (fs.FileInfo, error) {
		if in != nil && rest == "." {
			return volumeInfo{in.Value.info, in.Key}, nil
		}
		info, err := stat(fsys, rest)
		if err == nil && in != nil {
			info = memberInfo{info, in.Key}
		}
		return info, renamed(err, rest, name)
	})
}

// renamed gives an error the whole name.
func renamed(err error, part, name string) error {
	var p *fs.PathError
	if part != name && errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
	}
	return err
}

// ReadLink implements fs.ReadLinkFS.
func (v *volumes) ReadLink(name string) (string, error) {
	return at(v, name, func(fsys fs.FS, rest string, _ *volumeItem) (string, error) {
		target, err := fs.ReadLink(fsys, rest)
		return target, renamed(err, rest, name)
	})
}

// ReadDir implements fs.ReadDirFS.
func (v *volumes) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := at(v, name, func(fsys fs.FS, rest string, in *volumeItem) ([]fs.DirEntry, error) {
		list, err := fs.ReadDir(fsys, rest)
		for n := range list {
			if in == nil {
				break
			}
			info, err := list[n].Info()
			if err != nil {
				return nil, err
			}
			list[n] = fs.FileInfoToDirEntry(memberInfo{info, in.Key})
		}
		return list, renamed(err, rest, name)
	})
	for n, e := range list {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), volume.Suffix) {
			continue
		}
		if i, err := v.use(path.Join(name, e.Name())); err == nil {
			list[n] = fs.FileInfoToDirEntry(volumeInfo{i.Value.info, i.Key})
			v.open.Release(i)
		}
	}
	return list, err
}

// Open implements fs.FS.
func (v *volumes) Open(name string) (fs.File, error) {
	if !valid(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	i, rest := v.split(name)
	if i == nil {
		f, err := v.fsys.Open(name)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return &dir{File: f, name: name, read: v.ReadDir}, nil
		}
		return f, nil
	}
	f, err := i.Value.FS(context.Background()).Open(rest)
	if err != nil {
		v.open.Release(i)
		return nil, renamed(err, rest, name)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		if rest == "." {
			info = volumeInfo{i.Value.info, i.Key}
		}
		v.open.Release(i)
		return &dir{File: statted{f, info}, name: name, read: v.ReadDir}, nil
	}
	m := &member{File: f, pool: v.open, item: i}
	m.ReaderAt, _ = f.(io.ReaderAt)
	m.Seeker, _ = f.(io.Seeker)
	return m, nil
}

// statted is a file with another description.
type statted struct {
	fs.File
	info fs.FileInfo
}

func (s statted) Stat() (fs.FileInfo, error) { return s.info, nil }

// member is an open member of a volume, which stays open as long.
type member struct {
	fs.File
	io.ReaderAt
	io.Seeker
	pool *kept.Pool[Ident, *openVolume]
	item *volumeItem
}

// Stat implements fs.File.
func (m *member) Stat() (fs.FileInfo, error) {
	info, err := m.File.Stat()
	if err == nil && m.item != nil {
		info = memberInfo{info, m.item.Key}
	}
	return info, err
}

// Close ends the use of the volume.
func (m *member) Close() error {
	if m.item == nil {
		return fs.ErrClosed
	}
	m.pool.Release(m.item)
	m.item = nil
	return m.File.Close()
}
