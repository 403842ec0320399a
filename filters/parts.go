package filters

import "bytes"

const (
	// partTarget is the least length of a part, in bytes of the block. Reads of a few
	// elements get faster with shorter parts, and archives larger: so long, the file of
	// bench/tile is still smaller than nccopy -d5 -s makes it (bench/results).
	partTarget = 64 << 10
	// Blocks that become less than a third, and by a 64th less still if they are left
	// whole, are. Others are not even tried: it takes as long again.
	wholeRatio = 3
	wholeGain  = 64
	// partMaxLevel is the last zstd level that cuts blocks into parts: those above
	// are for the best ratio.
	partMaxLevel = 9
)

// PartLen is the length in bytes of the parts into which [Coder.EncodeParts] cuts
// a block of n bytes so that each can be decoded by itself, 0 if the chain has no
// such parts or the block is too short for two of them. The last part of a block
// may be shorter.
//
// Chains of shuffle and zstd have parts: the block's byte planes are cut at the
// same elements, and each piece is a block of the zstd frame that refers to no
// other. The frame is an ordinary one (docs/FORMAT.md, section 4.1).
func (c Chain) PartLen(n int) int {
	size := c.partSize()
	if size == 0 || n%size != 0 {
		return 0
	}
	if l := zstdLevel(c[1].Params); l < zstdDefault || l > partMaxLevel {
		return 0
	}
	parts := n / partTarget
	if parts < 2 {
		return 0
	}
	elems := n / size
	part := (elems + parts - 1) / parts * size
	if !c.HasParts(n, part) {
		return 0
	}
	return part
}

// HasParts says whether blocks of this chain can have parts of part bytes, which
// is a claim, in a block of n bytes.
func (c Chain) HasParts(n, part int) bool {
	size := c.partSize()
	return size > 0 && part < n && n%size == 0 && part%size == 0 && part/size >= zstdMinPlane && part/size <= zstdMaxBlock
}

// partSize is the element size of a chain of shuffle and zstd, 0 of any other.
func (c Chain) partSize() int {
	if len(c) != 2 || c[0].ID != Shuffle || c[1].ID != Zstd || len(c[0].Params) != 1 ||
		c[0].Params[0] < 2 || c[0].Params[0] > maxElemSize {
		return 0
	}
	return int(c[0].Params[0])
}

// DecodeParts fills dst with the bytes from byte from of a block of n bytes that
// was encoded with parts of part bytes and no filter left out. Both ends of what
// is decoded must be ends of parts. It panics unless [Chain.HasParts]; other errors
// are those of Decode, and [ErrNoParts] for a block that was left whole. A block whose
// parts are not what the caller says gives ErrDamaged, ErrDecodedSize or other bytes,
// which are the same whatever other parts are decoded with them.
func (k *Coder) DecodeParts(dst, stored []byte, n, part, from int) error {
	if !k.chain.HasParts(n, part) {
		panic("filters: DecodeParts of a chain or block without parts")
	}
	to := from + len(dst)
	if from < 0 || to > n || from%part != 0 || to%part != 0 && to != n {
		panic("filters: DecodeParts of bytes that are no parts")
	}
	if len(dst) == 0 {
		return nil
	}
	size := k.chain.partSize()
	if err := k.split(stored, size*((n+part-1)/part)); err != nil {
		return err
	}
	for lo := 0; lo < len(dst); lo += part {
		if err := k.decodePart(dst[lo:min(lo+part, len(dst))], stored, size, (from+lo)/part); err != nil {
			return err
		}
	}
	return nil
}

// CheckParts compares what DecodeParts gives for each part of a block, if it has any,
// with the whole block.
func (k *Coder) CheckParts(block, stored []byte, part int) error {
	n := len(block)
	if !k.chain.HasParts(n, part) {
		panic("filters: CheckParts of a chain or block without parts")
	}
	size := k.chain.partSize()
	switch err := k.split(stored, size*((n+part-1)/part)); {
	case err == ErrNoParts:
		return nil
	case err != nil:
		return err
	}
	p := make([]byte, part)
	for lo := 0; lo < n; lo += part {
		p = p[:min(part, n-lo)]
		if err := k.decodePart(p, stored, size, lo/part); err != nil {
			return err
		}
		if !bytes.Equal(p, block[lo:][:len(p)]) {
			return errorf(ErrDamaged, "the part at byte %d decodes to other bytes by itself than in the block", lo)
		}
	}
	return nil
}

// split sets at to where the zstd blocks of a frame begin, and to where the last one
// ends. A frame of another number than count is a block that was left whole.
func (k *Coder) split(frame []byte, count int) error {
	p, checksum, _, _, err := zstdFrameHeader(frame)
	if err != nil {
		return err
	}
	last := checksum // a checksum is not of the parts
	k.at = append(k.at[:0], len(frame)-len(p))
	for range count {
		if last {
			return ErrNoParts
		}
		if last, p, err = zstdNext(p); err != nil {
			return err
		}
		k.at = append(k.at, len(frame)-len(p))
	}
	if !last || len(p) > 0 {
		return ErrNoParts
	}
	return nil
}

// decodePart fills dst with part i of a block that was split, from a frame of
// nothing but its zstd blocks. Several parts never share a frame: what a hostile
// block decodes to would then depend on which ones, and CheckParts not see it.
func (k *Coder) decodePart(dst, stored []byte, size, i int) error {
	var room scratch
	defer room.free()
	frame := zstdHeader(room.next(), len(dst))
	all := (len(k.at) - 1) / size
	last := 0 // of the frame's blocks
	for ; i < len(k.at)-1; i += all {
		last = len(frame)
		frame = append(frame, stored[k.at[i]:k.at[i+1]]...)
		frame[last] &^= 1
	}
	frame[last] |= 1
	room.keep(frame)
	planes, err := k.methods[1].Decode(room.next(), frame, k.chain[1].Params, len(dst))
	if err != nil {
		return err
	}
	room.keep(planes)
	if len(planes) != len(dst) {
		return errorf(ErrDecodedSize, "part: %d bytes, found %d", len(dst), len(planes))
	}
	unshuffle(dst, planes, size)
	return nil
}
