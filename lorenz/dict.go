package lorenz

// How a dictionary is stored. Part of the format.
const (
	dictSorted = 0 // ascending, as differences
	dictSeen   = 1 // in the order of first use
)

// maxDict returns the most entries of a dictionary for n elements.
func maxDict(n int) int { return n }

// readDict reads a dictionary: its order, the number of entries, and the
// entries as a group stream of differences.
func (b *block) readDict(r *byteReader) {
	order := r.byte()
	count := r.int(maxDict(b.n))
	if order > dictSeen || count == 0 {
		r.bad = true
		return
	}
	width := 32
	if b.size == 8 {
		width = 64
	}
	b.g.open(r, count, width)
	if r.bad || (b.g.flags&groupsUnsigned != 0) != (order == dictSorted) {
		r.bad = true
		return
	}
	groups := len(b.g.class)
	b.dict = grow(b.dict, count*b.size)
	entries := inverse{typ: b.typ, kind: mapOrder}
	if width == 64 {
		y := make([]uint64, groups*groupLen)
		if !decodeGroups(&b.g, y, 0, groups) {
			r.bad = true
			return
		}
		prefixSum(y)
		entries.put64(b.dict, y[:count], 0)
		return
	}
	y := make([]uint32, groups*groupLen)
	if !decodeGroups(&b.g, y, 0, groups) {
		r.bad = true
		return
	}
	prefixSum(y)
	entries.put32(b.dict, y[:count], 0)
}
