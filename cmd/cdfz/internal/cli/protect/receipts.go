package protect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/storage"
	"github.com/cdfz-format/cdfz/remote"
)

// Receipts are the receipts of a run. A receipt proves an image, not a path: it vouches for each archive of the image,
// under whatever name. It is safe for concurrent use, apart from the exported fields.
type Receipts struct {
	// Also is --receipts-also: files, folders and URLs.
	Also []string
	// Open opens a URL.
	Open func(ctx context.Context, name string) (*receiptfile.Source, error)
	// Mounts has what the user states about file systems. Not nil.
	Mounts *storage.Mounts

	mu     sync.Mutex
	own    *receiptfile.File // of --receipts, or nil
	loaded bool
	also   receiptfile.Index
	proved map[string]struct{} // archives that this run has proved, by absolute path
}

// Use adds the file to which the run adds receipts.
func (r *Receipts) Use(own *receiptfile.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = own
}

// Load reads the files of --receipts-also, once. It is called when receipts are needed, or before.
func (r *Receipts) Load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded {
		return nil
	}
	r.also = receiptfile.Index{}
	for _, name := range r.Also {
		if err := r.load(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", terminal.ShowName(name), err)
		}
	}
	r.loaded = true
	return nil
}

// load reads a file of receipts, or those in a folder.
func (r *Receipts) load(ctx context.Context, name string) error {
	if remote.IsURL(name) {
		return r.also.Add(ctx, terminal.ShowName(name), func(ctx context.Context) (*receiptfile.Source, error) { return r.Open(ctx, name) })
	}
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return atomicfile.Cause(err)
	case !st.IsDir():
		return r.file(ctx, name, st)
	}
	list, err := os.ReadDir(name)
	if err != nil {
		return atomicfile.Cause(err)
	}
	for _, e := range list {
		path := filepath.Join(name, e.Name())
		if atomicfile.IsTemporary(path) || atomicfile.IsAside(path) {
			continue // of a run that begins
		}
		st, err := os.Stat(path)
		lines := false
		if err == nil && st.Mode().IsRegular() {
			lines, err = ofLines(path)
		}
		if lines && err == nil {
			err = r.file(ctx, path, st)
		}
		// Logs and states are other files of lines of JSON, and another run may remove a file meanwhile.
		if err != nil && !errors.Is(err, receiptfile.ErrNotReceipts) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", terminal.ShowName(e.Name()), err)
		}
	}
	return nil
}

// ofLines reports whether a file begins like lines of JSON. It is an error if only its name says so: receipts that
// were lost are no other file.
func ofLines(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, atomicfile.Cause(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.Read(b[:]); err != nil && !errors.Is(err, io.EOF) {
		return false, atomicfile.Cause(err)
	}
	if b[0] != '{' && filepath.Ext(path) == ".jsonl" {
		return false, errors.New("expected lines of JSON, found none")
	}
	return b[0] == '{', nil
}

// file reads a file of receipts, unless it is the one that the run adds to.
func (r *Receipts) file(ctx context.Context, path string, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return errors.New("expected a regular file")
	}
	if r.own != nil && r.own.Is(st) {
		return nil
	}
	return r.also.Add(ctx, terminal.ShowName(path), func(context.Context) (*receiptfile.Source, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, atomicfile.Cause(err)
		}
		st, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, atomicfile.Cause(err)
		}
		return &receiptfile.Source{ReaderAt: f, Size: st.Size(), Close: f.Close}, nil
	})
}

// Given reports whether the run has receipts, or reads others.
func (r *Receipts) Given() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.own != nil || len(r.Also) > 0
}

// Proved notes that this run has proved an archive, by its absolute path. The run must not replace it.
func (r *Receipts) Proved(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proved == nil {
		r.proved = map[string]struct{}{}
	}
	r.proved[path] = struct{}{}
}

// Vouched returns an error if a receipt vouches for an existing archive: the source of its image is gone, and the
// archive is all that is left of it. It returns nil if a file still holds what was archived, or if this run has proved
// another archive of the image. A receipt of the same name counts for an archive that is too damaged to tell what it
// holds. st is that of the archive, nil for an object. Another file, with its SHA-256, may have the receipt of one that was
// kept as it is, unless it is empty.
func (r *Receipts) Vouched(ctx context.Context, path string, st fs.FileInfo, old *Held) error {
	if !old.Archive && (old.SHA256 == "" || old.Size == 0) || !r.Given() {
		return nil
	}
	if err := r.Load(ctx); err != nil {
		return fmt.Errorf("--receipts-also: %w", err)
	}
	list, err := r.find(ctx, path, old)
	if err != nil {
		return err
	}
	var gone *receiptfile.Found
	why := ""
	for i := range list {
		if !old.Archive && list[i].Kind != receiptfile.Plain {
			continue
		}
		lost, err := SourceLost(ctx, r.Mounts, list[i].Receipt)
		if err != nil {
			return err
		}
		if lost == "" && old.SHA256 != "" {
			return nil
		}
		if lost != "" {
			gone, why = &list[i], lost
		}
	}
	if gone == nil || old.SHA256 != "" && r.hasOther(ctx, list, path, st, old) {
		return nil
	}
	what := "archive"
	if !old.Archive {
		what = "file"
	}
	err = fmt.Errorf("the existing %s is kept: it %s, as a receipt of %s states, and its source %s %s", what, old, gone.File, terminal.ShowName(gone.Source), why)
	return terminal.Hinted(err, "another name keeps both")
}

// find returns the receipts that may be about an archive.
func (r *Receipts) find(ctx context.Context, path string, old *Held) (list []receiptfile.Found, err error) {
	for _, x := range r.indexes() {
		var more []receiptfile.Found
		if old.SHA256 != "" {
			more, err = x.OfImage(ctx, old.SHA256)
		} else {
			more, err = x.Where(ctx, func(rec *receiptfile.Receipt) bool { return filepath.Base(rec.Archive) == filepath.Base(path) })
		}
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func (r *Receipts) indexes() []*receiptfile.Index {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own == nil {
		return []*receiptfile.Index{&r.also}
	}
	return []*receiptfile.Index{r.own.Index(), &r.also}
}

// hasOther reports whether another archive of an image was proved in this run, and is still there: another file, where
// it stays.
func (r *Receipts) hasOther(ctx context.Context, list []receiptfile.Found, path string, st fs.FileInfo, old *Held) bool {
	if st == nil {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, st) {
		return false
	}
	place, err := r.Mounts.Of(f)
	if err != nil {
		return false
	}
	for _, rec := range list {
		r.mu.Lock()
		_, proved := r.proved[rec.Archive]
		r.mu.Unlock()
		if proved && r.isOther(ctx, rec.Archive, place, old) {
			return true
		}
	}
	return false
}

// isOther reports whether a file is an archive of the same image as an old one, independent of it, and stays where
// it is: it is flushed, on a file system that keeps it.
func (r *Receipts) isOther(ctx context.Context, name string, old *storage.Place, image *Held) bool {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return false
	}
	defer dir.Close()
	f, st, err := nofollow.File(dir, filepath.Base(name), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	place, err := r.Mounts.Of(f)
	if err != nil || place.Same(old) != nil || Durable(r.Mounts, "the archive", f, dir) != nil || Settled(f, dir) != nil {
		return false
	}
	held, err := Look(ctx, name, f, st.Size())
	return err == nil && held.Damage == nil && held.SHA256 == image.SHA256
}
