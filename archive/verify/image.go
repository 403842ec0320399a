package verify

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// Decoding of the image, and its comparison with its sums.

// decoding is the decoding of the image on other goroutines, during the walk. It is nil if it did not
// start.
type decoding struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	more    sync.Cond // a block was decoded, or all has ended
	decoded []uint64  // a bit for each block
	ended   bool
	err     error // of the image, if ended
}

func (v *verifier) imageOptions() *read.Options {
	o := &read.Options{Cache: -1}
	o.Plan, o.Header = v.l, v.header
	if v.man != nil && v.l != nil && v.header != nil {
		// The walk read the same bytes.
		o.Tail, o.Man, o.First = *v.tail, v.man, v.decoded
	}
	return o
}

// startImage begins to decode the image, if nothing is known to be damaged so far. Its first
// block, the header, has been walked.
func (v *verifier) startImage() {
	if v.chunks == nil || v.index == nil || v.header == nil || v.front == nil || len(v.rep.Damage) > 0 {
		return
	}
	d := &decoding{decoded: make([]uint64, v.l.Blocks/64+1)}
	d.more.L = &d.mu
	ctx, cancel := context.WithCancel(v.ctx)
	d.cancel = cancel
	src := v.src
	if v.tail.IdxLen > longIndex {
		src = directFrom(v.src, v.origin, v.tail.IdxOff)
	}
	o := v.imageOptions()
	v.image = d
	go func() {
		err := v.decodeImage(ctx, src, o, d.add)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended, d.err = true, err
		d.more.Signal()
	}()
	d.wait(v.l.RestFirst)
}

// decodeImage decodes the image and compares its sums. decoded, if not nil, is called with the
// number of each block.
func (v *verifier) decodeImage(ctx context.Context, src io.ReaderAt, o *read.Options, decoded func(n int64)) error {
	a, err := read.NewReader(ctx, src, v.Size, o)
	if err != nil {
		return err
	}
	a.CheckPadding, a.Decoded = true, decoded
	c := &image.CopyOptions{Workers: v.o.Workers, Memory: v.o.Memory, Progress: v.done.image, SHA256: v.o.SHA256}
	return image.Copy(ctx, a, nil, c)
}

// add marks a block as decoded.
func (d *decoding) add(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.decoded[n/64] |= 1 << (n % 64)
	d.more.Signal()
}

// wait waits for a block, and reports whether it was decoded.
func (d *decoding) wait(n int64) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.decoded[n/64]>>(n%64)&1 == 0 {
		if d.ended {
			return false
		}
		d.more.Wait()
	}
	return true
}

// end waits for the end of the decoding and returns its error. begun is false if there was
// none.
func (d *decoding) end() (err error, begun bool) {
	if d == nil {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.ended {
		d.more.Wait()
	}
	return d.err, true
}

// stopImage ends the decoding.
func (v *verifier) stopImage() {
	if v.image != nil {
		v.image.cancel()
		_, _ = v.image.end()
		v.image = nil
	}
}

// checkImage opens the archive like a reader and compares the image's sums. A reader would
// find the plan and the header of the options, since the manifest has their checksums.
func (v *verifier) checkImage(o *read.Options) error {
	v.done.walk(v.Size)
	err, begun := v.image.end()
	if !begun {
		err = v.decodeImage(v.ctx, v.src, o, nil)
	}
	if err == nil {
		return nil
	}
	var b *fault.BlockError
	if errors.As(err, &b) {
		return v.decodeBlocks()
	}
	return v.damage(DamageImage, -1, -1, err)
}

// decodeBlocks decodes each block separately to name all that fail. Blocks with a wrong
// checksum were already reported.
func (v *verifier) decodeBlocks() error {
	a, err := read.NewReader(v.ctx, v.origin, v.Size, &read.Options{Cache: -1})
	if err != nil {
		return nil // already reported
	}
	a.CheckPadding = true
	known := map[int64]bool{}
	for _, d := range v.rep.Damage {
		known[d.Off] = true
	}
	read := a.ReadBlock
	ahead := image.NewBlocksAhead(v.ctx, a)
	if ahead != nil {
		read = ahead.ReadBlock
		defer ahead.Close()
	}
	var buf []byte
	for n := range a.L.Blocks {
		if ahead != nil {
			if err := ahead.Begun(n); err != nil {
				return err
			}
		}
		b := a.L.BlockAt(n)
		if int64(cap(buf)) < b.Len {
			buf = make([]byte, b.Len)
		}
		err := read(v.ctx, b, buf[:b.Len])
		var be *fault.BlockError
		if errors.As(err, &be) && known[be.StoredOff] {
			continue
		}
		if err := v.damage(DamageBlock, -1, -1, err); err != nil {
			return err
		}
	}
	return nil
}
