package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

const (
	oldTag  = `"v1"`
	oldTime = "Mon, 02 Jan 2006 15:04:05 GMT"
	newTime = "Tue, 03 Jan 2006 15:04:05 GMT"
)

// fault answers request number n (from 0 on) instead of the server; ok is what
// the server would have answered.
type fault func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder)

// remote serves one file, by package http's own ranges, and counts.
type remote struct {
	*httptest.Server
	requests atomic.Int64
	under    atomic.Int64 // requests under way
	most     atomic.Int64

	mu             sync.Mutex
	data           []byte
	etag, modified string
	fault          fault
	seen           []http.Header
}

func serve(t testing.TB, data []byte) *remote {
	s := &remote{data: data, etag: oldTag, modified: oldTime}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *remote) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *remote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1) - 1)
	if now := s.under.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	defer s.under.Add(-1)
	s.mu.Lock()
	data, etag, modified, fault := s.data, s.etag, s.modified, s.fault
	s.seen = append(s.seen, r.Header.Clone())
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
	send(w, ok)
}

// send sends an answer as recorded.
func send(w http.ResponseWriter, ok *httptest.ResponseRecorder) {
	for k, v := range ok.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(ok.Code)
	w.Write(ok.Body.Bytes())
}

// cutOff sends the headers of the whole answer, half of its body, and drops the
// connection.
func cutOff(w http.ResponseWriter, ok *httptest.ResponseRecorder) {
	for k, v := range ok.Header() {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
	w.WriteHeader(ok.Code)
	w.Write(ok.Body.Bytes()[:ok.Body.Len()/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// whole answers as a server that knows no ranges.
func (s *remote) whole(w http.ResponseWriter) {
	w.Header().Set("ETag", s.etag)
	w.Header().Set("Content-Length", strconv.Itoa(len(s.data)))
	w.Write(s.data)
}

// noWait records the pauses and makes none.
type noWait struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (n *noWait) wait(ctx context.Context, d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waits = append(n.waits, d)
	return ctx.Err()
}

// openURL opens the file that s serves. Pauses are skipped.
func openURL(t testing.TB, s *remote, o URLOptions) (*File, error) {
	t.Helper()
	if o.wait == nil {
		o.wait = (&noWait{}).wait
	}
	f, err := OpenURL(context.Background(), s.URL+"/dir/file.cdfz", &o)
	if err == nil {
		t.Cleanup(func() { f.Close() })
	}
	return f, err
}

// largeArchive is an archive of several blocks whose front, index and end are in
// different places.
func largeArchive(t testing.TB) (image, ar []byte) {
	t.Helper()
	image = classicFiles(t)["cdf2_climate.nc"]
	ar = pack(t, image, &Options{Block: MinBlock, Zarr: ZarrAlways, Name: "cdf2_climate.nc"})
	require.Greater(t, len(ar), 20<<10)
	return image, ar
}

// readAll reads the image through Copy and through ReadAt.
func readAll(f *File) ([]byte, error) {
	if a := f.Archive(); a != nil {
		var b bytes.Buffer
		if err := a.Copy(context.Background(), &b, nil); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	}
	return io.ReadAll(io.NewSectionReader(f.Image(), 0, f.Image().Size()))
}

func httpOf(f *File) *httpFile { return f.closer.(*httpFile) }

// sourceFailed: an error of the third class, which does not pass for one of the
// others and shows no secrets.
func sourceFailed(t testing.TB, err error) {
	t.Helper()
	require.Error(t, err)
	for _, other := range []error{ErrCorrupt, ErrNotArchive, ErrVersion, ErrOptions, cdf3.ErrNotCDF, context.Canceled, context.DeadlineExceeded} {
		require.NotErrorIs(t, err, other)
	}
	require.NotErrorIs(t, err, io.EOF)
	require.Contains(t, err.Error(), "/dir/file.cdfz")
}

// TestURLFiles: archives and classic files over a URL are what they are locally,
// and opening takes the requests that OpenURL promises.
func TestURLFiles(t *testing.T) {
	all := variants()
	next := 0
	for name, image := range classicFiles(t) {
		o := all[next%len(all)]
		next++
		o.Name = name
		for kind, data := range map[string][]byte{"classic": image, "archive": pack(t, image, &o)} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := serve(t, data)
				local, err := NewFile(bytes.NewReader(data), int64(len(data)), nil)
				require.NoError(t, err)
				f, err := openURL(t, s, URLOptions{})
				require.NoError(t, err)
				limit := int64(3)
				if kind == "classic" {
					limit = 2
				}
				if len(data) <= tailProbe {
					limit = 1
				}
				require.LessOrEqual(t, s.requests.Load(), limit, "requests to open %d bytes", len(data))
				require.Equal(t, s.requests.Load(), httpOf(f).Stats().Requests)
				require.Equal(t, local.Header(), f.Header())
				require.Equal(t, kind == "archive", f.Archive() != nil)
				got, err := readAll(f)
				require.NoError(t, err)
				require.True(t, bytes.Equal(image, got), "image differs")
				for i := range f.Header().Vars {
					a, b := local.Array(i), f.Array(i)
					if a.Len() > 1<<20 {
						continue // claimed beyond the end of the file
					}
					want, err := io.ReadAll(io.NewSectionReader(a, 0, a.Len()))
					require.NoError(t, err)
					got, err := io.ReadAll(io.NewSectionReader(b, 0, b.Len()))
					require.NoError(t, err)
					require.Equal(t, want, got, "variable %d", i)
				}
				require.Zero(t, httpOf(f).Stats().Retries)
			})
		}
	}
}

func TestURLOpenRequests(t *testing.T) {
	image, ar := largeArchive(t)
	s := serve(t, ar)
	f, err := openURL(t, s, URLOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, s.requests.Load())
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
	require.Equal(t, "bytes=-4096", s.seen[0].Get("Range"))
	for i, h := range s.seen {
		require.Equal(t, "identity", h.Get("Accept-Encoding"))
		if i > 0 {
			require.Equal(t, oldTag, h.Get("If-Match"))
			require.Equal(t, oldTag, h.Get("If-Range"))
		}
	}
	st := httpOf(f).Stats()
	require.Equal(t, s.requests.Load(), st.Requests)
	require.Less(t, st.Bytes, int64(2*len(ar)))

	// What was read at opening is not asked for again.
	before := s.requests.Load()
	h := httpOf(f)
	p := make([]byte, 1000)
	n, err := h.ReadAt(p, int64(len(ar))-700)
	require.Equal(t, 700, n)
	require.Equal(t, io.EOF, err)
	require.Equal(t, ar[len(ar)-700:], p[:700])
	require.Equal(t, before, s.requests.Load())
	// Only the part before it is.
	_, err = h.ReadAt(p, int64(len(ar))-tailProbe-10)
	require.NoError(t, err)
	require.Equal(t, ar[len(ar)-tailProbe-10:][:1000], p)
	require.Equal(t, before+1, s.requests.Load())
	require.Equal(t, fmt.Sprintf("bytes=%d-%d", len(ar)-tailProbe-10, len(ar)-tailProbe-1), s.seen[before].Get("Range"))
}

// TestURLReadAt: the contract of io.ReaderAt, in an archive and in a classic file,
// whose front is kept too.
func TestURLReadAt(t *testing.T) {
	image, ar := largeArchive(t)
	for _, data := range [][]byte{image, ar, image[:frontProbe+tailProbe-100], image[:5000]} {
		h, err := newTestHTTP(t, serve(t, data), URLOptions{})
		require.NoError(t, err)
		require.NoError(t, h.openFront())
		size := int64(len(data))
		require.Equal(t, size, h.Size())
		for _, off := range []int64{0, 1, frontProbe - 1, frontProbe, frontProbe + 1, size - tailProbe - 1, size - tailProbe, size - tailProbe + 1, size - 1, size, size + 1, size + 1<<40} {
			for _, n := range []int{0, 1, 2, 100, 5000, 80 << 10, len(data)} {
				if off < 0 {
					continue
				}
				p, q := make([]byte, n), make([]byte, n)
				got, err := h.ReadAt(p, off)
				want, wantErr := bytes.NewReader(data).ReadAt(q, off)
				require.Equal(t, want, got, "%d bytes at %d", n, off)
				if n > 0 {
					require.Equal(t, wantErr, err, "%d bytes at %d", n, off)
				}
				require.True(t, bytes.Equal(p, q), "%d bytes at %d", n, off)
			}
		}
		_, err = h.ReadAt(make([]byte, 1), -1)
		require.Error(t, err)
	}
}

func newTestHTTP(t testing.TB, s *remote, o URLOptions) (*httpFile, error) {
	if o.wait == nil {
		o.wait = (&noWait{}).wait
	}
	c, err := o.withDefaults()
	require.NoError(t, err)
	h, err := newHTTPFile(context.Background(), s.URL+"/dir/file.cdfz", &c)
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return h, h.openTail()
}

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

func failWith(code int, h http.Header) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		for k, v := range h {
			w.Header()[k] = v
		}
		w.WriteHeader(code)
	}
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

