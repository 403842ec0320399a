package masks

import "bytes"

const (
	// recentMasks is how many masks are cached: enough for a variable whose levels are in several
	// blocks, few enough for the second cache of a core.
	recentMasks = 8
	// recentElems and recentBytes bound the blocks, and the stored bytes, of masks that are cached.
	recentElems = 1 << 18
	recentBytes = 16 << 10
)

// Recent caches the masks that were read last by their stored bytes. The blocks of a variable often
// have the same mask, and decoding it takes up to a fifth of the time for one element. The zero value is ready to use.
type Recent struct {
	cached [recentMasks]cachedMask
	uses   uint64
	other  Reader // the mask of a block that is not cached
}

// cachedMask is a decoded mask with its stored bytes.
type cachedMask struct {
	Reader
	stored []byte // special values, distance and run lengths; empty if the mask is not complete
	size   int    // of an element
	used   uint64 // the value of uses when it was last used
}

// None returns the mask of n elements that are not masked.
func (c *Recent) None(n int) *Reader {
	c.other.Reset(n)
	return &c.other
}

// Find returns the mask of n elements of size bytes that is stored at the start of src, and its
// stored length, or nil if it is not cached.
func (c *Recent) Find(src []byte, specials, size, n int) (*Reader, int) {
	for i := range c.cached {
		k := &c.cached[i]
		if k.n == n && k.kinds == specials && k.size == size && len(k.stored) > 0 && bytes.HasPrefix(src, k.stored) {
			c.uses++
			k.used = c.uses
			return &k.Reader, len(k.stored)
		}
	}
	return nil, 0
}

// Next returns a mask to be set for n elements. It replaces the least recently used one.
func (c *Recent) Next(n int) *Reader {
	m := &c.other
	if n <= recentElems {
		oldest := &c.cached[0]
		for i := range c.cached {
			if c.cached[i].used < oldest.used {
				oldest = &c.cached[i]
			}
		}
		oldest.stored = oldest.stored[:0]
		m = &oldest.Reader
	}
	m.Reset(n)
	return m
}

// Keep caches the mask that Next returned last, after Set, by its stored bytes. They begin with the
// special values, of size bytes each.
func (c *Recent) Keep(m *Reader, stored []byte, size int) {
	for i := range c.cached {
		k := &c.cached[i]
		if &k.Reader != m || len(stored) > recentBytes {
			continue
		}
		k.stored, k.size = append(k.stored[:0], stored...), size
		for j := range k.kinds {
			k.Patterns[j] = k.stored[j*size : (j+1)*size]
		}
		c.uses++
		k.used = c.uses
	}
}
