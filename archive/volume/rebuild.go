package volume

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// scanWindow is the number of bytes that are read at once for headers: those of small files are close to each other.
const scanWindow = 256 << 10

// Rebuild opens a volume whose end is lost or damaged, by the headers of the tar file. Why is the error of Open, which
// Rebuilt returns. It reads the headers, and what lies within 256 KiB of them. Members whose bytes are not all there are
// left out, and so are those that are out of order. After a damaged header, the next intact one is looked for. The caller
// must close the Volume.
//
// The index waits in a temporary file. There are no sums in it, and no time of packing.
func Rebuild(ctx context.Context, r io.ReaderAt, size int64, why error) (*Volume, error) {
	s := ioat.Of(r)
	if ok, err := IsVolume(ioat.Bind(ctx, s), size); err != nil || !ok {
		return nil, errors.Join(err, ErrNotVolume)
	}
	x := new(builder)
	defer x.close()
	begun := false
	err := Scan(ctx, r, size, func(e *Entry) error {
		if begun && Compare(x.before.Path, e.Path) >= 0 { // a part of its path was in a header that is damaged
			return nil
		}
		begun = true
		return x.add(e)
	})
	if err != nil {
		return nil, err
	}
	if _, err := x.finish(); err != nil {
		return nil, err
	}
	f, err := atomicfile.Temp()
	if err != nil {
		return nil, err
	}
	v := &Volume{r: s, index: ioat.Of(f), closer: f, rebuilt: why}
	if err = x.write(f, 0, 0); err == nil {
		t := x.t
		if v.blocks, err = parseTop(x.top, &t); err == nil {
			t.index = up(size) // contents end before this
			v.t = &t
			return v, nil
		}
	}
	f.Close()
	return nil, err
}

// Scan calls member for each header of a volume, from front to back, without the index. It passes over damaged headers,
// other kinds of members, and members that are not complete.
func Scan(ctx context.Context, r io.ReaderAt, size int64, member func(*Entry) error) error {
	w := &window{r: ioat.Bind(ctx, r), size: size}
	for at := int64(0); at+unit <= size; {
		in := io.NewSectionReader(w, at, size-at)
		t := tar.NewReader(in)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			// Where a header begins is known only as the end of the member before.
			h, err := t.Next()
			pos, _ := in.Seek(0, io.SeekCurrent)
			if err != nil {
				if w.err != nil {
					return w.err
				}
				if errors.Is(err, io.ErrUnexpectedEOF) {
					return nil
				}
				// Two blocks of zeros are the end of a tar file, and also what a lost sector or a hole is. The end comes after the
				// header of the index.
				if err != io.EOF && !errors.Is(err, tar.ErrHeader) && !errors.Is(err, tar.ErrFieldTooLong) {
					return fmt.Errorf("volume: headers: %w", err)
				}
				if at = w.next(up(at + pos)); w.err != nil {
					return w.err
				}
				break
			}
			if h.Name == indexName {
				return nil
			}
			e := entryOf(h, at+pos)
			if e == nil || e.check() != nil {
				continue
			}
			if e.Kind == File && e.Size > size-e.off {
				continue
			}
			if err := member(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryOf returns the member of a header, or nil for one of another kind.
func entryOf(h *tar.Header, off int64) *Entry {
	e := &Entry{Path: h.Name, Kind: Kind(h.Typeflag), Mode: uint32(h.Mode & modeBits), UID: h.Uid, GID: h.Gid, Modified: h.ModTime, Target: h.Linkname}
	switch e.Kind {
	case File:
		e.Size, e.off, e.Target = h.Size, off, ""
		for k := range h.PAXRecords {
			if strings.HasPrefix(k, "GNU.sparse.") {
				return nil
			}
		}
	case Folder:
		e.Path, e.Target = strings.TrimSuffix(e.Path, "/"), ""
	}
	if e.UID < 0 || int64(e.UID) > 1<<32-1 || e.GID < 0 || int64(e.GID) > 1<<32-1 {
		return nil
	}
	return e
}

// window reads a file ahead, for one reader in order.
type window struct {
	r    io.ReaderAt
	size int64
	b    []byte
	off  int64
	err  error // of the file
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	for done := 0; done < len(p); {
		at := off + int64(done)
		if at >= w.size {
			return done, io.EOF
		}
		if at < w.off || at >= w.off+int64(len(w.b)) {
			if cap(w.b) == 0 {
				w.b = make([]byte, scanWindow)
			}
			w.b = w.b[:min(int64(cap(w.b)), w.size-at)]
			if err := ioat.ReadFull(w.r, w.b, at); err != nil {
				w.b, w.err = w.b[:0], err
				return done, err
			}
			w.off = at
		}
		done += copy(p[done:], w.b[at-w.off:])
	}
	return len(p), nil
}

// next returns the offset of the next intact header from an offset on, or the end of the file.
func (w *window) next(off int64) int64 {
	var b [unit]byte
	for ; off+unit <= w.size; off += unit {
		if _, err := w.ReadAt(b[:], off); err != nil {
			break
		}
		if string(b[257:262]) == "ustar" && sumOf(b[:]) {
			return off
		}
	}
	return w.size
}

// sumOf reports whether a header has its checksum.
func sumOf(b []byte) bool {
	want, got := int64(0), int64(0)
	for _, c := range strings.Trim(string(b[148:156]), " \x00") {
		if c < '0' || c > '7' {
			return false
		}
		want = want<<3 | int64(c-'0')
	}
	for i, c := range b {
		if i >= 148 && i < 156 {
			c = ' '
		}
		got += int64(c)
	}
	return want == got
}
