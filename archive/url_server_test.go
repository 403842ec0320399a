package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

func failWith(code int, h http.Header) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		for k, v := range h {
			w.Header()[k] = v
		}
		w.WriteHeader(code)
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

// hangAfter has the server answer so many more requests, and then call stop and
// answer none. It returns the number of the first one without an answer.
func (s *remote) hangAfter(requests int, stop func()) (first int) {
	first = int(s.requests.Load()) + requests
	s.set(func() {
		s.fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			if n >= first {
				stop()
				<-r.Context().Done()
				return
			}
			send(w, ok)
		}
	})
	return first
}
