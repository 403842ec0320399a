package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/page"
)

// servePage answers a request of the page about a file. The name begins with the service.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, name string) {
	service, name, _ := strings.Cut(name, "/")
	f, err := s.source.find(name)
	var d *openDataset
	if err == nil {
		d, err = s.source.acquire(f)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	defer s.source.Release(d)
	err = s.page.Data(w, r, service, &page.File{File: d.NetCDF, Stored: d.Stored, Path: name})
	if err == nil {
		return
	}
	if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrMemory) {
		s.source.Report(f.Name, err)
	}
	switch {
	case errors.Is(err, page.ErrCut), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		panic(http.ErrAbortHandler)
	case errors.Is(err, archive.ErrCorrupt):
		refuse(w, http.StatusInternalServerError, "a block of the archive is damaged")
	case errors.Is(err, archive.ErrMemory):
		refuse(w, http.StatusInternalServerError, "a block of the archive needs too much memory")
	default:
		refuse(w, http.StatusInternalServerError, "the file cannot be read")
	}
}
