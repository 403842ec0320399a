package archivefs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

var (
	_ fs.ReadDirFS = (*FS)(nil)
	_ fs.StatFS    = (*FS)(nil)
)

// valid is fs.ValidPath for names of any bytes, as most systems have them.
func valid(name string) bool { return fs.ValidPath(strings.ToValidUTF8(name, "_")) }

// Stat implements fs.StatFS.
func (v *FS) Stat(name string) (fs.FileInfo, error) {
	info, _, err := v.stat(name)
	return info, named("stat", name, err)
}

// stat also returns the name of the file that appears, if that is another one.
func (v *FS) stat(name string) (info fs.FileInfo, stored string, err error) {
	if !valid(name) {
		return nil, "", fs.ErrInvalid
	}
	f, err := v.Find(name)
	switch {
	case err != nil:
		return nil, "", err
	case f.Image:
		return imageInfo{f.Info, path.Base(name), f.Size}, f.stored, f.Err
	}
	return f.Info, "", nil
}

// Open implements fs.FS. Originals implement io.ReaderAt and io.Seeker.
func (v *FS) Open(name string) (fs.File, error) {
	f, err := v.openShown(name)
	return f, named("open", name, err)
}

func (v *FS) openShown(name string) (fs.File, error) {
	info, stored, err := v.stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		f, err := v.fsys.Open(name)
		if err != nil {
			return nil, err
		}
		return &dir{File: f, name: name, read: v.ReadDir}, nil
	}
	if _, ok := info.(imageInfo); !ok {
		return v.fsys.Open(name)
	}
	file, info, err := v.OpenStored(stored)
	if err != nil {
		return nil, err
	}
	a, closer, err := v.openNetCDF(stored, stored, file, info)
	if err != nil {
		file.Close()
		return nil, err
	}
	original, size, _ := v.format.original(a)
	return &image{io.NewSectionReader(original, 0, size), together{file, closer}, imageInfo{info, path.Base(name), size}}, nil
}

// named adds the name of a file to an error. err may be nil.
func named(op, name string, err error) error {
	var p *fs.PathError
	if err == nil || errors.As(err, &p) && p.Path == name {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// image is an open original.
type image struct {
	*io.SectionReader
	archive fs.File
	info    imageInfo
}

func (f *image) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *image) Close() error               { return f.archive.Close() }

// imageInfo describes an archive with the name and size of the original.
type imageInfo struct {
	fs.FileInfo
	name string
	size int64
}

func (i imageInfo) Name() string { return i.name }
func (i imageInfo) Size() int64  { return i.size }

// imageEntry is an original in a folder.
type imageEntry struct {
	found *Found
	name  string
	probe func() (*Found, error) // opens what was not opened for the list
}

func (e imageEntry) Name() string      { return e.name }
func (e imageEntry) IsDir() bool       { return false }
func (e imageEntry) Type() fs.FileMode { return 0 }
func (e imageEntry) String() string    { return fs.FormatDirEntry(e) }

func (e imageEntry) Info() (fs.FileInfo, error) {
	f := e.found
	if f.Size < 0 {
		var err error
		if f, err = e.probe(); err != nil {
			return nil, named("stat", e.name, err)
		}
	}
	return imageInfo{f.Info, e.name, f.Size}, named("stat", e.name, f.Err)
}

// FoundOf returns what Find returns for an original that ReadDir listed, or nil for other files. Joined
// files that were not opened yet have neither a size nor an error.
func FoundOf(e fs.DirEntry) *Found {
	if e, ok := e.(imageEntry); ok {
		return e.found
	}
	return nil
}

// dir is an open folder.
type dir struct {
	fs.File
	name string
	read func(string) ([]fs.DirEntry, error)
	list []fs.DirEntry // not yet returned
	done bool          // list was read
}

func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a folder")}
}

// ReadDir implements fs.ReadDirFile.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.done {
		var err error
		if d.list, err = d.read(d.name); err != nil {
			return nil, err
		}
		d.done = true
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
