package archive

import (
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/filters"
)

// archiveReport is the JSON of one archived file.
type archiveReport struct {
	File        string   `json:"file"`
	Target      string   `json:"target"`
	Size        int64    `json:"size"`
	ArchiveSize int64    `json:"archive_size"`
	ParitySize  int64    `json:"parity_size"` // bytes of it that parity takes
	Ratio       float64  `json:"ratio"`
	Layout      string   `json:"layout"`
	Blocks      int64    `json:"blocks"`
	Vars        int      `json:"variables"`
	InView      int      `json:"variables_in_zarr"`         // variables that xarray opens
	Packages    []string `json:"python_packages,omitempty"` // needed by xarray
	Codecs      []string `json:"plugin_codecs,omitempty"`   // needed by xarray, which has none of them
	SHA256      string   `json:"sha256"`
	Checked     bool     `json:"checked"`
	Deleted     bool     `json:"source_deleted,omitempty"`
	Seconds     float64  `json:"seconds"`
	Warnings    []string `json:"warnings,omitempty"`
	// Replaced is where the archive of an older state was kept, if it was not removed.
	Replaced string `json:"replaced,omitempty"`
	Removed  bool   `json:"replaced_removed,omitempty"`
	// Loss lists what --lossy rounded.
	Loss *report.Loss `json:"loss,omitempty"`
	// Compressed describes a source that was decompressed.
	Compressed *receiptfile.Compressed `json:"compressed,omitempty"`

	image  string // name of the netCDF file
	below  string // path of the target below the folder of targets
	view   bool   // the archive is also a Zarr store
	closed int    // variables that the Python package cdfz cannot read
	unused bool   // filters of -F were not used
	gone   bool   // another run has deleted the source meanwhile
}

// archiveSum is the JSON of the last line.
type archiveSum struct {
	Files     int64 `json:"files"`
	Plain     int64 `json:"other_files,omitempty"` // that were kept as they are, and further names
	PlainSize int64 `json:"other_size,omitempty"`
	Unchanged int64 `json:"unchanged"` // already archived
	Deleted   int64 `json:"sources_deleted,omitempty"`
	Failed    int64 `json:"failed"`
	Skipped   int64 `json:"skipped"`
	// Kinds counts skipped files by kind.
	Kinds       fileio.Kinds `json:"skipped_kinds,omitempty"`
	Volumes     int64        `json:"volumes,omitempty"` // with --pack
	VolumeSize  int64        `json:"volume_size,omitempty"`
	ParitySize  int64        `json:"parity_size,omitempty"` // of parity beside volumes
	Size        int64        `json:"size"`
	ArchiveSize int64        `json:"archive_size"`
	Ratio       float64      `json:"ratio"`
	Seconds     float64      `json:"seconds"`

	met int64 // archived by another run at the same time
}

// add adds the sums of a part of the files.
func (s *archiveSum) add(t *archiveSum) {
	s.Files += t.Files
	s.Plain += t.Plain
	s.PlainSize += t.PlainSize
	s.Unchanged += t.Unchanged
	s.met += t.met
	s.Deleted += t.Deleted
	s.Size += t.Size
	s.ArchiveSize += t.ArchiveSize
}

// describe adds the counts and warnings of variables.
func (r *archiveReport) describe(f *archive.File, given []archive.VarFilter) {
	r.Vars = len(f.Header().Vars)
	whole, _ := f.Info()
	for _, w := range f.Vars() {
		if !whole.View && len(given) == 0 { // what cdfz chooses, the package reads
			break
		}
		info := w.Info()
		if slices.ContainsFunc(info.Chain, func(f filters.Filter) bool { return !slices.Contains(inPython, f.ID) }) {
			r.closed++
		}
		if !info.InView {
			continue
		}
		r.InView++
		for _, g := range info.Chain {
			if p := filters.CodecPackage(g.ID); p != "" && !slices.Contains(r.Packages, p) {
				r.Packages = append(r.Packages, p)
			}
			if m, _ := filters.Lookup(g.ID); m.Codec != nil && m.Codec.Origin != "" && !slices.Contains(r.Codecs, m.Codec.ID) {
				r.Codecs = append(r.Codecs, m.Codec.ID)
			}
		}
	}
	unused := chains.WithoutEffect(f, given)
	r.unused = len(unused) > 0
	if r.Loss = report.LossOf(f); r.Loss != nil {
		r.Warnings = append(r.Warnings, r.Loss.String()+": the archive does not restore the source")
	}
	r.Warnings = append(r.Warnings, unused...)
}

// done counts and reports a new archive.
func (v *archiver) done(w *work) {
	rep := w.rep
	w.Entry.ArchiveSize, w.Entry.Ratio, w.Entry.SHA256 = rep.ArchiveSize, rep.Ratio, rep.SHA256
	w.sum.Files++
	w.countDeleted()
	w.sum.Size += rep.Size
	w.sum.ArchiveSize += rep.ArchiveSize
	switch {
	case v.run.Dest.IsStdout():
	case w.Term.JSON:
		w.Term.Emit(rep)
	default:
		w.Term.Report("%s: %s -> %s, ratio %.2f, %s, %s%s", rep.File, display.Size(rep.Size), display.Size(rep.ArchiveSize), rep.Ratio,
			display.Speed(rep.Size, rep.Seconds), rep.xarray(), rep.deletion())
	}
}

// inPython are the filters that the Python package cdfz decodes (python/cdfz/_filters.py).
var inPython = []uint32{filters.Deflate, filters.Shuffle, filters.Fletcher32, filters.Bzip2, filters.LZ4, filters.Zstd, filters.Lorenz}

// xarray describes what xarray needs to open the archive. The Python package cdfz opens each, zarr
// those with a view.
func (r *archiveReport) xarray() string {
	missing, packages := r.Vars-r.InView, r.Packages
	if !r.view {
		missing, packages = r.closed, []string{"cdfz"}
	}
	text := "opens in xarray"
	if missing > 0 {
		text += " without " + display.Count(int64(missing), "variable")
	}
	if len(packages) > 0 {
		text += " with Python package " + strings.Join(packages, ", ")
	}
	for i, id := range r.Codecs {
		text += []string{" if it has the plugin's codec ", ", "}[min(i, 1)] + display.Quoted(id)
	}
	if !r.view {
		text += ", no Zarr view"
	}
	return text
}

// deletion is the end of a report.
func (r *archiveReport) deletion() string {
	text := ""
	switch {
	case r.Replaced != "":
		text = "; the old archive is " + r.Replaced
	case r.Removed:
		text = "; the old archive was deleted"
	}
	switch {
	case r.Deleted:
		text += "; source deleted"
	case r.gone:
		text += "; its source is gone"
	}
	return text
}

func (w *work) countDeleted() {
	if w.rep.Deleted {
		w.sum.Deleted++
	}
}
