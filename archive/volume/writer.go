package volume

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Writer writes a volume. It only appends. It is not safe for concurrent use.
type Writer struct {
	out    counted
	tar    *tar.Writer
	packed time.Time
	index  builder
	last   string // path
	begun  bool
	err    error // that ended the volume
}

// counted counts what is written.
type counted struct {
	w   io.Writer
	n   int64
	sum hash.Hash // SHA-256
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.sum.Write(p[:n])
	return n, err
}

// NewWriter begins a volume that is packed at a time, which it keeps in seconds. The caller must call Finish or Abort.
// Errors of w come from the other methods.
func NewWriter(w io.Writer, packed time.Time) *Writer {
	v := &Writer{out: counted{w: w, sum: sha256.New()}, packed: packed}
	v.tar = tar.NewWriter(&v.out)
	v.err = v.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": comment}})
	return v
}

// Add adds a member. Contents are those of a File: Size bytes. If HasSum is true and Sum is zero, Add sets it to their SHA-256.
// A Sum that is there is what another index had: it stays, so that the new one proves as much. Paths
// must rise as Compare compares them. An error of a member that cannot be in the volume is ErrPath, and the volume is as
// before. All other errors end it: the volume cannot be completed.
func (v *Writer) Add(e *Entry, contents io.Reader) error {
	if v.err != nil {
		return v.err
	}
	if err := e.check(); err != nil {
		return err
	}
	if v.begun && Compare(v.last, e.Path) >= 0 {
		return fmt.Errorf("%w: %.100q after %.100q", ErrPath, e.Path, v.last)
	}
	if v.err = v.add(e, contents); v.err != nil {
		return v.err
	}
	v.begun, v.last = true, e.Path
	return nil
}

func (v *Writer) add(of *Entry, contents io.Reader) error {
	e := *of
	if e.Modified.IsZero() {
		e.Modified = time.Unix(0, 0) // as package tar writes it
	}
	h := e.header()
	if err := v.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("volume: %.100q: %w", e.Path, err)
	}
	e.off = v.out.n
	sums := e.HasSum && e.Sum == [32]byte{}
	if e.Kind == File && e.Size > 0 {
		dst := io.Writer(v.tar)
		sum := sha256.New()
		if sums {
			dst = io.MultiWriter(v.tar, sum)
		}
		n, err := io.CopyN(dst, contents, e.Size)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("volume: %.100q: expected %d bytes, found %d: %w", e.Path, e.Size, n, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		if sums {
			sum.Sum(e.Sum[:0])
		}
	} else if sums {
		e.Sum = sha256.Sum256(nil)
	}
	if err := v.tar.Flush(); err != nil {
		return err
	}
	of.Sum = e.Sum
	return v.index.add(&e)
}

// header returns the header of a member.
func (e *Entry) header() *tar.Header {
	h := &tar.Header{Typeflag: byte(e.Kind), Name: e.Path, Linkname: e.Target, Mode: int64(e.Mode), Uid: e.UID, Gid: e.GID, ModTime: e.Modified, Format: tar.FormatPAX}
	switch e.Kind {
	case File:
		h.Size = e.Size
	case Folder:
		h.Name += "/"
	}
	return h
}

// Size returns the greatest number of bytes that the volume has if a member is added and then nothing else. e may be
// nil.
func (v *Writer) Size(e *Entry) int64 {
	n := v.out.n + v.index.bound() + zeros + 2*unit
	if e != nil {
		// The headers, which may have a second one with path, target and numbers, and the row of the index.
		texts := int64(len(e.Path)+len(e.Target)) + 256
		n += 3*unit + up(texts) + up(e.Size) + 2*texts
	}
	return n
}

func up(n int64) int64 { return (n + unit - 1) / unit * unit }

// Members returns the number of members.
func (v *Writer) Members() int64 { return v.index.t.members }

// Finish writes the index and the end. It returns the length of the volume in bytes.
func (v *Writer) Finish() (int64, error) {
	if v.err == nil {
		v.err = v.finish()
	}
	v.Abort()
	return v.out.n, v.err
}

