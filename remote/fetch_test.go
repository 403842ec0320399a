package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
)

// TestFlaky checks that reads are right in spite of passing faults.
func TestFlaky(t *testing.T) {
	data := random(40_000)
	status := func(code int) faultsrv.Fault {
		return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				http.Error(w, "later", code)
				return
			}
			faultsrv.Send(w, ok)
		}
	}
	faults := map[string]faultsrv.Fault{
		"500": status(500),
		"502": status(502),
		"503": status(503),
		"429": status(429),
		"dropped before": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%3 != 2 {
				panic(http.ErrAbortHandler)
			}
			faultsrv.Send(w, ok)
		},
		"dropped in the body": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%3 != 2 && ok.Body.Len() > 1 {
				faultsrv.CutOff(w, ok)
			}
			faultsrv.Send(w, ok)
		},
		"truncated": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				// Chunked, with a proper end.
				ok.Header().Del("Content-Length")
				for k, v := range ok.Header() {
					w.Header()[k] = v
				}
				w.WriteHeader(ok.Code)
				w.(http.Flusher).Flush()
				w.Write(ok.Body.Bytes()[:ok.Body.Len()*2/3])
				return
			}
			faultsrv.Send(w, ok)
		},
		"shorter Content-Length": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				short := ok.Body.Len() / 2
				ok.Body.Truncate(short)
				ok.Header().Set("Content-Length", strconv.Itoa(short))
			}
			faultsrv.Send(w, ok)
		},
		"not HTTP": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				c, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					io.WriteString(c, "nonsense\r\n\r\n")
					c.Close()
				}
				return
			}
			faultsrv.Send(w, ok)
		},
		"chunked": func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Del("Content-Length")
			for k, v := range ok.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(ok.Code)
			w.(http.Flusher).Flush()
			w.Write(ok.Body.Bytes())
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			s := faultsrv.Serve(t, data)
			s.Fault = fault
			// Faults depend on the number of the request, so there is one request at a
			// time.
			f, err := open(t, s, Options{Parallel: 1, Retries: 9})
			require.NoError(t, err)
			got, err := readAll(f)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got), "bytes differ")
			st := f.Stats()
			require.Equal(t, name == "chunked", st.Retries == 0)
			// The transport itself repeats requests if a reused connection brings no
			// answer.
			require.LessOrEqual(t, st.Requests, s.Requests.Load())
		})
	}
}

// TestRest checks that only the missing bytes are requested after a dropped connection.
func TestRest(t *testing.T) {
	ar := random(40_000)
	s := faultsrv.Serve(t, ar)
	s.Fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if n == 0 || n == 2 {
			faultsrv.CutOff(w, ok)
		}
		faultsrv.Send(w, ok)
	}
	h, err := open(t, s, Options{})
	require.NoError(t, err)
	require.Equal(t, ar[len(ar)-defaultTail:], h.tail)
	p := make([]byte, 1000)
	_, err = h.ReadAt(p, 100)
	require.NoError(t, err)
	require.Equal(t, ar[100:1100], p)
	var ranges []string
	for _, h := range s.Seen {
		ranges = append(ranges, h.Get("Range"))
	}
	n := len(ar)
	require.Equal(t, []string{
		"bytes=-4096", fmt.Sprintf("bytes=%d-%d", n-2048, n-1),
		"bytes=100-1099", "bytes=600-1099",
	}, ranges)
	require.Equal(t, faultsrv.Tag, s.Seen[1].Get("If-Match"), "the rest is of the same file")
	require.Equal(t, Stats{4, 4096 + 1000, 2}, h.Stats())
}

