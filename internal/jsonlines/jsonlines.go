// Package jsonlines adds lines of JSON to files that other programs may read at any time.
//
// A line is written with one call and is on disk a second later. A last line without its newline is not
// complete: it is being written, or its writer was killed. Linux ends a write between two pages when its
// process is killed. Readers pass over such a line. It is removed when the file is opened again. A file that another
// program empties meanwhile, as logrotate does with copytruncate, begins with its head again.
package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// MaxLine bounds a line in bytes: names and an error.
const MaxLine = 1 << 20

// ErrKind is the error of a file of another kind.
var ErrKind = errors.New("found another file")

// flushAfter is the longest time that a line is not on disk.
const flushAfter = time.Second

// File is a file to which lines are added. It is safe for concurrent use.
type File struct {
	mu     sync.Mutex
	f      *os.File
	err    error // the first
	timer  *time.Timer
	head   []byte // the line that an empty file begins with, or nil
	stream bool   // a pipe, a terminal or a device
}

// Stream adds lines to an open file that is written as it is: standard output, or what is no regular file. It is
// neither locked nor flushed nor closed.
func Stream(f *os.File) *File { return &File{f: f, stream: true} }

// Open opens a file, or makes an empty one, which only its owner may use. head is how the first line of such a file begins, and kind is
// its name in errors. Open fails if another program has opened the file. It also fails if the file is of
// another kind, and leaves that as it is.
func Open(name, head, kind string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, access.PrivateFile) // it has names of files
	if err != nil {
		return nil, err
	}
	if err := check(f, name, head, kind); err != nil {
		f.Close()
		return nil, err
	}
	return &File{f: f}, nil
}

// check locks the file, and removes a last line that is not complete.
func check(f *os.File, name, head, kind string) error {
	if err := atomicfile.Lock(f); err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("expected a regular file")
	}
	if now, err := os.Stat(name); err != nil || !os.SameFile(now, st) {
		return errors.New("the file was replaced meanwhile")
	}
	first := make([]byte, min(st.Size(), int64(len(head))))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(first) != head[:len(first)] {
		return fmt.Errorf("expected a %s of cdfz, %w", kind, ErrKind)
	}
	tail := make([]byte, min(st.Size(), MaxLine))
	if _, err := f.ReadAt(tail, st.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	end := bytes.LastIndexByte(tail, '\n') + 1
	if end == 0 && int64(len(tail)) < st.Size() {
		return fmt.Errorf("expected lines of at most %d bytes", MaxLine)
	}
	if end < len(tail) {
		return f.Truncate(st.Size() - int64(len(tail)-end))
	}
	return nil
}

// Reader reads the file from the start.
func (l *File) Reader() io.Reader { return io.NewSectionReader(l.f, 0, 1<<62) }

// Add adds a line. Errors are returned by Close.
func (l *File) Add(v any) { l.add(v, false) }

// AddHead adds a line with which the file begins again if another program empties it.
func (l *File) AddHead(v any) { l.add(v, true) }

func (l *File) add(v any, head bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err == nil && len(text) >= MaxLine {
		err = fmt.Errorf("expected lines of less than %d bytes, found one with %d", MaxLine, len(text))
	}
	if err == nil {
		text = append(text, '\n')
		err = l.write(text)
	}
	if err != nil {
		l.err = err
		return
	}
	if head && !l.stream {
		l.head = text
	}
	if l.timer == nil && !l.stream {
		l.timer = time.AfterFunc(flushAfter, l.flush)
	}
}

// write writes a line, after the head if the file has been emptied. The caller has locked l.mu.
func (l *File) write(text []byte) error {
	if l.head == nil {
		_, err := l.f.Write(text)
		return err
	}
	size, err := l.size()
	if err != nil {
		return err
	}
	if size > 0 {
		if _, err = l.f.Write(text); err != nil {
			return err
		}
		if size, err = l.size(); err != nil || size != int64(len(text)) {
			return err
		}
		// The file was emptied since its size was asked for, and this line is all that is in it.
		if err := l.f.Truncate(0); err != nil {
			return err
		}
	}
	_, err = l.f.Write(slices.Concat(l.head, text))
	return err
}

func (l *File) size() (int64, error) {
	st, err := l.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// flush flushes what was added. Lines may be added meanwhile.
func (l *File) flush() {
	l.mu.Lock()
	l.timer = nil
	l.mu.Unlock()
	if err := l.f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
	}
}

// Err returns the first error.
func (l *File) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close flushes and closes the file. It returns the first error.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.stream {
		return l.err
	}
	if l.err == nil {
		l.err = l.f.Sync()
	}
	if err := l.f.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}
