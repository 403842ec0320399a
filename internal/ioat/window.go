package ioat

import "io"

// Window reads a file in long reads, for a user that goes through it in order in short ones. It holds the last read. It
// is for one goroutine.
type Window struct {
	R    io.ReaderAt
	Size int64 // of the file, or of the part that may be read
	Len  int64 // bytes read at once
	buf  []byte
	off  int64 // of buf
}

// Held returns the bytes from off on that are held.
func (w *Window) Held(off int64) []byte {
	if in := off - w.off; in >= 0 && in < int64(len(w.buf)) {
		return w.buf[in:]
	}
	return nil
}

// From returns the bytes from off on, at least n, and more if they are held. They are valid until the next call, which
// may read others in their place.
func (w *Window) From(off, n int64) ([]byte, error) {
	if b := w.Held(off); int64(len(b)) >= n {
		return b, nil
	}
	length := max(n, min(w.Len, w.Size-off))
	if int64(cap(w.buf)) < length {
		w.buf = make([]byte, length)
	}
	w.buf, w.off = w.buf[:length], off
	if err := ReadFull(w.R, w.buf, off); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf, nil
}