// rewrite replaces Content-Range: 1 start, 2 end, 3 size, 4 length-1, 5 end-1, 6 start-1.
func rewrite(format string) func(*remote) fault {
	return func(*remote) fault {
		return func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			from, to, size, err := parseContentRange(ok.Header().Get("Content-Range"))
			ok.Header().Del("Content-Range")
			if err == nil && format != "" {
				text := fmt.Sprintf(format, from, to, size, to-from, to-1, from-1)
				text, _, _ = strings.Cut(text, "%!(EXTRA")
				ok.Header().Set("Content-Range", text)
			}
			send(w, ok)
		}
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

// TestURLContext: contexts end what they are for, and nothing is retried then.
func TestURLContext(t *testing.T) {
	_, ar := largeArchive(t)
	s := serve(t, ar)
	ctx, cancel := context.WithCancel(context.Background())
	f, err := OpenURL(ctx, s.URL+"/dir/file.cdfz", nil)
	require.NoError(t, err)
	cancel()
	_, err = readAll(f)
	require.NoError(t, err, "the context was for opening")

	h := httpOf(f)
	block := func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		<-r.Context().Done()
	}
	s.set(func() { s.fault = block })
	p := make([]byte, 100)
	before := s.requests.Load()
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	_, err = h.ReadAtContext(ctx, p, 0)
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, before+1, s.requests.Load())
	_, err = h.ReadAtContext(ctx, p, 0)
	require.Error(t, err)

	_, err = OpenURL(ctx, s.URL+"/dir/file.cdfz", nil)
	require.ErrorIs(t, err, ctx.Err())
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = OpenURL(ctx, s.URL+"/dir/file.cdfz", nil)
	require.ErrorIs(t, err, context.Canceled)

	// During a pause.
	s.set(func() { s.fault = failWith(503, http.Header{"Retry-After": {"60"}}) })
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err = h.ReadAtContext(ctx, p, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 10*time.Second)

	// Close ends a read under way.
	s.set(func() { s.fault = block })
	time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	_, err = h.ReadAtContext(context.Background(), p, 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	sourceFailed(t, err)
	before = s.requests.Load()
	_, err = readAll(f)
	require.ErrorIs(t, err, fs.ErrClosed)
	_, err = h.ReadAt(p, h.Size()-100)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.Equal(t, before, s.requests.Load())
}

