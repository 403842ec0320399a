package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/internal/treesum"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// CopyOptions control Copy. Nil and the zero value mean the defaults.
type CopyOptions struct {
	Workers  int   // goroutines that decode; 0: GOMAXPROCS
	Memory   int64 // bytes of blocks of record variables and pools held at once, and of blocks being decoded; 0: DefaultMemory
	Progress func(done int64)
	SHA256   bool // compares the SHA-256 in any case
}

// DefaultMemory is enough for the blocks of 500 record variables at once.
const DefaultMemory = 128 << 20

// decodeCost is the memory for decoding, in lengths of the block: stored bytes, decoded
// bytes, and the data between filters.
const decodeCost = 3

// Copy implements archive.Image.Copy. All goroutines compute the sum of pieces, and one the SHA-256.
func Copy(ctx context.Context, a *read.Reader, w io.Writer, o *CopyOptions) error {
	var sum hash.Hash
	if a.Man.Tree == "" || o != nil && o.SHA256 {
		sum = sha256.New()
		if w == nil {
			w = sum
		} else {
			w = &hashingWriter{w: w, sum: sum}
		}
	}
	var tree *treesum.Tree
	if a.Man.Tree != "" {
		tree = new(treesum.Tree)
	}
	if err := copyImage(ctx, a, w, tree, o); err != nil {
		return err
	}
	if tree != nil {
		if got := tree.Sum(); got != a.Man.Tree {
			return fault.Corruptf("expected an image whose pieces have the sum %s, found %s", a.Man.Tree, got)
		}
	}
	if sum != nil {
		return checkSHA256(a, sum)
	}
	return nil
}

func checkSHA256(a *read.Reader, sum hash.Hash) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != a.Man.SHA256 {
		return fault.Corruptf("expected an image with SHA-256 %s, found %s", a.Man.SHA256, got)
	}
	return nil
}

// hashingWriter hashes and writes at the same time, on two goroutines.
type hashingWriter struct {
	w   io.Writer
	sum io.Writer
}

func (h *hashingWriter) Write(p []byte) (int, error) {
	done := make(chan struct{})
	go func() {
		h.sum.Write(p)
		close(done)
	}()
	n, err := h.w.Write(p)
	<-done
	return n, err
}

// complete sets defaults.
func complete(a *read.Reader, o *CopyOptions) (c CopyOptions) {
	if o != nil {
		c = *o
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Memory <= 0 {
		c.Memory = DefaultMemory
	}
	if c.Workers > 1 {
		c.Workers++ // some wait for a block that another one decodes
	}
	// Blocks that are large for the memory are decoded by fewer goroutines.
	c.Workers = int(min(int64(c.Workers), max(1, c.Memory/(decodeCost*a.L.MaxBlockLen()))))
	return c
}

// copyImage writes the image to w, in order, and adds its pieces to tree. Either may be nil.
func copyImage(ctx context.Context, a *read.Reader, w io.Writer, tree *treesum.Tree, o *CopyOptions) error {
	c := complete(a, o)
	write := func(off int64, p []byte) error {
		if w != nil {
			if err := fault.WriteFull(w, p); err != nil {
				return err
			}
		}
		if c.Progress != nil {
			c.Progress(off + int64(len(p)))
		}
		return nil
	}
	all := passes(a.L, c.Memory)
	if len(all) == 1 {
		return assemble(ctx, a, all[0], c.Workers, filled(a, all[0], tree, w == nil), write)
	}
	tmp, err := os.CreateTemp("", "cdfz-image-*")
	if err != nil {
		return fmt.Errorf("archive: %w", &atomicfile.TempError{Err: err})
	}
	// Unlinked at once, so that it disappears however the program ends. If the system
	// refuses, it is removed at the end.
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	os.Remove(tmp.Name())
	for i, pass := range all {
		err := assemble(ctx, a, pass, c.Workers, scatter(a.L, pass), func(off int64, p []byte) error {
			if i > 0 {
				return overlay(a.L, tmp, pass, off, p)
			}
			_, err := tmp.WriteAt(p, off)
			return atomicfile.OfTemp(err)
		})
		if err != nil {
			return err
		}
	}
	buf := make([]byte, imageWindow)
	for off := int64(0); off < a.L.Image.Size; off += imageWindow {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(imageWindow, a.L.Image.Size-off)]
		if err := ioat.ReadFull(tmp, b, off); err != nil {
			return fmt.Errorf("archive: temporary file: %w", err)
		}
		if tree != nil {
			tree.Add(off, b)
		}
		if err := write(off, b); err != nil {
			return err
		}
	}
	return nil
}

// filled returns a fillFunc that copies the pieces of the only pass and adds them to tree, which
// may be nil. If nobody needs the bytes, it only adds them.
func filled(a *read.Reader, pass []bool, tree *treesum.Tree, unneeded bool) fillFunc {
	scatter := scatter(a.L, pass)
	switch {
	case tree == nil:
		return scatter
	case !unneeded:
		return func(ctx context.Context, off int64, buf []byte, pieces unlimited.Pieces) error {
			err := scatter(ctx, off, buf, pieces)
			if err == nil {
				tree.Add(off, buf)
			}
			return err
		}
	}
	return func(_ context.Context, off int64, buf []byte, pieces unlimited.Pieces) error {
		run := tree.Run(off)
		err := a.L.Perm.EachPiece(off, int64(len(buf)), pass, pieces, func(_ int64, piece []byte) bool {
			run.Add(piece)
			return true
		})
		if err == nil {
			run.Close()
		}
		return err
	}
}

