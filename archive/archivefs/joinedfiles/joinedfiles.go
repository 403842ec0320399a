// Package joinedfiles makes an archivefs.FS show descriptions of joined files as the joined files:
// tas.ncml appears as tas.nc. Set FS.Joined to what [Rules] returns.
package joinedfiles

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/joined"
)

// The endings of the names of descriptions of joined files, and of the files that appear.
const suffix, imageSuffix = ".ncml", ".nc"

// Is reports whether a file is named like a description of joined files.
func Is(name string) bool { return strings.HasSuffix(name, suffix) }

// ImageName returns the name under which an archive or a description appears.
func ImageName(name string) string {
	if stem, ok := strings.CutSuffix(name, suffix); ok {
		return stem + imageSuffix
	}
	return strings.TrimSuffix(name, archive.Suffix)
}

// Refused reports whether a description is beyond the limits, or has parts that are not followed.
func Refused(err error) bool { return errors.Is(err, joined.ErrNotNcML) }

// Rules returns the rules. Members are opened with the options, and must lie below the root of the FS.
func Rules(o archive.OpenOptions) *archivefs.Joined {
	ctx := context.Background()
	return &archivefs.Joined{
		Suffix: suffix,
		Image:  imageSuffix,
		Is:     func(r io.ReaderAt, size int64) (bool, error) { return joined.Begins(ctx, r, size) },
		Refused: func(err error) bool {
			return Refused(err) || errors.Is(err, archive.ErrCorrupt)
		},
		Read: func(r io.ReaderAt, size int64) (archivefs.JoinedFiles, error) {
			desc, err := joined.ReadForeign(ctx, r, size) // whoever reads a folder may not be the one who put it there
			if err != nil {
				return nil, err
			}
			return func(fsys fs.FS, name string) (*archive.File, io.Closer, error) {
				d, err := joined.Open(ctx, desc, joined.FS(fsys, name), &joined.Options{Open: o})
				if err != nil {
					return nil, nil, err
				}
				return d.File(), d, nil
			}, nil
		},
	}
}
