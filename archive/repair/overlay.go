package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// overlay is an archive with changes that are not yet written to it. Sectors that the disk
// refuses to read are zero. It is safe for concurrent use.
type overlay struct {
	*ioat.Source
	r   io.ReaderAt
	was int64 // length of r

	mu    sync.RWMutex
	from  int64 // bytes of r that count
	size  int64
	pages map[int64]overlayPage // by number
	slots int64                 // used so far
	mem   [][]byte
	file  *os.File // the slots after those in mem, or nil
}

// overlayPage is a page with changes.
type overlayPage struct {
	slot int64
	// parts are the bytes that were written to a page that cannot be read. nil means that the
	// page is complete.
	parts []span
}

// span is a range of archive bytes.
type span struct{ off, end int64 }

const (
	pageLen  = sector
	memPages = 4096 // that are kept in memory, 16 MiB
)

func newOverlay(r io.ReaderAt, size int64) *overlay {
	o := &overlay{r: r, was: size, from: size, size: size, pages: map[int64]overlayPage{}}
	o.Source = ioat.Of(r).With(o.read)
	return o
}

// Close removes the temporary file, if there is one.
func (o *overlay) Close() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	os.Remove(o.file.Name()) // where open files cannot be removed
	return err
}

// Size is the length with the changes.
func (o *overlay) Size() int64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.size
}

// changed reports whether anything was written.
func (o *overlay) changed() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.pages) > 0 || o.size != o.was
}

// read reads the archive with the changes.
func (o *overlay) read(_ context.Context, p []byte, off int64) (int, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if off >= o.size {
		return 0, io.EOF
	}
	var eof error
	if n := o.size - off; n < int64(len(p)) {
		p, eof = p[:n], io.EOF
	}
	for at := int64(0); at < int64(len(p)); {
		no := (off + at) / pageLen
		page, ok := o.pages[no]
		if ok {
			in := off + at - no*pageLen
			n := min(pageLen-in, int64(len(p))-at)
			b, err := o.slot(page.slot)
			if err != nil {
				return int(at), err
			}
			copy(p[at:at+n], b[in:])
			at += n
			continue
		}
		end := no + 1
		for ; end*pageLen < off+int64(len(p)); end++ {
			if _, ok := o.pages[end]; ok {
				break
			}
		}
		n := min(end*pageLen-off, int64(len(p))) - at
		if _, err := o.below(p[at:at+n], off+at); err != nil {
			return int(at), err
		}
		at += n
	}
	return len(p), eof
}

// below reads bytes without the changes. whole is false if some cannot be read.
func (o *overlay) below(p []byte, off int64) (whole bool, err error) {
	have := max(0, min(int64(len(p)), o.from-off))
	clear(p[have:])
	err = ioat.ReadFull(o.r, p[:have], off)
	if !ioat.Unreadable(err) {
		return err == nil, err
	}
	for at := int64(0); at < have; {
		n := min(have-at, sector-(off+at)%sector)
		err := ioat.ReadFull(o.r, p[at:at+n], off+at)
		if ioat.Unreadable(err) {
			clear(p[at : at+n])
		} else if err != nil {
			return false, err
		}
		at += n
	}
	return false, nil
}

// slot returns the bytes of a page.
func (o *overlay) slot(i int64) ([]byte, error) {
	if i < memPages {
		return o.mem[i], nil
	}
	b := make([]byte, pageLen)
	if err := ioat.ReadFull(o.file, b, (i-memPages)*pageLen); err != nil {
		return nil, fmt.Errorf("archive: temporary file: %w", err)
	}
	return b, nil
}

// keep stores the bytes of a page.
func (o *overlay) keep(i int64, b []byte) error {
	if i < memPages {
		if i == int64(len(o.mem)) {
			o.mem = append(o.mem, make([]byte, pageLen))
		}
		copy(o.mem[i], b)
		return nil
	}
	if o.file == nil {
		f, err := os.CreateTemp("", "cdfz-repair-*")
		if err != nil {
			return fmt.Errorf("archive: temporary file: %w", err)
		}
		os.Remove(f.Name()) // it disappears however the program ends
		o.file = f
	}
	if _, err := o.file.WriteAt(b, (i-memPages)*pageLen); err != nil {
		return fmt.Errorf("archive: temporary file: %w", err)
	}
	return nil
}

