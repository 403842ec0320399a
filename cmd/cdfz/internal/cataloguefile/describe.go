package cataloguefile

import (
	"context"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// File is what a catalogue needs to know of a file besides its content.
type File struct {
	Name   string // path or URL
	Size   int64  // bytes
	Image  string // base name of a classic file; archives record it
	Proved time.Time
}

// Describe returns the rows of a file. It reads the coordinates, and no other values. A coordinate that
// would take too much to read counts as none. The notes name times whose units cannot be read. Errors are
// those of reading.
func Describe(ctx context.Context, f *archive.File, file *File) (rows []Row, notes []string, err error) {
	h := f.Header()
	base := Row{Image: cut(file.Image), ImageSize: file.Size, Kind: KindClassic, FileAttributes: attributes(h.Attrs)}
	base.SetName(file.Name)
	info, isArchive := f.Info()
	if isArchive {
		base.Kind = KindArchive
		base.Image, base.SHA256 = cut(info.ImageName), info.SHA256
		base.ImageSize, base.ArchiveSize = info.ImageSize, file.Size
		if !file.Proved.IsZero() {
			base.Proved = file.Proved.UnixMicro()
		}
	}
	if len(h.Vars) == 0 {
		return []Row{base}, nil, nil
	}
	c := newCoverage(ctx, f)
	rows = make([]Row, 0, len(h.Vars))
	for num, w := range f.Vars() {
		r := base
		describe(&r, h, num)
		if v := w.Info(); v.Blocked || v.Pooled {
			r.Filters = "none"
			if given := v.Chain.Given(); len(given) > 0 {
				r.Filters = given.String()
			}
		}
		if err := c.cover(&r, num); err != nil {
			return nil, nil, err
		}
		rows = append(rows, r)
	}
	return rows, c.notes, nil
}

// Bounds of dimensions in a row. A variable with more is listed without them. netCDF-C allows 1024.
const (
	maxDims     = 1024
	maxDimNames = 1 << 20 // bytes of all names
)

// describe fills in what the header tells of a variable.
func describe(r *Row, h *cdf3.Header, num int) {
	v := &h.Vars[num]
	r.Number, r.Variable, r.Type = int32(num), cut(v.Name), v.Type.String()
	names := 0
	for _, d := range v.DimIDs {
		name := cut(h.Dims[d].Name)
		names += len(name)
		if len(v.DimIDs) > maxDims || names > maxDimNames {
			r.Dimensions = nil
			break
		}
		r.Dimensions = append(r.Dimensions, name)
	}
	if len(r.Dimensions) > 0 {
		r.Shape = slices.Clone(v.Shape)
	}
	if v.Record {
		r.Record = cut(h.Dims[v.DimIDs[0]].Name)
	}
	r.Units, r.StandardName, r.LongName = cut(v.Attr("units").Text()), cut(v.Attr("standard_name").Text()), cut(v.Attr("long_name").Text())
	r.Attributes = attributes(v.Attrs)
}

var _ slab.Source = (*archive.File)(nil)
