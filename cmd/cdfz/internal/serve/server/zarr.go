package server

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
)

// serveZarr answers with a key of a netCDF file as a Zarr store.
func (s *Server) serveZarr(w http.ResponseWriter, r *http.Request, name string) {
	f, key, err := s.splitKey(name)
	if err != nil {
		s.fail(w, err)
		return
	}
	d, err := s.source.acquire(f)
	switch {
	case err == nil:
	case errors.Is(err, archive.ErrNotArchive) && !f.Image: // no file of netCDF
		s.fail(w, err)
		return
	default:
		failZarr(w, err)
		return
	}
	defer s.source.Release(d)
	var b []byte
	z, err := formsOf(d).zarr()
	if err == nil {
		b, err = z.Get(r.Context(), key)
	}
	switch {
	case err == nil:
	case err == fs.ErrNotExist: // the key, not a member of joined files, whose error has a path
		s.fail(w, err)
		return
	default:
		if r.Context().Err() == nil {
			s.source.Report(f.Name, err)
		}
		failZarr(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if strings.HasPrefix(path.Base(key), ".z") {
		h.Set("Content-Type", "application/json")
	}
	http.ServeContent(w, r, "", modified(f.Info), bytes.NewReader(b))
}

// failZarr answers with an error of a file that is there. Clients take status 404 for a chunk of fill values.
func failZarr(w http.ResponseWriter, err error) {
	status, message := answerTo(err)
	if status == http.StatusNotFound {
		status, message = http.StatusInternalServerError, "the file cannot be read"
	}
	refuse(w, status, message)
}

// splitKey finds the file that a path begins with. The rest is a key of its store.
func (s *Server) splitKey(name string) (*found, string, error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		f, err := s.source.find(name[:i])
		if err != nil || !f.Info.IsDir() {
			return f, name[i+1:], err
		}
	}
	return nil, "", fs.ErrNotExist
}
