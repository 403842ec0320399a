package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"syscall"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
	"github.com/cdfz-format/cdfz/cdf3"
)

// refuse answers with a status and a line of text.
func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// whyClosed tells users why an archive cannot be opened.
func whyClosed(err error) string {
	switch {
	case errors.Is(err, archive.ErrNotArchive):
		return "not an archive"
	case joinedfiles.Refused(err):
		return "description not supported"
	case errors.Is(err, archive.ErrVersion):
		return "needs a newer cdfz"
	case errors.Is(err, archive.ErrMemory):
		return "needs too much memory"
	case errors.Is(err, fs.ErrPermission):
		return "not permitted"
	}
	return "damaged"
}

// fail answers with an error of finding or opening a file.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status, message := answerTo(err)
	refuse(w, status, message)
}

// noFile are the errors of the system for names that stand for no file.
var noFile = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.EXDEV}

// answerTo returns what a client learns of an error of finding or opening a file. Names outside of the source
// are not told from missing ones. Where the system cannot tell whether there is a file, as on a mount that is stale, the
// status is not 404: clients of Zarr take that for fill values.
func answerTo(err error) (status int, message string) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden, "not permitted"
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, archive.ErrVersion), errors.Is(err, archive.ErrMemory):
		return http.StatusInternalServerError, "the archive cannot be read"
	case joinedfiles.Refused(err):
		return http.StatusInternalServerError, "the description of joined files is not supported"
	case errors.Is(err, archive.ErrNotArchive), errors.As(err, new(*cdf3.FormatError)):
		return http.StatusNotFound, "not a classic netCDF file, or a damaged one"
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) && !slices.Contains(noFile, errno) {
		return http.StatusInternalServerError, "the file cannot be read"
	}
	return http.StatusNotFound, "no such file"
}
