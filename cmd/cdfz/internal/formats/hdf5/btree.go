package hdf5

import "bytes"

// Chunks are found by version 1 B-trees ("Version 1 B-trees", node type 1).

const (
	// treeFan is the number of children of a full node: twice the rank K of trees of
	// chunks, which is 32 unless the superblock has another one.
	treeFan = 64
	// nodeHeader is the length of a node's first fields, in bytes.
	nodeHeader = 24
)

// chunkTree is the index of a dataset's chunks, which are stored one after the other.
type chunkTree struct {
	d     *Dataset
	at    uint64 // address of its nodes: all leaves, then their parents, and so on
	data  uint64 // address of the first chunk
	sizes []uint32
	masks []uint32 // nil while all are 0
}

// keyLen returns the length of a key in bytes.
func (t *chunkTree) keyLen() int64 { return 8 + 8*int64(len(t.d.Chunk)+1) }

// nodeLen returns the length of a node in bytes.
func (t *chunkTree) nodeLen() int64 { return nodeHeader + treeFan*8 + (treeFan+1)*t.keyLen() }

// levels returns the number of nodes of each level, the leaves first.
func (t *chunkTree) levels() []int64 {
	n := t.d.Chunks()
	if n == 0 {
		return nil
	}
	var out []int64
	for {
		n = ceilDiv(n, treeFan)
		out = append(out, n)
		if n == 1 {
			return out
		}
	}
}

// size returns the length of all nodes in bytes.
func (t *chunkTree) size() int64 {
	n := int64(0)
	for _, k := range t.levels() {
		n += k
	}
	return n * t.nodeLen()
}

// root returns the address of the root, or undef if there are no chunks.
func (t *chunkTree) root() uint64 {
	if n := t.size(); n > 0 {
		return t.at + uint64(n-t.nodeLen())
	}
	return undef
}

// appendKey appends the key of chunk i: its stored length, its mask and its place. The
// key after the last chunk has the place of a chunk after it in each dimension.
func (t *chunkTree) appendKey(p []byte, i int64) []byte {
	n, step := int64(len(t.sizes)), int64(0)
	var size, mask uint32
	if i < n {
		size = t.sizes[i]
		if t.masks != nil {
			mask = t.masks[i]
		}
	} else {
		i, step = n-1, 1
	}
	p = le.AppendUint32(le.AppendUint32(p, size), mask)
	from := len(p)
	rank := len(t.d.Chunk)
	p = append(p, make([]byte, 8*rank)...)
	for k := rank - 1; k >= 0; k-- {
		c := t.d.Chunk[k]
		grid := ceilDiv(t.d.Shape[k], c)
		le.PutUint64(p[from+8*k:], uint64((i%grid+step)*c))
		i /= grid
	}
	return le.AppendUint64(p, uint64(step)*uint64(t.d.Type.Size))
}

// encode passes the nodes to write, one by one.
func (t *chunkTree) encode(write func([]byte) error) error {
	node := make([]byte, 0, t.nodeLen())
	below := t.at                   // address of the first node of the level below
	place := t.data                 // of the next chunk
	at, per := t.at, int64(treeFan) // chunks below a full node of the level
	chunks := int64(len(t.sizes))
	for level, n := range t.levels() {
		for i := range n {
			first, last := i*per, min((i+1)*per, chunks) // chunks below the node
			each := per / treeFan                        // below each child
			node = append(append(node[:0], "TREE"...), 1, byte(level))
			node = le.AppendUint16(node, uint16((last-first+each-1)/each))
			for _, side := range []int64{i - 1, i + 1} {
				a := uint64(undef)
				if side >= 0 && side < n {
					a = at + uint64(side*t.nodeLen())
				}
				node = le.AppendUint64(node, a)
			}
			for c := first; c < last; c += each {
				node = t.appendKey(node, c)
				if level == 0 {
					node = le.AppendUint64(node, place)
					place += uint64(t.sizes[c])
				} else {
					node = le.AppendUint64(node, below+uint64(c/each*t.nodeLen()))
				}
			}
			node = t.appendKey(node, last)
			node = append(node, bytes.Repeat([]byte{0}, int(t.nodeLen())-len(node))...)
			if err := write(node); err != nil {
				return err
			}
		}
		below, at, per = at, at+uint64(n*t.nodeLen()), per*treeFan
	}
	return nil
}
