package plan

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/blockidx"
)

// TailWriter generates everything after the manifest: the index, the directory and the
// end. They follow from the local headers, so repair writes the same bytes again.
type TailWriter struct {
	L      *Resolved
	Front  []czip.ZipEntry // the entries before .cdfz/rest/0, in order
	Table  *blockidx.Table
	Back   []czip.ZipEntry // the entries between the last block and the manifest, in order
	Man    czip.ZipEntry
	ManCRC uint32 // of the manifest's stored bytes
}

// entries calls yield for every entry that precedes the index.
func (t *TailWriter) entries(yield func(*czip.ZipEntry) error) error {
	for i := range t.Front {
		if err := yield(&t.Front[i]); err != nil {
			return err
		}
	}
	if err := t.Blocks(yield); err != nil {
		return err
	}
	return t.After(yield)
}

// After calls yield for the entries after the blocks, up to the manifest.
func (t *TailWriter) After(yield func(*czip.ZipEntry) error) error {
	for i := range t.Back {
		if err := yield(&t.Back[i]); err != nil {
			return err
		}
	}
	return yield(&t.Man)
}

// Blocks calls yield for the entry of every block, in the order of the file.
func (t *TailWriter) Blocks(yield func(*czip.ZipEntry) error) error {
	var e czip.ZipEntry
	var name []byte
	var err error
	one := func(v int, b int64) bool {
		var row blockidx.Row
		if row, err = t.Table.Row(t.L.Number(v, b)); err != nil {
			return false
		}
		name = t.L.AppendName(name[:0], v, b)
		e = czip.ZipEntry{Name: string(name), Crc: row.CRC, Stored: row.Len, Size: row.Len, Mask: row.Mask}
		e.Off = row.Off - e.LocalLen()
		err = yield(&e)
		return err == nil
	}
	if one(-1, 0) {
		t.L.StoredOrder(one)
	}
	for b := int64(1); err == nil && b < t.L.RestBlocks; b++ {
		one(-1, b)
	}
	return err
}

// tailBuffers keeps buffers, which are longer than the tails of many archives.
var tailBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// WriteTo appends the tail to w and returns its length.
func (t *TailWriter) WriteTo(w io.Writer) (int64, error) {
	b := tailBuffers.Get().(*bufio.Writer)
	b.Reset(w)
	defer func() {
		b.Reset(nil)
		tailBuffers.Put(b)
	}()
	out := &countingWriter{w: b}
	idxLen, err := blockidx.Size(t.L.Blocks)
	if err != nil {
		return 0, err
	}
	crc := crc32.NewIEEE()
	if _, err := t.Table.WriteTo(crc); err != nil {
		return 0, err
	}
	idx := czip.ZipEntry{Name: czip.IndexName, Crc: crc.Sum32(), Stored: idxLen, Size: idxLen, Off: t.Man.End()}
	out.Write(idx.AppendLocal(nil))
	if _, err := t.Table.WriteTo(out); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	dirOff := idx.End()
	start := out.n
	entries := int64(0)
	var rec []byte
	dir := func(e *czip.ZipEntry) error {
		entries++
		rec = e.AppendCentral(rec[:0])
		_, err := out.Write(rec)
		return err
	}
	if err := t.entries(dir); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	dir(&idx)
	line := czip.Tail{ManOff: t.Man.Off, ManLen: t.Man.Stored, ManCRC: t.ManCRC, IdxOff: idx.Off, IdxLen: idx.Stored, IdxCRC: idx.Crc}
	out.Write(czip.AppendEnd(nil, entries, dirOff, out.n-start, line.String()))
	if err := out.w.Flush(); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	return out.n, nil
}

// countingWriter counts written bytes. Errors are kept until Flush.
type countingWriter struct {
	w *bufio.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
