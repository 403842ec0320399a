package hdf5

// globalHeap holds references of dimensions to scales ("Global Heap"). A list of varying
// length in an attribute is a place in it. Each reference is an object for itself, since
// HDF5 frees it with its list.
type globalHeap struct {
	n int // references
}

const (
	heapHeader   = 16
	heapObject   = 16 + 8 // the object's header and a reference
	heapMin      = 4096   // H5HG_MINSIZE
	heapPer      = 4096   // references in a collection; their numbers have two bytes
	heapFullSize = heapHeader + heapPer*heapObject
)

// add reserves a reference and returns its number.
func (h *globalHeap) add() int {
	h.n++
	return h.n - 1
}

// size returns the bytes of all collections.
func (h *globalHeap) size() int64 {
	full, rest := h.n/heapPer, h.n%heapPer
	n := int64(full) * heapFullSize
	if rest > 0 {
		n += max(heapMin, heapHeader+int64(rest)*heapObject)
	}
	return n
}

// appendID appends the place of a reference, where the heap is at an address.
func (h *globalHeap) appendID(p []byte, i int, at uint64) []byte {
	return le.AppendUint32(le.AppendUint64(p, at+uint64(i/heapPer)*heapFullSize), uint32(i%heapPer+1))
}

// encode returns all collections with the references.
func (h *globalHeap) encode(refs []uint64) []byte {
	var p []byte
	for len(refs) > 0 {
		part := refs[:min(heapPer, len(refs))]
		refs = refs[len(part):]
		used := heapHeader + len(part)*heapObject
		size := max(heapMin, used)
		p = le.AppendUint64(append(append(p, "GCOL"...), 1, 0, 0, 0), uint64(size))
		for i, r := range part {
			// number, count of references, which HDF5 leaves at 0, 4 reserved bytes
			p = le.AppendUint64(le.AppendUint64(le.AppendUint64(p, uint64(i+1)), 8), r)
		}
		if free := size - used; free >= heapHeader { // object 0 is free space
			p = le.AppendUint64(le.AppendUint64(p, 0), uint64(free))
			p = append(p, make([]byte, free-heapHeader)...)
		} else {
			p = append(p, make([]byte, free)...)
		}
	}
	return p
}
