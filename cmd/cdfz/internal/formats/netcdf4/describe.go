package netcdf4

import (
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/hdf5"
	"github.com/cdfz-format/cdfz/filters"
)

// Names of netCDF-C (libhdf5/nc4hdf.c).
const (
	// nonCoordinate begins the names of datasets whose own name is that of a dimension of
	// which they are not the coordinate.
	nonCoordinate = "_nc4_non_coord_"
	// noVariable is the name of scales of dimensions without a coordinate variable. The
	// width of the number is part of it.
	noVariable = "This is a netCDF dimension but not a netCDF variable.%10d"
)

// Variables without blocks are contiguous up to this length in bytes. Chunks and filters
// would take more space in the metadata.
const mostContiguous = 4 << 10

// scaleChunk is the chunk length of the scale of an unlimited dimension without a
// coordinate variable. No chunk is ever stored.
const scaleChunk = 1024

// description is the HDF5 file that is to be written.
type description struct {
	file    hdf5.File
	sources []source // of the datasets with data, in order
	omitted []Omitted
}

// source is where the data of a dataset come from.
type source struct {
	v      *archive.Var
	chunks *archive.Chunks // nil if they are contiguous
}

// describe describes the netCDF-4 file of f.
func describe(f *archive.File, o func(*archive.Var) *archive.ChunkOptions) (*description, error) {
	h := f.Header()
	d := &description{}
	d.file.Attrs = append([]hdf5.Attr{text(attrProperties, "version=2,cdfz="+archive.Version)}, d.attrs(-1, h.Attrs)...)
	coordinate := make([]int, len(h.Dims)) // variable of the dimension, or -1
	isDim := map[string]bool{}
	for i := range h.Dims {
		coordinate[i] = -1
		isDim[h.Dims[i].Name] = true
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		if len(v.DimIDs) > 0 && h.Dims[v.DimIDs[0]].Name == v.Name && coordinate[v.DimIDs[0]] < 0 {
			coordinate[v.DimIDs[0]] = i
		}
	}
	sets := make([]*hdf5.Dataset, len(h.Vars))
	for i := range sets {
		sets[i] = &hdf5.Dataset{}
	}
	scales := make([]*hdf5.Dataset, len(h.Dims))
	for i, c := range coordinate {
		if c < 0 {
			scales[i] = dimension(h, i)
			d.file.Datasets = append(d.file.Datasets, scales[i])
		} else {
			scales[i] = sets[c]
			scales[i].Scale = &h.Vars[c].Name
			scales[i].Attrs = []hdf5.Attr{number(attrDimID, hdf5.Single, i)}
		}
	}
	for i, v := range f.Vars() {
		s := sets[i]
		d.file.Datasets = append(d.file.Datasets, s)
		if s.Name = v.Name(); s.Scale == nil && isDim[s.Name] {
			s.Name = nonCoordinate + s.Name
		}
		if err := d.variable(s, h, v, o(v)); err != nil {
			return nil, err
		}
		if s.Scale == nil && len(s.Shape) > 0 {
			for _, id := range h.Vars[i].DimIDs {
				s.Scales = append(s.Scales, scales[id])
			}
		}
	}
	return d, nil
}

// dimension returns the scale of dimension i, which has no coordinate variable.
func dimension(h *cdf3.Header, i int) *hdf5.Dataset {
	name := fmt.Sprintf(noVariable, h.Dims[i].Len)
	s := &hdf5.Dataset{Name: h.Dims[i].Name, Type: typeOf(cdf3.Float), Shape: []int64{h.Dims[i].Len}, Empty: true, Scale: &name}
	if h.Dims[i].Len == 0 {
		s.Shape, s.MaxShape, s.Chunk = []int64{h.NumRecs}, []uint64{hdf5.Unlimited}, []int64{scaleChunk}
	}
	s.Attrs = []hdf5.Attr{number(attrDimID, hdf5.Single, i)}
	return s
}

// variable describes a variable in s.
func (d *description) variable(s *hdf5.Dataset, h *cdf3.Header, v *archive.Var, o *archive.ChunkOptions) error {
	w := &h.Vars[v.Num()]
	s.Type, s.Shape, s.Fill = typeOf(w.Type), w.Shape, w.Type.Fill()
	if a := v.Attr("_FillValue"); a != nil && a.Type == w.Type && a.Len == 1 {
		s.Fill = a.Values
	}
	if len(w.DimIDs) > 0 {
		s.Attrs = append(s.Attrs, number(attrDims, int64(len(w.DimIDs)), w.DimIDs...))
	}
	s.Attrs = append(s.Attrs, d.attrs(v.Num(), w.Attrs)...)
	from := source{v: v}
	if len(w.Shape) > 0 && (w.Record || w.Len > mostContiguous || v.Info().Blocked) {
		c, err := v.Chunks(o)
		if err != nil {
			return err
		}
		from.chunks = c
		s.Chunk = c.Shape()
		for i := range c.Chain() {
			// H5Pset_shuffle and H5Pset_deflate make optional filters, and so does netCDF-4 then.
			f, _ := c.Chain().At(i) // with its name
			optional := f.Optional || f.ID == filters.Shuffle || f.ID == filters.Deflate
			s.Filters = append(s.Filters, hdf5.Filter{ID: uint16(f.ID), Name: f.Name, Optional: optional, Params: f.Params})
		}
		if w.Record {
			s.MaxShape = make([]uint64, len(w.Shape))
			for i, n := range w.Shape {
				s.MaxShape[i] = uint64(n)
			}
			s.MaxShape[0] = hdf5.Unlimited
		}
	}
	d.sources = append(d.sources, from)
	return nil
}
