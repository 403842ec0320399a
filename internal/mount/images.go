//go:build linux

package mount

import (
	"syscall"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/openfiles"
)

// images holds the open archives; an image is one of them.
type (
	images = openfiles.Cache[ident, *archive.Image]
	image  = openfiles.File[ident, *archive.Image]
)

func newImages(cache int64, workers int) (*images, error) {
	return openfiles.New(cache, workers, func(_ ident, a *archive.File) *archive.Image { return a.Image() })
}

// acquire returns an archive of the source if its contents are still those of id, else
// ESTALE. The caller must release it.
func (s *source) acquire(name string, id ident) (*image, error) {
	if st, err := sys(s.root.Stat(name)); err != nil || identOf(st) != id {
		return nil, syscall.ESTALE
	}
	if im := s.images.Use(id); im != nil {
		return im, nil
	}
	f, st, err := s.open(name)
	if err != nil {
		return nil, err
	}
	if identOf(st) != id {
		f.Close()
		return nil, syscall.ESTALE
	}
	return s.images.Add(id, f, st.Size)
}
