package archive

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

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestURLFlaky: whatever a request meets that passes, the answers are right.
func TestURLFlaky(t *testing.T) {
	image, ar := largeArchive(t)
	status := func(code int) fault {
		return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				http.Error(w, "later", code)
				return
			}
			send(w, ok)
		}
	}
	faults := map[string]fault{
		"500": status(500),
		"502": status(502),
		"503": status(503),
		"429": status(429),
		"dropped before": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%3 != 2 {
				panic(http.ErrAbortHandler)
			}
			send(w, ok)
		},
		"dropped in the body": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%3 != 2 && ok.Body.Len() > 1 {
				cutOff(w, ok)
			}
			send(w, ok)
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
			send(w, ok)
		},
		"shorter Content-Length": func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if n%2 == 0 {
				short := ok.Body.Len() / 2
				ok.Body.Truncate(short)
				ok.Header().Set("Content-Length", strconv.Itoa(short))
			}
			send(w, ok)
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
			send(w, ok)
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
		for kind, data := range map[string][]byte{"archive": ar, "classic": image} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := serve(t, data)
				s.fault = fault
				// Requests in parallel share the count that the faults go by.
				f, err := openURL(t, s, URLOptions{Parallel: 1, Retries: 9})
				require.NoError(t, err)
				got, err := readAll(f)
				require.NoError(t, err)
				require.True(t, bytes.Equal(image, got), "image differs")
				st := httpOf(f).Stats()
				require.Equal(t, name == "chunked", st.Retries == 0)
				// The transport itself repeats what a kept connection had no answer to.
				require.LessOrEqual(t, st.Requests, s.requests.Load())
			})
		}
	}
}

// TestURLRest: after a drop only the missing bytes are asked for.
func TestURLRest(t *testing.T) {
	_, ar := largeArchive(t)
	s := serve(t, ar)
	s.fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if n == 0 || n == 2 {
			cutOff(w, ok)
		}
		send(w, ok)
	}
	h, err := newTestHTTP(t, s, URLOptions{})
	require.NoError(t, err)
	require.Equal(t, ar[len(ar)-tailProbe:], h.tail)
	p := make([]byte, 1000)
	_, err = h.ReadAt(p, 100)
	require.NoError(t, err)
	require.Equal(t, ar[100:1100], p)
	var ranges []string
	for _, h := range s.seen {
		ranges = append(ranges, h.Get("Range"))
	}
	n := len(ar)
	require.Equal(t, []string{
		"bytes=-4096", fmt.Sprintf("bytes=%d-%d", n-2048, n-1),
		"bytes=100-1099", "bytes=600-1099",
	}, ranges)
	require.Equal(t, oldTag, s.seen[1].Get("If-Match"), "the rest is of the same file")
	require.Equal(t, httpStats{4, 4096 + 1000, 2}, h.Stats())
}

