package archive

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/blockidx"
)

// tailWriter regenerates everything behind the manifest: the index, the
// directory and the end. It is a function of the headers before, so that what
// repair writes is what was there.
type tailWriter struct {
	l      *layout
	front  []zipEntry // the entries before .cdfz/rest/0, in order
	table  *blockidx.Table
	man    zipEntry
	manCRC uint32 // of the manifest's stored bytes
}

// entries calls yield for every entry that precedes the index.
func (t *tailWriter) entries(yield func(*zipEntry) error) error {
	for i := range t.front {
		if err := yield(&t.front[i]); err != nil {
			return err
		}
	}
	if err := t.blocks(yield); err != nil {
		return err
	}
	return yield(&t.man)
}

// blocks calls yield for the entry of every block, in the order of the file.
func (t *tailWriter) blocks(yield func(*zipEntry) error) error {
	var e zipEntry
	var name []byte
	var err error
	one := func(v int, b int64) bool {
		var row blockidx.Row
		if row, err = t.table.Row(t.l.number(v, b)); err != nil {
			return false
		}
		name = t.l.appendName(name[:0], v, b)
		e = zipEntry{name: string(name), crc: row.CRC, stored: row.Len, size: row.Len, mask: row.Mask}
		e.off = row.Off - e.localLen()
		err = yield(&e)
		return err == nil
	}
	if one(-1, 0) {
		t.l.storedOrder(one)
	}
	for b := int64(1); err == nil && b < t.l.restBlocks; b++ {
		one(-1, b)
	}
	return err
}

// writeTo appends the tail to w and returns its length.
func (t *tailWriter) writeTo(w io.Writer) (int64, error) {
	out := &countingWriter{w: bufio.NewWriterSize(w, 64<<10)}
	idxLen, err := blockidx.Size(t.l.blocks)
	if err != nil {
		return 0, err
	}
	crc := crc32.NewIEEE()
	if _, err := t.table.WriteTo(crc); err != nil {
		return 0, err
	}
	idx := zipEntry{name: indexName, crc: crc.Sum32(), stored: idxLen, size: idxLen, off: t.man.end()}
	out.Write(idx.appendLocal(nil))
	if _, err := t.table.WriteTo(out); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	dirOff := idx.end()
	start := out.n
	entries := int64(0)
	var rec []byte
	dir := func(e *zipEntry) error {
		entries++
		rec = e.appendCentral(rec[:0])
		_, err := out.Write(rec)
		return err
	}
	if err := t.entries(dir); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	dir(&idx)
	line := tail{t.man.off, t.man.stored, t.manCRC, idx.off, idx.stored, idx.crc}
	out.Write(appendEnd(nil, entries, dirOff, out.n-start, line.String()))
	if err := out.w.Flush(); err != nil {
		return out.n, fmt.Errorf("archive: writing: %w", err)
	}
	return out.n, nil
}

// countingWriter counts what goes through; errors stay until Flush.
type countingWriter struct {
	w *bufio.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
