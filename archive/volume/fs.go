package volume

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// FS returns the members of the volume as a file system. Its files implement io.ReaderAt and io.Seeker, and paths lead
// over symbolic links as Resolve describes. It is safe for concurrent use if the volume is. Reads end early when ctx is done, if the reader
// of the volume can do that.
func (v *Volume) FS(ctx context.Context) fs.FS { return &volumeFS{v, ctx} }

type volumeFS struct {
	v   *Volume
	ctx context.Context
}

var (
	_ fs.ReadDirFS  = (*volumeFS)(nil)
	_ fs.StatFS     = (*volumeFS)(nil)
	_ fs.ReadLinkFS = (*volumeFS)(nil)
)

// plain returns the error without the path that a fs.PathError repeats.
func plain(op, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (f *volumeFS) find(op, name string, follow bool) (*Entry, error) {
	// Members have names of any bytes.
	if !fs.ValidPath(strings.ToValidUTF8(name, "_")) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	var e *Entry
	var err error
	if dir, base := path.Split(name); name == "." || follow {
		e, err = f.v.Resolve(f.ctx, name)
	} else if dir == "" {
		e, err = f.v.Lookup(f.ctx, base)
	} else if e, err = f.v.Resolve(f.ctx, path.Clean(dir)); err == nil {
		e, err = f.v.Lookup(f.ctx, path.Join(e.Path, base))
	}
	if err == nil && !follow {
		e, err = f.v.Regular(f.ctx, e)
	}
	if err != nil {
		return nil, plain(op, name, err)
	}
	return e, nil
}

// Stat implements fs.StatFS.
func (f *volumeFS) Stat(name string) (fs.FileInfo, error) { return f.info("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (f *volumeFS) Lstat(name string) (fs.FileInfo, error) { return f.info("lstat", name, false) }

func (f *volumeFS) info(op, name string, follow bool) (fs.FileInfo, error) {
	e, err := f.find(op, name, follow)
	if err != nil {
		return nil, err
	}
	return info{e, path.Base(name)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (f *volumeFS) ReadLink(name string) (string, error) {
	e, err := f.find("readlink", name, false)
	if err == nil && e.Kind != Symlink {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", err
	}
	return e.Target, nil
}

// Open implements fs.FS.
func (f *volumeFS) Open(name string) (fs.File, error) {
	e, err := f.find("open", name, true)
	if err != nil {
		return nil, err
	}
	i := info{e, path.Base(name)}
	if e.Kind == Folder {
		return &folder{info: i, fs: f, name: name}, nil
	}
	r, size, err := f.v.Contents(f.ctx, e)
	if err != nil {
		return nil, plain("open", name, err)
	}
	return &file{io.NewSectionReader(ioat.Bind(f.ctx, r), 0, size), i}, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *volumeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if e.Kind != Folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is no folder")}
	}
	var list []fs.DirEntry
	for e, err := range f.v.Children(f.ctx, e.Path) {
		if err == nil && e.Kind == HardLink {
			e, err = f.v.Regular(f.ctx, e)
		}
		if err != nil {
			return nil, plain("readdir", name, err)
		}
		list = append(list, fs.FileInfoToDirEntry(info{e, path.Base(e.Path)}))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// info describes a member.
type info struct {
	e    *Entry
	name string
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.e.Size }
func (i info) Mode() fs.FileMode  { return i.e.FileMode() }
func (i info) ModTime() time.Time { return i.e.Modified }
func (i info) IsDir() bool        { return i.e.Kind == Folder }
func (i info) Sys() any           { return i.e }

// Info describes a member as package io/fs does. Its Sys is the *Entry.
func (e *Entry) Info() fs.FileInfo { return info{e, path.Base(e.Path)} }

type file struct {
	*io.SectionReader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type folder struct {
	info info
	fs   *volumeFS
	name string
	list []fs.DirEntry // not yet returned
	done bool          // list was read
}

func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *folder) Close() error               { return nil }

func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a folder")}
}

// ReadDir implements fs.ReadDirFile.
func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.done {
		list, err := d.fs.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.list, d.done = list, true
	}
	out := d.list
	if n > 0 {
		if len(out) == 0 {
			return nil, io.EOF
		}
		out = out[:min(n, len(out))]
	}
	d.list = d.list[len(out):]
	return out, nil
}
