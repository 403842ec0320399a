package server

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/dap"
)

// serveDAP answers a request of DAP2 for a netCDF file, whose suffix is that of the service,
// or with the data sets of a folder.
func (s *Server) serveDAP(w http.ResponseWriter, r *http.Request, name string) {
	if _, done, _ := s.serveFolder(w, r, name, true); done {
		return
	}
	h := w.Header()
	h.Set("XDODS-Server", "dods/2.0")
	suffix := path.Ext(name)
	name = strings.TrimSuffix(name, suffix)
	kind := map[string]string{".dds": "dods_dds", ".das": "dods_das", ".dods": "dods_data", ".ascii": "dods_ascii", ".asc": "dods_ascii", ".html": "dods_form"}[suffix]
	if kind == "" {
		failDAP(w, &dap.Error{Code: 404, Message: "expected a name that ends in .dds, .das, .dods, .ascii or .html"})
		return
	}
	f, err := s.source.find(name)
	var d *openDataset
	if err == nil {
		d, err = s.source.acquire(f)
	}
	if err != nil {
		status, message := answerTo(err)
		failDAP(w, &dap.Error{Code: status, Message: message})
		return
	}
	defer s.source.Release(d)
	set := formsOf(d).dap().Named(joinedfiles.ImageName(path.Base(f.Name)))
	if at := modified(f.Info); !at.IsZero() {
		h.Set("Last-Modified", at.Format(http.TimeFormat))
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Description", kind)
	switch kind {
	case "dods_das":
		h.Set("Vary", "User-Agent")
		s.endDAP(w, f, set.DAS(w, dap.TakesSigned(r.UserAgent())))
		return
	case "dods_form":
		s.endDAP(w, f, s.sendForm(w, r, f, set))
		return
	}
	request, err := set.Parse(r.URL.RawQuery)
	if err != nil {
		s.endDAP(w, f, err)
		return
	}
	switch kind {
	case "dods_dds":
		err = request.DDS(w)
	case "dods_data":
		err = s.sendData(w, r, request)
	default:
		err = request.ASCII(r.Context(), w)
	}
	s.endDAP(w, f, err)
}

// sendForm answers with the page about a data set, or where the sent form leads to.
func (s *Server) sendForm(w http.ResponseWriter, r *http.Request, f *found, set *dap.Dataset) error {
	at := "./" + (&url.URL{Path: path.Base(f.shown)}).EscapedPath() // a name with a colon is not a scheme
	if suffix, expression, ok := dap.FormTarget(r.URL.RawQuery); ok {
		redirect(w, at+suffix+"?"+expression, http.StatusSeeOther)
		return nil
	}
	setHTML(w)
	to := addressesOf(up(r), f.shown)
	return set.Form(w, &dap.Form{URL: at, Expression: r.URL.RawQuery, Links: [][2]string{
		{to.files, "The netCDF file"}, {to.page, "Maps and series"}, {"./", "The other data sets of the folder"},
	}})
}

// sendData answers with values. Their length is known before.
func (s *Server) sendData(w http.ResponseWriter, r *http.Request, request *dap.Request) error {
	n, err := request.Size()
	if err != nil {
		return err
	}
	if n > s.opts.Bytes {
		return &dap.Error{Code: 403, Message: "the answer has " + strconv.FormatInt(n, 10) + " bytes, the limit is " +
			strconv.FormatInt(s.opts.Bytes, 10) + ": ask for a part"}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	if r.Method == http.MethodHead {
		return nil
	}
	return request.Data(r.Context(), w)
}

// endDAP reports the error of an answer. One that has begun is cut off.
func (s *Server) endDAP(w http.ResponseWriter, f *found, err error) {
	var e *dap.Error
	switch {
	case err == nil:
	case errors.As(err, &e):
		failDAP(w, e)
	default:
		if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrMemory) {
			s.source.Report(f.Name, err)
		}
		panic(http.ErrAbortHandler)
	}
}

func failDAP(w http.ResponseWriter, e *dap.Error) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Description", "dods_error")
	w.WriteHeader(e.Code)
	_ = e.Encode(w)
}