// TestRetries checks the number of retries and the pauses between them.
func TestRetries(t *testing.T) {
	ar := random(40_000)
	for _, c := range []struct {
		name     string
		o        Options
		fault    faultsrv.Fault
		requests int64
		text     string
		least    []time.Duration
	}{
		{"default", Options{}, faultsrv.Status(503, nil), 5, "503 Service Unavailable (attempt 5)",
			[]time.Duration{125e6, 250e6, 500e6, 1000e6}},
		{"none", Options{Retries: -1}, faultsrv.Status(503, nil), 1, "503 Service Unavailable", nil},
		{"one", Options{Retries: 1}, faultsrv.Status(500, nil), 2, "500", []time.Duration{125e6}},
		{"Retry-After", Options{Retries: 2}, faultsrv.Status(429, http.Header{"Retry-After": {"7"}}), 3, "429", []time.Duration{7e9, 7e9}},
		{"Retry-After for ever", Options{Retries: 2}, faultsrv.Status(503, http.Header{"Retry-After": {"999999999999"}}), 3, "503", []time.Duration{60e9, 60e9}},
		{"Retry-After date", Options{Retries: 1},
			faultsrv.Status(503, http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:25 GMT"}, "Date": {faultsrv.Time}}), 2, "503", []time.Duration{20e9}},
		{"Retry-After nonsense", Options{Retries: 1}, faultsrv.Status(503, http.Header{"Retry-After": {"-1"}}), 2, "503", []time.Duration{125e6}},
		{"drops", Options{Retries: 3}, func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
			panic(http.ErrAbortHandler)
		}, 4, "attempt 4", []time.Duration{125e6, 250e6, 500e6}},
		{"400", Options{}, faultsrv.Status(400, nil), 2, "400", nil}, // retried once with a range from the start
		{"404", Options{}, faultsrv.Status(404, nil), 1, "404 Not Found", nil},
		{"501", Options{}, faultsrv.Status(501, nil), 2, "501", nil},
		{"304", Options{}, faultsrv.Status(304, nil), 1, "304", nil},
		{"204", Options{}, faultsrv.Status(204, nil), 1, "204", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := faultsrv.Serve(t, ar)
			s.Fault = c.fault
			var w faultsrv.Pauses
			c.o.Sleep = w.Sleep
			_, err := open(t, s, c.o)
			sourceFailed(t, err)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.requests, s.Requests.Load())
			require.Len(t, w.All(), len(c.least))
			for i, d := range w.All() {
				require.GreaterOrEqual(t, d, c.least[i])
				require.LessOrEqual(t, d, 2*c.least[i])
			}
		})
	}
	s := faultsrv.Serve(t, ar)
	s.Fault = faultsrv.Status(403, nil)
	_, err := open(t, s, Options{})
	require.ErrorIs(t, err, fs.ErrPermission)
	s.Fault = faultsrv.Status(404, nil)
	_, err = open(t, s, Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestSlowProgress checks that a file is read to its end from a server that drops every
// connection after 64 KiB, however few retries are allowed.
func TestSlowProgress(t *testing.T) {
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * 7 >> 8)
	}
	s := faultsrv.Serve(t, data)
	s.Fault = func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if b := ok.Body.Len(); b > progress {
			for k, v := range ok.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(ok.Code)
			w.Write(ok.Body.Bytes()[:progress])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		faultsrv.Send(w, ok)
	}
	h, err := open(t, s, Options{Retries: 1})
	require.NoError(t, err)
	p := make([]byte, 1<<20)
	_, err = h.ReadAt(p, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, p))
}

