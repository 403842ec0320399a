//go:build linux

package mount

import (
	"errors"
	"io/fs"
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
	others       bool // users other than the server's read, too
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
	image bool   // it is an archive that appears as its image
	size  int64  // of the image
	who   uint32 // who may read it, at most
}

// find returns what a name of a folder of the mount stands for. The error is fs.ErrNotExist, one of
// the source, or the reason why an archive cannot be opened.
func (s *source) find(p place, base string) (found, error) {
	if s.only != "" {
		switch {
		case base+archive.Suffix == s.only:
			return s.image(p, s.only)
		case base != s.only || !s.withArchives:
			return found{}, fs.ErrNotExist
		}
	}
	st, err := p.lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.image(p, base+archive.Suffix)
	case err != nil:
		return found{}, err
	}
	if image, ok := imageName(base); ok && !s.withArchives && !exists(p, image) && s.isArchive(p, base) {
		return found{}, fs.ErrNotExist
	}
	return found{name: p.path(base), st: st, who: everybody}, nil
}

// imageName returns the name under which a file appears if it is an archive.
func imageName(base string) (string, bool) {
	image, ok := strings.CutSuffix(base, archive.Suffix)
	return image, ok && image != "" && image != "." && image != ".."
}

// image returns an archive as its image. Files that cannot be read do not exist.
func (s *source) image(p place, base string) (found, error) {
	st, link, kind, err := s.probe(p, base)
	if err == syscall.ESTALE {
		return found{}, err
	}
	if err != nil || !kind.archive {
		return found{}, fs.ErrNotExist
	}
	f := found{name: p.path(base), st: st, image: true, size: kind.size, who: everybody}
	if link && s.others && kind.err == nil {
		file, now, err := s.open(f.name)
		if err != nil {
			return found{}, err
		}
		defer file.Close()
		if !sameFile(now, st) {
			return found{}, syscall.ESTALE
		}
		f.who = s.reach(file, st)
	}
	return f, kind.err
}

// isArchive reports whether a file of the source is an archive that appears as its
// image. Files that cannot be read appear unchanged.
func (s *source) isArchive(p place, base string) bool {
	_, _, kind, err := s.probe(p, base)
	return err == nil && kind.archive
}

func exists(p place, base string) bool {
	_, err := p.lstat(base)
	return !errors.Is(err, fs.ErrNotExist)
}

// probe determines the kind of a file, after following links. An archive that cannot be opened is
// not an error.
func (s *source) probe(at place, base string) (st *syscall.Stat_t, link bool, p probe, err error) {
	st, link, err = s.stat(at, base)
	if err != nil {
		return nil, link, p, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return st, link, p, nil
	}
	if p, ok := s.probes.GetIfPresent(identOf(st)); ok {
		return st, link, p, nil
	}
	name := at.path(base)
	f, now, err := s.open(name)
	if err != nil {
		return nil, link, p, err
	}
	defer f.Close()
	if !sameFile(st, now) {
		return nil, link, p, syscall.ESTALE
	}
	st = now
	if p.archive, err = archive.IsArchive(f, st.Size); err != nil {
		return nil, link, p, err
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
	return st, link, p, nil
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
func (s *source) list(p place) ([]entry, error) {
	if s.only != "" {
		image, _ := imageName(s.only)
		out := []entry{{image, syscall.S_IFREG}}
		if s.withArchives {
			out = append(out, entry{s.only, syscall.S_IFREG})
		}
		return out, nil
	}
	f, err := p.dir.Open(".")
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
		if ok && !e.IsDir() && !names[image] && s.isArchive(p, e.Name()) {
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
