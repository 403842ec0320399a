package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// FileOptions control WriteFile and RestoreFile. Nil and the zero value mean the
// defaults.
type FileOptions struct {
	// Overwrite replaces an existing file. Without it the error is fs.ErrExist.
	Overwrite bool
	// MayReplace, if not nil, is called with the existing file that is about to be replaced, and
	// with the complete new one and its size in bytes. An error keeps the existing file and is
	// returned. It is called again if another program replaces the existing file meanwhile.
	MayReplace func(old fs.FileInfo, new io.ReaderAt, size int64) error
	// Source describes the file that the new one is made from. It must not be the
	// target. Its modification time is copied. Without Rights its permissions are copied, too, and
	// if the program runs as root its owner. If the new file has another group, members of that get
	// the permissions that all others have. A description has no access control list.
	Source fs.FileInfo
	// Rights, if not nil, sets owner, permissions and access control list of the complete new file,
	// which only its owner may use until then.
	Rights func(f *os.File)
	// FolderRights, if not nil, is called for each folder that MakeDirs makes, with its path below Root.
	// It returns what sets the rights of the folder at once, or nil for those of any new folder.
	FolderRights func(rel string) func(f *os.File)
	// MakeDirs makes missing folders.
	MakeDirs bool
	// Root, if not nil, is an open folder, and Rel the path of the file below it, without "..".
	// Symbolic links to folders are not followed there, so that no other program can lead the file
	// elsewhere. The name is then only that of messages.
	Root *os.Root
	Rel  string
	// Together tells that other files are written at the same time. A small file may then wait
	// for a flush of the whole file system that serves all of them.
	Together bool
	// NoCheck skips reading the archive back (WriteFile only).
	NoCheck bool
	// CheckProgress, if not nil, is called with the number of image bytes read back so
	// far, from one goroutine at a time.
	CheckProgress func(done int64)
	// Accept, if not nil, is called with the archive before it appears (WriteFile and
	// RewriteFile only). It must not keep f. An error discards the archive and is returned.
	Accept func(f *File) error
	// Written, if not nil, is called when the file is complete, before it is flushed to
	// disk. What remains needs neither processor nor memory.
	Written func()
	// Warn, if not nil, is called with problems that are not errors, such as a
	// temporary file that could not be removed.
	Warn func(text string)
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
	t, o, err := create(name, file, 0)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if opts == nil {
		opts = &WriteOptions{Name: imageName(name, image)}
	}
	full, h, image, err := prepare(ctx, image, size, opts)
	if err != nil {
		return nil, err
	}
	res, err := written(ctx, t, t, opts, func(w io.Writer) (*Result, error) { return writeImage(ctx, w, image, size, h, &full) })
	if err != nil {
		return nil, err
	}
	if err := readBack(ctx, t, res, opts, o, func(f *File, c *CopyOptions) error { return f.compare(ctx, image, size, res.again, c) }); err != nil {
		return nil, err
	}
	return res, nil
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

// readBack opens the archive in a target, calls check unless the options have NoCheck, and
// makes the target appear.
func readBack(ctx context.Context, t *atomicfile.File, res *Result, opts *WriteOptions, o FileOptions, check func(f *File, c *CopyOptions) error) error {
	var r io.ReaderAt = t
	if res.Size <= readWhole {
		b := make([]byte, res.Size)
		if err := ioat.ReadFull(t, b, 0); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		r = bytes.NewReader(b)
	}
	f, err := New(r, res.Size, &OpenOptions{Cache: -1}) // nothing is read twice
	if err == nil && !o.NoCheck {
		c := &CopyOptions{Progress: o.CheckProgress}
		if opts != nil {
			c.Workers, c.Memory = opts.Workers, opts.Memory
		}
		err = check(f, c)
	}
	if err != nil {
		return notReadBack(ctx, err)
	}
	if o.Accept != nil {
		if err := o.Accept(f); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return commit(t, o)
}

// RestoreFile writes the image of an archive, or of a classic file, into a file, which
// appears complete and on disk or not at all. See Image.Copy for errors.
func RestoreFile(ctx context.Context, name string, f *File, opts *CopyOptions, file *FileOptions) error {
	t, o, err := create(name, file, f.Image().Size())
	if err != nil {
		return err
	}
	defer t.Close()
	if err := f.Image().Copy(ctx, t, opts); err != nil {
		return err
	}
	return commit(t, o)
}

// create starts a target. size is the expected number of bytes that nobody will read back, 0 if
// unknown.
func create(name string, file *FileOptions, size int64) (*atomicfile.File, FileOptions, error) {
	var o FileOptions
	if file != nil {
		o = *file
	}
	t, err := atomicfile.Create(name, &atomicfile.Options{
		Overwrite: o.Overwrite, MayReplace: o.MayReplace, Source: o.Source, MakeDirs: o.MakeDirs, Root: o.Root, Rel: o.Rel,
		Rights: o.Rights, FolderRights: o.FolderRights,
		Size: size, Together: o.Together,
	})
	if err != nil {
		return nil, o, fmt.Errorf("archive: %w", err)
	}
	return t, o, nil
}

// commit makes a target appear.
func commit(t *atomicfile.File, o FileOptions) error {
	if o.Written != nil {
		o.Written()
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if left := t.Leftover(); left != "" && o.Warn != nil {
		o.Warn(fmt.Sprintf("%s: the temporary name %s cannot be removed", t.Path(), left))
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
	if ioat.Gap(source) == 0 || size < compareBelow {
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

// notReadBack takes an error out of the class of damage, since no archive exists yet
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
