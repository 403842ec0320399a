// Package archivefs shows a folder of archives as a folder of the original files. [New] makes an [FS], which is an
// [fs.FS] with these rules:
//
//   - The archive x.nc.cdfz appears as x.nc.
//   - A file that exists under the name x.nc comes first. Then the archive appears as
//     x.nc.cdfz.
//   - A file x.nc.cdfz that is not an archive, or cannot be read, appears unchanged.
//   - A damaged archive appears as x.nc, which cannot be opened.
//   - With [FS].Joined, the description x.ncml of joined files appears as x.nc, unless x.nc or
//     x.nc.cdfz exists. Package joinedfiles has the rules for them.
//
// Servers of folders need more of it: [FS.Find] has what is known of a file, and [FS.Acquire] keeps files open
// that several use. [Archives] is what the FS of a folder and of the folders in it share: which files are
// archives, the open files, and the problems that were reported.
package archivefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// format is what an FS knows about archives.
type format struct {
	suffix string // of the names of archives, after the name of the original
	// is reports whether a file of size bytes is an archive, intact or damaged.
	is func(r io.ReaderAt, size int64) (bool, error)
	// open reads the metadata of an archive or another netCDF file. Its errors, and those of
	// the result, contain the name unless that is "".
	open func(name string, r io.ReaderAt, size int64) (*archive.File, error)
	// original returns the original file of an archive, its size and its SHA-256.
	original func(*archive.File) (r io.ReaderAt, size int64, sha256 string)
	// lasting reports whether opening the same bytes again would fail with the same error.
	lasting func(error) bool
	// cause returns a text that all errors with the same cause have in common.
	cause func(error) string
}

// FS is a file system in which archives appear as the original files. It is safe for
// concurrent use if its file system is.
type FS struct {
	*Archives
	WithArchives bool    // archives appear under their own names, too
	Links        bool    // Find describes links, not their targets
	Only         string  // the only file of the file system that is used; "": all
	Joined       *Joined // joined files appear as one; nil: their descriptions are files like others
	fsys         fs.FS
	root         fs.FS  // of the first FS
	dir          string // name of fsys in root
}

// New returns a file system in which the archives of another one appear as the files that they hold. They have
// the size of the image and the modification time of the archive, which [archive.WriteFile] copies from the
// original. All other files are unchanged.
//
// Archives are recognized by their names, which end in [archive.Suffix], and by their first or
// last bytes. Files of fsys must implement io.ReaderAt, as those of os.DirFS do. Files
// of images implement io.ReaderAt and io.Seeker. They share one cache, opts.Shared or a
// new one of opts.Cache bytes. Nil options mean the defaults.
//
// The result is read-only and safe for concurrent use if fsys is. Listing a folder opens and
// closes each archive in it. The size of an archive is remembered as long as the archive
// keeps its modification time, size and, where the system has them, device and inode.
func New(fsys fs.FS, opts *archive.OpenOptions) *FS {
	var o archive.OpenOptions
	if opts != nil {
		o = *opts
	}
	if o.Shared == nil && o.Cache >= 0 {
		bytes := o.Cache
		if bytes == 0 {
			bytes = read.DefaultCache
		}
		o.Shared, _ = archive.NewCache(bytes) // fails only for sizes that are not positive
	}
	return newFS(fsys, format{
		suffix: archive.Suffix,
		is:     archive.IsArchive,
		open: func(name string, r io.ReaderAt, size int64) (*archive.File, error) {
			o := o
			o.Name = name
			return archive.New(context.Background(), r, size, &o)
		},
		original: func(f *archive.File) (io.ReaderAt, int64, string) {
			info, _ := f.Info()
			im := f.Image()
			return im, im.Size(), info.SHA256
		},
		lasting: func(err error) bool {
			return errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrVersion)
		},
		cause: func(err error) string {
			var b *archive.BlockError
			if errors.As(err, &b) { // the same block in several reads
				return "block " + strconv.FormatInt(b.Block, 10)
			}
			return err.Error()
		},
	})
}

