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

// Temp makes a temporary file in os.TempDir. Only its owner may use it.
func Temp() (*Temporary, error) {
	dir := os.TempDir()
	if f, err := openUnnamed(&place{path: dir}, "temporary file", access.PrivateFile); err == nil {
		return &Temporary{File: f}, nil
	}
	f, err := os.CreateTemp(dir, "cdfz-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
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
