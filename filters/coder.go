package filters

import (
	"errors"
	"math"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/lorenz"
)

// errNotShorter is for the observer. Encode skips the filter.
var errNotShorter = errors.New("filters: the block did not become shorter")

// Coder encodes and decodes blocks with one chain. It is safe for concurrent use.
// Memory and state come from pools shared by all coders. The output does not depend on
// earlier blocks.
type Coder struct {
	chain    Chain
	stages   []*registered // nil where a filter cannot be used
	errs     []error       // why it cannot
	observer Observer
	label    string // for the observer
}

// MaxLen bounds the output of any filter of a chain for a block of n bytes, whether it
// is stored or passed to the next filter. Part of the format.
func MaxLen(n int64) int64 {
	if n > (math.MaxInt64-1<<16)/2 {
		return math.MaxInt64
	}
	return 2*n + 1<<16
}

// NewCoder checks ids and parameters, which must be complete ([Chain.Complete]). A
// required filter that is not registered is an [*UnknownFilterError], and one with wrong
// parameters is [ErrParam]. Encoding skips such a filter if it is optional, and decoding a
// block that used it is an error.
func NewCoder(c Chain) (*Coder, error) {
	k, err := NewDecoder(c)
	if err != nil {
		return nil, err
	}
	for i, f := range k.chain {
		if k.errs[i] != nil && (!f.Optional || f.ID > MaxID) {
			return nil, k.errs[i]
		}
	}
	return k, nil
}

// NewDecoder is [NewCoder] for blocks that exist. A filter that is not registered, or has wrong parameters, is an error of
// those blocks alone that it was applied to, also if it is required: FORMAT.md, section 9.1.
func NewDecoder(c Chain) (*Coder, error) {
	if len(c) > MaxFilters {
		return nil, errorf(ErrParam, "chain: expected at most %d filters, found %d", MaxFilters, len(c))
	}
	k := &Coder{chain: c.Clone(), stages: make([]*registered, len(c)), errs: make([]error, len(c))}
	for i, f := range k.chain {
		if f.ID > MaxID {
			k.errs[i] = errorf(ErrFilterID, "filter id: expected at most %d, found %d", MaxID, f.ID)
			continue
		}
		m := need(f.ID)
		var err error
		if m != nil {
			err = m.check(f.Params)
		}
		if m == nil || errors.Is(err, ErrUnknownFilter) {
			err = unknown(f)
		}
		if err == nil {
			k.stages[i] = m
		}
		k.errs[i] = err
	}
	return k, nil
}

// Chain returns the chain, which must not be changed.
func (k *Coder) Chain() Chain { return k.chain }

// MaxEncodedLen bounds the stored length of a block of n bytes, for any encoder of this
// chain. It never exceeds [MaxLen].
func (k *Coder) MaxEncodedLen(n int) int { return k.maxLen(n, len(k.chain), 0) }

// maxLen bounds the length after the first stages, without those in mask.
func (k *Coder) maxLen(n, stages int, mask uint32) int {
	bound, limit := n, wire.ClampLen(MaxLen(int64(n)))
	for i := range stages {
		if mask>>i&1 == 0 && k.stages[i] != nil {
			// Any filter may have been skipped.
			bound = min(limit, max(bound, k.stages[i].maxEncodedLen(bound, k.chain[i].Params)))
		}
	}
	return bound
}

// Memory bounds the bytes that decoding a block of n bytes allocates in addition to the
// block and its stored bytes.
func (k *Coder) Memory(n int) int64 {
	var read, write, state int64 // buffers between filters, and the state of the filters
	for i, m := range k.stages {
		if m == nil {
			continue
		}
		out := n
		if i > 0 {
			out = k.maxLen(n, i, 0)
			read, write = max(read, min(write, int64(out))), max(write, int64(out))
		}
		state = max(state, m.memory(out, k.chain[i].Params))
	}
	return read + write + state
}

// Hint is what was chosen for a block. Other blocks of the same variable are encoded faster with it. The zero Hint is
// none. It is immutable.
type Hint struct {
	choice *lorenz.Choice
}

// EncodeLike is [Coder.Encode] with a hint, which the stored bytes depend on, too. Without one, it returns the hint that
// the block gives for others.
func (k *Coder) EncodeLike(dst, src []byte, like Hint) (out []byte, mask uint32, hint Hint, err error) {
	out, mask, err = k.encode(dst, src, &like)
	return out, mask, like, err
}

// Encode appends the encoded src to dst. Bit i of mask is set if filter i was skipped,
// because it is optional and failed, or compresses and did not shorten its input. This
// is HDF5's filter_mask. If a required filter fails, Encode fails and out is dst. src
// is not changed and must not overlap dst.
func (k *Coder) Encode(dst, src []byte) (out []byte, mask uint32, err error) {
	return k.encode(dst, src, nil)
}

