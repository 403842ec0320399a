package serve

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/maypok86/otter/v2"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/warnings"
)

// source maps the names that the server shows to files of the source, never outside of
// it. All names are relative to its root and have slashes. It is safe for concurrent use.
type source struct {
	root     *os.Root
	only     string // the only file that is shown, in the source; "" for a whole folder
	datasets *datasets
	probes   *otter.Cache[ident, probe]
	warnings warnings.Once
}

// maxProbes bounds the files whose kind is remembered. Each takes about 300 bytes.
const maxProbes = 1 << 16

// probe determines the kind of a file named *.cdfz.
type probe struct {
	archive bool
	size    int64  // of the image
	sum     string // SHA-256 of the image, in hexadecimal digits
	err     error  // why the archive cannot be opened
}

// found is a file or folder of the source under a name of the server.
type found struct {
	shown string // name of the server
	name  string // in the source
	info  fs.FileInfo
	image bool // it is an archive that appears as its image
	probe
}

// size returns the number of bytes that appear.
func (f *found) size() int64 {
	if f.image {
		return f.probe.size
	}
	return f.info.Size()
}

// openSource opens a folder or a file.
func openSource(src string, d *datasets, warn func(string, error)) (*source, error) {
	st, err := os.Stat(src)
	if err != nil {
		return nil, err
	}
	s := &source{datasets: d}
	dir := src
	if !st.IsDir() {
		if !st.Mode().IsRegular() {
			return nil, &fs.PathError{Op: "serve", Path: src, Err: ErrSource}
		}
		dir, s.only = filepath.Split(filepath.Clean(src))
		if dir == "" {
			dir = "."
		}
	}
	if s.probes, err = otter.New(&otter.Options[ident, probe]{MaximumSize: maxProbes}); err != nil {
		return nil, err
	}
	if s.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if s.only != "" {
		_, p, err := s.probe(s.only)
		if err == nil {
			err = p.err
		}
		if err != nil {
			s.root.Close()
			return nil, &fs.PathError{Op: "serve", Path: src, Err: err}
		}
	}
	s.warnings.Warn = warn // from now on: an error so far is returned
	return s, nil
}

// valid reports whether a name may lie in the source and is not hidden.
func valid(name string) bool {
	if name == "." {
		return true
	}
	return fs.ValidPath(name) && name[0] != '.' && !strings.Contains(name, "/.") && filepath.IsLocal(filepath.FromSlash(name))
}

// find returns what a name of the server stands for. The error is fs.ErrNotExist or one
// of the system. An archive that cannot be opened is found, with its error.
func (s *source) find(name string) (*found, error) {
	if !valid(name) {
		return nil, fs.ErrNotExist
	}
	if s.only != "" && name != "." && name != s.only {
		if name+archive.Suffix != s.only {
			return nil, fs.ErrNotExist
		}
		return s.image(name)
	}
	st, err := s.root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.image(name)
	case err != nil:
		return nil, err
	case !st.IsDir() && !st.Mode().IsRegular():
		return nil, fs.ErrNotExist
	}
	return &found{shown: name, name: name, info: st}, nil
}

// image finds the archive of an image.
func (s *source) image(name string) (*found, error) {
	st, p, err := s.probe(name + archive.Suffix)
	if err != nil {
		return nil, err
	}
	if !p.archive {
		return nil, fs.ErrNotExist
	}
	return &found{name, name + archive.Suffix, st, true, p}, nil
}

// probe determines the kind of a file. An archive that cannot be opened is not an error.
func (s *source) probe(name string) (fs.FileInfo, probe, error) {
	st, err := s.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, probe{}, err
	}
	if !st.Mode().IsRegular() {
		return st, probe{}, nil
	}
	if p, ok := s.probes.GetIfPresent(identOf(name, st)); ok {
		return st, p, nil
	}
	f, st, err := s.open(name)
	if err != nil {
		return nil, probe{}, err
	}
	defer f.Close()
	var p probe
	if p.archive, err = archive.IsArchive(f, st.Size()); err != nil {
		return nil, p, err
	}
	if p.archive {
		var a *archive.File
		if a, p.err = s.datasets.Read(f, st.Size()); p.err != nil {
			s.warnings.Add(name, p.err)
		} else {
			info, _ := a.Info()
			p.size, p.sum = info.ImageSize, info.SHA256
		}
	}
	if p.err == nil || errors.Is(p.err, archive.ErrCorrupt) || errors.Is(p.err, archive.ErrVersion) {
		s.probes.Set(identOf(name, st), p)
	}
	return st, p, nil
}

// open opens a regular file of the source. It does not wait for a writer if the file has
// become a pipe.
func (s *source) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := s.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// list returns the contents of a folder, sorted by name. Files that disappear or cannot
// be read are left out.
func (s *source) list(dir string) ([]*found, error) {
	var names []string
	if s.only != "" {
		names = []string{s.only}
	} else {
		f, err := s.root.Open(filepath.FromSlash(dir))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if names, err = f.Readdirnames(-1); err != nil {
			return nil, err
		}
	}
	known := make(map[string]bool, len(names))
	for _, n := range names {
		known[n] = true
	}
	out := make([]*found, 0, len(names))
	for _, n := range names {
		if n[0] == '.' {
			continue
		}
		full := path.Join(dir, n)
		if image, ok := strings.CutSuffix(full, archive.Suffix); ok && valid(image) && !known[path.Base(image)] {
			if f, err := s.image(image); err == nil {
				out = append(out, f)
				continue
			}
		}
		if f, err := s.find(full); err == nil {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *found) int { return strings.Compare(a.shown, b.shown) })
	return out, nil
}
