package parity

import (
	"context"
	"fmt"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Remove removes the parity of an archive of size bytes, which must be intact, and returns
// the new length. The archive is then as before Add. It is damaged until Remove returns.
func Remove(ctx context.Context, f interface {
	File
	Truncate(size int64) error
}, size int64) (int64, error) {
	t, err := readTail(ctx, f, size)
	if err != nil || t.man.Parity == 0 {
		return size, err
	}
	s, err := Find(ctx, f, size, nil)
	if err != nil {
		return size, err
	}
	e, _, err := s.Entry(ctx)
	if err != nil {
		return size, err
	}
	t.dirKeep -= int64(len(e.AppendCentral(nil)))
	m := t.moveFrom(e.Off)
	if err := write(f, append(m.manifest.AppendLocal(nil), m.payload...), m.manifest.Off); err != nil {
		return size, err
	}
	if err := copyDown(ctx, f, t.index.Off, m.index.Off, t.index.End()-t.index.Off); err != nil {
		return size, err
	}
	if err := copyDown(ctx, f, t.dirOff, m.dirOff, t.dirKeep); err != nil {
		return size, err
	}
	if err := write(f, append(m.last, m.end(m.man.Entries)...), m.dirOff+m.dirKeep); err != nil {
		return size, err
	}
	if err := f.Truncate(m.size); err != nil {
		return size, fmt.Errorf("archive: writing: %w", err)
	}
	return m.size, nil
}

// copyDown copies n bytes to a lower offset.
func copyDown(ctx context.Context, f File, from, to, n int64) error {
	buf := make([]byte, min(n, 1<<20))
	for at := int64(0); at < n; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(n-at, int64(len(buf)))]
		if err := ioat.ReadFull(f, b, from+at); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		if err := write(f, b, to+at); err != nil {
			return err
		}
	}
	return nil
}
