package encode

import (
	"bytes"
	"context"
	"hash/maphash"
	"sync"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/observer"
)

const (
	memoLimit   = 16 << 20 // bytes of payloads that a Memo keeps
	memoEntries = 1 << 17  // and lengths
)

// Memo keeps encoded blocks, for images that are archived in several layouts with many
// blocks in common. If it is full, it keeps their lengths. It is safe for concurrent use. Nil
// keeps nothing.
type Memo struct {
	seeds  [2]maphash.Seed
	mu     sync.Mutex
	blocks map[memoKey]memoBlock // nil if an observer is to see all blocks
	bytes  int
}

// memoKey names a block by a hash of 128 bits. Its seeds are random, so that no image can have
// blocks that are made to collide.
type memoKey struct {
	chain string
	hash  [2]uint64 // of the raw bytes
	n     int       // of them
}

type memoBlock struct {
	payload []byte // nil if it is not kept
	n       int
	mask    uint32
}

// NewMemo returns an empty Memo. One for a context with an observer stays empty.
func NewMemo(ctx context.Context) *Memo {
	if observer.Of[filters.Observer](ctx) != nil {
		return &Memo{}
	}
	return &Memo{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, blocks: map[memoKey]memoBlock{}}
}

// Encode encodes a block like the coder, or returns what the coder returned for the same bytes.
func (m *Memo) Encode(c *filters.Coder, dst, raw []byte) (out []byte, mask uint32, err error) {
	if m == nil || m.blocks == nil {
		return c.Encode(dst, raw)
	}
	key, b, ok := m.look(c, raw)
	if ok && b.payload != nil {
		return append(dst, b.payload...), b.mask, nil
	}
	if out, mask, err = c.Encode(dst, raw); err == nil {
		m.keep(key, out[len(dst):], mask)
	}
	return out, mask, err
}

// Len returns the length of a block after it is encoded. *scratch is memory for that.
func (m *Memo) Len(c *filters.Coder, scratch *[]byte, raw []byte) (n int, err error) {
	if m != nil && m.blocks != nil {
		if _, b, ok := m.look(c, raw); ok {
			return b.n, nil
		}
	}
	out, _, err := m.Encode(c, (*scratch)[:0], raw)
	if err != nil {
		return 0, err
	}
	*scratch = out
	return len(out), nil
}

func (m *Memo) look(c *filters.Coder, raw []byte) (memoKey, memoBlock, bool) {
	key := memoKey{c.Chain().String(), [2]uint64{maphash.Bytes(m.seeds[0], raw), maphash.Bytes(m.seeds[1], raw)}, len(raw)}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blocks[key]
	return key, b, ok
}

func (m *Memo) keep(key memoKey, payload []byte, mask uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.blocks) >= memoEntries {
		return
	}
	b := memoBlock{n: len(payload), mask: mask}
	if len(payload) > 0 && m.bytes+len(payload) <= memoLimit {
		m.bytes += len(payload)
		b.payload = bytes.Clone(payload)
	}
	m.blocks[key] = b
}
