package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/internal/access"
)

// Temporary is a file without a name. Its space is freed when it is closed or the
// program ends.
type Temporary struct {
	*os.File
	name string // on systems that cannot remove open files
}

// TempError is the error of a temporary file that cannot be made or written: one of the folder of temporary files, whatever the
// target is.
type TempError struct{ Err error }

// Error implements error.
func (e *TempError) Error() string { return "temporary file: " + e.Err.Error() }

// Unwrap returns Err.
func (e *TempError) Unwrap() error { return e.Err }

// OfTemp marks an error of writing a temporary file, and names the folder. err may be nil.
func OfTemp(err error) error {
	if err == nil {
		return nil
	}
	return &TempError{fmt.Errorf("%s: %w", os.TempDir(), Cause(err))}
}

// Write implements io.Writer.
func (t *Temporary) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	return n, OfTemp(err)
}

// WriteAt implements io.WriterAt.
func (t *Temporary) WriteAt(p []byte, off int64) (int, error) {
	n, err := t.File.WriteAt(p, off)
	return n, OfTemp(err)
}

// Temp makes a temporary file in os.TempDir. Only its owner may use it.
func Temp() (*Temporary, error) {
	dir := os.TempDir()
	if f, err := openUnnamed(&place{path: dir}, "temporary file", access.PrivateFile); err == nil {
		return &Temporary{File: f}, nil
	}
	f, err := os.CreateTemp(dir, "cdfz-*")
	if err != nil {
		return nil, &TempError{err}
	}
	t := &Temporary{File: f}
	if os.Remove(f.Name()) != nil {
		t.name = f.Name()
	}
	return t, nil
}

// Close closes the file and frees its space.
func (t *Temporary) Close() error {
	err := t.File.Close()
	if t.name != "" {
		err = errors.Join(err, os.Remove(t.name))
	}
	return err
}
