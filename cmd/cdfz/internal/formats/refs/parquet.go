package refs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

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

// WriteParquet writes the references of a source as the folder dir, which appears complete or not at
// all. The folder contains the metadata, and a file VAR/refs.N.parq for each 10,000 chunks of an
// array. fsspec's LazyReferenceMapper reads only the files that it needs. In all else it does what
// WriteJSON does.
//
// overwrite replaces a folder that WriteParquet wrote and that has no other files. The error is
// fs.ErrExist if something else is in the way. rights, if not nil, is called for each complete file and
// folder, to set its owner, permissions and ACL.
func WriteParquet(ctx context.Context, dir string, s Source, overwrite bool, rights func(f *os.File)) (*Result, error) {
	st, err := newStore(ctx, s)
	if err != nil {
		return nil, err
	}
	may := func(dir string) bool { return overwrite && isReferences(dir) && atomicfile.HoldsOnly(dir, isFile) }
	var res *Result
	err = atomicfile.WriteFolder(dir, may, rights, func(root *os.Root) error {
		w := &records{root: root, open: map[string]*table{}}
		if err := w.metadata(st.Zarr); err != nil {
			return err
		}
		if res, err = st.walk(ctx, w); err != nil {
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

// records writes the files of references.
type records struct {
	root *os.Root
	size int64
	open map[string]*table // of the arrays that are not complete, by path
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
	return w.add(a, func(t *table) { t.value(b) })
}

func (w *records) place(a *array, url string, off, n int64) error {
	return w.add(a, func(t *table) { t.place(url, off, n) })
}

// add adds the next chunk of an array, and writes the file that it completes.
func (w *records) add(a *array, add func(*table)) error {
	t := w.open[a.path]
	if t == nil {
		if err := w.root.MkdirAll(a.path, 0o777); err != nil {
			return err
		}
		t = newTable()
		w.open[a.path] = t
	}
	add(t)
	last := a.next+1 == a.c.Len()
	if t.w.Rows() < recordSize && !last {
		return nil
	}
	b, err := t.parquet()
	if err != nil {
		return err
	}
	delete(w.open, a.path)
	return w.file(path.Join(a.path, fmt.Sprintf("refs.%d.parq", a.next/recordSize)), b)
}

func (w *records) file(name string, b []byte) error {
	w.size += int64(len(b))
	return w.root.WriteFile(name, b, 0o666)
}

// isFile reports whether WriteParquet writes files of this path in its folder.
func isFile(name string) bool {
	base := path.Base(name)
	return name == metadataName || strings.HasPrefix(base, "refs.") && strings.HasSuffix(base, ".parq")
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
