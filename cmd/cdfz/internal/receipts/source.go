package receipts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
)

// source is what was found of the source of a receipt. Its text ends a message.
type source string

const (
	sourceExists  source = "its source exists"
	sourceChanged source = "its source exists with another size or time"
	sourceGone    source = "its source is gone"
	sourceUnknown source = "its source is unknown" // a URL, standard input, or out of reach
)

// lookFor looks for the source of a receipt.
func lookFor(rec *receiptfile.Receipt) source {
	if !filepath.IsAbs(rec.Source) {
		return sourceUnknown
	}
	st, err := os.Stat(rec.Source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sourceGone
	case err != nil:
		return sourceUnknown
	case st.Size() != sourceSize(rec) || !st.ModTime().Equal(rec.Modified):
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