// WriteAt implements io.WriterAt.
func (o *overlay) WriteAt(p []byte, off int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf := make([]byte, pageLen)
	for at := int64(0); at < int64(len(p)); {
		no := (off + at) / pageLen
		in := off + at - no*pageLen
		n := min(pageLen-in, int64(len(p))-at)
		page, ok := o.pages[no]
		switch {
		case ok:
			b, err := o.slot(page.slot)
			if err != nil {
				return int(at), err
			}
			copy(buf, b)
		default:
			page.slot = o.slots
			o.slots++
			if n == pageLen {
				break
			}
			whole, err := o.below(buf, no*pageLen)
			if err != nil {
				return int(at), err
			}
			if !whole {
				page.parts = []span{}
			}
		}
		copy(buf[in:], p[at:at+n])
		if page.parts != nil {
			page.parts = append(page.parts, span{in, in + n})
		}
		if err := o.keep(page.slot, buf); err != nil {
			return int(at), err
		}
		o.pages[no] = page
		o.size = max(o.size, off+at+n)
		at += n
	}
	return len(p), nil
}

// Truncate changes the length.
func (o *overlay) Truncate(size int64) error {
	if n := o.Size() - size; n > 0 {
		// A later write beyond the end must not show what was there.
		end := min(o.Size(), (size+pageLen-1)/pageLen*pageLen)
		if _, err := o.WriteAt(make([]byte, end-size), size); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for no := range o.pages {
		if no*pageLen >= size {
			delete(o.pages, no)
		}
	}
	o.from, o.size = min(o.from, size), size
	return nil
}

// numbers returns the numbers of the pages in a range that have changes, in order.
func (o *overlay) numbers(s span) []int64 {
	var out []int64
	first, end := s.off/pageLen, (s.end+pageLen-1)/pageLen
	if end-first <= int64(len(o.pages)) {
		for no := first; no < end; no++ {
			if _, ok := o.pages[no]; ok {
				out = append(out, no)
			}
		}
		return out
	}
	for no := range o.pages {
		if no >= first && no < end {
			out = append(out, no)
		}
	}
	slices.Sort(out)
	return out
}

// all is the range of all bytes.
func (o *overlay) all() span { return span{0, o.Size()} }

// errStop ends a search for changes.
var errStop = errors.New("stop")

// changes calls use for the changed bytes of a range, in order, at most once a page: from the
// first that differs from the archive to the last.
func (o *overlay) changes(ctx context.Context, s span, use func(off int64, b []byte) error) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	below := make([]byte, pageLen)
	for _, no := range o.numbers(s) {
		if err := ctx.Err(); err != nil {
			return err
		}
		page := o.pages[no]
		b, err := o.slot(page.slot)
		if err != nil {
			return err
		}
		whole, err := o.below(below, no*pageLen)
		if err != nil {
			return err
		}
		start := no * pageLen
		from, end := max(s.off-start, 0), min(s.end-start, o.size-start, pageLen)
		parts := page.parts
		if parts == nil {
			if have := o.from - start; whole {
				for from < min(end, have) && b[from] == below[from] {
					from++
				}
				for end > from && end <= have && b[end-1] == below[end-1] {
					end--
				}
			}
			parts = []span{{from, end}}
		}
		for _, p := range parts {
			if from, end := max(from, p.off), min(end, p.end); from < end {
				if err := use(start+from, b[from:end]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// differs reports whether a range has changes.
func (o *overlay) differs(ctx context.Context, s span) (bool, error) {
	err := o.changes(ctx, s, func(int64, []byte) error { return errStop })
	if err == errStop {
		return true, nil
	}
	return false, err
}

// revert undoes the changes of a range.
func (o *overlay) revert(s span) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	buf, below := make([]byte, pageLen), make([]byte, pageLen)
	for _, no := range o.numbers(s) {
		b, err := o.slot(o.pages[no].slot)
		if err != nil {
			return err
		}
		if _, err := o.below(below, no*pageLen); err != nil {
			return err
		}
		copy(buf, b)
		from, end := max(s.off-no*pageLen, 0), min(s.end-no*pageLen, pageLen)
		copy(buf[from:end], below[from:end])
		if err := o.keep(o.pages[no].slot, buf); err != nil {
			return err
		}
	}
	return nil
}

// commit writes the changes to w, which is the archive.
func (o *overlay) commit(ctx context.Context, w File) error {
	err := o.changes(ctx, o.all(), func(off int64, b []byte) error {
		_, err := w.WriteAt(b, off)
		return err
	})
	if err == nil && o.size != o.was {
		err = w.Truncate(o.size)
	}
	if err != nil {
		return fmt.Errorf("archive: writing: %w", err)
	}
	return nil
}