// TestURLRetries: they are bounded and wait as they should.
func TestURLRetries(t *testing.T) {
	_, ar := largeArchive(t)
	for _, c := range []struct {
		name     string
		o        URLOptions
		fault    fault
		requests int64
		text     string
		least    []time.Duration
	}{
		{"default", URLOptions{}, failWith(503, nil), 5, "503 Service Unavailable (attempt 5)",
			[]time.Duration{125e6, 250e6, 500e6, 1000e6}},
		{"none", URLOptions{Retries: -1}, failWith(503, nil), 1, "503 Service Unavailable", nil},
		{"one", URLOptions{Retries: 1}, failWith(500, nil), 2, "500", []time.Duration{125e6}},
		{"Retry-After", URLOptions{Retries: 2}, failWith(429, http.Header{"Retry-After": {"7"}}), 3, "429", []time.Duration{7e9, 7e9}},
		{"Retry-After for ever", URLOptions{Retries: 2}, failWith(503, http.Header{"Retry-After": {"999999999999"}}), 3, "503", []time.Duration{60e9, 60e9}},
		{"Retry-After date", URLOptions{Retries: 1},
			failWith(503, http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:25 GMT"}, "Date": {oldTime}}), 2, "503", []time.Duration{20e9}},
		{"Retry-After nonsense", URLOptions{Retries: 1}, failWith(503, http.Header{"Retry-After": {"-1"}}), 2, "503", []time.Duration{125e6}},
		{"drops", URLOptions{Retries: 3}, func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
			panic(http.ErrAbortHandler)
		}, 4, "attempt 4", []time.Duration{125e6, 250e6, 500e6}},
		{"400", URLOptions{}, failWith(400, nil), 2, "400", nil}, // once more with a range from the start
		{"404", URLOptions{}, failWith(404, nil), 1, "404 Not Found", nil},
		{"501", URLOptions{}, failWith(501, nil), 2, "501", nil},
		{"304", URLOptions{}, failWith(304, nil), 1, "304", nil},
		{"204", URLOptions{}, failWith(204, nil), 1, "204", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, ar)
			s.fault = c.fault
			var w noWait
			c.o.wait = w.wait
			_, err := openURL(t, s, c.o)
			sourceFailed(t, err)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.requests, s.requests.Load())
			require.Len(t, w.waits, len(c.least))
			for i, d := range w.waits {
				require.GreaterOrEqual(t, d, c.least[i])
				require.LessOrEqual(t, d, 2*c.least[i])
			}
		})
	}
	s := serve(t, ar)
	s.fault = failWith(403, nil)
	_, err := openURL(t, s, URLOptions{})
	require.ErrorIs(t, err, fs.ErrPermission)
	s.fault = failWith(404, nil)
	_, err = openURL(t, s, URLOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestURLSlowProgress: a server that drops every connection after 64 KiB is read
// to the end, however few retries there are.
func TestURLSlowProgress(t *testing.T) {
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * 7 >> 8)
	}
	s := serve(t, data)
	s.fault = func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if b := ok.Body.Len(); b > progress {
			for k, v := range ok.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(ok.Code)
			w.Write(ok.Body.Bytes()[:progress])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		send(w, ok)
	}
	h, err := newTestHTTP(t, s, URLOptions{Retries: 1})
	require.NoError(t, err)
	p := make([]byte, 1<<20)
	_, err = h.ReadAt(p, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, p))
}

// TestURLChanged: a file that is replaced while it is read.
func TestURLChanged(t *testing.T) {
	image, ar := largeArchive(t)
	other := pack(t, image, &Options{Block: MinBlock, Zarr: ZarrAlways, Name: "CDF2_CLIMATE.nc", Preset: "fast"})
	same := bytes.Clone(ar) // as long, with damage if it were the same file
	for i := range same[:len(same)-tailProbe] {
		same[i] ^= 0xff
	}
	ignore := func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) { send(w, ok) }
	changes := []struct {
		name          string
		etag, stamp   string // before
		change        func(s *remote)
		unconditional bool // the server ignores conditions
	}{
		{name: "ETag", etag: oldTag, change: func(s *remote) { s.etag, s.data = `"v2"`, same }},
		{name: "ETag alone", etag: oldTag, change: func(s *remote) { s.etag = `"v2"` }},
		{name: "ETag, conditions ignored", etag: oldTag, unconditional: true, change: func(s *remote) { s.etag, s.data = `"v2"`, same }},
		{name: "weak ETag", etag: `W/"v1"`, change: func(s *remote) { s.etag, s.data = `W/"v2"`, same }},
		{name: "date", stamp: oldTime, change: func(s *remote) { s.modified, s.data = newTime, same }},
		{name: "date, weak ETag stays", etag: `W/"v1"`, stamp: oldTime, change: func(s *remote) { s.modified, s.data = newTime, same }},
		{name: "longer", change: func(s *remote) { s.data = append(bytes.Clone(ar), 0) }},
		{name: "shorter", change: func(s *remote) { s.data = ar[:len(ar)-1] }},
		{name: "much shorter", change: func(s *remote) { s.data = ar[:100] }},
		{name: "empty", change: func(s *remote) { s.data = nil }},
		{name: "ETag and size", etag: oldTag, stamp: oldTime, change: func(s *remote) { s.etag, s.modified, s.data = `"v2"`, newTime, other }},
		{name: "200 without ETag", etag: oldTag, change: func(s *remote) {
			s.fault = func(_ int, w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
				w.Header().Set("Content-Length", strconv.Itoa(len(same)))
				w.Write(same)
			}
		}},
	}
	for _, c := range changes {
		for at := 1; at <= 4; at++ { // before which request
			t.Run(fmt.Sprintf("%s/%d", c.name, at), func(t *testing.T) {
				s := serve(t, ar)
				s.etag, s.modified = c.etag, c.stamp
				inner := http.HandlerFunc(s.ServeHTTP)
				s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if s.requests.Load() == int64(at) {
						s.set(func() { c.change(s) })
					}
					if c.unconditional {
						r.Header.Del("If-Match")
						r.Header.Del("If-Range")
					}
					inner(w, r)
				})
				s.fault = ignore
				f, err := openURL(t, s, URLOptions{})
				if at >= 3 {
					require.NoError(t, err)
					_, err = readAll(f)
				}
				sourceFailed(t, err)
				require.ErrorIs(t, err, ErrRemoteChanged)
				require.LessOrEqual(t, s.requests.Load(), int64(at+8), "no retries")
			})
		}
	}
	t.Run("nothing to tell by", func(t *testing.T) {
		// Parts of two files of the same size, without ETag and date: the end is
		// asked for again.
		s := serve(t, ar)
		s.etag, s.modified = "", ""
		s.fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			send(w, ok)
			if n == 0 {
				s.set(func() { s.data = bytes.Repeat([]byte{7}, len(ar)) })
			}
		}
		_, err := openURL(t, s, URLOptions{})
		sourceFailed(t, err)
		require.ErrorIs(t, err, ErrRemoteChanged)
	})
	t.Run("between the parts of one range", func(t *testing.T) {
		s := serve(t, ar)
		s.fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			s.set(func() { s.etag = `"v2"` })
			if n == 0 {
				cutOff(w, ok)
			}
			send(w, ok)
		}
		_, err := openURL(t, s, URLOptions{})
		sourceFailed(t, err)
		require.ErrorIs(t, err, ErrRemoteChanged)
	})
}

