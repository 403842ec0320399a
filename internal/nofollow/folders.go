package nofollow

import (
	"os"
	"path/filepath"
	"sync"
)

// Folders opens folders below another one. It keeps the last one open, with those above it, since
// files of a folder are usually opened one after the other. It is safe for concurrent use.
type Folders struct {
	Root   *os.Root
	mu     sync.Mutex // of the next, and of refs and dir of the folders
	last   *Shared
	closed bool
}

// Shared is an open folder, which several may use.
type Shared struct {
	*os.Root
	dir  *os.File // see Dir
	of   *Folders
	rel  string
	way  way
	refs int
}

// Open opens a folder as the function Folder does. The caller must close the result.
func (f *Folders) Open(rel string) (*Shared, error) {
	rel = filepath.Clean(rel)
	f.mu.Lock()
	s := f.last
	if s != nil && s.rel == rel {
		s.refs++
	} else {
		s = nil
	}
	f.mu.Unlock()
	if s != nil {
		if s.way.unchanged() {
			return s, nil
		}
		s.Close()
	}
	w, err := walk(f.Root, rel)
	if err != nil {
		return nil, err
	}
	s = &Shared{Root: w.last(), of: f, rel: rel, way: w, refs: 1}
	f.mu.Lock()
	old := f.last
	if f.last = nil; !f.closed {
		f.last = s
		s.refs++
	}
	f.mu.Unlock()
	old.Close()
	return s, nil
}

// Close closes the last folder when nobody uses it. Folders that are opened afterwards are not
// kept open.
func (f *Folders) Close() error {
	f.mu.Lock()
	old := f.last
	f.last, f.closed = nil, true
	f.mu.Unlock()
	return old.Close()
}

// Close ends the use of a folder. s may be nil.
func (s *Shared) Close() error {
	if s == nil {
		return nil
	}
	s.of.mu.Lock()
	s.refs--
	left := s.refs
	s.of.mu.Unlock()
	if left > 0 {
		return nil
	}
	if s.dir != nil {
		s.dir.Close()
	}
	return s.way.close()
}

// Dir returns the folder as a file, which Close closes.
func (s *Shared) Dir() (dir *os.File, err error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.dir == nil {
		s.dir, err = s.Root.Open(".")
	}
	return s.dir, err
}
