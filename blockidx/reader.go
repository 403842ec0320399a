package blockidx

import (
	"fmt"
	"io"
	"sync"
)

// defaultMemory bounds the pages that a Reader keeps, in bytes: 200 000 rows.
const defaultMemory = 4 << 20

// Reader looks rows up in an encoded index, loading pages on demand. It is safe
// for concurrent use.
type Reader struct {
	r        io.ReaderAt
	rows     int64
	maxPages int

	mu    sync.Mutex
	pages map[int64][]byte
	order []int64
}

// NewReader opens the index that r holds in its first size bytes, given its
// first HeaderLen bytes, which the caller has read already. memory bounds the
// bytes kept, 0 means 4 MiB. It reads nothing. The number of rows must fit size
// exactly; the error wraps ErrCorrupt.
func NewReader(r io.ReaderAt, size int64, header []byte, memory int64) (*Reader, error) {
	rows, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	want, err := Size(rows)
	if err != nil || want != size {
		return nil, fmt.Errorf("blockidx: %d bytes hold %d rows, expected %d bytes: %w", size, rows, want, ErrCorrupt)
	}
	if memory <= 0 {
		memory = defaultMemory
	}
	return &Reader{r: r, rows: rows, maxPages: max(1, int(memory/pageLen)), pages: map[int64][]byte{}}, nil
}

// Rows is the number of rows.
func (x *Reader) Rows() int64 { return x.rows }

// Row returns row i. Errors of the reader beneath are passed on; damage wraps
// ErrCorrupt.
func (x *Reader) Row(i int64) (Row, error) {
	if i < 0 || i >= x.rows {
		return Row{}, fmt.Errorf("blockidx: row %d of %d: %w", i, x.rows, ErrCorrupt)
	}
	p := i / rowsPerPage
	x.mu.Lock()
	page, ok := x.pages[p]
	x.mu.Unlock()
	if !ok {
		var err error
		if page, err = x.load(p); err != nil {
			return Row{}, err
		}
	}
	r := getRow(page[pageHead+i%rowsPerPage*rowLen:])
	if r.Off < 0 {
		return Row{}, fmt.Errorf("blockidx: row %d: offset %d: %w", i, uint64(r.Off), ErrCorrupt)
	}
	return r, nil
}

// load reads page p and keeps it. Two goroutines may load the same page at the
// same time; both get the same bytes.
func (x *Reader) load(p int64) ([]byte, error) {
	page := make([]byte, pageHead+pageRows(x.rows, p)*rowLen)
	if n, err := x.r.ReadAt(page, HeaderLen+p*pageLen); n < len(page) {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("%d of %d bytes: %w", n, len(page), io.ErrUnexpectedEOF)
		}
		return nil, fmt.Errorf("blockidx: page %d: %w", p, err)
	}
	if err := checkPage(page, p); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.pages[p]; !ok {
		if len(x.order) >= x.maxPages {
			delete(x.pages, x.order[0])
			x.order = append(x.order[:0], x.order[1:]...)
		}
		x.order = append(x.order, p)
	}
	x.pages[p] = page
	return page, nil
}
