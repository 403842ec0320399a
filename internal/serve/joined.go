package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/internal/folderview"
)

// The endings of the names of descriptions of joined files, and of these files.
const joinedSuffix, imageSuffix = ".ncml", ".nc"

// isJoined reports whether a file is named like a description of joined files.
func isJoined(name string) bool { return strings.HasSuffix(name, joinedSuffix) }

// netCDFName returns the name of the netCDF file in a stored file.
func netCDFName(name string) string {
	if stem, ok := strings.CutSuffix(name, joinedSuffix); ok {
		return stem + imageSuffix
	}
	return strings.TrimSuffix(name, archive.Suffix)
}

// joinedFiles returns the rules for descriptions of joined files.
func joinedFiles(o archive.OpenOptions) *folderview.Joined[*archive.File] {
	return &folderview.Joined[*archive.File]{
		Suffix: joinedSuffix,
		Image:  imageSuffix,
		Is: func(r io.ReaderAt, size int64) (bool, error) {
			_, err := joined.ReadNcML(context.Background(), r, size)
			switch {
			case errors.Is(err, joined.ErrNotNcML):
				return false, nil
			case errors.Is(err, archive.ErrCorrupt):
				return true, nil
			}
			return err == nil, err
		},
		Open: func(fsys fs.FS, name string, r io.ReaderAt, size int64) (*archive.File, io.Closer, error) {
			ctx := context.Background()
			desc, err := joined.ReadNcML(ctx, r, size)
			if err != nil {
				return nil, nil, err
			}
			d, err := joined.Open(ctx, desc, joined.FS(fsys, name), &joined.Options{Open: o})
			if err != nil {
				return nil, nil, err
			}
			f, err := d.File()
			if err != nil {
				d.Close()
				return nil, nil, err
			}
			return f, d, nil
		},
	}
}
