//go:build linux

package mount

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/maypok86/otter/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/warnings"
)

// source maps the names that the mount shows to files of the source. All names are
// relative to its root. It is safe for concurrent use.
type source struct {
	files
	only         string // the only archive that is shown; "" for a whole folder
	withArchives bool
	images       *images
	probes       *otter.Cache[ident, probe]
	warnings     *warnings.Once
}

// maxProbes bounds the files whose kind is remembered. Each takes about 200 bytes.
const maxProbes = 1 << 16

// probe determines the kind of a file named *.cdfz.
type probe struct {
	archive bool
	size    int64 // of the image
	err     error // why the archive cannot be opened
}

// found is a file of the source under a name of the mount.
type found struct {
	name  string // in the source
	st    *syscall.Stat_t
	image bool  // it is an archive that appears as its image
	size  int64 // of the image
}

// find returns what a name of the mount stands for. The error is fs.ErrNotExist, one of
// the source, or the reason why an archive cannot be opened.
func (s *source) find(name string) (found, error) {
	if s.only != "" {
		switch {
		case name+archive.Suffix == s.only:
			return s.image(s.only)
		case name != s.only || !s.withArchives:
			return found{}, fs.ErrNotExist
		}
	}
	st, err := s.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.image(name + archive.Suffix)
	case err != nil:
		return found{}, err
	}
	if image, ok := imageName(name); ok && !s.withArchives && !s.exists(image) && s.isArchive(name) {
		return found{}, fs.ErrNotExist
	}
	return found{name: name, st: st}, nil
}

// imageName returns the name under which a file appears if it is an archive.
func imageName(name string) (string, bool) {
	image, ok := strings.CutSuffix(name, archive.Suffix)
	base := path.Base(image)
	return image, ok && image != "" && !strings.HasSuffix(image, "/") && base != "." && base != ".."
}

// image returns an archive as its image. Files that cannot be read do not exist.
func (s *source) image(name string) (found, error) {
	st, p, err := s.probe(name)
	if err != nil || !p.archive {
		return found{}, fs.ErrNotExist
	}
	return found{name, st, true, p.size}, p.err
}

// isArchive reports whether a file of the source is an archive that appears as its
// image. Files that cannot be read appear unchanged.
func (s *source) isArchive(name string) bool {
	_, p, err := s.probe(name)
	return err == nil && p.archive
}

func (s *source) exists(name string) bool {
	_, err := s.lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// probe determines the kind of a file, after following links. An archive that cannot be opened is
// not an error.
func (s *source) probe(name string) (*syscall.Stat_t, probe, error) {
	st, err := s.stat(name)
	if err != nil {
		return nil, probe{}, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return st, probe{}, nil
	}
	if p, ok := s.probes.GetIfPresent(identOf(st)); ok {
		return st, p, nil
	}
	f, st, err := s.open(name)
	if err != nil {
		return nil, probe{}, err
	}
	defer f.Close()
	var p probe
	if p.archive, err = archive.IsArchive(f, st.Size); err != nil {
		return nil, p, err
	}
	if p.archive {
		var a *archive.File
		if a, p.err = s.images.Read(f, st.Size); p.err != nil {
			s.warnings.Add(name, p.err)
		} else {
			p.size = a.Image().Size()
		}
	}
	if p.err == nil || lasting(p.err) {
		s.probes.Set(identOf(st), p)
	}
	return st, p, nil
}

// lasting reports whether opening a file again would fail with the same error.
func lasting(err error) bool {
	return errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrVersion)
}

// entry is a file in a folder as the mount shows it.
type entry struct {
	name string
	mode uint32 // its type
}

// list returns the entries of a folder.
func (s *source) list(dir string) ([]entry, error) {
	if s.only != "" {
		image, _ := imageName(s.only)
		out := []entry{{image, syscall.S_IFREG}}
		if s.withArchives {
			out = append(out, entry{s.only, syscall.S_IFREG})
		}
		return out, nil
	}
	f, err := s.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(list))
	for _, e := range list {
		names[e.Name()] = true
	}
	out := make([]entry, 0, len(list))
	for _, e := range list {
		image, ok := imageName(e.Name())
		if ok && !e.IsDir() && !names[image] && s.isArchive(path.Join(dir, e.Name())) {
			out = append(out, entry{image, syscall.S_IFREG})
			if !s.withArchives {
				continue
			}
		}
		out = append(out, entry{e.Name(), typeBits(e.Type())})
	}
	return out, nil
}

// typeBits returns the type of a file as in st_mode.
func typeBits(m fs.FileMode) uint32 {
	switch {
	case m.IsDir():
		return syscall.S_IFDIR
	case m&fs.ModeSymlink != 0:
		return syscall.S_IFLNK
	case m&fs.ModeNamedPipe != 0:
		return syscall.S_IFIFO
	case m&fs.ModeSocket != 0:
		return syscall.S_IFSOCK
	case m&fs.ModeCharDevice != 0:
		return syscall.S_IFCHR
	case m&fs.ModeDevice != 0:
		return syscall.S_IFBLK
	}
	return syscall.S_IFREG
}
