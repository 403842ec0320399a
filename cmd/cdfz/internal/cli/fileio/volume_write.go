package fileio

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"path"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// ReadBack reads a volume of size bytes that w has written to the sink, before it appears. Standard output cannot be read.
func (s *Sink) ReadBack(ctx context.Context, w *volume.Writer, size int64) error {
	f := s.File()
	if f == nil {
		return nil
	}
	if err := w.ReadBack(ctx, f, size); err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	return nil
}

// CopyVolume writes a volume with the members of another one and a new index, and reads it back. It returns the number of
// members and the length in bytes. A file that has not the SHA-256 of the old index is a call of damaged. The new index has the
// same, so that the damage can be found there, too.
func (n *Inputs) CopyVolume(ctx context.Context, name string, dst *Sink, damaged func(name string, err error)) (members, size int64, err error) {
	i, err := n.useVolume(ctx, File{Name: name})
	if err != nil {
		return 0, 0, err
	}
	defer n.volumes.Release(i)
	v := i.Value
	packed := v.Packed()
	if packed.IsZero() { // the time is lost
		packed = v.filed()
	}
	n.Uses(name)
	w := volume.NewWriter(CtxWriter{Ctx: ctx, W: dst}, packed)
	defer w.Abort()
	for e, err := range v.Members(ctx, "") {
		if err != nil {
			return 0, 0, err
		}
		var contents io.Reader
		var sum hash.Hash
		if e.Kind == volume.File {
			r, size, err := v.Contents(ctx, e)
			if err != nil {
				return 0, 0, err
			}
			contents = io.NewSectionReader(ioat.Bind(ctx, r), 0, size)
			if e.HasSum {
				sum = sha256.New()
				contents = io.TeeReader(contents, sum)
			}
			e.HasSum = e.HasSum || path.Ext(e.Path) != Suffix
		}
		if err := w.Add(e, contents); err != nil {
			return 0, 0, err
		}
		if sum == nil {
			continue
		}
		if found := [32]byte(sum.Sum(nil)); found != e.Sum {
			damaged(terminal.ShowName(MemberName(name, e.Path)), fmt.Errorf("expected SHA-256 %x, found %x: %w", e.Sum, found, volume.ErrCorrupt))
		}
	}
	members = w.Members()
	if size, err = w.Finish(); err == nil {
		err = dst.ReadBack(ctx, w, size)
	}
	return members, size, err
}
