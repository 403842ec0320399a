package parity

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// tail is everything from the manifest on, and the entry of the parity before it, if there
// is one.
type tail struct {
	size int64 // of the archive
	line czip.Tail
	man  *plan.Manifest
	manifest,
	index czip.ZipEntry
	dirOff, dirLen int64
	dirKeep        int64 // bytes of the records before those of parity, manifest and index
}

// end returns the bytes after the directory.
func (t *tail) end(entries int64) []byte {
	return czip.AppendEnd(nil, entries, t.dirOff, t.dirLen, t.line.String())
}

// findManifest reads the manifest that an intact end line locates.
func findManifest(ctx context.Context, r io.ReaderAt, size int64) (line czip.Tail, man *plan.Manifest, data []byte, err error) {
	if size < czip.EndLen {
		return line, nil, nil, fault.Corruptf("%d bytes are too short for an end", size)
	}
	b := make([]byte, czip.EndLen)
	if err := ioat.ReadFull(r, b, size-czip.EndLen); err != nil {
		return line, nil, nil, fmt.Errorf("archive: %w", err)
	}
	if line, err = czip.ParseTail(b, size); err != nil {
		return line, nil, nil, err
	}
	e := czip.ZipEntry{Name: czip.ManifestName, Off: line.ManOff}
	payload := make([]byte, line.ManLen)
	if err := ioat.ReadFull(r, payload, line.ManOff+e.LocalLen()); err != nil {
		return line, nil, nil, fmt.Errorf("archive: %w", err)
	}
	if got := czip.CRC(payload); got != line.ManCRC {
		return line, nil, nil, fault.Corruptf("manifest at byte %d: expected checksum %08x, found %08x", line.ManOff, line.ManCRC, got)
	}
	if data, err = czip.InflateTo(ctx, czip.ManifestName, payload, czip.MaxManifest); err != nil {
		return line, nil, nil, err
	}
	man, err = plan.ParseManifest(data, line)
	return line, man, data, err
}

// readTail reads the tail of an archive that must be intact.
func readTail(ctx context.Context, r io.ReaderAt, size int64) (*tail, error) {
	line, man, data, err := findManifest(ctx, r, size)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(plan.EncodeJSON(man), data) {
		return nil, fmt.Errorf("archive: parity: the manifest has members of a later version: %w", fault.ErrVersion)
	}
	t := &tail{size: size, line: line, man: man}
	t.manifest = czip.ZipEntry{Name: czip.ManifestName, Method: czip.MethodDeflated, Crc: czip.CRC(data), Stored: line.ManLen, Size: int64(len(data)), Off: line.ManOff}
	t.index = czip.ZipEntry{Name: czip.IndexName, Crc: line.IdxCRC, Stored: line.IdxLen, Size: line.IdxLen, Off: line.IdxOff}
	entries := man.Entries
	t.dirOff = t.index.End()
	t.dirLen = size - czip.EndLen - t.dirOff
	if n := int64(len(t.end(entries))); n > czip.EndLen {
		t.dirLen -= n - czip.EndLen
	}
	last := t.index.AppendCentral(t.manifest.AppendCentral(nil))
	t.dirKeep = t.dirLen - int64(len(last))
	if t.dirKeep < 0 {
		return nil, fault.Corruptf("directory of %d bytes", t.dirLen)
	}
	want := append(last, t.end(entries)...)
	for _, x := range []struct {
		what string
		off  int64
		want []byte
	}{
		{"local header of the manifest", t.manifest.Off, t.manifest.AppendLocal(nil)},
		{"local header of the index", t.index.Off, t.index.AppendLocal(nil)},
		{"end of the directory", t.dirOff + t.dirKeep, want},
	} {
		have := make([]byte, min(int64(len(x.want)), size-x.off))
		if err := ioat.ReadFull(r, have, x.off); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		if !bytes.Equal(have, x.want) {
			return nil, fault.Corruptf("the %s at byte %d does not follow from the entries", x.what, x.off)
		}
	}
	return t, nil
}

// moved is the tail of an archive after parity was added or removed.
type moved struct {
	tail
	payload []byte // of the manifest
	last    []byte // the directory's records from that of the parity on, or of the manifest
}

// move returns the tail that follows the entry of the parity. Only the entry's offset and
// length need to be set. ErrOptions means that the manifest has no room for the parity.
func (t *tail) move(e *czip.ZipEntry) (*moved, error) {
	man := *t.man
	man.Parity = e.Off
	man.Entries++
	return t.moved(&man, e.End(), e.AppendCentral(nil))
}

// moveFrom returns the tail without the parity, whose local header is at off. The records
// that t keeps must be without that of the parity.
func (t *tail) moveFrom(off int64) (*moved, error) {
	man := *t.man
	man.Parity = 0
	man.Entries--
	return t.moved(&man, off, nil)
}

func (t *tail) moved(man *plan.Manifest, off int64, last []byte) (*moved, error) {
	m := &moved{tail: *t}
	entry, err := man.Entry()
	if err != nil {
		return nil, err
	}
	m.payload, m.manifest = entry.Payload, entry.ZipEntry
	m.manifest.Off = off
	m.index.Off = m.manifest.End()
	m.dirOff = m.index.End()
	m.last = m.index.AppendCentral(m.manifest.AppendCentral(last))
	m.dirLen = t.dirKeep + int64(len(m.last))
	m.line.ManOff, m.line.ManLen, m.line.ManCRC = off, m.manifest.Stored, czip.CRC(m.payload)
	m.line.IdxOff = m.index.Off
	m.man = man
	m.size = m.dirOff + m.dirLen + int64(len(m.end(man.Entries)))
	return m, nil
}
