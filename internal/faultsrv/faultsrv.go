// Package faultsrv is an HTTP server for tests. It serves one file with correct range
// requests and misbehaves on demand.
package faultsrv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Validators of a served file. Tag and Time are the initial ones.
const (
	Tag     = `"v1"`
	Time    = "Mon, 02 Jan 2006 15:04:05 GMT"
	NewTime = "Tue, 03 Jan 2006 15:04:05 GMT"
)

// Path is the path of the file on a Server. All other paths serve the same file.
const Path = "/dir/file.cdfz"

// Fault answers request number n, counted from 0. ok is the correct response.
type Fault func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder)

// Server serves one file and counts requests. Change its fields before the first
// request or within Set.
type Server struct {
	*httptest.Server
	Requests atomic.Int64
	Under    atomic.Int64 // active requests
	Most     atomic.Int64 // the largest value of Under

	mu             sync.Mutex
	Data           []byte
	ETag, Modified string // "" for none
	Fault          Fault  // nil for none
	Seen           []http.Header
}

// Serve starts a server of data, which stops with the test.
func Serve(t testing.TB, data []byte) *Server {
	s := New(data)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// New returns the handler of a server that has not been started.
func New(data []byte) *Server { return &Server{Data: data, ETag: Tag, Modified: Time} }

// Address returns the URL of the file.
func (s *Server) Address() string { return s.URL + Path }

// Set calls f while no request is being accepted.
func (s *Server) Set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.Requests.Add(1) - 1)
	if now := s.Under.Add(1); now > s.Most.Load() {
		s.Most.Store(now)
	}
	defer s.Under.Add(-1)
	s.mu.Lock()
	data, etag, modified, fault := s.Data, s.ETag, s.Modified, s.Fault
	s.Seen = append(s.Seen, r.Header.Clone())
	s.mu.Unlock()
	ok := httptest.NewRecorder()
	ok.Header().Set("Content-Type", "application/octet-stream")
	if etag != "" {
		ok.Header().Set("ETag", etag)
	}
	at, _ := http.ParseTime(modified)
	if strings.HasPrefix(etag, "W/") {
		r.Header.Del("If-Range")
	}
	http.ServeContent(ok, r, "", at, bytes.NewReader(data))
	if fault != nil {
		fault(n, w, r, ok)
		return
	}
	Send(w, ok)
}

// Send sends a response as recorded.
func Send(w http.ResponseWriter, ok *httptest.ResponseRecorder) {
	header(w, ok)
	w.Write(ok.Body.Bytes())
}

func header(w http.ResponseWriter, ok *httptest.ResponseRecorder) {
	for k, v := range ok.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(ok.Code)
}

// CutOff sends the correct header and half of the body, then drops the connection.
func CutOff(w http.ResponseWriter, ok *httptest.ResponseRecorder) {
	ok.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
	header(w, ok)
	w.Write(ok.Body.Bytes()[:ok.Body.Len()/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Chunked sends a response without a length.
func Chunked(w http.ResponseWriter, ok *httptest.ResponseRecorder, body []byte) {
	ok.Header().Del("Content-Length")
	header(w, ok)
	w.(http.Flusher).Flush()
	w.Write(body)
}

// Whole answers like a server without range requests.
func (s *Server) Whole(w http.ResponseWriter) {
	w.Header().Set("ETag", s.ETag)
	w.Header().Set("Content-Length", strconv.Itoa(len(s.Data)))
	w.Write(s.Data)
}

// Status answers every request with a status and a header.
func Status(code int, h http.Header) Fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		for k, v := range h {
			w.Header()[k] = v
		}
		w.WriteHeader(code)
	}
}

// Half applies a fault to half of the requests, by chance: if it took turns, two readers
// that take turns, too, would make all requests of one of them fail.
func Half(f Fault) Fault {
	return func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
		if rand.N(2) == 0 {
			f(n, w, r, ok)
			return
		}
		Send(w, ok)
	}
}

// ContentRange returns the range and the size of a correct partial response.
func ContentRange(ok *httptest.ResponseRecorder) (from, to, size int64, partial bool) {
	n, err := fmt.Sscanf(ok.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size)
	return from, to, size, n == 3 && err == nil
}

// Rewrite replaces Content-Range. The arguments of format are the first byte, the
// last byte, the size, the length less one, the last byte less one and the first
// byte less one. An empty format removes the header.
func Rewrite(format string) Fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		from, to, size, partial := ContentRange(ok)
		ok.Header().Del("Content-Range")
		if partial && format != "" {
			text := fmt.Sprintf(format, from, to, size, to-from, to-1, from-1)
			text, _, _ = strings.Cut(text, "%!(EXTRA")
			ok.Header().Set("Content-Range", text)
		}
		Send(w, ok)
	}
}

// Garble flips a bit of the byte at off in each response that contains it, for requests
// that of accepts.
func Garble(off int64, of func(*http.Request) bool) Fault {
	return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
		from, to, _, partial := ContentRange(ok)
		if partial && from <= off && off <= to && of(r) {
			ok.Body.Bytes()[off-from] ^= 1
		}
		Send(w, ok)
	}
}

// HangAfter lets the server answer that many more requests, then calls stop and no
// longer answers. It returns the number of the first unanswered request.
func (s *Server) HangAfter(requests int, stop func()) (first int) {
	first = int(s.Requests.Load()) + requests
	s.Set(func() {
		s.Fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			if n >= first {
				stop()
				<-r.Context().Done()
				return
			}
			Send(w, ok)
		}
	})
	return first
}

// Pauses records the pauses before retries instead of waiting.
type Pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

// Sleep is a remote.Options.Sleep.
func (p *Pauses) Sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return ctx.Err()
}

// All returns the pauses so far.
func (p *Pauses) All() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Duration(nil), p.all...)
}
