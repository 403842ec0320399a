package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

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
				equalValues(t, name, local, f)
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
	s := seeds.Of(f)
	s.Add("part", "bytes 0-99/1000")
	s.Add("none", "bytes */1000")
	s.Add("sign", "bytes +1-2/3")
	s.Add("outside", "bytes 5-10/10")
	s.Add("largest", "bytes 9223372036854775806-9223372036854775806/9223372036854775807")
	f.Fuzz(func(t *testing.T, s string) {
		from, to, size, err := parseContentRange(s)
		if err == nil && (from < 0 || to < from || size <= to) {
			t.Fatalf("%q: %d-%d/%d", s, from, to, size)
		}
	})
}
