// Package encode makes the blocks of archives: it cuts an image into blocks, or takes them from
// another archive, and encodes them on several goroutines, in order.
package encode

import (
	"bytes"
	"context"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/observer"
	"github.com/cdfz-format/cdfz/internal/recycled"
)

// BlockJob is a block on its way from the cutter to the archive.
type BlockJob struct {
	V   int   // position in vars, or -1 for the rest
	B   int64 // number among the variable's or the rest's blocks
	Raw []byte

	// Load, if not nil, fills Raw before it is encoded. Stored, if not nil, appends the
	// stored bytes to dst, which are then not encoded.
	Load   func() error
	Stored func(dst []byte) (out []byte, mask uint32, err error)

	gives, uses *hint // set by hints, or nil

	// set by encode
	Out   []byte // local header and stored bytes
	Entry czip.ZipEntry
}

// Encoder turns blocks into entries. Each goroutine has one.
type Encoder struct {
	L      *plan.Resolved
	Memo   *Memo // encoded blocks of other layouts, or nil
	chains *read.Chains
	name   []byte
	memo   []constBlock // by chain; nil with an observer, who is to see all blocks
	most   int          // length of the longest Out so far
}

// constBlock is the last encoded block of one repeated value, by chain. Masked areas
// and unwritten records consist of many such blocks.
type constBlock struct {
	raw8    [8]byte
	n       int
	payload []byte
	mask    uint32
}

// NewEncoder returns an encoder with the observer of ctx.
func NewEncoder(ctx context.Context, l *plan.Resolved) *Encoder {
	e := &Encoder{L: l, chains: read.NewChains(l)}
	e.chains.Observer = observer.Of[filters.Observer](ctx)
	if e.chains.Observer == nil {
		e.memo = make([]constBlock, len(l.Filters))
	}
	return e
}

// headerSpace is reserved before the stored bytes for the local header, whose length
// depends on the mask: a fixed part, a name, and 8 bytes of extra field.
const headerSpace = czip.LocalFixed + plan.MaxEntryName + 8

// free puts the memory of a job back.
func (j *BlockJob) free() {
	recycled.Put(j.Raw)
	recycled.Put(j.Out)
}

// Encode fills in Out and Entry. Out is that of an earlier job if there is one, or else memory that free takes back:
// blocks are expected to shrink by half, or as little as others did.
func (e *Encoder) Encode(j *BlockJob) (err error) {
	if j.gives != nil {
		defer close(j.gives.done)
	}
	chain, _ := e.L.BlockInfo(j.V, j.B)
	if n := len(j.Raw); cap(j.Out) < headerSpace {
		j.Out = recycled.Get(int64(max(headerSpace+n/2, min(e.most, headerSpace+n+n/8))))
	}
	var mask uint32
	out := j.Out[:headerSpace]
	if j.Load != nil {
		if err := j.Load(); err != nil {
			return err
		}
	}
	if j.Stored != nil {
		if out, mask, err = j.Stored(out); err != nil {
			return err
		}
	} else if m := e.known(chain, j.Raw); m != nil {
		out, mask = append(out, m.payload...), m.mask
	} else if j.V < 0 && j.B == 0 && len(j.Raw) > plan.MaxFirst {
		// The format stores such long headers without filters.
		mask = 1<<len(e.L.Filters[chain]) - 1
		out = append(out, j.Raw...)
	} else {
		var c *filters.Coder
		if c, err = e.chains.Coder(chain, j.V); err == nil {
			out, mask, err = e.coded(c, out, j)
		}
		if err == nil && e.memo != nil && isConst(j.Raw) {
			m := &e.memo[chain]
			copy(m.raw8[:], j.Raw)
			m.n, m.mask = len(j.Raw), mask
			m.payload = append(m.payload[:0], out[headerSpace:]...)
		}
	}
	if err != nil {
		return plan.NewBlockError(e.L, nil, j.V, j.B, -1, err)
	}
	e.name = e.L.AppendName(e.name[:0], j.V, j.B)
	payload := out[headerSpace:]
	n := int64(len(payload))
	j.Entry = czip.ZipEntry{Name: string(e.name), Crc: czip.CRC(payload), Stored: n, Size: n, Mask: mask}
	at := headerSpace - j.Entry.LocalLen()
	j.Entry.AppendLocal(out[at:at])
	j.Out = out
	e.most = max(e.most, len(out))
	return nil
}

// coded appends the stored bytes of a block to dst.
func (e *Encoder) coded(c *filters.Coder, dst []byte, j *BlockJob) (out []byte, mask uint32, err error) {
	var like filters.Hint
	switch {
	case j.gives != nil:
		out, mask, j.gives.chosen, err = c.EncodeLike(dst, j.Raw, like)
		return out, mask, err
	case j.uses != nil:
		<-j.uses.done // its block was submitted before
		if like = j.uses.chosen; like != (filters.Hint{}) {
			out, mask, _, err = c.EncodeLike(dst, j.Raw, like)
			return out, mask, err
		}
	}
	return e.Memo.Encode(c, dst, j.Raw)
}

// known returns the last block of one repeated value if raw is equal to it, else nil.
func (e *Encoder) known(chain int, raw []byte) *constBlock {
	if e.memo == nil {
		return nil
	}
	m := &e.memo[chain]
	if m.n == len(raw) && isConst(raw) && bytes.Equal(m.raw8[:], raw[:8]) {
		return m
	}
	return nil
}

// Bytes returns the local header and stored bytes of an encoded job.
func (j *BlockJob) Bytes() []byte { return j.Out[headerSpace-j.Entry.LocalLen():] }

// isConst reports whether a block repeats its first 8 bytes.
func isConst(b []byte) bool {
	return len(b) >= 64 && bytes.Equal(b[8:64], b[:56]) && bytes.Equal(b[8:], b[:len(b)-8])
}
