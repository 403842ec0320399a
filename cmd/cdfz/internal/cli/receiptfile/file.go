package receiptfile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// File is a file of receipts to which receipts are added. It is safe for concurrent use.
type File struct {
	name  string
	f     *os.File // appends
	over  *os.File // overwrites the head
	flush atomicfile.Flusher

	mu    sync.Mutex // of the following
	err   error      // of the first receipt that could not be written
	head  head       // with all lines that were written, also those that are not yet flushed
	size  int64      // of the file
	run   bool       // a run has begun
	added int64      // receipts of the run
	index Index

	onDisk head // what the file has; used only while flushing
}

// Open opens a file of receipts, or makes it. It is an error if another program adds receipts to
// it, or if it is damaged, or a file of something else, which stays as it is.
func Open(name string) (*File, error) {
	r, err := open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(name); err == nil || errors.Is(err, fs.ErrExist) {
			r, err = open(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := r.load(); err != nil {
		r.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// create makes a file without receipts. It appears with its head: an empty file could also be one
// that has lost its receipts.
func create(name string) error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	h := head{ID: hex.EncodeToString(id[:])}
	h.Last = h.first()
	f, err := atomicfile.Create(name, &atomicfile.Options{Rights: access.OwnerOnly}) // it has names of files
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.WriteString(f, h.text()+"\n"); err != nil {
		return err
	}
	return f.Commit()
}

// open opens a file that exists.
func open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	r := &File{name: name, f: f}
	// A file that appends cannot write its head.
	if r.over, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
		r.f.Close()
		return nil, err
	}
	return r, nil
}

// load locks the file and reads it.
func (r *File) load() error {
	if err := atomicfile.Lock(r.f); err != nil {
		return err
	}
	st, err := r.f.Stat()
	if err != nil {
		return atomicfile.Cause(err)
	}
	if !st.Mode().IsRegular() {
		return errors.New("expected a regular file")
	}
	if over, err := r.over.Stat(); err != nil || !os.SameFile(over, st) {
		return errors.New("the file was replaced meanwhile")
	}
	var damage error
	r.index.files = []indexedFile{{r.name, r.reopen}}
	s := &scan{
		bad: func(e *LineError) {
			if damage == nil {
				damage = terminal.Hinted(e, "keep the file, check it with cdfz receipts, and name a new file for further receipts")
			}
		},
	}
	s.use = r.index.add(s)
	if err := s.all(io.NewSectionReader(r.f, 0, st.Size())); err != nil {
		return atomicfile.Cause(err)
	}
	switch {
	case damage != nil:
		return damage
	case s.chains > 1:
		return terminal.Hinted(errors.New("the file consists of several files of receipts"), "name a new file for further receipts")
	}
	r.onDisk = *s.c.head
	r.head = head{ID: s.c.head.ID, Lines: s.c.lines, Last: s.c.next}
	// The text after the last whole line is of a run that was killed before the head counted it: no
	// source was deleted for it.
	if r.size = s.off; r.size < st.Size() {
		if again, err := r.f.Stat(); err != nil || again.Size() != st.Size() {
			return errors.New("another program is adding to the file") // where the system has no locks
		}
		if err := r.over.Truncate(r.size); err != nil {
			return atomicfile.Cause(err)
		}
	}
	if err := r.f.Sync(); err != nil {
		return atomicfile.Cause(err)
	}
	if err := atomicfile.SyncDir(filepath.Dir(r.name)); err != nil {
		return atomicfile.Cause(err)
	}
	if s.c.run == 0 {
		return nil
	}
	// The last run was killed. The end of this one confirms that nothing is missing.
	if err := r.locked(r.begin); err != nil {
		return r.err
	}
	return nil
}

// reopen returns the file for reading what is known of it.
func (r *File) reopen(context.Context) (*Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Source{ReaderAt: r.f, Size: r.size, Close: func() error { return nil }}, nil
}

// Index returns the receipts: those that were there when the file was opened, and those that were added.
func (r *File) Index() *Index { return &r.index }

// Is reports whether a file is this one.
func (r *File) Is(st fs.FileInfo) bool {
	own, err := r.f.Stat()
	return err == nil && os.SameFile(own, st)
}

// Has reports whether the last receipt of an archive has a SHA-256. The name is absolute.
func (r *File) Has(ctx context.Context, archive, sha256 string) (bool, error) {
	list, err := r.index.OfArchive(ctx, archive)
	return len(list) > 0 && list[len(list)-1].SHA256 == sha256, err
}

// Close ends the run and closes the file. Errors that Add has returned are not repeated.
func (r *File) Close() error {
	defer r.close()
	r.mu.Lock()
	idle := r.err != nil || !r.run
	r.mu.Unlock()
	if idle {
		return nil
	}
	err := r.locked(func() error {
		return r.write(&line{End: &endJSON{Time: now(), Receipts: r.added}})
	})
	if err != nil {
		return err
	}
	return r.settle()
}

func (r *File) close() {
	r.f.Close()
	r.over.Close()
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// Add adds a receipt and returns when it and the head that counts it are on disk. Receipts that
// are added at the same time are flushed together.
//
// It is an error if the name of the file no longer leads to it, or if another program has changed
// it. After an error all further calls fail: the file may end within a line, and the system
// reports a failed flush only once.
//
// A receipt that states what the last one of its archive states is not added again.
func (r *File) Add(ctx context.Context, rec *Receipt) error {
	last, err := r.index.OfArchive(ctx, rec.Archive)
	if err != nil {
		return err
	}
	if n := len(last); n > 0 && last[n-1].states(rec) {
		return r.settle() // a run that was killed may have written it
	}
	if err := r.locked(func() error {
		if !r.run {
			if err := r.begin(); err != nil {
				return err
			}
		}
		off := r.size
		err := r.write(ofReceipt(rec))
		if err == nil {
			r.added++
			r.index.added(rec, off)
		}
		return err
	}); err != nil {
		return err
	}
	return r.settle()
}

// begin begins the run.
func (r *File) begin() error {
	r.run = true
	return r.write(&line{Run: &runJSON{Time: now(), Version: archive.Version}})
}

// write appends a line.
func (r *File) write(l *line) error {
	l.Prev = r.head.Last
	text, err := l.text()
	if err != nil {
		return err
	}
	if len(text) >= maxLine {
		return fmt.Errorf("expected lines of less than %d bytes, found one with %d", maxLine, len(text))
	}
	last := sum(text)
	n, err := r.f.Write(append(text, '\n'))
	r.size += int64(n)
	if err == nil {
		r.head.Lines++
		r.head.Last = last
	}
	return err
}

// settle returns when the lines that were written before, and the head that counts them, are on
// disk.
func (r *File) settle() error {
	return r.flush.Do(func() error {
		err := r.flushLines()
		return r.locked(func() error { return err })
	})
}

// flushLines flushes the lines, and then the head: it never counts more than is on disk.
func (r *File) flushLines() error {
	r.mu.Lock()
	h := r.head
	r.mu.Unlock()
	if err := r.f.Sync(); err != nil {
		return err
	}
	if err := r.locked(r.unchanged); err != nil {
		return err
	}
	if _, err := r.over.WriteAt([]byte(h.text()), 0); err != nil {
		return err
	}
	r.onDisk = h
	if err := r.over.Sync(); err != nil {
		return err
	}
	return r.inPlace()
}

// unchanged returns an error if another program has changed the file, where the system has no
// locks that keep it from that.
func (r *File) unchanged() error {
	st, err := r.f.Stat()
	if err != nil {
		return err
	}
	text := []byte(r.onDisk.text())
	got := make([]byte, len(text))
	if _, err := r.f.ReadAt(got, 0); err != nil {
		return err
	}
	if st.Size() != r.size || string(got) != string(text) {
		return fmt.Errorf("another program has changed the file: expected %d bytes and the head %q, found %d bytes and the head %q",
			r.size, text, st.Size(), got)
	}
	return nil
}

// inPlace returns an error if the file has lost its name, as when an editor has saved it: nobody
// would find the receipts.
func (r *File) inPlace() error {
	st, err := r.f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(r.name); err != nil || !os.SameFile(now, st) {
		return errors.New("the file was removed or replaced meanwhile")
	}
	return nil
}

// locked calls f unless there was an error before, and keeps its error.
func (r *File) locked(f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		if err := f(); err != nil {
			r.err = fmt.Errorf("receipts %s: %w", r.name, atomicfile.Cause(err))
		}
	}
	return r.err
}
