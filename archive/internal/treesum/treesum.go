// Package treesum computes the sum of an image that several goroutines compute together,
// docs/FORMAT.md, "The sum of pieces".
package treesum

import (
	"encoding/hex"
	"sync"

	"github.com/zeebo/xxh3"
)

// Piece is the length in bytes of the pieces of an image. The last may be shorter.
const Piece = 1 << 20

// Tree collects the sums of the pieces of an image. The zero value has none. Add is safe for
// concurrent use.
type Tree struct {
	mu    sync.Mutex
	next  int64            // all bytes before it are in root
	early map[int64][]byte // sums of pieces, by the byte at which they begin
	root  xxh3.Hasher
}

// Add adds the bytes of the image from off on, which is a multiple of Piece. Their length is
// one, too, if they do not end the image. They may be added in any order, but the sums of all
// that are early are kept: 16 bytes for each piece.
func (t *Tree) Add(off int64, b []byte) {
	sums := make([]byte, 0, (len(b)+Piece-1)/Piece*16)
	for at := 0; at < len(b); at += Piece {
		sum := xxh3.Hash128(b[at:min(at+Piece, len(b))]).Bytes()
		sums = append(sums, sum[:]...)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if off != t.next {
		if t.early == nil {
			t.early = map[int64][]byte{}
		}
		t.early[off] = sums
		return
	}
	for sums != nil {
		_, _ = t.root.Write(sums) // never fails
		t.next += int64(len(sums)) / 16 * Piece
		sums = t.early[t.next]
		delete(t.early, t.next)
	}
}

// Sum returns the sum of the pieces added so far, as hexadecimal digits.
func (t *Tree) Sum() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.root.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}
