package refs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// recordSize is the number of references in a file, the default of fsspec's
// LazyReferenceMapper. Readers load a whole file for one chunk.
const recordSize = 10_000

// metadataName is the file of metadata. Its first member identifies it as one of references.
const (
	metadataName = ".zmetadata"
	firstMember  = `{"record_size":`
)

// WriteParquet writes the references of an archive that readers find at url, a URL or a
// path, as the folder dir, which appears complete or not at all. The folder contains the
// metadata, and a file VAR/refs.N.parq for each 10,000 chunks of an array. fsspec's
// LazyReferenceMapper reads only the files that it needs. In all else it does what WriteJSON
// does.
//
// overwrite replaces a folder that WriteParquet wrote. The error is fs.ErrExist if something
// else is in the way.
func WriteParquet(ctx context.Context, dir string, f *archive.File, url string, overwrite bool) (*Result, error) {
	z, err := store(ctx, f)
	if err != nil {
		return nil, err
	}
	may := func(dir string) bool { return overwrite && isReferences(dir) }
	var res *Result
	err = atomicfile.WriteFolder(dir, may, func(root *os.Root) error {
		w := &records{root: root, url: url}
		if err := w.metadata(z); err != nil {
			return err
		}
		if res, err = walk(ctx, f, z, w); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		res.Size = w.size
		return nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// records writes the files of references, one after the other.
type records struct {
	root *os.Root
	url  string
	size int64
	path string // of the array
	n    int64  // number of the file
	t    table
}

// metadata writes the consolidated metadata.
func (w *records) metadata(z *archive.Zarr) error {
	for name, b := range z.Metadata() {
		if name == metadataName {
			return w.file(name, append(fmt.Appendf(nil, "%s%d,", firstMember, recordSize), bytes.TrimPrefix(b, []byte("{"))...))
		}
	}
	return errors.New("refs: internal error: no consolidated metadata")
}

func (w *records) value(a *array, b []byte) error {
	if err := w.begin(a); err != nil {
		return err
	}
	w.t.raw = append(w.t.raw, b)
	return nil
}

func (w *records) place(a *array, off, n int64) error {
	if err := w.begin(a); err != nil {
		return err
	}
	w.t.offset, w.t.size = append(w.t.offset, off), append(w.t.size, n)
	return nil
}

// begin prepares the table for the next chunk of an array.
func (w *records) begin(a *array) error {
	if a.next%recordSize != 0 {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.path, w.n = a.path, a.next/recordSize
	if w.n > 0 {
		return nil
	}
	return w.root.MkdirAll(a.path, 0o777)
}

// flush writes the file of the chunks so far.
func (w *records) flush() error {
	if w.t.rows() == 0 {
		return nil
	}
	b, err := w.t.parquet(w.url)
	if err != nil {
		return err
	}
	w.t.reset()
	return w.file(path.Join(w.path, fmt.Sprintf("refs.%d.parq", w.n)), b)
}

func (w *records) file(name string, b []byte) error {
	w.size += int64(len(b))
	return w.root.WriteFile(name, b, 0o666)
}

// isReferences reports whether a folder is one that WriteParquet wrote.
func isReferences(dir string) bool {
	name := filepath.Join(dir, metadataName)
	if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(firstMember))
	_, err = f.ReadAt(b, 0)
	return err == nil && string(b) == firstMember
}
