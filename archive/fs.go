package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// FS returns a view of a file system in which archives appear as the classic files that
// they hold. The archive x.nc.cdfz appears as x.nc, with the size of the image and the
// modification time of the archive, which WriteFile copies from the original. All other
// files are unchanged, and so are archives next to an existing x.nc.
//
// Archives are recognized by their names, which end in Suffix, and by their first or
// last bytes. Files of fsys must implement io.ReaderAt, as those of os.DirFS do. Files
// of images implement io.ReaderAt and io.Seeker. They share one cache, opts.Shared or a
// new one of opts.Cache bytes. Nil options mean the defaults.
//
// The view is read-only and safe for concurrent use if fsys is. Listing a folder probes
// each archive in it, and reading the size of a file opens its archive.
func FS(fsys fs.FS, opts *OpenOptions) fs.FS {
	v := &imageFS{fsys: fsys}
	if opts != nil {
		v.opts = *opts
	}
	if v.opts.Shared == nil && v.opts.Cache >= 0 {
		bytes := v.opts.Cache
		if bytes == 0 {
			bytes = read.DefaultCache
		}
		v.opts.Shared, _ = NewCache(bytes) // fails only for sizes that are not positive
	}
	return v
}

// imageFS is the file system returned by FS.
type imageFS struct {
	fsys fs.FS
	opts OpenOptions
}

var _ fs.ReadDirFS = (*imageFS)(nil)

// imageName returns the name under which an archive appears, if the file is one.
func imageName(name string) (string, bool) {
	image, ok := strings.CutSuffix(name, Suffix)
	base := path.Base(image)
	return image, ok && fs.ValidPath(image) && base != "." && !strings.HasSuffix(image, "/")
}

// Open implements fs.FS.
func (v *imageFS) Open(name string) (fs.File, error) {
	f, err := v.open(name)
	if err != nil {
		var p *fs.PathError
		if !errors.As(err, &p) || p.Path != name {
			err = &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return nil, err
	}
	return f, nil
}

func (v *imageFS) open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	f, err := v.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if name == "." {
			return nil, err
		}
		return v.openImage(name, err)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		return &imageDir{File: f, fsys: v, name: name}, nil
	}
	var image string
	if err == nil {
		image, err = v.shownAs(name)
	}
	if err == nil && image != name {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// shownAs returns the name under which a file of the file system appears.
func (v *imageFS) shownAs(name string) (string, error) {
	image, ok := imageName(name)
	if !ok {
		return name, nil
	}
	if _, err := fs.Stat(v.fsys, image); !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	f, err := v.fsys.Open(name)
	if err != nil {
		return name, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return name, err
	}
	if r, ok := f.(io.ReaderAt); ok {
		if ok, err := IsArchive(r, st.Size()); err != nil || ok {
			return image, err
		}
	}
	return name, nil
}

// openImage opens the archive of an image, or returns the error missing if no such archive
// exists.
func (v *imageFS) openImage(name string, missing error) (fs.File, error) {
	f, err := v.fsys.Open(name + Suffix)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = missing
		}
		return nil, err
	}
	opened, err := v.imageFile(name, f, missing)
	if err != nil {
		f.Close()
		return nil, err
	}
	return opened, nil
}

func (v *imageFS) imageFile(name string, f fs.File, missing error) (fs.File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok || !st.Mode().IsRegular() {
		return nil, missing
	}
	if ok, err := IsArchive(r, st.Size()); err != nil || !ok {
		return nil, errors.Join(err, missing)
	}
	o := v.opts
	o.Name = name + Suffix
	a, err := New(r, st.Size(), &o)
	if err != nil {
		return nil, err
	}
	im := a.Image()
	return &imageFile{io.NewSectionReader(im, 0, im.Size()), f, imageInfo{st, path.Base(name), im.Size()}}, nil
}

// ReadDir implements fs.ReadDirFS.
func (v *imageFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(v.fsys, name)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		full := path.Join(name, e.Name())
		if _, ok := imageName(full); !ok || e.IsDir() {
			continue
		}
		// Unreadable files appear unchanged.
		if image, err := v.shownAs(full); err == nil && image != full {
			list[i] = imageEntry{v, image}
		}
	}
	slices.SortFunc(list, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	return list, nil
}

// imageFile is the image of an archive as an open file.
type imageFile struct {
	*io.SectionReader
	archive fs.File
	info    imageInfo
}

var _ interface {
	fs.File
	io.ReaderAt
	io.Seeker
} = (*imageFile)(nil)

func (f *imageFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *imageFile) Close() error               { return f.archive.Close() }

// imageInfo describes an archive with the name and size of its image.
type imageInfo struct {
	fs.FileInfo
	name string
	size int64
}

func (i imageInfo) Name() string { return i.name }
func (i imageInfo) Size() int64  { return i.size }

// imageEntry is the image of an archive in a folder.
type imageEntry struct {
	fsys *imageFS
	name string // in the file system
}

func (e imageEntry) Name() string               { return path.Base(e.name) }
func (e imageEntry) IsDir() bool                { return false }
func (e imageEntry) Type() fs.FileMode          { return 0 }
func (e imageEntry) Info() (fs.FileInfo, error) { return fs.Stat(e.fsys, e.name) }
func (e imageEntry) String() string             { return fs.FormatDirEntry(e) }

// imageDir is an open folder.
type imageDir struct {
	fs.File
	fsys *imageFS
	name string
	list []fs.DirEntry
	read bool
}

func (d *imageDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fmt.Errorf("is a folder: %w", fs.ErrInvalid)}
}

// ReadDir implements fs.ReadDirFile.
func (d *imageDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		var err error
		if d.list, err = d.fsys.ReadDir(d.name); err != nil {
			return nil, err
		}
		d.read = true
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
