package blockidx

import (
	"fmt"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// defaultMemory bounds the pages kept by a Reader, in bytes. It is enough for 200,000
// rows.
const defaultMemory = 4 << 20

// Reader looks up rows in an encoded index and loads pages on demand. It is safe for
// concurrent use.
type Reader struct {
	r    *ioat.Source
	rows int64
	*pages
}

// pages holds the pages in memory.
type pages struct {
	maxPages int

	mu    sync.Mutex
	pages map[int64][]byte
	order []int64
	other map[int64]Row // see Replace
}

// Using returns the same index, sharing the pages in memory, but read through another
// reader of the same bytes, for instance one bound to a context.
func (x *Reader) Using(r io.ReaderAt) *Reader { return &Reader{ioat.Of(r), x.rows, x.pages} }

// NewReader opens the index in the first size bytes of r. header is its first HeaderLen
// bytes, which the caller has already read. memory bounds the bytes kept; 0 means 4
// MiB. NewReader reads nothing. If the number of rows does not fit size exactly, the
// error wraps ErrCorrupt.
func NewReader(r io.ReaderAt, size int64, header []byte, memory int64) (*Reader, error) {
	rows, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	want, err := Size(rows)
	if err != nil || want != size {
		return nil, fmt.Errorf("blockidx: expected %d bytes for %d rows, found %d: %w", want, rows, size, ErrCorrupt)
	}
	if memory <= 0 {
		memory = defaultMemory
	}
	return &Reader{ioat.Of(r), rows, &pages{maxPages: max(1, int(memory/pageLen)), pages: map[int64][]byte{}}}, nil
}

// Replace makes row take the place of row i from now on, for a block that is read from
// elsewhere. It must not be called while others use x.
func (x *Reader) Replace(i int64, row Row) {
	if x.other == nil {
		x.other = map[int64]Row{}
	}
	x.other[i] = row
}

// Rows returns the number of rows.
func (x *Reader) Rows() int64 { return x.rows }

// Page returns the place in the index of the page with row i, and the row after its last one.
func (x *Reader) Page(i int64) (off, n, next int64) {
	p := i / rowsPerPage
	return HeaderLen + p*pageLen, pageHead + pageRows(x.rows, p)*rowLen, min(x.rows, (p+1)*rowsPerPage)
}

// Row returns row i. Errors of the underlying reader are wrapped. Damage is ErrCorrupt.
func (x *Reader) Row(i int64) (Row, error) {
	if i < 0 || i >= x.rows {
		return Row{}, fmt.Errorf("blockidx: row %d of %d: %w", i, x.rows, ErrCorrupt)
	}
	p := i / rowsPerPage
	x.mu.Lock()
	page, ok := x.pages.pages[p]
	x.mu.Unlock()
	if !ok {
		var err error
		if page, err = x.load(p); err != nil {
			return Row{}, err
		}
	}
	return x.rowOf(page, i)
}

// Load reads all pages, in runs like Lookup, and keeps as many as memory allows.
func (x *Reader) Load(gap int64) error {
	var first []int64 // row of each page
	for n := int64(0); n < x.rows; n += rowsPerPage {
		first = append(first, n)
	}
	_, err := x.Lookup(first, gap)
	return err
}

// rowOf returns row i from its page, unless it was replaced.
func (x *Reader) rowOf(page []byte, i int64) (Row, error) {
	if r, ok := x.other[i]; ok {
		return r, nil
	}
	r := getRow(page[pageHead+i%rowsPerPage*rowLen:])
	if r.Off < 0 {
		return Row{}, fmt.Errorf("blockidx: row %d: offset %d: %w", i, uint64(r.Off), ErrCorrupt)
	}
	return r, nil
}

// Lookup returns the rows with the given increasing numbers. Missing pages are read in
// runs: pages less than gap bytes apart share one read.
func (x *Reader) Lookup(numbers []int64, gap int64) ([]Row, error) {
	var missing []int64
	x.mu.Lock()
	for _, n := range numbers {
		p := n / rowsPerPage
		if _, ok := x.pages.pages[p]; !ok && n >= 0 && n < x.rows && (len(missing) == 0 || missing[len(missing)-1] != p) {
			missing = append(missing, p)
		}
	}
	x.mu.Unlock()
	fetched := map[int64][]byte{}
	j := ioat.Joiner{Gap: gap, Max: maxRun}
	for _, run := range ioat.Runs(j, missing, func(p int64) ioat.Span { return ioat.Span{Off: p * pageLen, Len: pageLen} }) {
		if err := x.loadRun(run, fetched); err != nil {
			return nil, err
		}
	}
	out := make([]Row, len(numbers))
	for i, n := range numbers {
		var err error
		if page, ok := fetched[n/rowsPerPage]; ok && n >= 0 && n < x.rows {
			out[i], err = x.rowOf(page, n)
		} else {
			out[i], err = x.Row(n)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxRun bounds one read of Lookup, in bytes of pages.
const maxRun = 1024 * pageLen

// loadRun reads increasing pages with one read and keeps the requested ones.
func (x *Reader) loadRun(pages []int64, into map[int64][]byte) error {
	first, last := pages[0], pages[len(pages)-1]
	buf := make([]byte, (last-first)*pageLen+pageHead+pageRows(x.rows, last)*rowLen)
	if err := ioat.ReadFull(x.r, buf, HeaderLen+first*pageLen); err != nil {
		return fmt.Errorf("blockidx: pages %d to %d: %w", first, last, err)
	}
	for _, p := range pages {
		at := (p - first) * pageLen
		page := append([]byte(nil), buf[at:min(at+pageLen, int64(len(buf)))]...)
		if err := x.check(page, p); err != nil {
			return err
		}
		x.keep(p, page)
		into[p] = page
	}
	return nil
}

// load reads page p and keeps it. Two goroutines may load the same page at the same
// time; both get the same bytes.
func (x *Reader) load(p int64) ([]byte, error) {
	page := make([]byte, pageHead+pageRows(x.rows, p)*rowLen)
	if err := ioat.ReadFull(x.r, page, HeaderLen+p*pageLen); err != nil {
		return nil, fmt.Errorf("blockidx: page %d: %w", p, err)
	}
	if err := x.check(page, p); err != nil {
		return nil, err
	}
	x.keep(p, page)
	return page, nil
}

// check verifies page p. A damaged page of a remote index is read once more, because it
// may have been garbled in transit.
func (x *Reader) check(page []byte, p int64) error {
	err := checkPage(page, p)
	if err == nil || x.r.Gap() == 0 {
		return err
	}
	if err := ioat.ReadFull(x.r.Again(), page, HeaderLen+p*pageLen); err != nil {
		return fmt.Errorf("blockidx: page %d: %w", p, err)
	}
	return checkPage(page, p)
}

// keep adds a page, replacing the oldest one if there are too many.
func (x *Reader) keep(p int64, page []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.pages.pages[p]; !ok {
		if len(x.order) >= x.maxPages {
			delete(x.pages.pages, x.order[0])
			x.order = append(x.order[:0], x.order[1:]...)
		}
		x.order = append(x.order, p)
	}
	x.pages.pages[p] = page
}
