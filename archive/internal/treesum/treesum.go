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
	t.add(off, sums)
}

// add adds the sums of the pieces from off on.
func (t *Tree) add(off int64, sums []byte) {
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

// A Run adds bytes of the image to a Tree part by part, in order. Tree.Run returns it. It is for
// one goroutine.
type Run struct {
	tree  *Tree
	off   int64
	left  int // bytes that the piece lacks
	piece xxh3.Hasher
	sums  []byte
}

// Run returns a Run for the bytes from off on, a multiple of Piece.
func (t *Tree) Run(off int64) *Run { return &Run{tree: t, off: off, left: Piece} }

// Add adds the next bytes.
func (r *Run) Add(b []byte) {
	for len(b) > 0 {
		n := min(len(b), r.left)
		_, _ = r.piece.Write(b[:n]) // never fails
		b = b[n:]
		if r.left -= n; r.left == 0 {
			r.end()
		}
	}
}

// end ends a piece.
func (r *Run) end() {
	sum := r.piece.Sum128().Bytes()
	r.sums = append(r.sums, sum[:]...)
	r.piece.Reset()
	r.left = Piece
}

// Close adds the sums of all pieces to the tree. Their length is a multiple of Piece if they do
// not end the image.
func (r *Run) Close() {
	if r.left < Piece {
		r.end()
	}
	r.tree.add(r.off, r.sums)
}

// Sum returns the sum of the pieces added so far, as hexadecimal digits.
func (t *Tree) Sum() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.root.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}