// TestURLDamaged: damage stays damage where the server has nothing to do with it.
func TestURLDamaged(t *testing.T) {
	_, ar := largeArchive(t)
	bad := bytes.Clone(ar)
	for i := range bad[:len(bad)-tailProbe] {
		bad[i] ^= 0xff
	}
	for _, etag := range []string{oldTag, ""} {
		s := serve(t, bad)
		s.etag = etag
		_, err := openURL(t, s, URLOptions{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.NotErrorIs(t, err, ErrRemoteChanged)
	}
	s := serve(t, ar[:len(ar)-10])
	_, err := openURL(t, s, URLOptions{})
	require.ErrorIs(t, err, ErrCorrupt)
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("<html>"), 2000)} {
		s := serve(t, data)
		_, err := openURL(t, s, URLOptions{})
		require.ErrorIs(t, err, cdf3.ErrNotCDF)
	}
}

// TestURLServers: what servers do about ranges.
func TestURLServers(t *testing.T) {
	image, ar := largeArchive(t)
	small := pack(t, classicFiles(t)["cdf1_climate_small.nc"], &Options{Zarr: ZarrNever})
	require.LessOrEqual(t, len(small), tailProbe)
	suffix := func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Range"), "bytes=-") }
	for _, c := range []struct {
		name  string
		data  []byte
		fault func(s *remote) fault
		open  int64 // requests
		err   error
		text  string
	}{
		{name: "no ranges from the end: 416", open: 5, fault: func(*remote) fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.WriteHeader(416)
					return
				}
				send(w, ok)
			}
		}},
		{name: "no ranges from the end: 416 with the size", open: 4, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(s.data)))
					w.WriteHeader(416)
					return
				}
				send(w, ok)
			}
		}},
		{name: "no ranges from the end: 200", open: 4, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					s.whole(w)
					return
				}
				send(w, ok)
			}
		}},
		{name: "no ranges from the end: 200 of unknown length", open: 5, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.(http.Flusher).Flush()
					w.Write(s.data)
					return
				}
				send(w, ok)
			}
		}},
		{name: "no ranges from the end: 501", open: 5, fault: func(*remote) fault {
			return func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if suffix(r) {
					w.WriteHeader(501)
					return
				}
				send(w, ok)
			}
		}},
		{name: "no ranges", err: ErrNoRanges, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) { s.whole(w) }
		}},
		{name: "no ranges, unknown length", err: ErrNoRanges, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				w.(http.Flusher).Flush()
				w.Write(s.data)
			}
		}},
		{name: "no ranges, small file", data: small, open: 1, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) { s.whole(w) }
		}},
		{name: "ranges stop", err: ErrNoRanges, fault: func(s *remote) fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					s.whole(w)
					return
				}
				send(w, ok)
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
		{name: "other sizes", err: ErrRemoteChanged, fault: func(s *remote) fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					cr := ok.Header().Get("Content-Range")
					ok.Header().Set("Content-Range", cr[:strings.Index(cr, "/")]+"/1000000")
				}
				send(w, ok)
			}
		}},
		{name: "body too long", text: "longer", fault: func(*remote) fault {
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
		{name: "Content-Length too long", text: "expected 4096", fault: func(*remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Body.WriteString("more")
				ok.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
				send(w, ok)
			}
		}},
		{name: "gzip", text: `Content-Encoding "gzip"`, fault: func(*remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(ok.Body.Bytes())
				z.Close()
				ok.Body = &b
				ok.Header().Set("Content-Encoding", "gzip")
				ok.Header().Set("Content-Length", strconv.Itoa(b.Len()))
				send(w, ok)
			}
		}},
		{name: "gzip of a small file", data: small, text: `Content-Encoding "gzip"`, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(s.data[:1000])
				z.Close()
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
				w.Write(b.Bytes())
			}
		}},
		{name: "identity", open: 3, fault: func(*remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Header().Set("Content-Encoding", "identity")
				send(w, ok)
			}
		}},
		{name: "no ETag", open: 3, fault: func(s *remote) fault { s.etag = ""; return nil }},
		{name: "neither ETag nor date", open: 3, fault: func(s *remote) fault { s.etag, s.modified = "", ""; return nil }},
		{name: "weak ETag", open: 3, fault: func(s *remote) fault { s.etag = `W/"v1"`; return nil }},
		{name: "malformed ETag", open: 3, fault: func(s *remote) fault {
			return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				ok.Header().Set("ETag", "v1")
				send(w, ok)
			}
		}},
		{name: "ETag in the first answer only", open: 3, fault: func(s *remote) fault {
			return func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n > 0 {
					ok.Header().Del("ETag")
				}
				send(w, ok)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.data == nil {
				c.data = ar
			}
			s := serve(t, c.data)
			s.fault = c.fault(s)
			f, err := openURL(t, s, URLOptions{})
			if c.err == nil && c.text == "" {
				require.NoError(t, err)
				require.Equal(t, c.open, s.requests.Load())
				got, err := readAll(f)
				require.NoError(t, err)
				if &c.data[0] == &ar[0] {
					require.True(t, bytes.Equal(image, got))
				}
				return
			}
			sourceFailed(t, err)
			require.ErrorContains(t, err, c.text)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			require.LessOrEqual(t, s.requests.Load(), int64(3), "no retries")
		})
	}
}

