package filters

import "math"

// Coder encodes and decodes blocks with one chain. It keeps the state of the
// compressors from block to block, so it serves one goroutine at a time. The
// output does not depend on what it did before.
type Coder struct {
	chain   Chain
	methods []Method // nil where the filter is unknown and optional
	planes  []planeEncoder
	at      []int // of the zstd blocks of a block that is decoded in parts
}

// MaxLen is the length that no filter of a chain may exceed with a block of n bytes:
// neither what passes between two filters nor what is stored. Part of the format.
func MaxLen(n int64) int64 {
	if n > (math.MaxInt64-1<<16)/2 {
		return math.MaxInt64
	}
	return 2*n + 1<<16
}

// NewCoder checks ids and parameters. A required filter that is not registered
// is an [*UnknownFilterError]; an optional one is left out of every block that
// is encoded and fails only when a block that has it is decoded.
func NewCoder(c Chain) (*Coder, error) {
	if len(c) > MaxFilters {
		return nil, errorf(ErrParam, "chain: at most %d filters, found %d", MaxFilters, len(c))
	}
	k := &Coder{chain: c.Clone(), methods: make([]Method, len(c)), planes: make([]planeEncoder, len(c))}
	for i, f := range k.chain {
		if f.ID > MaxID {
			return nil, errorf(ErrFilterID, "filter id: at most %d, found %d", MaxID, f.ID)
		}
		m, ok := Lookup(f.ID)
		if !ok {
			if f.Optional {
				continue
			}
			return nil, unknown(f)
		}
		if err := m.Check(f.Params); err != nil {
			return nil, err
		}
		if s, ok := m.(stateful); ok {
			m = s.session()
		}
		k.methods[i] = m
		k.planes[i], _ = m.(planeEncoder)
	}
	return k, nil
}

// MaxEncodedLen bounds the stored length of a block of n bytes, whoever encoded
// it with this chain. It never exceeds [MaxLen].
func (k *Coder) MaxEncodedLen(n int) int { return k.maxLen(n, len(k.chain), 0) }

// maxLen bounds the length after the first stages, without those in mask.
func (k *Coder) maxLen(n, stages int, mask uint32) int {
	bound, limit := n, clampLen(MaxLen(int64(n)))
	for i := range stages {
		if mask>>i&1 == 0 && k.methods[i] != nil {
			// Any filter may have been left out in favour of its input.
			bound = min(limit, max(bound, k.methods[i].MaxEncodedLen(bound, k.chain[i].Params)))
		}
	}
	return bound
}

// Encode appends the encoded src to dst. Bit i of mask is set where filter i
// was left out: it is optional, and failed, which a compressor also does that gives
// no fewer bytes than it got.
// This is HDF5's filter_mask. Where a required filter fails, so does Encode, and
// out is dst. src is not changed and must not overlap dst.
func (k *Coder) Encode(dst, src []byte) (out []byte, mask uint32, err error) {
	return k.EncodeParts(dst, src, 0)
}

// EncodeParts is Encode of a block whose parts of part bytes, the length that
// [Chain.PartLen] gave for it, [Coder.DecodeParts] can decode by themselves.
func (k *Coder) EncodeParts(dst, src []byte, part int) (out []byte, mask uint32, err error) {
	cur := src
	planeLen, partLen := 0, 0 // of cur, where the last filter that ran was a shuffle
	var room scratch
	defer room.free()
	for i, f := range k.chain {
		last := i == len(k.chain)-1
		to := dst
		if !last {
			to = room.next()
		}
		enc, err := k.encodeStage(i, to, cur, planeLen, partLen)
		if n := int64(len(enc) - len(to)); err == nil && n > MaxLen(int64(len(src))) {
			err = errorf(ErrParam, "filter %s: at most %d bytes of a block of %d, found %d", describe(f), MaxLen(int64(len(src))), len(src), n)
		}
		switch {
		case f.Optional && (err != nil || compresses(f.ID) && len(enc)-len(to) >= len(cur)):
			mask |= 1 << i
			if !last {
				continue
			}
			if err == nil {
				dst = enc[:len(dst)] // keep the memory it may have grown
			}
			return append(dst, cur...), mask, nil
		case err != nil:
			return dst, 0, err
		case last:
			return enc, mask, nil
		}
		planeLen, partLen = 0, 0
		if f.ID == Shuffle && f.Params[0] > 1 {
			planeLen, partLen = len(cur)/int(f.Params[0]), part/int(f.Params[0])
		}
		cur = enc
		room.keep(enc)
	}
	return append(dst, src...), mask, nil
}

// compresses says whether a filter is there to make blocks shorter; those of ours
// that are not keep the length, or add to it.
func compresses(id uint32) bool { return id != Shuffle && id != Fletcher32 }

func (k *Coder) encodeStage(i int, dst, src []byte, planeLen, partLen int) ([]byte, error) {
	f := k.chain[i]
	if k.methods[i] == nil {
		return nil, unknown(f)
	}
	if planeLen > 0 && k.planes[i] != nil {
		return k.planes[i].encodePlanes(dst, src, f.Params, planeLen, partLen)
	}
	return k.methods[i].Encode(dst, src, f.Params)
}

// Decode fills dst with the decoded block. len(dst) is the exact length the
// block must have: any other is [ErrDecodedSize]. Nothing beyond it is written,
// whatever its capacity. mask has bit i set where filter i was left out of the
// block; a bit without a filter is [ErrDamaged]. After an error the content of
// dst is undefined. stored is not changed and must not overlap dst.
func (k *Coder) Decode(dst, stored []byte, mask uint32) error {
	if len(k.chain) < MaxFilters && mask>>len(k.chain) != 0 {
		return errorf(ErrDamaged, "exclusion mask: %d filters, found 0x%x", len(k.chain), mask)
	}
	cur := stored
	first := -1 // the filter nearest to the raw bytes
	for i := range k.chain {
		if mask>>i&1 == 0 {
			if k.methods[i] == nil {
				return unknown(k.chain[i])
			}
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		if len(stored) != len(dst) {
			return errorf(ErrDecodedSize, "block: %d bytes, found %d", len(dst), len(stored))
		}
		copy(dst, stored)
		return nil
	}
	var room scratch
	defer room.free()
	for i := len(k.chain) - 1; i > first; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		buf, err := k.methods[i].Decode(room.next(), cur, k.chain[i].Params, k.maxLen(len(dst), i, mask))
		if err != nil {
			return err
		}
		room.keep(buf)
		cur = buf
	}
	buf, err := k.methods[first].Decode(dst[:0:len(dst)], cur, k.chain[first].Params, len(dst))
	if err != nil {
		return err
	}
	if len(buf) != len(dst) {
		return errorf(ErrDecodedSize, "block: %d bytes, found %d", len(dst), len(buf))
	}
	if len(buf) > 0 && &buf[0] != &dst[0] {
		copy(dst, buf) // a method that went on to memory of its own
	}
	return nil
}
