// Package receipts has the receipts of archived files, a line of JSON for each: what was
// archived, where the archive is, and the SHA-256 of the file that it restores. A file is
// only deleted after its receipt is on disk. The package also has the verb receipts, which
// checks receipts against the archives.
package receipts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Receipt is what is known of one archived file. Names are absolute, sizes are bytes.
type Receipt struct {
	Source      string    `json:"source"`
	Archive     string    `json:"archive"`
	Size        int64     `json:"size"` // of the netCDF file
	ArchiveSize int64     `json:"archive_size"`
	SHA256      string    `json:"sha256"` // of the netCDF file
	Ratio       float64   `json:"ratio"`
	Modified    time.Time `json:"modified"` // of the source
	Version     string    `json:"version"`  // of cdfz
	// Compressed describes the source if it holds the netCDF file compressed.
	Compressed *Compressed `json:"compressed,omitempty"`
}

// Compressed describes a compressed source.
type Compressed struct {
	Format string `json:"format"` // gzip, bzip2, xz or zstd
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// File is a file of receipts to which receipts are added. It is safe for concurrent use.
type File struct {
	name  string
	f     *os.File
	mu    sync.Mutex // of writing and err
	err   error      // of the first receipt that could not be written
	flush atomicfile.Flusher
	known map[string]string // SHA-256 by archive, of the receipts that were there
}

// line is the JSON of a receipt. JSON is UTF-8, but names are any bytes on most systems: those of
// a name that is not UTF-8 are kept beside it.
type line struct {
	*Receipt
	SourceBytes  []byte `json:"source_bytes,omitempty"`
	ArchiveBytes []byte `json:"archive_bytes,omitempty"`
}

func encode(rec *Receipt) ([]byte, error) {
	l := line{Receipt: rec}
	if !utf8.ValidString(rec.Source) {
		l.SourceBytes = []byte(rec.Source)
	}
	if !utf8.ValidString(rec.Archive) {
		l.ArchiveBytes = []byte(rec.Archive)
	}
	return json.Marshal(&l)
}

func (l *line) receipt() *Receipt {
	if len(l.SourceBytes) > 0 {
		l.Source = string(l.SourceBytes)
	}
	if len(l.ArchiveBytes) > 0 {
		l.Archive = string(l.ArchiveBytes)
	}
	return l.Receipt
}

// start is the start of each line that Add writes.
const start = `{"source":"`

// Open opens a file of receipts, or makes it. It is an error if another program adds receipts to
// it, or if it is a file of something else, which stays as it is.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// A line that a killed program began must not swallow the next one.
	last := []byte{'\n'}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		_, err = f.ReadAt(last, st.Size()-1)
	}
	known := map[string]string{}
	if err == nil {
		known, err = readKnown(f, st.Size())
	}
	if err == nil && last[0] != '\n' {
		_, err = f.Write([]byte{'\n'})
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(name))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, atomicfile.Cause(err))
	}
	return &File{name: name, f: f, known: known}, nil
}

// readKnown returns the SHA-256 by archive of the receipts in a file.
func readKnown(f *os.File, size int64) (map[string]string, error) {
	known := map[string]string{}
	others := false
	err := Read(io.NewSectionReader(f, 0, size), func(_ int, rec *Receipt) { known[rec.Archive] = rec.SHA256 }, func(*LineError) { others = true })
	if err != nil || !others || len(known) > 0 {
		return known, err
	}
	// The first receipt may be cut off.
	head := make([]byte, min(size, int64(len(start))))
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(start, string(head)) {
		return nil, errors.New("expected receipts, found another file")
	}
	return known, nil
}

// Has reports whether there was a receipt of an archive with a SHA-256 when the file was
// opened. The name is absolute.
func (r *File) Has(archive, sha256 string) bool { return r.known[archive] == sha256 }

// Close closes the file.
func (r *File) Close() error { return r.f.Close() }

// Add adds a receipt and returns when it is on disk. Receipts that are added at the same
// time are flushed together.
//
// It is an error if the name of the file no longer leads to it. After an error all further calls
// fail: the file may end within a line, which would swallow the next one, and the system reports
// a failed flush only once.
func (r *File) Add(rec *Receipt) error {
	text, err := encode(rec)
	if err != nil {
		return err
	}
	if err = r.locked(func() error {
		_, err := r.f.Write(append(text, '\n'))
		return err
	}); err != nil {
		return err
	}
	return r.flush.Do(func() error {
		err := r.f.Sync()
		if err == nil {
			err = r.inPlace()
		}
		return r.locked(func() error { return err })
	})
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

// maxLine bounds a line, which has two names and some numbers.
const maxLine = 1 << 20

// LineError is a line that is not a receipt.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// ErrCut is the error of a line that ends within the JSON. A program was stopped while it
// wrote the line, before it deleted the source.
var ErrCut = errors.New("cut off: its source was not deleted")

// Read calls use for each receipt of a file, and bad for each line that is not a receipt. It
// returns errors of the source.
func Read(r io.Reader, use func(line int, rec *Receipt), bad func(*LineError)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	number := 0
	for s.Scan() {
		number++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		l := line{Receipt: new(Receipt)}
		d := json.NewDecoder(bytes.NewReader(text))
		err := d.Decode(&l)
		rec := l.receipt()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			bad(&LineError{number, ErrCut})
		case err != nil:
			bad(&LineError{number, fmt.Errorf("expected a receipt: %w", err)})
		case d.InputOffset() != int64(len(text)):
			bad(&LineError{number, errors.New("expected one receipt, found more text")})
		case rec.Archive == "" || len(rec.SHA256) != 64 || rec.Size < 0 || rec.ArchiveSize < 0:
			bad(&LineError{number, errors.New("expected archive, size, archive_size and sha256")})
		default:
			use(number, rec)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		bad(&LineError{number + 1, fmt.Errorf("expected at most %d bytes", maxLine)})
		return nil
	}
	return s.Err()
}