// ReadBack reads a volume of size bytes that Finish has completed, from front to back. It returns ErrCorrupt unless it has
// all bytes that were written, and the index leads to the headers of all members.
func (v *Writer) ReadBack(ctx context.Context, r io.ReaderAt, size int64) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(ioat.Bind(ctx, r), 0, size)); err != nil {
		return err
	}
	if found, expected := sum.Sum(nil), v.out.sum.Sum(nil); size != v.out.n || !bytes.Equal(found, expected) {
		return corrupt("expected %d bytes with SHA-256 %x, found %d with %x", v.out.n, expected, size, found)
	}
	back, err := Open(ctx, r, size)
	if err != nil {
		return err
	}
	defer back.Close()
	return back.Check(ctx)
}

// Abort frees what the Writer holds. It does nothing after Finish.
func (v *Writer) Abort() { v.index.close() }

func (v *Writer) finish() error {
	if err := v.tar.Flush(); err != nil {
		return err
	}
	size, err := v.index.finish()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: indexName, Mode: 0o444, Size: size, ModTime: time.Unix(v.packed.Unix(), 0), Format: tar.FormatPAX}
	if err := v.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("volume: %w", err)
	}
	if err := v.index.write(v.tar, v.out.n, v.packed.Unix()); err != nil {
		return err
	}
	return v.tar.Close()
}

// builder makes an index. Its blocks wait in a temporary file, since they follow all members.
type builder struct {
	t      trailer
	raw    []byte // contents of the open block
	open   block
	before Entry  // the last member
	file   int64  // offset of the last regular file in the open block
	top    []byte // the top level
	first  string // of the block before
	firsts int    // bytes of the paths in the top level
	blocks int64  // bytes
	spool  *atomicfile.Temporary
	buf    *bufio.Writer
}

// add adds a member.
func (x *builder) add(e *Entry) error {
	if len(x.raw) >= blockTarget {
		if err := x.flush(); err != nil {
			return err
		}
	}
	before := &x.before
	if len(x.raw) == 0 {
		if x.firsts += len(e.Path); x.firsts > maxFirsts {
			return fmt.Errorf("volume: the paths of the index's blocks take more than %d bytes, so that these members need more volumes", maxFirsts)
		}
		x.open, x.file, before = block{first: strings.Clone(e.Path)}, 0, nil
	}
	x.raw = e.append(x.raw, before, x.file)
	x.before = *e
	x.open.count++
	x.t.members++
	if e.Kind == File {
		x.file = e.off
	}
	return nil
}

// flush closes the block.
func (x *builder) flush() error {
	if x.open.count == 0 {
		return nil
	}
	if x.spool == nil {
		f, err := atomicfile.Temp()
		if err != nil {
			return err
		}
		x.spool, x.buf = f, bufio.NewWriterSize(f, blockTarget)
	}
	stored := deflate(x.raw)
	if _, err := x.buf.Write(stored); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	k := &x.open
	k.stored, k.length, k.sum = int64(len(stored)), int64(len(x.raw)), crc32.ChecksumIEEE(stored)
	x.top = k.append(x.top, x.first)
	x.first = k.first
	x.blocks += k.stored
	x.raw, x.open = x.raw[:0], block{}
	return nil
}

// bound returns a bound of the length of the index.
func (x *builder) bound() int64 {
	const frame = 64 // of a block that does not become shorter, and its row in the top level without the path
	return up(x.blocks+int64(len(x.raw)+len(x.top))+int64(len(x.open.first))+frame) + unit
}

// finish closes the last block, and returns the length of the index.
func (x *builder) finish() (int64, error) {
	if err := x.flush(); err != nil {
		return 0, err
	}
	return up(x.blocks+int64(len(x.top))) + unit, nil
}

// write writes the index after finish. off is the offset of its first byte in the volume.
func (x *builder) write(w io.Writer, off, packed int64) error {
	if x.spool != nil {
		if err := x.buf.Flush(); err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		if _, err := io.Copy(w, io.NewSectionReader(x.spool, 0, x.blocks)); err != nil {
			return err
		}
	}
	x.t.index, x.t.top, x.t.topLen, x.t.topSum, x.t.packed = off, off+x.blocks, int64(len(x.top)), crc32.ChecksumIEEE(x.top), packed
	end := x.blocks + x.t.topLen
	for _, b := range [][]byte{x.top, make([]byte, up(end)-end), x.t.encode()} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// close frees the temporary file.
func (x *builder) close() {
	if x.spool != nil {
		x.spool.Close()
		x.spool = nil
	}
}
