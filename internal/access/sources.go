package access

import (
	"os"
	"slices"
	"sync"
)

// Sources are the files from which one file is made. They are safe for concurrent use. The zero value has none.
type Sources struct {
	mu      sync.Mutex
	rights  []*Rights           // without repetitions
	many    bool                // there are others, too
	folders map[string]struct{} // in which they are
}

// maxRights bounds the different rights that are compared. If sources have more, only the owner may read
// what is made from them.
const maxRights = 64

// Add adds a file in a folder.
func (s *Sources) Add(r *Rights, folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders == nil {
		s.folders = map[string]struct{}{}
	}
	s.folders[folder] = struct{}{}
	switch {
	case slices.ContainsFunc(s.rights, r.equal):
	case len(s.rights) == maxRights:
		s.many = true
	default:
		s.rights = append(s.rights, r)
	}
}

// equal reports whether two files may be used by the same users.
func (r *Rights) equal(o *Rights) bool {
	return r.uid == o.uid && r.gid == o.gid && r.mode() == o.mode() && slices.Equal(r.named, o.named)
}

// Limits returns what a file in the folder dst must not exceed, which exists. The file has the owner and the
// group of the sources if all have the same rights.
func (s *Sources) Limits(c *Folders, dst string) *Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Limits{Fresh: true}
	if len(s.rights) == 1 {
		l.Copy = s.rights[0]
	} else {
		l.Others = slices.Clone(s.rights)
	}
	if s.many {
		l.Others = append(l.Others, ownerOnly(me(), 0))
	}
	for dir := range s.folders {
		for _, r := range c.Limits(dir, 0, dst) {
			if !slices.ContainsFunc(l.Others, r.equal) {
				l.Others = append(l.Others, r)
			}
		}
	}
	return l
}

// OwnerOnly sets the rights of a file that only its owner may use: it stays as it was made, with
// PrivateFile.
func OwnerOnly(*os.File) {}
