// Package receiptfile has the receipts of archived files, a line of JSON for each: what was
// archived, where the archive is, and the SHA-256 of the file that it restores. A file is
// only deleted after its receipt is on disk.
//
// The lines of a file are a chain. Each holds the SHA-256 of the line before it in prev. The
// first line, the head, has a fixed width and is rewritten in place: it counts the lines that are
// known to be on disk, and has the SHA-256 of the last of them.
//
//	{"cdfz_receipts":1,"id":"…","lines":           4,"last":"…"}
//	{"prev":"…","run":{"time":"…","version":"…"}}
//	{"prev":"…","source":"/data/a.nc","archive":"/data/a.nc.cdfz","size":…,"sha256":"…",…}
//	{"prev":"…","source":"/data/b.nc","archive":"/data/b.nc.cdfz","size":…,"sha256":"…",…}
//	{"prev":"…","end":{"time":"…","receipts":2}}
//
// A source is only deleted when the head counts its receipt. So lines that the head counts must be
// there unchanged. What follows them was written by a run that was killed, and no source was
// deleted for it: the next run continues after the lines there that are in the chain, and removes
// a line that has no end.
package receiptfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// Receipt is what is known of one archived file. Names are absolute, sizes are bytes.
type Receipt struct {
	Source      string        `json:"source"`
	Archive     string        `json:"archive"`
	Size        int64         `json:"size"` // of the netCDF file
	ArchiveSize int64         `json:"archive_size"`
	SHA256      string        `json:"sha256"` // of the netCDF file
	Ratio       float64       `json:"ratio"`
	Modified    filetime.Time `json:"modified"` // of the source
	Version     string        `json:"version"`  // of cdfz
	// Below is the path of the archive below the folder that was given to the run, with slashes: -o DIR/,
	// or else the FILE that the source is below. It is "" in receipts of earlier versions.
	Below string `json:"below,omitempty"`
	// Kind is "" for an archive. Others are of a file or a symbolic link of a tree that was kept whole: Archive is then
	// the same, a copy, with Size and SHA256 of its bytes, or of the text of the link.
	Kind Kind `json:"kind,omitempty"`
	// Replaced is the name of the archive of an older state of the source, in the folder of the archive.
	Replaced string `json:"replaced,omitempty"`
	// Copies are the paths and URLs of further archives that were proved when the source was deleted.
	Copies []string `json:"copies,omitempty"`
	// Compressed describes the source if it holds the netCDF file compressed.
	Compressed *Compressed `json:"compressed,omitempty"`
	// Run is when the run began that wrote the receipt. Read sets it; it is zero in a damaged file.
	Run time.Time `json:"-"`
}

// Kind is the kind of what a receipt is for.
type Kind string

// The kinds beside archives. They are part of the format.
const (
	Plain Kind = "plain" // a file that was kept as it is
	Link  Kind = "link"  // a symbolic link
)

// states reports whether a receipt states the same as another one, apart from the program that wrote it.
func (r *Receipt) states(other *Receipt) bool {
	a, b := *r, *other
	a.Ratio, a.Version, a.Run = b.Ratio, b.Version, b.Run
	a.Modified, b.Modified = filetime.Time{}, filetime.Time{}
	return r.Modified.Equal(other.Modified.Time) && reflect.DeepEqual(a, b)
}

// Compressed describes a compressed source.
type Compressed struct {
	Format string `json:"format"` // gzip, bzip2, xz or zstd
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// line is the JSON of a line after the head: a receipt, or the start or the end of a run. JSON is
// UTF-8, but names are any bytes on most systems: the bytes of a name that is not UTF-8 are kept in
// another field.
type line struct {
	Prev string   `json:"prev"` // SHA-256 of the line before
	Run  *runJSON `json:"run,omitempty"`
	End  *endJSON `json:"end,omitempty"`
	*Receipt
	SourceBytes  []byte `json:"source_bytes,omitempty"`
	ArchiveBytes []byte `json:"archive_bytes,omitempty"`
	BelowBytes   []byte `json:"below_bytes,omitempty"`
}

// runJSON is the start of a run.
type runJSON struct {
	Time    time.Time `json:"time"`
	Version string    `json:"version"` // of cdfz
}

// endJSON is the end of a run.
type endJSON struct {
	Time     time.Time `json:"time"`
	Receipts int64     `json:"receipts"` // of the run
}

// ofReceipt returns the line of a receipt.
func ofReceipt(rec *Receipt) *line {
	l := &line{Receipt: rec}
	if !utf8.ValidString(rec.Source) {
		l.SourceBytes = []byte(rec.Source)
	}
	if !utf8.ValidString(rec.Archive) {
		l.ArchiveBytes = []byte(rec.Archive)
	}
	if !utf8.ValidString(rec.Below) {
		l.BelowBytes = []byte(rec.Below)
	}
	return l
}

// receipt returns the receipt in a line, or nil.
func (l *line) receipt() *Receipt {
	rec := l.Receipt
	if len(l.SourceBytes) > 0 {
		rec.Source = string(l.SourceBytes)
	}
	if len(l.ArchiveBytes) > 0 {
		rec.Archive = string(l.ArchiveBytes)
	}
	if len(l.BelowBytes) > 0 {
		rec.Below = string(l.BelowBytes)
	}
	if rec.Archive == "" || len(rec.SHA256) != 64 || rec.Size < 0 || rec.ArchiveSize < 0 {
		return nil
	}
	return rec
}

// text returns the bytes of a line without its end.
func (l *line) text() ([]byte, error) { return json.Marshal(l) }

// At returns where the archive of a receipt is if its folder was moved to root, a folder or the URL of one.
// "" stands for where it was.
func (r *Receipt) At(root string) (string, error) {
	switch {
	case root == "":
		return r.Archive, nil
	case r.Below == "":
		return r.Archive, errors.New("--root: the receipt has no path below a folder")
	case !filepath.IsLocal(filepath.FromSlash(r.Below)):
		return r.Archive, fmt.Errorf("--root: expected a path below a folder, found %q", r.Below)
	}
	return urls.Below(root, r.Below), nil
}
