package encode

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/cdfz-format/cdfz/filters"
)

// memoLimit bounds the bytes that a Memo keeps.
const memoLimit = 16 << 20

// Memo keeps encoded blocks, for images that are archived in several layouts with many
// blocks in common. It is safe for concurrent use. Nil keeps nothing.
type Memo struct {
	seed   maphash.Seed
	mu     sync.Mutex
	blocks map[memoKey]memoBlock
	bytes  int
}

type memoKey struct {
	chain string
	hash  uint64 // of the raw bytes
}

type memoBlock struct {
	raw, payload []byte
	mask         uint32
}

// NewMemo returns an empty Memo.
func NewMemo() *Memo { return &Memo{seed: maphash.MakeSeed(), blocks: map[memoKey]memoBlock{}} }

// Encode encodes a block like the coder, or returns what the coder returned for the same bytes.
func (m *Memo) Encode(c *filters.Coder, dst, raw []byte) (out []byte, mask uint32, err error) {
	if m == nil || filters.Observed() {
		return c.Encode(dst, raw)
	}
	key := memoKey{c.Chain().String(), maphash.Bytes(m.seed, raw)}
	m.mu.Lock()
	b, ok := m.blocks[key]
	m.mu.Unlock()
	if ok && bytes.Equal(b.raw, raw) {
		return append(dst, b.payload...), b.mask, nil
	}
	if out, mask, err = c.Encode(dst, raw); err != nil {
		return out, mask, err
	}
	payload := out[len(dst):]
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(raw) + len(payload); m.bytes+n <= memoLimit {
		m.bytes += n
		m.blocks[key] = memoBlock{bytes.Clone(raw), bytes.Clone(payload), mask}
	}
	return out, mask, nil
}