// TestURLParallel: reads at the same time are right, and no more requests are
// under way than allowed.
func TestURLParallel(t *testing.T) {
	image, ar := largeArchive(t)
	s := serve(t, ar)
	s.fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if n%5 == 4 {
			cutOff(w, ok)
		}
		if n%7 == 6 {
			w.WriteHeader(503)
			return
		}
		time.Sleep(time.Millisecond)
		send(w, ok)
	}
	f, err := openURL(t, s, URLOptions{Parallel: 3, Retries: 50, Reader: &ReaderOptions{Cache: -1}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			im := f.Image()
			for i := range 8 {
				off := int64((g*8 + i) * 1999 % len(image))
				p := make([]byte, min(3000, int64(len(image))-off))
				if _, err := im.ReadAt(p, off); err != nil && err != io.EOF || !bytes.Equal(p, image[off:off+int64(len(p))]) {
					t.Errorf("%d bytes at %d: %v", len(p), off, err)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, s.most.Load(), int64(3))
	require.Greater(t, s.most.Load(), int64(1))
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
}

// TestURLRedirect: redirects are followed once, and their target is pinned; when
// it expires they are followed again. Secrets stay where they belong.
func TestURLRedirect(t *testing.T) {
	image, ar := largeArchive(t)
	s := serve(t, ar)
	var valid atomic.Int64
	s.fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
		if r.URL.Query().Get("signature") != fmt.Sprint(valid.Load()) {
			w.WriteHeader(403)
			return
		}
		send(w, ok)
	}
	var asked, authorized atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if user, pass, _ := r.BasicAuth(); user == "me" && pass == "s3cret" && r.Header.Get("X-Key") == "s3cret" && r.URL.Query().Get("token") == "s3cret" {
			authorized.Add(1)
		}
		http.Redirect(w, r, fmt.Sprintf("%s/dir/other?signature=%d", s.URL, valid.Load()), http.StatusFound)
	}))
	defer front.Close()
	at := strings.Replace(front.URL, "http://", "http://me:s3cret@", 1) + "/dir/file.cdfz?token=s3cret#s3cret"
	o := &URLOptions{Header: http.Header{"x-key": {"s3cret"}, "User-Agent": {"tester"}}, wait: (&noWait{}).wait}
	f, err := OpenURL(context.Background(), at, o)
	require.NoError(t, err)
	defer f.Close()
	require.EqualValues(t, 1, asked.Load())
	require.EqualValues(t, 3, s.requests.Load())
	require.EqualValues(t, 4, httpOf(f).Stats().Requests)
	valid.Store(1) // the signed URL expires
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
	require.Greater(t, asked.Load(), int64(1))
	require.Equal(t, asked.Load(), authorized.Load())
	for _, h := range s.seen {
		require.NotContains(t, fmt.Sprint(h), "s3cret")
		require.NotContains(t, h, "Authorization")
		require.Equal(t, "tester", h.Get("User-Agent"))
		require.Equal(t, "identity", h.Get("Accept-Encoding"))
		require.NotEmpty(t, h.Get("Range"))
	}
	// No errors name what they should not.
	s.set(func() { s.fault = failWith(403, nil) })
	_, err = readAll(f)
	sourceFailed(t, err)
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), "signature")
	require.ErrorIs(t, err, fs.ErrPermission)
	s.CloseClientConnections()
	s.Server.Close()
	_, err = readAll(f)
	sourceFailed(t, err)
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), "signature")
	var op *net.OpError
	require.ErrorAs(t, err, &op, "the cause is there")
}

