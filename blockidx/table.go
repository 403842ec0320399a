package blockidx

import (
	"fmt"
	"io"
	"os"
)

const (
	// memRows is the number of rows that a Table keeps in memory before it spills: 20
	// MiB.
	memRows = 1 << 20
	// cachedPages bounds the pages of a spilled Table in memory: 21 MiB. Rows arrive
	// interleaved by variable, and each variable fills another page.
	cachedPages = 4096
)

// Table is an index under construction. Rows are set in any order, each once, and may
// be read again. More than a million rows are kept in an unlinked temporary file. A
// Table is not safe for concurrent use. Close releases the file.
type Table struct {
	rows  int64
	mem   []byte // all pages, or nil if spilled
	spill *spill
}

// NewTable makes a table with the given number of rows, all zero.
func NewTable(rows int64) (*Table, error) { return newTable(rows, memRows) }

func newTable(rows, inMemory int64) (*Table, error) {
	if _, err := Size(rows); err != nil {
		return nil, err
	}
	t := &Table{rows: rows}
	if rows <= inMemory {
		t.mem = make([]byte, (rows+rowsPerPage-1)/rowsPerPage*pageLen)
		return t, nil
	}
	f, err := os.CreateTemp("", "cdfz-index-*")
	if err != nil {
		return nil, fmt.Errorf("blockidx: temporary file: %w", err)
	}
	// Unlinked at once, so that it disappears however the program ends. On systems that
	// cannot remove open files it stays until Close.
	name := f.Name()
	if os.Remove(name) == nil {
		name = ""
	}
	t.spill = &spill{f: f, name: name, pages: map[int64]*spillPage{}}
	return t, nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int64 { return t.rows }

// Set stores row i.
func (t *Table) Set(i int64, r Row) error {
	if i < 0 || i >= t.rows {
		return fmt.Errorf("blockidx: internal error: row %d of %d", i, t.rows)
	}
	page, err := t.page(i/rowsPerPage, true)
	if err != nil {
		return err
	}
	putRow(page[pageHead+i%rowsPerPage*rowLen:], r)
	return nil
}

// Row returns row i.
func (t *Table) Row(i int64) (Row, error) {
	if i < 0 || i >= t.rows {
		return Row{}, fmt.Errorf("blockidx: internal error: row %d of %d", i, t.rows)
	}
	page, err := t.page(i/rowsPerPage, false)
	if err != nil {
		return Row{}, err
	}
	return getRow(page[pageHead+i%rowsPerPage*rowLen:]), nil
}

func (t *Table) page(p int64, write bool) ([]byte, error) {
	if t.spill == nil {
		return t.mem[p*pageLen:][:pageLen], nil
	}
	return t.spill.page(p, write)
}

// WriteTo writes the encoded index, Size(Rows()) bytes.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(appendHeader(nil, t.rows))
	total := int64(n)
	for p := int64(0); err == nil && p*rowsPerPage < t.rows; p++ {
		var page []byte
		if page, err = t.page(p, false); err != nil {
			break
		}
		page = page[:pageHead+pageRows(t.rows, p)*rowLen]
		sealPage(page, p)
		n, err = w.Write(page)
		total += int64(n)
	}
	return total, err
}

// Close releases the temporary file, if there is one.
func (t *Table) Close() error {
	if t.spill == nil {
		return nil
	}
	err := t.spill.f.Close()
	if t.spill.name != "" {
		os.Remove(t.spill.name)
	}
	return err
}

// spill keeps pages in a file and the most recent ones in memory.
type spill struct {
	f     *os.File
	name  string
	pages map[int64]*spillPage
	order []int64 // pages in the order of loading; the oldest is evicted first
}

type spillPage struct {
	dirty bool
	data  [pageLen]byte
}

func (s *spill) page(p int64, write bool) ([]byte, error) {
	if pg, ok := s.pages[p]; ok {
		pg.dirty = pg.dirty || write
		return pg.data[:], nil
	}
	pg := &spillPage{dirty: write}
	if len(s.order) >= cachedPages {
		old := s.order[0]
		s.order = append(s.order[:0], s.order[1:]...)
		victim := s.pages[old]
		delete(s.pages, old)
		if victim.dirty {
			if _, err := s.f.WriteAt(victim.data[:], old*pageLen); err != nil {
				return nil, fmt.Errorf("blockidx: temporary file: %w", err)
			}
		}
		pg = victim
		*pg = spillPage{dirty: write}
	}
	if _, err := s.f.ReadAt(pg.data[:], p*pageLen); err != nil && err != io.EOF {
		return nil, fmt.Errorf("blockidx: temporary file: %w", err)
	}
	s.pages[p] = pg
	s.order = append(s.order, p)
	return pg.data[:], nil
}
