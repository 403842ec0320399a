package receiptfile

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Source is a file of receipts that is open for reading.
type Source struct {
	io.ReaderAt
	Size  int64 // bytes
	Close func() error
}

// Index finds receipts by the SHA-256 of their image and by their archive. It holds 64 bytes a receipt, and reads the
// receipts that are asked for again. The zero value is empty. It is safe for concurrent use.
type Index struct {
	mu      sync.RWMutex
	files   []indexedFile
	entries []entry // of the lines that were read; in order once sorted is true
	sorted  bool
	fresh   map[key][]int64 // offsets of lines that were added to the first file since
}

type indexedFile struct {
	name string // as messages show it
	open func(context.Context) (*Source, error)
}

// key is the start of a SHA-256: that of an image, or the one that names an archive.
type key [16]byte

// entry is a line that has a key.
type entry struct {
	key  key
	off  int64 // bytes, of the start of the line
	file int32 // in files
}

// imageKey returns the key of an image. ok is false for a text that is no SHA-256.
func imageKey(sha256 string) (k key, ok bool) {
	b, err := hex.DecodeString(sha256)
	return key(append(b, make([]byte, len(k))...)), err == nil && len(b) == 32
}

func archiveKey(path string) key {
	s := sha256.Sum256([]byte(path))
	return key(s[:])
}

// Found is a receipt of an index.
type Found struct {
	*Receipt
	File string // that holds it, as messages show it
}

// add adds the receipts that a scan finds.
func (x *Index) add(s *scan) func(int, *Receipt) {
	file := int32(len(x.files) - 1)
	return func(_ int, rec *Receipt) {
		x.entries = append(x.entries, entry{archiveKey(rec.Archive), s.at, file})
		if k, ok := imageKey(rec.SHA256); ok {
			x.entries = append(x.entries, entry{k, s.at, file})
		}
	}
}

// Add reads a file of receipts. Damage in it is an error. open opens it, now and when receipts are asked for.
func (x *Index) Add(ctx context.Context, name string, open func(context.Context) (*Source, error)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files = append(x.files, indexedFile{name, open})
	before := len(x.entries)
	x.sorted = false
	var err error
	// Another run may be adding to the file, and overwrite the head while it is read.
	for range 2 {
		x.entries = x.entries[:before]
		if err = x.scan(ctx, open); err == nil {
			return nil
		}
	}
	x.entries = x.entries[:before]
	x.files = x.files[:len(x.files)-1]
	return err
}

// scan reads the last of the files.
func (x *Index) scan(ctx context.Context, open func(context.Context) (*Source, error)) error {
	src, err := open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	var damage error
	s := &scan{bad: func(e *LineError) {
		if damage == nil {
			damage = e
		}
	}}
	s.use = x.add(s)
	if err := s.all(io.NewSectionReader(src, 0, src.Size)); err != nil {
		return err
	}
	return damage
}

// added notes a line that was added to the only file.
func (x *Index) added(rec *Receipt, off int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fresh == nil {
		x.fresh = map[key][]int64{}
	}
	keys := []key{archiveKey(rec.Archive)}
	if k, ok := imageKey(rec.SHA256); ok {
		keys = append(keys, k)
	}
	for _, k := range keys {
		x.fresh[k] = append(x.fresh[k], off)
	}
}

// OfImage returns the receipts of an image by its SHA-256, wherever its archives are.
func (x *Index) OfImage(ctx context.Context, sha256 string) ([]Found, error) {
	k, ok := imageKey(sha256)
	if !ok {
		return nil, nil
	}
	return x.find(ctx, x.of(k), func(r *Receipt) bool { return r.SHA256 == sha256 })
}

// OfArchive returns the receipts of an archive by its absolute path, those of each file with the oldest first.
func (x *Index) OfArchive(ctx context.Context, path string) ([]Found, error) {
	return x.find(ctx, x.of(archiveKey(path)), func(r *Receipt) bool { return r.Archive == path })
}

// Where returns the receipts for which is returns true. It reads all.
func (x *Index) Where(ctx context.Context, is func(*Receipt) bool) ([]Found, error) {
	var list []Found
	for _, f := range x.snapshot() {
		src, err := f.open(ctx)
		if err != nil {
			return nil, fmt.Errorf("receipts %s: %w", f.name, err)
		}
		s := &scan{use: func(_ int, rec *Receipt) {
			if is(rec) {
				list = append(list, Found{rec, f.name})
			}
		}, bad: func(*LineError) {}}
		err = s.all(io.NewSectionReader(src, 0, src.Size))
		src.Close()
		if err != nil {
			return nil, fmt.Errorf("receipts %s: %w", f.name, err)
		}
	}
	return list, nil
}

func (x *Index) snapshot() []indexedFile {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.files)
}

// sort sorts what was read, once.
func (x *Index) sort() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.sorted {
		slices.SortFunc(x.entries, func(a, b entry) int {
			return cmp.Or(bytes.Compare(a.key[:], b.key[:]), cmp.Compare(a.file, b.file), cmp.Compare(a.off, b.off))
		})
		x.sorted = true
	}
}

// of returns the lines that have a key.
func (x *Index) of(k key) []entry {
	x.sort()
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, _ := slices.BinarySearchFunc(x.entries, k, func(e entry, k key) int { return bytes.Compare(e.key[:], k[:]) })
	n := i
	for n < len(x.entries) && x.entries[n].key == k {
		n++
	}
	list := slices.Clone(x.entries[i:n])
	for _, off := range x.fresh[k] {
		list = append(list, entry{k, off, 0})
	}
	return list
}

// find reads lines, and returns those for which is returns true.
func (x *Index) find(ctx context.Context, lines []entry, is func(*Receipt) bool) (list []Found, err error) {
	if len(lines) == 0 {
		return nil, nil
	}
	files := x.snapshot()
	var src *Source
	defer func() {
		if src != nil {
			src.Close()
		}
	}()
	for i, e := range lines {
		f := files[e.file]
		if i == 0 || lines[i-1].file != e.file {
			if src != nil {
				src.Close()
			}
			if src, err = f.open(ctx); err != nil {
				return nil, fmt.Errorf("receipts %s: %w", f.name, err)
			}
		}
		rec, err := receiptAt(src, e.off)
		if err != nil || !e.of(rec) {
			return nil, fmt.Errorf("receipts %s: expected the receipt at byte %d that was there before: the file was changed meanwhile", f.name, e.off)
		}
		if is(rec) {
			list = append(list, Found{rec, f.name})
		}
	}
	return list, nil
}

// of reports whether a receipt may be in the line.
func (e *entry) of(rec *Receipt) bool {
	k, ok := imageKey(rec.SHA256)
	return ok && k == e.key || archiveKey(rec.Archive) == e.key
}

// receiptAt reads the receipt in the line at an offset.
func receiptAt(r *Source, off int64) (*Receipt, error) {
	w, err := nextRow(bufio.NewReaderSize(io.NewSectionReader(r, off, max(r.Size-off, 0)), 1<<12))
	if err != nil {
		return nil, err
	}
	l := new(line)
	if err := json.Unmarshal(w.text, l); err != nil {
		return nil, err
	}
	if l.Receipt != nil {
		if rec := l.receipt(); rec != nil {
			return rec, nil
		}
	}
	return nil, errors.New("expected a receipt")
}
