package hdf5

import (
	"bufio"
	"fmt"
	"io"
)

// Target is a new, empty file.
type Target interface {
	io.Writer   // appends
	io.WriterAt // overwrites bytes that were written
}

// Writer writes a file. The data of all datasets come one after the other, and the
// metadata are written last, at the front. It is not safe for concurrent use.
type Writer struct {
	dst  Target
	buf  *bufio.Writer
	m    *metadata
	cur  int   // the dataset that gets data
	left int64 // its chunks, or bytes of contiguous data, that are missing
	at   uint64
}

// NewWriter starts a file. It writes zeros in place of the metadata. f must not change
// before Close. The error is ErrLimit if HDF5 cannot hold the file, or that of dst.
func NewWriter(dst Target, f *File) (*Writer, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	m, err := plan(f)
	if err != nil {
		return nil, err
	}
	w := &Writer{dst: dst, buf: bufio.NewWriterSize(dst, 1<<18), m: m, cur: -1, at: m.len}
	zeros := make([]byte, 1<<16)
	for left := m.len; left > 0; {
		n := min(left, uint64(len(zeros)))
		if _, err := w.buf.Write(zeros[:n]); err != nil {
			return nil, err
		}
		left -= n
	}
	w.next()
	return w, nil
}

// next goes on to the next dataset with data.
func (w *Writer) next() {
	for w.left == 0 && w.cur < len(w.m.f.Datasets) {
		if w.cur++; w.cur == len(w.m.f.Datasets) {
			return
		}
		d := w.m.f.Datasets[w.cur]
		switch {
		case d.Chunk != nil:
			if w.left = d.Chunks(); w.left > 0 {
				t := &w.m.trees[w.cur]
				t.data, t.sizes = w.at, make([]uint32, 0, min(w.left, 1<<16))
			}
		case !d.Empty:
			if w.left = d.bytes(); w.left > 0 {
				w.m.data[w.cur] = w.at
			}
		}
	}
}

// expects reports whether the next data are chunks.
func (w *Writer) expects(chunk bool) error {
	if w.cur == len(w.m.f.Datasets) {
		return fmt.Errorf("hdf5: data after those of all datasets")
	}
	if d := w.m.f.Datasets[w.cur]; chunk != (d.Chunk != nil) {
		return fmt.Errorf("hdf5: other data than those of dataset %q", d.Name)
	}
	return nil
}

// Chunk writes the next chunk: of the first dataset that lacks chunks, in row-major
// order. stored is the output of its filters. Bit i of mask is set if filter i was
// skipped.
func (w *Writer) Chunk(stored []byte, mask uint32) error {
	if err := w.expects(true); err != nil {
		return err
	}
	if len(stored) == 0 || int64(len(stored)) > MaxChunk {
		return limitf("a chunk of dataset %q has %d bytes", w.m.f.Datasets[w.cur].Name, len(stored))
	}
	t := &w.m.trees[w.cur]
	t.sizes = append(t.sizes, uint32(len(stored)))
	if mask != 0 && t.masks == nil {
		t.masks = make([]uint32, len(t.sizes)-1, cap(t.sizes))
	}
	if t.masks != nil {
		t.masks = append(t.masks, mask)
	}
	return w.put(stored, 1)
}

// Data writes the next bytes of contiguous data: of the first dataset that lacks some.
func (w *Writer) Data(p []byte) error {
	for len(p) > 0 {
		if err := w.expects(false); err != nil {
			return err
		}
		n := min(int64(len(p)), w.left)
		if err := w.put(p[:n], n); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (w *Writer) put(p []byte, done int64) error {
	n, err := w.buf.Write(p)
	w.at += uint64(n)
	w.left -= done
	w.next()
	return err
}

// Close writes the metadata and returns the length of the file. It does not close the
// target. Data that are missing are an error.
func (w *Writer) Close() (size int64, err error) {
	if w.cur < len(w.m.f.Datasets) {
		return 0, fmt.Errorf("hdf5: data of dataset %q are missing", w.m.f.Datasets[w.cur].Name)
	}
	if err := w.buf.Flush(); err != nil {
		return 0, err
	}
	front := bufio.NewWriterSize(io.NewOffsetWriter(w.dst, 0), 1<<18)
	err = w.m.encode(w.at, func(p []byte) error {
		_, err := front.Write(p)
		return err
	})
	if err == nil {
		err = front.Flush()
	}
	return int64(w.at), err
}
