package fileio

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/cdfz-format/cdfz/archive/volume"
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
// members and the length in bytes.
func (n *Inputs) CopyVolume(ctx context.Context, name string, dst *Sink) (members, size int64, err error) {
	i, err := n.useVolume(ctx, File{Name: name})
	if err != nil {
		return 0, 0, err
	}
	defer n.volumes.Release(i)
	v := i.Value
	packed := v.Packed()
	if packed.IsZero() && v.file.Stat != nil { // the time is lost
		packed = v.file.Stat.ModTime()
	}
	n.Uses(name)
	w := volume.NewWriter(CtxWriter{Ctx: ctx, W: dst}, packed)
	defer w.Abort()
	for e, err := range v.Members(ctx, "") {
		if err != nil {
			return 0, 0, err
		}
		var contents io.Reader
		if e.Kind == volume.File {
			r, size, err := v.Contents(ctx, e)
			if err != nil {
				return 0, 0, err
			}
			contents = io.NewSectionReader(ioat.Bind(ctx, r), 0, size)
			e.HasSum = path.Ext(e.Path) != Suffix
		}
		if err := w.Add(e, contents); err != nil {
			return 0, 0, err
		}
	}
	members = w.Members()
	if size, err = w.Finish(); err == nil {
		err = dst.ReadBack(ctx, w, size)
	}
	return members, size, err
}
