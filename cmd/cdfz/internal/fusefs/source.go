//go:build linux && !386 && !arm

package fusefs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
)

type (
	shown = archivefs.FS
	image = archivefs.File
)

// source is what the mount shows: an FS of each of its folders. It is safe for concurrent use.
type source struct {
	files
	*shown
	volumes fs.ReadLinkFS // the files, with volumes as folders
	only    string        // the volume that is the source, or ""
	others  bool          // users other than the server's read, too
}

// found is a file of the source under a name of the mount.
type found struct {
	*archivefs.Found
	st     *syscall.Stat_t
	who    uint32           // who may read it, at most
	volume *archivefs.Ident // of a volume, which appears as a folder
}

// openSource opens a folder or an archive.
func openSource(src string, cache *archive.Cache, o *Options) (*source, error) {
	root, only, err := archivefs.OpenRoot(src)
	if err == nil && only != "" && !isVolumeName(only) && !strings.HasSuffix(only, archive.Suffix) && (o.AllowOther || !joinedfiles.Is(only)) {
		root.Close()
		err = archivefs.ErrSource
	}
	if errors.Is(err, archivefs.ErrSource) {
		err = pathError(src, ErrSource)
	}
	if err != nil {
		return nil, err
	}
	f := files{root.Root}
	opts := &archive.OpenOptions{Shared: cache, Workers: o.Workers, Index: archivefs.IndexPages, BlockMemory: archivefs.BlockMemory}
	volumes := archivefs.Volumes(f.top(), nil)
	s := &source{f, archivefs.New(volumes, opts), volumes, "", o.AllowOther}
	s.WithArchives, s.Links, s.Only = o.WithArchives, true, only
	if !o.AllowOther { // others could read members that they may not
		s.Joined = joinedfiles.Rules(*opts)
	}
	if isVolumeName(only) {
		s.Only, s.only = "", only
	} else if only != "" {
		f, err := s.Probe(only)
		if err == nil && !f.Image {
			err = archive.ErrNotArchive
		}
		if err == nil {
			err = f.Err
		}
		if err != nil {
			root.Close()
			return nil, pathError(src, err)
		}
	}
	s.Warn = o.Warn // from now on: an error so far is returned
	return s, nil
}

// find returns what a name of a folder of the mount stands for. The error is fs.ErrNotExist,
// ErrReplaced, one of the source, or the reason why an archive cannot be opened.
func (s *source) find(p place, base string) (found, error) {
	f, err := s.At(p, p.name).Find(base)
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return found{}, err
	}
	out := found{f, f.Info.Sys().(*syscall.Stat_t), everybody, nil}
	if !f.Image {
		if out.volume, err = s.volumeAt(f.Name, f.Info); err != nil {
			return found{}, err
		}
	}
	if f.Link && s.others {
		file, now, err := s.open(f.Name)
		if err != nil {
			return found{}, err
		}
		defer file.Close()
		if !os.SameFile(now, f.Info) {
			return found{}, archivefs.ErrReplaced
		}
		out.who = s.reach(file, f.Info)
	}
	return out, nil
}

// list returns the entries of a folder.
func (s *source) list(p place) ([]fs.DirEntry, error) {
	list, err := s.At(p, p.name).ReadDir(".")
	for i, e := range list {
		if !e.Type().IsRegular() || !isVolumeName(e.Name()) {
			continue
		}
		if info, err := fs.Stat(s.volumes, p.path(e.Name())); err == nil && info.IsDir() {
			list[i] = fs.FileInfoToDirEntry(info)
		}
	}
	return list, err
}

// typeBits returns the type of a file as in st_mode, or 0 for one that readers of a folder must
// look at.
func typeBits(m fs.FileMode) uint32 {
	switch m.Type() {
	case 0:
		return syscall.S_IFREG
	case fs.ModeDir:
		return syscall.S_IFDIR
	case fs.ModeSymlink:
		return syscall.S_IFLNK
	}
	return 0
}
