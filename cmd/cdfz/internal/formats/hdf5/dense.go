package hdf5

import (
	"cmp"
	"math"
	"slices"
)

// Attributes that are too long for messages of a header are objects of a fractal heap,
// which version 2 B-trees find by their names and their order ("Attributes: Dense"). Every
// attribute is a "huge" object here, which has an extent of the file for itself, so that
// the heap has no blocks. Each B-tree is a single leaf.

// Sizes in bytes.
const (
	fractalHeapLen = 142 + 4
	treeHeaderLen  = 34 + 4
	leafExtra      = 6 + 4 // of a leaf, in addition to its records
	hugeRecord     = 24
	nameRecord     = 17
	orderRecord    = 13
)

// Types of version 2 B-trees.
const (
	treeHuge  = 1
	treeNames = 8
	treeOrder = 9
)

// densePlaces are the addresses of the dense storage of an object's attributes.
type densePlaces struct {
	heap, names, order, huge uint64
	attrs                    uint64 // the first of them, the others follow
}

var notDense = densePlaces{heap: undef, names: undef, order: undef}

// needDense reports whether attributes do not fit messages of a header.
func needDense(attrs []attr) bool {
	return slices.ContainsFunc(attrs, func(a attr) bool { return len(a.body) > maxMessage })
}

// denseLen returns the bytes of dense storage.
func denseLen(attrs []attr) int64 {
	n := int64(fractalHeapLen + 3*(treeHeaderLen+leafExtra) + len(attrs)*(hugeRecord+nameRecord+orderRecord))
	for _, a := range attrs {
		n += int64(len(a.body))
	}
	return n
}

// placeDense places dense storage at an address.
func placeDense(attrs []attr, at uint64) densePlaces {
	d := densePlaces{heap: at, huge: at + fractalHeapLen}
	tree := func(record int) uint64 { return uint64(treeHeaderLen + leafExtra + len(attrs)*record) }
	d.names = d.huge + tree(hugeRecord)
	d.order = d.names + tree(nameRecord)
	d.attrs = d.order + tree(orderRecord)
	return d
}

// encodeDense returns the dense storage of attributes.
func encodeDense(attrs []attr, d densePlaces) []byte {
	var huge, names, order []byte
	at, total := d.attrs, uint64(0)
	byName := make([]int, len(attrs))
	for i, a := range attrs {
		n := uint64(len(a.body))
		huge = le.AppendUint64(le.AppendUint64(le.AppendUint64(huge, at), n), uint64(i+1))
		order = le.AppendUint32(append(appendHugeID(order, i), 0), uint32(i))
		at, total, byName[i] = at+n, total+n, i
	}
	slices.SortFunc(byName, func(i, j int) int {
		x, y := attrs[i].name, attrs[j].name
		return cmp.Or(cmp.Compare(checksum([]byte(x)), checksum([]byte(y))), cmp.Compare(x, y))
	})
	for _, i := range byName {
		names = le.AppendUint32(append(appendHugeID(names, i), 0), uint32(i))
		names = le.AppendUint32(names, checksum([]byte(attrs[i].name)))
	}
	p := appendHeap(nil, d.huge, total, len(attrs))
	p = appendTree(p, treeHuge, hugeRecord, huge, d.huge)
	p = appendTree(p, treeNames, nameRecord, names, d.names)
	p = appendTree(p, treeOrder, orderRecord, order, d.order)
	for _, a := range attrs {
		p = append(p, a.body...)
	}
	return p
}

// appendHugeID appends the heap ID of huge object i, counted from 0: 8 bytes
// ("Fractal Heap ID for Huge Objects", sub-type 1).
func appendHugeID(p []byte, i int) []byte { return le.AppendUint64(p, uint64(i+1)<<8|0x10) }

// appendHeap appends the header of a fractal heap with n huge objects of total bytes
// ("Fractal Heap"). The parameters are those of HDF5 for attributes.
func appendHeap(p []byte, tree, total uint64, n int) []byte {
	const (
		idLen, maxManaged                              = 8, 4096
		width, startBlock, maxBlock, maxBits, rootRows = 4, 1024, 65536, 40, 1
	)
	from := len(p)
	p = append(append(p, "FRHP"...), 0)
	p = append(le.AppendUint16(le.AppendUint16(p, idLen), 0), 2) // checksums of direct blocks
	p = le.AppendUint32(p, maxManaged)
	p = le.AppendUint64(le.AppendUint64(p, uint64(n)), tree)
	p = le.AppendUint64(le.AppendUint64(p, 0), undef) // free space
	for range 4 {                                     // managed objects
		p = le.AppendUint64(p, 0)
	}
	p = le.AppendUint64(le.AppendUint64(p, total), uint64(n))
	p = le.AppendUint64(le.AppendUint64(p, 0), 0) // tiny objects
	p = le.AppendUint64(le.AppendUint64(le.AppendUint16(p, width), startBlock), maxBlock)
	p = le.AppendUint16(le.AppendUint16(p, maxBits), rootRows)
	p = le.AppendUint16(le.AppendUint64(p, undef), 0) // no root block
	return le.AppendUint32(p, checksum(p[from:]))
}

// appendTree appends a version 2 B-tree of one leaf at address at ("Version 2 B-trees").
func appendTree(p []byte, kind byte, record int, records []byte, at uint64) []byte {
	n := uint64(len(records) / record)
	from := len(p)
	p = append(append(p, "BTHD"...), 0, kind)
	p = le.AppendUint32(p, uint32(len(records)+leafExtra))
	p = append(le.AppendUint16(le.AppendUint16(p, uint16(record)), 0), 100, 40) // percentages of HDF5
	p = le.AppendUint64(p, at+treeHeaderLen)
	p = le.AppendUint64(le.AppendUint16(p, uint16(min(n, math.MaxUint16))), n)
	p = le.AppendUint32(p, checksum(p[from:]))
	from = len(p)
	p = append(append(append(p, "BTLF"...), 0, kind), records...)
	return le.AppendUint32(p, checksum(p[from:]))
}
