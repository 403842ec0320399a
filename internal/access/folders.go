package access

import (
	"os"
	"path/filepath"
	"sync"
)

// Folders compares the folders above sources and targets. It remembers those that it has looked at. It is
// safe for concurrent use.
type Folders struct {
	mu   sync.Mutex
	seen map[string]*Rights // by path, without links
}

// maxSeen bounds the folders that are remembered.
const maxSeen = 10_000

// above returns the rights of a folder and of all folders above it, the folder first. Links in its path are
// followed. Folders that cannot be looked at count as their owner's alone if source is set, and are left out
// otherwise.
func (c *Folders) above(dir string, source bool) (list []*Rights) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		if source {
			list = append(list, ownerOnly(me(), 0))
		}
		return list
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := real; ; at = filepath.Dir(at) {
		r := c.seen[at]
		if r == nil {
			if r, err = OfPath(at); err == nil {
				if len(c.seen) >= maxSeen || c.seen == nil {
					c.seen = map[string]*Rights{}
				}
				c.seen[at] = r
			}
		}
		switch {
		case r != nil:
			list = append(list, r)
		case source:
			list = append(list, ownerOnly(me(), 0))
		}
		if at == filepath.Dir(at) {
			return list
		}
	}
}

// Above returns the rights of the n-th folder above a folder, 0 for the folder itself. It is nil if there is
// none.
func (c *Folders) Above(dir string, n int) *Rights {
	if list := c.above(dir, true); n < len(list) {
		return list[n]
	}
	return nil
}

// Limits returns what the folders above a source demand of a file in the folder dst, which exists: nobody
// shall reach the file who could not reach the source. skip is the number of folders of the source, from the
// innermost, that demand nothing. Folders that are above both, and folders of the source that a folder
// of the target equals or exceeds, demand nothing either.
func (c *Folders) Limits(src string, skip int, dst string) (limits []*Rights) {
	s, t := c.above(src, true), c.above(dst, false)
	for len(s) > 0 && len(t) > 0 && same(s[len(s)-1], t[len(t)-1]) {
		s, t = s[:len(s)-1], t[:len(t)-1]
	}
	for i, r := range s {
		reach := r.reach()
		if i < skip || reach == nil || holds(t, r) {
			continue
		}
		limits = append(limits, reach)
	}
	return limits
}

// holds reports whether one of the folders lets nobody in who may not enter another one.
func holds(list []*Rights, r *Rights) bool {
	for _, t := range list {
		if same(t, r) || t.within(r, me()) {
			return true
		}
	}
	return false
}

// same reports whether two rights are of one file.
func same(a, b *Rights) bool { return a.id != nil && b.id != nil && os.SameFile(a.id, b.id) }
