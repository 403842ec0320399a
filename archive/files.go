package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// FileOptions control the files that WriteFile, RewriteFile and RestoreFile make. Nil and the
// zero value mean the defaults.
type FileOptions struct {
	// Overwrite replaces an existing file. Without it the error is fs.ErrExist.
	Overwrite bool
	// MakeDirs makes missing folders.
	MakeDirs bool
	// Source describes the file that the new one is made from. It must not be the
	// target. Its modification time and its permissions are copied, and if the program runs as
	// root its owner. If the new file has another group, members of that get the permissions that
	// all others have. A description has no access control list.
	Source fs.FileInfo
}

// Target is a new file without bytes, such as an [os.File]. An archive is written to it, read back
// and, if it gets parity, changed.
type Target interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
}

// WriteFile archives an image of size bytes into a file, which appears complete and on
// disk or not at all.
//
// With nil options, the image gets the base name of its file, if it has a method Name as *os.File
// has, or else that of the archive without Suffix.
//
// The archive is read back and compared byte by byte with the image. For this, the image is
// read again on several goroutines, more than once if WriteOptions.Memory is too small for one
// pass, and rounded if the options ask for it. If they differ, the error names the first byte
// that differs, or is ErrChanged if the image reads differently each time. An image of 8 MiB or
// more at a URL is not downloaded twice: instead, the SHA-256 of the bytes that Write read is
// compared.
func WriteFile(ctx context.Context, name string, image io.ReaderAt, size int64, opts *WriteOptions, file *FileOptions) (*Result, error) {
	t, err := create(name, file, 0)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if opts == nil {
		opts = &WriteOptions{Name: imageName(name, image)}
	}
	res, _, err := WriteTarget(ctx, t, image, size, opts)
	if err != nil {
		return nil, err
	}
	if err := commit(ctx, t); err != nil {
		return nil, err
	}
	return res, nil
}

// WriteTarget is WriteFile for a file that the caller has made and makes appear. It returns the
// archive in the file, too, which can be read until the caller closes the file. After an error the
// file holds a useless part of an archive.
func WriteTarget(ctx context.Context, t Target, image io.ReaderAt, size int64, opts *WriteOptions) (*Result, *File, error) {
	full, h, image, err := prepare(ctx, image, size, opts)
	if err != nil {
		return nil, nil, err
	}
	if err := checkShare(opts.share()); err != nil {
		return nil, nil, err
	}
	b := buffered(t)
	res, err := writeImage(ctx, b, image, size, h, &full)
	if res, err = withParity(ctx, b, t, opts, res, err); err != nil {
		return nil, nil, err
	}
	f, err := readBack(ctx, t, res, opts, func(f *File, c *CopyOptions) error { return f.compare(ctx, image, size, res.again, c) })
	if err != nil {
		return nil, nil, err
	}
	return res, f, nil
}

// imageName returns the name of an image in a file, or the name that an archive is made for.
func imageName(name string, image io.ReaderAt) string {
	if f, ok := image.(interface{ Name() string }); ok {
		name = f.Name()
	}
	return strings.TrimSuffix(filepath.Base(name), Suffix)
}

// readWhole is the length of an archive that is read back at once, in bytes. Shorter reads of
// its parts would take longer.
const readWhole = 64 << 10

// readBack opens the archive in a target, and calls check unless the options have NoCheck.
func readBack(ctx context.Context, t io.ReaderAt, res *Result, opts *WriteOptions, check func(f *File, c *CopyOptions) error) (*File, error) {
	r := t
	if res.Size <= readWhole {
		b := make([]byte, res.Size)
		if err := ioat.ReadFull(t, b, 0); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		r = bytes.NewReader(b)
	}
	f, err := New(ctx, r, res.Size, &OpenOptions{Cache: -1}) // nothing is read twice
	switch {
	case err != nil:
	case opts == nil:
		err = check(f, &CopyOptions{})
	case !opts.NoCheck:
		err = check(f, &CopyOptions{Workers: opts.Workers, Memory: opts.Memory, Progress: opts.CheckProgress})
	}
	return f, notReadBack(ctx, err)
}

// RestoreFile writes the image of an archive, or of a classic file, into a file, which
// appears complete and on disk or not at all. See Image.Copy for errors.
func RestoreFile(ctx context.Context, name string, f *File, opts *CopyOptions, file *FileOptions) error {
	t, err := create(name, file, f.Image().Size())
	if err != nil {
		return err
	}
	defer t.Close()
	if err := f.Image().Copy(ctx, t, opts); err != nil {
		return err
	}
	return commit(ctx, t)
}

// create starts a target. size is the expected number of bytes that nobody will read back, 0 if
// unknown.
func create(name string, file *FileOptions, size int64) (*atomicfile.File, error) {
	o := &atomicfile.Options{Size: size}
	if file != nil {
		o.Overwrite, o.Source, o.MakeDirs = file.Overwrite, file.Source, file.MakeDirs
	}
	t, err := atomicfile.Create(name, o)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return t, nil
}

// commit makes a target appear unless ctx is done.
func commit(ctx context.Context, t *atomicfile.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// compareBelow is the size up to which images at a URL are read again and compared byte
// for byte, which reveals a bad read.
const compareBelow = 8 << 20

// compare compares the image with its source. If they differ, it finds the first differing
// byte. The SHA-256 is that of the bytes in the blocks, and need not be computed again, unless
// again is set: parts of the source were read for the blocks after they had been hashed.
func (f *File) compare(ctx context.Context, source io.ReaderAt, size int64, again bool, o *CopyOptions) error {
	c := image.CopyOptions{SHA256: true}
	if o != nil {
		c = image.CopyOptions(*o)
		c.SHA256 = true
	}
	var err error
	if ioat.Of(source).Gap() == 0 || size < compareBelow {
		err = image.Compare(ctx, f.archive, source, again, &c)
	} else if err = image.Copy(ctx, f.archive, nil, &c); errors.Is(err, ErrCorrupt) {
		// Damage is reported as such, unless comparing explains it.
		if cause := image.Compare(ctx, f.archive, source, true, &c); cause != nil && !errors.Is(cause, ErrCorrupt) {
			err = cause
		}
	}
	var d *image.Difference
	switch {
	case errors.As(err, &d) && ctx.Err() == nil:
		return fmt.Errorf("archive: the archive differs from the source, first at byte %d (%s)", d.Off, whereIs(f.Header(), d.Off))
	case errors.Is(err, image.ErrOtherSum):
		return fmt.Errorf("archive: %w, or it reads differently each time", ErrChanged)
	}
	return err
}

// notReadBack takes an error, which may be nil, out of the class of damage, since no archive exists yet
// that could be repaired.
func notReadBack(ctx context.Context, err error) error {
	if ctx.Err() != nil || !errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("archive: the archive does not read back as it was written: %v", err)
}

// whereIs names the content at a byte of an image.
func whereIs(h *cdf3.Header, off int64) string {
	if off < h.Len {
		return "the header"
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		at := off - v.Begin
		if at < 0 {
			continue
		}
		rec := int64(0)
		if v.Record && h.RecSize > 0 {
			rec, at = at/h.RecSize, at%h.RecSize
		}
		if at < v.RecLen && (!v.Record || rec < h.NumRecs) {
			return fmt.Sprintf("variable %q", v.Name)
		}
	}
	return "padding"
}