func newFS(fsys fs.FS, f format) *FS {
	return &FS{Archives: newArchives(f), fsys: fsys, root: fsys, dir: "."}
}

// At returns the same FS of another file system, which is the folder dir of the first.
func (v *FS) At(fsys fs.FS, dir string) *FS {
	at := *v
	at.fsys, at.dir = fsys, dir
	return &at
}

// errSequential reports a file system whose files have no ReadAt.
var errSequential = errors.New("expected a regular file that implements io.ReaderAt")

// ErrReplaced is the error of a file system whose file was replaced between two steps.
var ErrReplaced = errors.New("was replaced by another file meanwhile")

// Found is a file under the name that an FS shows.
type Found struct {
	Name   string      // of the file, from the root of the first FS
	Info   fs.FileInfo // of the file
	ID     Ident       // of an archive
	Image  bool        // an archive that appears as the original
	Link   bool        // a link leads to the archive
	Size   int64       // number of bytes that appear; -1 for joined files that ReadDir lists and nobody has opened
	SHA256 string      // of the original in hexadecimal digits; "" for other files
	Err    error       // why the archive cannot be opened

	stored string // name of the file in the FS's own file system
}

// Find returns the file that appears under a name. An archive that cannot be opened is
// found, with its error. The error of Find is fs.ErrNotExist, ErrReplaced, or one of the
// file system.
func (v *FS) Find(name string) (*Found, error) {
	info, err := v.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v.findImage(name)
	case err != nil:
		return nil, err
	}
	if image, ok := v.imageName(name); ok && !v.WithArchives && v.isFree(image, name) {
		if f, err := v.glance(name); err == nil && f.Image {
			return nil, fs.ErrNotExist
		}
	}
	if info.Mode()&fs.ModeSymlink != 0 && !v.Links {
		if info, err = fs.Stat(v.fsys, name); err != nil {
			return nil, err
		}
	}
	return &Found{Name: path.Join(v.dir, name), Info: info, Size: info.Size()}, nil
}