// TestURLWholeBodyNotRead: a server without ranges is not asked for its body.
func TestURLWholeBodyNotRead(t *testing.T) {
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
	_, err := OpenURL(context.Background(), s.URL+"/dir/file.cdfz", nil)
	sourceFailed(t, err)
	require.ErrorIs(t, err, ErrNoRanges)
	require.Less(t, sent.Load(), int64(64<<20), "only what the system buffers")
}

// TestURLTimeout: a server that stalls is given up, with or without a body begun.
func TestURLTimeout(t *testing.T) {
	_, ar := largeArchive(t)
	for _, body := range []bool{false, true} {
		s := serve(t, ar)
		release := make(chan struct{})
		s.fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
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
			send(w, ok)
		}
		f, err := openURL(t, s, URLOptions{Timeout: 300 * time.Millisecond})
		require.NoError(t, err)
		require.EqualValues(t, 2, httpOf(f).Stats().Retries)
		s.set(func() {
			s.fault = func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
		})
		h := httpOf(f)
		h.o.Timeout, h.o.Retries = 50*time.Millisecond, 1
		_, err = readAll(f)
		sourceFailed(t, err)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		close(release)
	}
	// The timeout of a client is one too.
	s := serve(t, ar)
	s.fault = func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		<-r.Context().Done()
	}
	_, err := openURL(t, s, URLOptions{Client: &http.Client{Timeout: 50 * time.Millisecond}, Retries: 1})
	sourceFailed(t, err)
	require.EqualValues(t, 2, s.requests.Load())
}
