package filters

import (
	"math/bits"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Grain returns the granularity at which [Coder.DecodeRange] decodes blocks of n bytes
// for which no filter was skipped. A range must start at a multiple of it and end at a
// multiple or at n. 0 means that blocks are only decoded whole.
func (k *Coder) Grain(n int) int {
	_, grain := k.ranged(n, 0)
	return grain
}

// ranged finds out how ranges of a block of n bytes are decoded. Stage at decodes a
// range; -1 means that ranges are cut from the stored bytes. The filters before it code
// elements in place. Those after it do not compress, so undoing them costs less than
// decoding the whole block in stage at. A grain of 0 means that ranges cannot be
// decoded.
func (k *Coder) ranged(n int, mask uint32) (at, grain int) {
	grain = 1
	for i, m := range k.stages {
		if mask>>i&1 != 0 {
			continue
		}
		if m == nil {
			return 0, 0
		}
		if l := m.local(k.chain[i].Params); l > 0 {
			grain = lcm(grain, l)
			continue
		}
		grain = lcm(grain, m.grain(n, k.chain[i].Params))
		for j := i + 1; j < len(k.stages); j++ {
			if mask>>j&1 == 0 && (k.stages[j] == nil || k.stages[j].Compresses) {
				return 0, 0
			}
		}
		return i, grain
	}
	return -1, grain
}

// lcm returns the least common multiple, or 0 if it is not a usable granularity.
func lcm(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	hi, lo := bits.Mul64(uint64(a/x), uint64(b))
	if hi != 0 || lo > 1<<31-1 {
		return 0
	}
	return int(lo)
}

// DecodeRange fills dst with the bytes that start at byte from of a block of n bytes.
// They equal those of [Coder.Decode]. The range must satisfy [Coder.Grain]. [ErrWhole]
// means that this block can only be decoded whole, because of its filters or its mask.
// Other errors are those of Decode. Damage outside the range may go unnoticed.
func (k *Coder) DecodeRange(dst, stored []byte, mask uint32, n, from int) error {
	if _, err := k.applied(mask); err != nil {
		return err
	}
	at, grain := k.ranged(n, mask)
	if grain == 0 {
		return ErrWhole
	}
	to := from + len(dst)
	if from < 0 || to > n {
		return errorf(ErrParam, "range: expected bytes from 0 to %d, found %d to %d", n, from, to)
	}
	if from%grain != 0 || to%grain != 0 && to != n {
		return ErrWhole
	}
	var scratch wire.Scratch
	defer scratch.Free()
	before := k.stages[:max(at, 0)] // undone in place, once the range is decoded
	cur := stored
	if at < 0 {
		if len(stored) != n {
			return errorf(ErrDecodedSize, "block: expected %d bytes, found %d", n, len(stored))
		}
		before, cur = k.stages, stored[from:to]
	} else {
		var err error
		if cur, err = k.decodeDown(&scratch, stored, n, at, mask); err != nil {
			return err
		}
		if mask|^uint32(0)<<at == ^uint32(0) {
			return k.decodeRange(at, dst, cur, n, from)
		}
		_, part := wire.Extend(scratch.Next(len(dst)), len(dst))
		if err := k.decodeRange(at, part, cur, n, from); err != nil {
			return err
		}
		scratch.Keep(part)
		cur = part
	}
	for i := len(before) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		buf, err := k.decodeStage(i, scratch.Next(len(dst)), cur, len(dst))
		if err != nil {
			return err
		}
		if len(buf) != len(dst) {
			return errorf(ErrDecodedSize, "range: expected %d bytes, found %d", len(dst), len(buf))
		}
		scratch.Keep(buf)
		cur = buf
	}
	copy(dst, cur)
	return nil
}

func (k *Coder) decodeRange(i int, dst, src []byte, n, from int) error {
	done := k.begin(i, true)
	m := k.stages[i]
	s := m.take()
	err := s.(RangeSession).DecodeRange(dst, src, k.chain[i].Params, n, from)
	m.put(s)
	if done != nil {
		done(len(src), len(dst), err)
	}
	return err
}

// DecodeRuns fills dst with the bytes of runs of a block of n bytes, one after the other. They
// equal those of [Coder.Decode]. Start, Len and Stride must be multiples of [Coder.Grain].
// [ErrWhole] means that this block cannot be decoded so, because of its filters or its mask.
// Other errors are those of Decode. Damage outside the runs may go unnoticed.
func (k *Coder) DecodeRuns(dst, stored []byte, mask uint32, n int, r Runs) error {
	if _, err := k.applied(mask); err != nil {
		return err
	}
	if r.Count < 1 || r.Len < 1 || r.Start < 0 || r.Start > n || r.Len > n-r.Start ||
		r.Count > 1 && (r.Stride < r.Len || r.Count-1 > (n-r.Start-r.Len)/r.Stride) || len(dst) != r.Count*r.Len {
		return errorf(ErrParam, "runs: expected %d bytes within 0 and %d, found %+v", len(dst), n, r)
	}
	at, grain := k.ranged(n, mask)
	if grain == 0 || at < 0 || mask|^uint32(0)<<at != ^uint32(0) || r.Start%grain != 0 || r.Len%grain != 0 || r.Stride%grain != 0 {
		return ErrWhole
	}
	m := k.stages[at]
	s := m.take()
	defer m.put(s)
	runs, ok := s.(RunSession)
	if !ok {
		return ErrWhole
	}
	var scratch wire.Scratch
	defer scratch.Free()
	cur, err := k.decodeDown(&scratch, stored, n, at, mask)
	if err != nil {
		return err
	}
	done := k.begin(at, true)
	err = runs.DecodeRuns(dst, cur, k.chain[at].Params, n, r)
	if done != nil {
		done(len(cur), len(dst), err)
	}
	return err
}