func (k *Coder) encode(dst, src []byte, hint *Hint) (out []byte, mask uint32, err error) {
	cur, in := src, Block{Len: len(src)}
	var scratch wire.Scratch
	defer scratch.Free()
	for i, f := range k.chain {
		last := i == len(k.chain)-1
		to := dst
		if !last {
			to = scratch.Next(len(cur) + len(cur)/8 + 64)
		}
		enc, err := k.encodeStage(i, to, cur, in, MaxLen(int64(len(src))), hint)
		switch {
		case err != nil && f.Optional:
			mask |= 1 << i
			if !last {
				continue
			}
			return append(enc, cur...), mask, nil
		case err != nil:
			return dst, 0, err
		case last:
			return enc, mask, nil
		}
		cur, in = enc, k.stages[i].output(f.Params, in)
		in.Len = len(cur)
		scratch.Keep(enc)
	}
	return append(dst, src...), mask, nil
}

// encodeStage appends the output of stage i to dst. After an error, it returns dst, in
// memory that may have grown.
func (k *Coder) encodeStage(i int, dst, src []byte, in Block, most int64, hint *Hint) ([]byte, error) {
	f, m := k.chain[i], k.stages[i]
	if m == nil {
		return dst, k.errs[i]
	}
	if m.DecodeOnly {
		return dst, errorf(ErrParam, "filter %s: can only decode", describe(f))
	}
	if m.EncodeOnly {
		return dst, errorf(ErrParam, "filter %s: can only encode, so its blocks could not be read back", describe(f))
	}
	done := k.begin(i, false)
	s := m.take()
	var out []byte
	var err error
	if l, ok := s.(*lorenzState); ok {
		out, err = l.encode(dst, src, f.Params, hint)
	} else {
		out, err = s.Encode(dst, src, f.Params, in)
	}
	m.put(s)
	n := len(out) - len(dst)
	switch {
	case err != nil:
		out = dst
	case int64(n) > most:
		err = errorf(ErrParam, "filter %s: expected at most %d bytes, found %d", describe(f), most, n)
	case f.Optional && m.Compresses && n >= len(src):
		err = errNotShorter
	}
	if done != nil {
		done(len(src), n, err)
	}
	if err != nil {
		return out[:len(dst)], err
	}
	return out, nil
}

func (k *Coder) decodeStage(i int, dst, src []byte, max int) ([]byte, error) {
	m := k.stages[i]
	done := k.begin(i, true)
	s := m.take()
	out, err := s.Decode(dst, src, k.chain[i].Params, max)
	m.put(s)
	if done != nil {
		done(len(src), len(out)-len(dst), err)
	}
	if err == nil && len(out)-len(dst) > max {
		return nil, errorf(ErrDecodedSize, "filter %s: expected at most %d bytes, found %d", describe(k.chain[i]), max, len(out)-len(dst))
	}
	return out, err
}

// Decode fills dst with the decoded block. len(dst) must be the exact length of the
// block; otherwise the error is [ErrDecodedSize]. Nothing is written beyond len(dst),
// whatever the capacity. Bit i of mask is set if filter i was skipped for the block. A
// bit without a filter is [ErrDamaged]. After an error the content of dst is undefined.
// stored is not changed and must not overlap dst.
func (k *Coder) Decode(dst, stored []byte, mask uint32) error {
	first, err := k.applied(mask)
	if err != nil {
		return err
	}
	if first < 0 {
		if len(stored) != len(dst) {
			return errorf(ErrDecodedSize, "block: expected %d bytes, found %d", len(dst), len(stored))
		}
		copy(dst, stored)
		return nil
	}
	var scratch wire.Scratch
	defer scratch.Free()
	cur, err := k.decodeDown(&scratch, stored, len(dst), first, mask)
	if err != nil {
		return err
	}
	return k.decodeInto(dst, cur, first)
}

// applied returns the first filter that mask does not skip, or -1, and checks that all
// applied filters can be used.
func (k *Coder) applied(mask uint32) (first int, err error) {
	if len(k.chain) < MaxFilters && mask>>len(k.chain) != 0 {
		return 0, errorf(ErrDamaged, "exclusion mask: expected %d filters, found 0x%x", len(k.chain), mask)
	}
	first = -1
	for i := range k.chain {
		if mask>>i&1 != 0 {
			continue
		}
		if k.stages[i] == nil {
			return 0, k.errs[i]
		}
		if first < 0 {
			first = i
		}
	}
	return first, nil
}

// decodeDown undoes the filters after stage first for a block of n bytes.
func (k *Coder) decodeDown(scratch *wire.Scratch, stored []byte, n, first int, mask uint32) ([]byte, error) {
	cur := stored
	for i := len(k.chain) - 1; i > first; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		most := k.maxLen(n, i, mask)
		buf, err := k.decodeStage(i, scratch.Next(min(most, n+n/4)), cur, most)
		if err != nil {
			return nil, err
		}
		scratch.Keep(buf)
		cur = buf
	}
	return cur, nil
}

// decodeInto fills dst with the output of stage i for src.
func (k *Coder) decodeInto(dst, src []byte, i int) error {
	buf, err := k.decodeStage(i, dst[:0:len(dst)], src, len(dst))
	if err != nil {
		return err
	}
	if len(buf) != len(dst) {
		return errorf(ErrDecodedSize, "block: expected %d bytes, found %d", len(dst), len(buf))
	}
	if len(buf) > 0 && &buf[0] != &dst[0] {
		copy(dst, buf) // the session used other memory
	}
	return nil
}
