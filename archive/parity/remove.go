package parity

import (
	"context"
	"fmt"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Remove removes the parity of an archive of size bytes and returns the new length. Everything
// but the parity must be intact. The archive is then as before Add. It is damaged until Remove
// returns.
func Remove(ctx context.Context, f interface {
	File
	Truncate(size int64) error
}, size int64) (int64, error) {
	t, err := readTail(ctx, f, size)
	if err != nil || t.man.Parity == 0 {
		return size, err
	}
	// The length of its record in the directory follows from its place.
	e, ok := czip.EntryBetween(czip.ParityName, t.man.Parity, t.manifest.Off)
	if !ok || t.dirKeep < int64(len(e.AppendCentral(nil))) {
		return size, fault.Corruptf("parity at byte %d: the manifest is at byte %d", t.man.Parity, t.manifest.Off)
	}
	t.dirKeep -= int64(len(e.AppendCentral(nil)))
	m, err := t.moveFrom(e.Off)
	if err != nil {
		return size, err
	}
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
