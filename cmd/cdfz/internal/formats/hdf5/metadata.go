package hdf5

import (
	"fmt"
	"math"
)

// superblockLen is the length of a superblock of version 2.
const superblockLen = 48

// metadata are the metadata of a file and their places, in this order: superblock, header
// of the group, headers of the datasets, each followed by its dense storage, references,
// indexes of chunks.
type metadata struct {
	f       *File
	scales  *scales
	headers []uint64      // addresses of the datasets' headers
	root    densePlaces   // of the group's attributes
	dense   []densePlaces // of the datasets' attributes
	heap    uint64
	trees   []chunkTree // by number of the dataset
	data    []uint64    // addresses of contiguous data
	len     uint64      // of all metadata
}

// plan places the metadata of a file. Lengths do not depend on addresses, so they are
// found by encoding with wrong ones.
func plan(f *File) (*metadata, error) {
	s, err := newScales(f.Datasets)
	if err != nil {
		return nil, err
	}
	n := len(f.Datasets)
	m := &metadata{f: f, scales: s, headers: make([]uint64, n), root: notDense, dense: make([]densePlaces, n), trees: make([]chunkTree, n), data: make([]uint64, n)}
	at := uint64(superblockLen)
	place := func(encode func() []byte, attrs []attr, d *densePlaces) {
		if *d = notDense; needDense(attrs) {
			d.heap = 0 // not undef: leaves the attributes out
		}
		at += uint64(len(encode()))
		if d.heap != undef {
			*d = placeDense(attrs, at)
			at += uint64(denseLen(attrs))
		}
	}
	place(m.encodeRoot, encodeAttrs(f.Attrs), &m.root)
	for i, d := range f.Datasets {
		m.headers[i], m.data[i] = at, undef
		m.trees[i].d = d
		place(func() []byte { return m.encodeDataset(i) }, m.attrsOf(i), &m.dense[i])
	}
	m.heap = at
	at += uint64(s.heap.size())
	for i := range m.trees {
		t := &m.trees[i]
		if n := t.d.Chunks(); n > math.MaxInt64/2/t.nodeLen() {
			return nil, limitf("dataset %q has %d chunks", t.d.Name, n)
		}
		t.at = at
		at += uint64(t.size())
		if at > math.MaxInt64/2 {
			return nil, limitf("the indexes of chunks are too long")
		}
	}
	m.len = at
	return m, nil
}

func encodeAttrs(list []Attr) []attr {
	out := make([]attr, len(list))
	for i := range list {
		a := &list[i]
		out[i] = attr{a.Name, encodeAttr(a.Name, appendType(nil, a.Type), a.Len, a.Values)}
	}
	return out
}

// attrsOf returns all attributes of dataset i.
func (m *metadata) attrsOf(i int) []attr {
	d := m.f.Datasets[i]
	return append(encodeAttrs(d.Attrs), m.scales.attrs(i, d, m.headers, m.heap)...)
}

// encodeRoot returns the header of the group.
func (m *metadata) encodeRoot() []byte {
	var h header
	// The order of links is tracked and indexed.
	info := le.AppendUint64([]byte{0, 3}, uint64(len(m.f.Datasets)))
	for range 3 {
		info = le.AppendUint64(info, undef) // no dense storage
	}
	h.add(msgLinkInfo, 0, 0, info)
	// Up to this number of links stay in the header when others are added.
	most := uint16(min(max(8, len(m.f.Datasets)), math.MaxUint16))
	h.add(msgGroupInfo, msgConstant, 0, le.AppendUint16(le.AppendUint16([]byte{0, 1}, most), min(6, most)))
	h.addAttrs(encodeAttrs(m.f.Attrs), m.root)
	for i, d := range m.f.Datasets {
		h.add(msgLink, 0, 0, linkMessage(d.Name, i, m.headers[i]))
	}
	return h.encode()
}

// encodeDataset returns the header of dataset i.
func (m *metadata) encodeDataset(i int) []byte {
	d := m.f.Datasets[i]
	var h header
	h.add(msgDataspace, 0, 0, appendSpace(nil, d.Shape, d.MaxShape))
	h.add(msgDatatype, msgConstant, 0, appendType(nil, d.Type))
	h.add(msgFill, msgConstant, 0, fillMessage(d))
	at := m.data[i]
	if d.Chunk != nil {
		at = m.trees[i].root()
	}
	h.add(msgLayout, 0, 0, layoutMessage(d, at))
	if len(d.Filters) > 0 {
		h.add(msgFilters, msgConstant, 0, filterMessage(d.Filters))
	}
	h.addAttrs(m.attrsOf(i), m.dense[i])
	return h.encode()
}

// encode passes all metadata to write, from the first byte to the last. size is the
// length of the file.
func (m *metadata) encode(size uint64, write func([]byte) error) error {
	put := uint64(0)
	counted := func(p []byte) error {
		put += uint64(len(p))
		return write(p)
	}
	p := append([]byte("\x89HDF\r\n\x1a\n"), 2, 8, 8, 0) // version, sizes of offsets and of lengths
	p = le.AppendUint64(le.AppendUint64(p, 0), undef)    // base address, no extension
	p = le.AppendUint64(le.AppendUint64(p, size), superblockLen)
	err := counted(le.AppendUint32(p, checksum(p)))
	object := func(header []byte, attrs func() []attr, d densePlaces) {
		if err == nil {
			err = counted(header)
		}
		if err == nil && d.heap != undef {
			err = counted(encodeDense(attrs(), d))
		}
	}
	object(m.encodeRoot(), func() []attr { return encodeAttrs(m.f.Attrs) }, m.root)
	for i := range m.f.Datasets {
		object(m.encodeDataset(i), func() []attr { return m.attrsOf(i) }, m.dense[i])
	}
	if err == nil {
		refs := make([]uint64, len(m.scales.to))
		for i, to := range m.scales.to {
			refs[i] = m.headers[to]
		}
		err = counted(m.scales.heap.encode(refs))
	}
	for i := range m.trees {
		if err == nil {
			err = m.trees[i].encode(counted)
		}
	}
	if err == nil && put != m.len {
		err = fmt.Errorf("hdf5: internal error: %d bytes of metadata, planned %d", put, m.len)
	}
	return err
}
