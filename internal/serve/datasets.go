package serve

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/openfiles"
	"github.com/cdfz-format/cdfz/internal/serve/dap"
)

// datasets holds the open netCDF files; an openDataset is one of them.
type (
	datasets    = openfiles.Cache[ident, *dataset]
	openDataset = openfiles.File[ident, *dataset]
)

// dataset is an open netCDF file in its forms, which are made when they are needed.
type dataset struct {
	*archive.File
	dap  func() *dap.Dataset
	zarr func() (*archive.Zarr, error)
}

func newDatasets(cache int64, workers int) (*datasets, error) {
	return openfiles.New(cache, workers, func(id ident, a *archive.File) *dataset {
		shown := strings.TrimSuffix(path.Base(id.name), archive.Suffix)
		return &dataset{
			File: a,
			dap:  sync.OnceValue(func() *dap.Dataset { return dap.New(a, shown) }),
			zarr: sync.OnceValues(func() (*archive.Zarr, error) { return a.Zarr(context.Background(), nil) }),
		}
	})
}

// acquire opens a found file as netCDF, with its present contents. The caller must
// release it. The error for a file that is not netCDF wraps archive.ErrNotArchive.
func (s *source) acquire(f *found) (*openDataset, error) {
	if f.info.IsDir() {
		return nil, archive.ErrNotArchive
	}
	d, err := s.dataset(f.name)
	if err != nil && f.image {
		s.warnings.Add(f.name, err)
	}
	return d, err
}

func (s *source) dataset(name string) (*openDataset, error) {
	file, st, err := s.open(name)
	if err != nil {
		return nil, err
	}
	id := identOf(name, st)
	if d := s.datasets.Use(id); d != nil {
		file.Close()
		return d, nil
	}
	return s.datasets.Add(id, file, st.Size())
}