// Difference is the error of Compare for a source that differs, first at byte Off.
type Difference struct{ Off int64 }

func (e *Difference) Error() string { return fmt.Sprintf("the image differs at byte %d", e.Off) }

// ErrOtherSum is the error of Compare for a source that is the same, but does not have the
// SHA-256 in the archive.
var ErrOtherSum = errors.New("the source has another SHA-256")

// Compare compares the image with a source byte by byte. It reads the source on several
// goroutines, where it decodes the blocks, once for each part of the segments that fits the
// memory. If sum is set, it also checks the SHA-256 of the source.
func Compare(ctx context.Context, a *read.Reader, source io.ReaderAt, sum bool, o *CopyOptions) error {
	c := complete(a, o)
	source = ioat.Bind(ctx, source)
	all := passes(a.L, c.Memory)
	var first *Difference
	var hash hash.Hash
	if sum {
		hash = sha256.New()
	}
	for i, pass := range all {
		done := int64(0)
		err := assemble(ctx, a, pass, c.Workers, compared(a.L, pass, source), func(_ int64, p []byte) error {
			if i == 0 && hash != nil {
				hash.Write(p)
			}
			if done += int64(len(p)); c.Progress != nil && i == len(all)-1 {
				c.Progress(done)
			}
			return nil
		})
		var d *Difference
		if err != nil && !errors.As(err, &d) {
			return err
		}
		if d != nil && (first == nil || d.Off < first.Off) {
			first = d
		}
	}
	switch {
	case first != nil:
		return first
	case hash != nil && hex.EncodeToString(hash.Sum(nil)) != a.Man.SHA256:
		return ErrOtherSum
	}
	return nil
}

// compared returns a fillFunc that reads a source and compares it.
func compared(l *plan.Resolved, pass []bool, source io.ReaderAt) fillFunc {
	return func(_ context.Context, off int64, buf []byte, pieces unlimited.Pieces) error {
		n, err := source.ReadAt(buf, off)
		if n < len(buf) && err != nil && err != io.EOF {
			return err
		}
		at, err := l.Perm.Difference(buf[:n], off, pass, pieces)
		switch {
		case err != nil:
			return err
		case at >= 0:
			return &Difference{at}
		case n < len(buf):
			return &Difference{off + int64(n)} // the source is shorter
		}
		return nil
	}
}

// overlay writes the runs of a pass into the file.
func overlay(l *plan.Resolved, f *os.File, pass []bool, off int64, p []byte) error {
	old := make([]byte, len(p))
	if err := ioat.ReadFull(f, old, off); err != nil {
		return fmt.Errorf("archive: temporary file: %w", err)
	}
	l.Perm.Overlay(old, p, off, pass)
	_, err := f.WriteAt(old, off)
	return atomicfile.OfTemp(err)
}

// passes divides the segments into parts such that the blocks of the record variables
// and pools in each part fit the memory. The first part also has all other segments. The
// last element of each part stands for the rest.
func passes(l *plan.Resolved, memory int64) [][]bool {
	n := l.Perm.Segments()
	first := make([]bool, n+1)
	first[n] = true
	all := [][]bool{first}
	used := int64(0)
	// take adds segments. bytes is what they need at once. The segments before them hold had bytes of this already.
	take := func(from, to int, bytes, had int64) {
		if bytes > had && used > 0 && used+bytes-had > memory {
			all = append(all, make([]bool, n+1))
			used, had = 0, 0
		}
		for seg := from; seg < to; seg++ {
			all[len(all)-1][seg] = true
		}
		used += bytes - had
	}
	seg := 0
	for v, g := range l.Geoms {
		switch members := l.Segments(v); {
		case l.IsPool(v):
			last := int64(-1)
			for end := seg + members; seg < end; {
				from := seg
				for seg++; seg < end && follows(l.Perm.Segment(seg-1), l.Perm.Segment(seg)); {
					seg++
				}
				blocks, had := poolBlocks(l, v, from, seg, &last)
				take(from, seg, blocks*g.BlockLen, had*g.BlockLen)
			}
		case l.Vars[v].Segment.Count <= 1:
			first[seg] = true
			seg++
		default:
			take(seg, seg+1, g.BlockLen, 0)
			seg++
		}
	}
	return all
}

// follows reports whether the image has all of a before all of b.
func follows(a, b unlimited.Segment) bool { return a.Count <= 1 && b.Count <= 1 && a.Off < b.Off }

// poolBlocks returns how many blocks of pool v are held at once for its segments [from, end). These are one segment, or
// several that follow each other in the image. last is the last block of the segments before them. If they need it, too,
// had is 1, and otherwise 0. Then last becomes their own last block.
func poolBlocks(l *plan.Resolved, v, from, end int, last *int64) (blocks, had int64) {
	g := l.Geoms[v]
	off := l.Perm.RawOff(from) - g.RawOff
	a, before := g.Find(off)
	b, in := g.Find(l.Perm.RawOff(end-1) + l.Perm.Segment(end-1).Size() - 1 - g.RawOff)
	if a == *last {
		had = 1
	}
	*last = b
	// Other variables of the pool may lie anywhere in the image, so a block with bytes of them stays. The
	// blocks between are needed one after another.
	own := b - a + 1
	if before > 0 {
		blocks++
		own--
	}
	if _, n := g.At(b); in+1 < n && own > 0 {
		blocks++
		own--
	}
	return blocks + min(own, 1), had
}
