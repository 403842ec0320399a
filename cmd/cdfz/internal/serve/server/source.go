package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/dap"
)

// source is what the server shows: a folder without hidden files. All names are
// relative to its root and have slashes. Archives can be read under their own names, too,
// but are not listed. It is safe for concurrent use.
type source struct {
	root  archivefs.Root
	links fs.ReadLinkFS // the folder with volumes as folders
	*archivefs.FS
	plain *lru.Cache[archivefs.Ident, bool] // whether a file that is no archive by its name is a netCDF file
}

// maxPlain is how many files are remembered; each takes about 200 bytes.
const maxPlain = 1 << 16

// openDataset is an open netCDF file.
type openDataset = archivefs.File

// dataset has the forms of an open netCDF file, which are computed when they are needed.
type dataset struct {
	dap  func() *dap.Dataset
	zarr func() (*archive.Zarr, error)
}

// found is a file or folder of the source.
type found struct {
	shown string // name of the server
	*archivefs.Found
}

// openSource opens a folder or a file. cache is the number of bytes of decoded blocks that are
// kept.
func openSource(src string, cache int64, workers int, warn func(string, error)) (*source, error) {
	shared, err := archive.NewCache(cache)
	if err != nil {
		return nil, err
	}
	root, only, err := archivefs.OpenRoot(src)
	if err != nil {
		return nil, err
	}
	o := &archive.OpenOptions{Shared: shared, Workers: workers, Index: archivefs.IndexPages, BlockMemory: archivefs.BlockMemory}
	links := archivefs.Volumes(root, warn)
	plain, _ := lru.New[archivefs.Ident, bool](maxPlain) // fails for no size only
	s := &source{root, links, archivefs.New(links, o), plain}
	s.Only, s.Joined = only, joinedfiles.Rules(*o)
	if only != "" {
		f, err := s.Probe(only)
		if err == nil {
			err = f.Err
		}
		if err != nil {
			root.Close()
			return nil, &fs.PathError{Op: "serve", Path: src, Err: err}
		}
	}
	s.Warn = warn // from now on: an error so far is returned
	return s, nil
}

// valid reports whether a name may lie in the source and is not hidden.
func valid(name string) bool {
	if name == "." {
		return true
	}
	return fs.ValidPath(strings.ToValidUTF8(name, "_")) && name[0] != '.' && !strings.Contains(name, "/.") && filepath.IsLocal(filepath.FromSlash(name))
}

// maxLinks is how many links a name may lead over, as in Linux.
const maxLinks = 40

// find returns what a name of the server stands for. The error is fs.ErrNotExist or one
// of the system. An archive that cannot be opened is found, with its error.
func (s *source) find(name string) (*found, error) {
	if !valid(name) {
		return nil, fs.ErrNotExist
	}
	all := *s.FS
	all.WithArchives = true
	f, err := all.Find(name)
	// A link to an original leads to no file: its archive has another name.
	for to, n := name, 0; errors.Is(err, fs.ErrNotExist) && n < maxLinks; n++ {
		link, e := s.links.ReadLink(to)
		if e != nil {
			break
		}
		if to = path.Join(path.Dir(to), link); path.IsAbs(link) || !valid(to) {
			break
		}
		f, err = all.Find(to)
	}
	if errors.Is(err, fs.ErrNotExist) { // an archive that cannot be read appears under its own name alone
		if _, e := all.Probe(name + archive.Suffix); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	if err == nil && !f.Info.IsDir() && !f.Info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	return &found{name, f}, err
}

// list returns the contents of a folder, sorted by name. Files that disappear are left out. Files
// that are named as archives but cannot be opened have an error.
func (s *source) list(dir string) ([]*found, error) {
	entries, err := s.ReadDir(dir)
	out := make([]*found, 0, len(entries))
	for _, e := range entries {
		shown := path.Join(dir, e.Name())
		if f := archivefs.FoundOf(e); f != nil && valid(shown) {
			out = append(out, &found{shown, f})
		} else if f, err := s.find(shown); err == nil {
			if !f.Info.IsDir() && strings.HasSuffix(shown, archive.Suffix) {
				f.Err = s.whyNot(f.Name)
			}
			out = append(out, f)
		}
	}
	return out, err
}

// whyNot returns why a file cannot be opened as an archive, or nil.
func (s *source) whyNot(name string) error {
	f, err := s.Probe(name)
	switch {
	case err != nil:
		return err
	case !f.Image:
		return archive.ErrNotArchive
	}
	return f.Err
}

// isNetCDF reports whether a file appears as a data set of OPeNDAP and Zarr in catalogues: archives, and files that have
// both the name and the first bytes of a netCDF file. Those are read once, since large folders are listed. A file that
// cannot be read counts by its name: the services tell why.
func (s *source) isNetCDF(f *found) bool {
	ext := path.Ext(f.shown)
	switch {
	case f.Image:
		return true
	case ext != ".nc" && ext != ".cdf":
		return false
	}
	id := archivefs.IdentOf(f.Name, f.Info)
	is, ok := s.plain.Get(id)
	if ok {
		return is
	}
	file, info, err := s.OpenStored(f.Name)
	if err != nil {
		return true
	}
	defer file.Close()
	if is, err = opensAsNetCDF(file, info.Size()); err != nil {
		return true
	}
	s.plain.Add(archivefs.IdentOf(f.Name, info), is)
	return is
}

// opensAsNetCDF reports whether a file has the magic number of classic netCDF files, or is an archive, whatever its name.
func opensAsNetCDF(r io.ReaderAt, size int64) (bool, error) {
	const magic = 4
	_, err := cdf3.Read(r, min(size, magic)) // which holds no header
	switch {
	case errors.As(err, new(*cdf3.FormatError)):
		return true, nil
	case errors.Is(err, cdf3.ErrNotCDF):
		return archive.IsArchive(r, size)
	}
	return false, err
}

// acquire opens a found file as netCDF, with its present contents. The caller must
// release it. The error for a file that is not netCDF wraps archive.ErrNotArchive.
func (s *source) acquire(f *found) (*openDataset, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	if f.Info.IsDir() {
		return nil, archive.ErrNotArchive
	}
	d, err := s.Acquire(f.Name)
	if err != nil && f.Image {
		s.Report(f.Name, err)
	}
	return d, err
}

// formsOf returns the forms of an open netCDF file.
func formsOf(d *openDataset) *dataset {
	return d.Value(func(a *archive.File) any {
		return &dataset{
			dap:  sync.OnceValue(func() *dap.Dataset { return dap.New(a, "") }),
			zarr: sync.OnceValues(func() (*archive.Zarr, error) { return a.Zarr(context.Background(), nil) }),
		}
	}).(*dataset)
}
