package archive

import (
	"errors"
	"io"
	"io/fs"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/internal/read"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// FS returns a view of a file system in which archives appear as the classic files that
// they hold. The archive x.nc.cdfz appears as x.nc, with the size of the image and the
// modification time of the archive, which WriteFile copies from the original. All other
// files are unchanged, and so are archives next to an existing x.nc.
//
// Archives are recognized by their names, which end in Suffix, and by their first or
// last bytes. Files of fsys must implement io.ReaderAt, as those of os.DirFS do. Files
// of images implement io.ReaderAt and io.Seeker. They share one cache, opts.Shared or a
// new one of opts.Cache bytes. Nil options mean the defaults.
//
// The view is read-only and safe for concurrent use if fsys is. Listing a folder opens and
// closes each archive in it. The view remembers the size of an archive as long as the archive
// keeps its modification time, size and, where the system has them, device and inode.
func FS(fsys fs.FS, opts *OpenOptions) fs.FS {
	var o OpenOptions
	if opts != nil {
		o = *opts
	}
	if o.Shared == nil && o.Cache >= 0 {
		bytes := o.Cache
		if bytes == 0 {
			bytes = read.DefaultCache
		}
		o.Shared, _ = NewCache(bytes) // fails only for sizes that are not positive
	}
	return archivefs.New(fsys, archivefs.Format[*File]{
		Suffix: Suffix,
		Is:     IsArchive,
		Open: func(name string, r io.ReaderAt, size int64) (*File, error) {
			o := o
			o.Name = name
			return New(r, size, &o)
		},
		Original: func(f *File) (io.ReaderAt, int64, string) {
			info, _ := f.Info()
			im := f.Image()
			return im, im.Size(), info.SHA256
		},
		Lasting: func(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) },
		Cause: func(err error) string {
			var b *BlockError
			if errors.As(err, &b) { // the same block in several reads
				return "block " + strconv.FormatInt(b.Block, 10)
			}
			return err.Error()
		},
	})
}