// TestServers checks different behaviours of servers with ranges.
func TestServers(t *testing.T) {
	ar := random(40_000)
	small := ar[:3000]
	suffix := func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Range"), "bytes=-") }
	for _, c := range []struct {
		name  string
		data  []byte
		fault func(s *faultsrv.Server) faultsrv.Fault
		open  int64 // requests
		err   error
		text  string
	}{
		{name: "no ranges from the end: 416", open: 3, fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.WriteHeader(416)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ranges from the end: 416 with the size", open: 2, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(s.Data)))
					w.WriteHeader(416)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ranges from the end: 200", open: 2, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					s.Whole(w)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ranges from the end: 200 of unknown length", open: 3, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.(http.Flusher).Flush()
					w.Write(s.Data)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ranges from the end: 501", open: 3, fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.WriteHeader(501)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ranges", err: ErrNoRanges, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) { s.Whole(w) }
		}},
		{name: "no ranges, unknown length", err: ErrNoRanges, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				w.(http.Flusher).Flush()
				w.Write(s.Data)
			}
		}},
		{name: "no ranges, small file", data: small, open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) { s.Whole(w) }
		}},
		{name: "ranges no longer supported", err: ErrNoRanges, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					s.Whole(w)
					return
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "Content-Range of another place", text: "Content-Range", fault: rewrite("bytes 0-%[4]d/%[3]d")},
		{name: "Content-Range shorter", text: "Content-Range", fault: rewrite("bytes %[1]d-%[5]d/%[3]d")},
		{name: "Content-Range longer", text: "Content-Range", fault: rewrite("bytes %[6]d-%[2]d/%[3]d")},
		{name: "Content-Range without size", text: "Content-Range", fault: rewrite("bytes %[1]d-%[2]d/*")},
		{name: "Content-Range backwards", text: "Content-Range", fault: rewrite("bytes %[2]d-%[1]d/%[3]d")},
		{name: "Content-Range beyond the end", text: "Content-Range", fault: rewrite("bytes %[1]d-%[2]d/%[2]d")},
		{name: "Content-Range too large", text: "Content-Range", fault: rewrite("bytes %[1]d-%[2]d/99999999999999999999")},
		{name: "Content-Range negative", text: "Content-Range", fault: rewrite("bytes -%[1]d-%[2]d/%[3]d")},
		{name: "Content-Range in rows", text: "Content-Range", fault: rewrite("rows %[1]d-%[2]d/%[3]d")},
		{name: "Content-Range missing", text: "missing", fault: rewrite("")},
		{name: "other sizes", err: ErrChanged, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					cr := ok.Header().Get("Content-Range")
					ok.Header().Set("Content-Range", cr[:strings.Index(cr, "/")]+"/1000000")
				}
				faultsrv.Send(w, ok)
			}
		}},
		{name: "body too long", text: "longer", fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Header().Del("Content-Length")
				ok.Body.WriteString("more")
				for k, v := range ok.Header() {
					w.Header()[k] = v
				}
				w.WriteHeader(ok.Code)
				w.(http.Flusher).Flush()
				w.Write(ok.Body.Bytes())
			}
		}},
		{name: "Content-Length too long", text: "expected an answer of 4096 bytes", fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Body.WriteString("more")
				ok.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
				faultsrv.Send(w, ok)
			}
		}},
		{name: "gzip", text: `Content-Encoding "gzip"`, fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(ok.Body.Bytes())
				z.Close()
				ok.Body = &b
				ok.Header().Set("Content-Encoding", "gzip")
				ok.Header().Set("Content-Length", strconv.Itoa(b.Len()))
				faultsrv.Send(w, ok)
			}
		}},
		{name: "gzip of a small file", data: small, text: `Content-Encoding "gzip"`, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(s.Data[:1000])
				z.Close()
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
				w.Write(b.Bytes())
			}
		}},
		{name: "identity", open: 1, fault: func(*faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Header().Set("Content-Encoding", "identity")
				faultsrv.Send(w, ok)
			}
		}},
		{name: "no ETag", open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault { s.ETag = ""; return nil }},
		{name: "neither ETag nor date", open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault { s.ETag, s.Modified = "", ""; return nil }},
		{name: "weak ETag", open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault { s.ETag = `W/"v1"`; return nil }},
		{name: "malformed ETag", open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Header().Set("ETag", "v1")
				faultsrv.Send(w, ok)
			}
		}},
		{name: "ETag in the first answer only", open: 1, fault: func(s *faultsrv.Server) faultsrv.Fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					ok.Header().Del("ETag")
				}
				faultsrv.Send(w, ok)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.data == nil {
				c.data = ar
			}
			s := faultsrv.Serve(t, c.data)
			s.Fault = c.fault(s)
			f, err := open(t, s, Options{})
			if err == nil {
				opened := s.Requests.Load()
				var got []byte
				if got, err = readAll(f); err == nil {
					require.True(t, bytes.Equal(c.data, got))
					require.Equal(t, c.open, opened)
				}
			}
			if c.err == nil && c.text == "" {
				require.NoError(t, err)
				return
			}
			sourceFailed(t, err)
			require.ErrorContains(t, err, c.text)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			require.LessOrEqual(t, s.Requests.Load(), int64(3), "no retries")
		})
	}
}

// rewrite adapts faultsrv.Rewrite to the table above.
func rewrite(format string) func(*faultsrv.Server) faultsrv.Fault {
	return func(*faultsrv.Server) faultsrv.Fault { return faultsrv.Rewrite(format) }
}

// TestWholeBodyNotRead checks that the body of a server without ranges is not read.
func TestWholeBodyNotRead(t *testing.T) {
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(1<<30))
		for range 1 << 10 {
			n, err := w.Write(make([]byte, 1<<20))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, err := Open(context.Background(), s.URL+faultsrv.Path, nil)
	sourceFailed(t, err)
	require.ErrorIs(t, err, ErrNoRanges)
	require.Less(t, sent.Load(), int64(64<<20), "only what the system buffers")
}

// TestTimeout checks that a stalled server is given up, before and during the body.
func TestTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	ar := random(40_000)
	for _, body := range []bool{false, true} {
		s := faultsrv.Serve(t, ar)
		release := make(chan struct{})
		s.Fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			if n < 2 {
				if body {
					w.Header().Set("Content-Range", ok.Header().Get("Content-Range"))
					w.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
					w.WriteHeader(206)
					w.Write(ok.Body.Bytes()[:10])
					w.(http.Flusher).Flush()
				}
				select {
				case <-release:
				case <-r.Context().Done():
				}
				panic(http.ErrAbortHandler)
			}
			faultsrv.Send(w, ok)
		}
		f, err := open(t, s, Options{Timeout: 300 * time.Millisecond})
		require.NoError(t, err)
		require.EqualValues(t, 2, f.Stats().Retries)
		s.Set(func() {
			s.Fault = func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
		})
		h := f
		h.o.Timeout, h.o.Retries = 50*time.Millisecond, 1
		_, err = readAll(f)
		sourceFailed(t, err)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		close(release)
	}
	// A timeout of the client counts as well.
	s := faultsrv.Serve(t, ar)
	s.Fault = func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		<-r.Context().Done()
	}
	_, err := open(t, s, Options{Client: &http.Client{Timeout: 50 * time.Millisecond}, Retries: 1})
	sourceFailed(t, err)
	require.EqualValues(t, 2, s.Requests.Load())
}
