package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/lorenz"
)

// result holds the measurements of a variable: sums over its blocks.
type result struct {
	file, name             string // name has the file before the variable
	typ                    cdf3.Type
	blocks                 []block
	raw, stored            int
	encode, decode, points time.Duration // points: one per block
	sha256                 float64       // 10^6 bytes per second, while decoding
}

func (r *result) ratio() float64       { return float64(r.raw) / float64(r.stored) }
func (r *result) encodeSpeed() float64 { return speed(r.raw, r.encode) }
func (r *result) decodeSpeed() float64 { return speed(r.raw, r.decode) }
func (r *result) pointShare() float64  { return float64(r.points) / float64(r.decode) }

// speed returns 10^6 bytes per second.
func speed(n int, t time.Duration) float64 {
	return float64(n) / 1e6 / max(t, 1).Seconds()
}

// block is a block with its encoded form.
type block struct {
	p        lorenz.Params
	raw, enc []byte
}

// cut sets the blocks.
func (r *result) cut(raw []byte, shape []int64) {
	size := int(r.typ.Size())
	dims, last := blockShape(shape, size, *target)
	n := size
	for _, d := range dims {
		n *= d
	}
	count := (len(raw) + n - 1) / n
	for i := range min(count, *blocks) {
		k := i * count / min(count, *blocks)
		b := block{lorenz.Params{Type: lorenz.Type(r.typ), Dims: dims}, raw[k*n : min((k+1)*n, len(raw))], nil}
		if len(b.raw) < n {
			b.p.Dims = last
		}
		r.blocks = append(r.blocks, b)
		r.raw += len(b.raw)
	}
}

// blockShape returns the shapes of blocks of about target bytes and of the last block:
// whole inner dimensions and a run of the next one.
func blockShape(shape []int64, size, target int) (dims, last []int) {
	at, inner := len(shape), size
	for at > 0 && inner*int(shape[at-1]) <= target {
		at--
		inner *= int(shape[at])
		dims = append([]int{int(shape[at])}, dims...)
	}
	if at == 0 {
		return dims, dims
	}
	outer := 1
	for _, d := range shape[:at] {
		outer *= int(d)
	}
	k := max(1, target/inner)
	if at == 1 || int(shape[at-1])%k == 0 {
		return append([]int{k}, dims...), append([]int{(outer-1)%k + 1}, dims...)
	}
	// Blocks must not cross from one index of the outer dimensions to the next.
	for int(shape[at-1])%k != 0 {
		k--
	}
	dims = append([]int{k}, dims...)
	return dims, dims
}

// measureEncode encodes the blocks.
func (r *result) measureEncode() error {
	for i := range r.blocks {
		b := &r.blocks[i]
		e, err := lorenz.NewEncoder(b.p, level)
		if err != nil {
			return err
		}
		t, err := least(func() error {
			b.enc, err = e.Encode(b.enc[:0], b.raw)
			return err
		})
		if err != nil {
			return err
		}
		r.stored += len(b.enc)
		r.encode += t
	}
	return nil
}

// measureDecode decodes the blocks, and some elements of each.
func (r *result) measureDecode() error {
	for i := range r.blocks {
		b := &r.blocks[i]
		d, err := lorenz.NewDecoder(b.p)
		if err != nil {
			return err
		}
		got := make([]byte, len(b.raw))
		t, err := least(func() error { return d.Decode(got, b.enc) })
		if err != nil {
			return err
		}
		if !bytes.Equal(b.raw, got) {
			return errors.New("decoded block differs")
		}
		r.decode += t
		size := b.p.Type.Size()
		n := len(b.raw) / size
		const count = 16
		t, err = least(func() error {
			for i := range count {
				at := (2*i + 1) * n / (2 * count)
				if err := d.DecodeRange(got[:size], b.enc, at, at+1); err != nil {
					return err
				}
				if !bytes.Equal(got[:size], b.raw[at*size:(at+1)*size]) {
					return fmt.Errorf("decoded element %d differs", at)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.points += t / count
	}
	t, err := least(func() error {
		sha256.Sum256(r.blocks[0].raw)
		return nil
	})
	r.sha256 = speed(len(r.blocks[0].raw), t)
	return err
}

// least returns the shortest of several times of f, which is repeated for about a time.
func least(f func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best, sum := time.Duration(0), time.Duration(0)
	for i := 0; i < 4 || sum < *duration; i++ {
		start, before := time.Now(), run.Thread()
		if err := f(); err != nil {
			return 0, err
		}
		t := run.Thread() - before
		if t <= 0 {
			t = time.Since(start)
		}
		if i == 0 || t < best {
			best = t
		}
		sum += t
	}
	return best, nil
}