func TestURLRedirectRefused(t *testing.T) {
	for name, to := range map[string]string{
		"loop":      "/dir/file.cdfz?s3cret",
		"scheme":    "ftp://host/s3cret",
		"malformed": "http://%zz/s3cret",
		"file":      "file:///etc/passwd?s3cret",
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n++
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusMovedPermanently)
			}))
			defer s.Close()
			_, err := OpenURL(context.Background(), s.URL+"/dir/file.cdfz", nil)
			sourceFailed(t, err)
			require.NotContains(t, err.Error(), "s3cret")
			require.LessOrEqual(t, n, 10)
		})
	}
	s := httptest.NewServer(http.RedirectHandler("/other", http.StatusFound))
	defer s.Close()
	mine := errors.New("mine")
	_, err := OpenURL(context.Background(), s.URL+"/dir/file.cdfz", &URLOptions{
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return mine }}})
	sourceFailed(t, err)
	require.ErrorIs(t, err, mine)
	_, err = OpenURL(context.Background(), s.URL+"/dir/file.cdfz", &URLOptions{
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}})
	sourceFailed(t, err)
	require.ErrorContains(t, err, "302")
}

func TestURLOptions(t *testing.T) {
	for _, u := range []string{"", "x.nc", "/tmp/x.nc", "ftp://host/s3cret", "file:///s3cret", "http:", "http:///s3cret", "http:s3cret", "http://me:s3cret/x#y@host", "http://h/%zzs3cret"} {
		_, err := OpenURL(context.Background(), u, nil)
		require.ErrorIs(t, err, ErrOptions, u)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := OpenURL(context.Background(), "http://host/x", &URLOptions{Parallel: -1})
	require.ErrorIs(t, err, ErrOptions)
	require.ErrorContains(t, err, "Parallel")

	// The caller's conditions and ranges do not get through; the rest does.
	_, ar := largeArchive(t)
	s := serve(t, ar)
	_, err = openURL(t, s, URLOptions{Header: http.Header{
		"Range": {"bytes=5-6"}, "If-None-Match": {oldTag}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer x"}}})
	require.NoError(t, err)
	for _, h := range s.seen {
		require.Equal(t, "Bearer x", h.Get("Authorization"))
	}
}

// TestURLTLS: over HTTP/2, with the caller's client; a certificate that is not
// trusted is not asked about five times.
func TestURLTLS(t *testing.T) {
	image, ar := largeArchive(t)
	s := &remote{data: ar, etag: oldTag, modified: oldTime}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes refused
	s.StartTLS()
	defer s.Close()
	f, err := openURL(t, s, URLOptions{Client: s.Client()})
	require.NoError(t, err)
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
	var w noWait
	_, err = openURL(t, s, URLOptions{wait: w.wait})
	sourceFailed(t, err)
	require.Empty(t, w.waits)
}

func TestTrusted(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://a/x", "http://a/y", true},
		{"http://a/x", "http://A:80/y", true},
		{"http://a/x", "https://a/y", true},
		{"https://a/x", "http://a/y", false},
		{"https://a/x", "https://a:8443/y", false},
		{"http://a:8080/x", "https://a/y", false},
		{"http://a/x", "http://b.a/y", false},
		{"http://[::1]:80/x", "http://[::1]/y", true},
	} {
		from, err := http.NewRequest("GET", c.from, nil)
		require.NoError(t, err)
		to, err := http.NewRequest("GET", c.to, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, trusted(from.URL, to.URL), "%s to %s", c.from, c.to)
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-99/1000")
	f.Add("bytes */1000")
	f.Add("bytes +1-2/3")
	f.Add("bytes 9223372036854775806-9223372036854775806/9223372036854775807")
	f.Fuzz(func(t *testing.T, s string) {
		from, to, size, err := parseContentRange(s)
		if err == nil && (from < 0 || to < from || size <= to) {
			t.Fatalf("%q: %d-%d/%d", s, from, to, size)
		}
	})
}
