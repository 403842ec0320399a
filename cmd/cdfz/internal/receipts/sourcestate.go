package receipts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/internal/storage"
)

// source is what was found of the source of a receipt. Its text ends a message.
type source string

const (
	sourceExists  source = "its source exists"
	sourceChanged source = "its source exists with another size or time"
	sourceGone    source = "its source is gone"
	sourceShown   source = "its source is gone, and cdfz shows it, from an archive"
	sourceUnknown source = "its source is unknown" // a URL, standard input, or out of reach
)

// lookFor looks for the source of a receipt.
func lookFor(rec *receiptfile.Receipt) source {
	if !filepath.IsAbs(rec.Source) {
		return sourceUnknown
	}
	stat := os.Stat
	if rec.Kind == receiptfile.Link {
		stat = os.Lstat
	}
	st, err := stat(rec.Source)
	if err == nil && st.Mode().IsRegular() && shown(rec.Source) {
		return sourceShown
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sourceGone
	case err != nil:
		return sourceUnknown
	case st.Size() != sourceSize(rec) || !st.ModTime().Equal(rec.Modified.Time):
		return sourceChanged
	}
	return sourceExists
}

// sourceSize returns the number of bytes of a source, which may hold the netCDF file compressed.
func sourceSize(rec *receiptfile.Receipt) int64 {
	if rec.Compressed != nil {
		return rec.Compressed.Size
	}
	return rec.Size
}

// shown reports whether cdfz shows a file: it is none.
func shown(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	p, err := new(storage.Mounts).Of(f)
	return err == nil && p.Shown()
}