// isFree reports whether a file may appear under the name of an image: none exists with a name that comes
// before its own.
func (v *FS) isFree(image, name string) bool {
	for _, before := range append([]string{image}, v.storedNames(image)...) {
		if before == name {
			return true
		}
		if _, err := v.lstat(before); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return false
}

// findImage finds the archive of an original. Archives that cannot be read do not appear.
func (v *FS) findImage(image string) (*Found, error) {
	for _, name := range v.storedNames(image) {
		f, err := v.Probe(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // the next one
		case errors.Is(err, ErrReplaced) || errors.Is(err, errSequential):
			return nil, err
		case err != nil || !f.Image:
			return nil, fs.ErrNotExist
		}
		return f, nil
	}
	return nil, fs.ErrNotExist
}

// storedNames returns the names of the files that may appear as an image, the first of which comes first.
func (v *FS) storedNames(image string) (names []string) {
	if name := image + v.format.suffix; v.shows(name) {
		names = append(names, name)
	}
	if j := v.Joined; j != nil {
		if stem, ok := strings.CutSuffix(image, j.Image); ok && v.shows(stem+j.Suffix) {
			names = append(names, stem+j.Suffix)
		}
	}
	return names
}

// shows reports whether a file may appear under another name.
func (v *FS) shows(name string) bool {
	_, ok := v.imageName(name)
	return ok
}

// imageName returns the name under which a file appears if it is an archive, or describes joined files.
func (v *FS) imageName(name string) (string, bool) {
	image, ok := strings.CutSuffix(name, v.format.suffix)
	if j := v.Joined; !ok && j != nil {
		if image, ok = strings.CutSuffix(name, j.Suffix); ok && image != "" && !strings.HasSuffix(image, "/") {
			image += j.Image
		}
	}
	base := image[strings.LastIndexByte(image, '/')+1:]
	return image, ok && base != "" && base != "." && base != ".."
}

// lstat describes a file. It does not follow links if the file system has any.
func (v *FS) lstat(name string) (fs.FileInfo, error) {
	if v.Only != "" && name != v.Only && name != "." {
		return nil, fs.ErrNotExist
	}
	return fs.Lstat(v.fsys, name)
}

// Probe determines whether a file of the file system is an archive, after following links.
// An archive that cannot be opened is reported and is not an error.
func (v *FS) Probe(name string) (*Found, error) { return v.probe(name, true) }

// glance is Probe that does not open joined files, and reads only the beginning of their description.
func (v *FS) glance(name string) (*Found, error) { return v.probe(name, !v.isJoined(name)) }

// probe is Probe. opens is false if it is enough to know whether a file is an archive.
func (v *FS) probe(name string, opens bool) (*Found, error) {
	f := &Found{Name: path.Join(v.dir, name), stored: name}
	var err error
	if f.Info, err = v.lstat(name); err == nil && f.Info.Mode()&fs.ModeSymlink != 0 {
		f.Link = true
		f.Info, err = fs.Stat(v.fsys, name)
	}
	if err != nil {
		return nil, err
	}
	var k kind
	if f.Info.Mode().IsRegular() {
		var ok bool
		f.ID = IdentOf(f.Name, f.Info)
		if k, ok = v.kinds.Get(f.ID); !ok || k.closed && opens {
			if k, err = v.read(name, f, opens); err != nil {
				return nil, err
			}
		}
	}
	f.Image, f.SHA256, f.Err = k.archive, k.sha256, k.err
	switch f.Size = f.Info.Size(); {
	case k.closed:
		f.Size = -1
	case f.Image:
		f.Size = k.size
	}
	return f, nil
}

// read reads the kind of a file. It sets Info and ID to those of the file that it opened.
func (v *FS) read(name string, f *Found, opens bool) (k kind, err error) {
	file, info, err := v.OpenStored(name)
	if err != nil {
		return k, err
	}
	defer file.Close()
	f.Info = info
	f.ID = IdentOf(f.Name, info)
	if k.archive, err = v.is(name, file, info.Size()); err != nil {
		return k, err
	}
	k.closed = k.archive && !opens
	if k.archive && opens {
		a, closer, err := v.openNetCDF(name, "", file, info)
		if err == nil {
			_, k.size, k.sha256 = v.format.original(a)
			closer.Close()
		} else {
			k.err = err
			v.Report(f.Name, err)
		}
	}
	if k.err == nil || v.lasting(name, k.err) {
		v.kinds.Add(f.ID, k)
	}
	return k, nil
}

// Stored is an open file as it is stored.
type Stored interface {
	fs.File
	io.ReaderAt
}

// OpenStored opens a regular file of the file system, which the caller must close, and
// describes it.
func (v *FS) OpenStored(name string) (Stored, fs.FileInfo, error) {
	file, err := v.fsys.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	stored, ok := file.(Stored)
	if err == nil && (!ok || !info.Mode().IsRegular()) {
		err = &fs.PathError{Op: "open", Path: name, Err: errSequential}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return stored, info, nil
}

// ReadDir implements fs.ReadDirFS. The entries of originals are regular files. Descriptions of joined files
// are not read.
func (v *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	var err error
	if v.Only == "" {
		list, err = fs.ReadDir(v.fsys, dir)
	} else if info, e := v.lstat(v.Only); e == nil {
		list = []fs.DirEntry{fs.FileInfoToDirEntry(info)}
	}
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(list))
	for _, e := range list {
		names[e.Name()] = true
	}
	out := make([]fs.DirEntry, 0, len(list))
	for _, e := range list {
		if image, ok := v.imageName(e.Name()); ok && !e.IsDir() && !names[image] && (!v.isJoined(e.Name()) || !names[image+v.format.suffix]) {
			name := path.Join(dir, e.Name())
			if f, err := v.glance(name); err == nil && f.Image {
				out = append(out, imageEntry{f, image, func() (*Found, error) { return v.Probe(name) }})
				if !v.WithArchives {
					continue
				}
			}
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}
