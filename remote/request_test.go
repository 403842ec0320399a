package remote

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
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// TestRedirect checks that redirects are followed once and their target is pinned until
// it expires, and that secrets are sent only to the host that they are for.
func TestRedirect(t *testing.T) {
	ar := random(40_000)
	s := faultsrv.Serve(t, ar)
	var valid atomic.Int64
	s.Fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
		if r.URL.Query().Get("signature") != fmt.Sprint(valid.Load()) {
			w.WriteHeader(403)
			return
		}
		faultsrv.Send(w, ok)
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
	o := &Options{Header: http.Header{"x-key": {"s3cret"}, "User-Agent": {"tester"}}, Sleep: (&faultsrv.Pauses{}).Sleep}
	f, err := Open(context.Background(), at, o)
	require.NoError(t, err)
	defer f.Close()
	require.EqualValues(t, 1, asked.Load())
	require.EqualValues(t, 1, s.Requests.Load())
	require.EqualValues(t, 2, f.Stats().Requests)
	valid.Store(1) // the signed URL expires
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(ar, got))
	require.Greater(t, asked.Load(), int64(1))
	require.Equal(t, asked.Load(), authorized.Load())
	for _, h := range s.Seen {
		require.NotContains(t, fmt.Sprint(h), "s3cret")
		require.NotContains(t, h, "Authorization")
		require.Equal(t, "tester", h.Get("User-Agent"))
		require.Equal(t, "identity", h.Get("Accept-Encoding"))
		require.NotEmpty(t, h.Get("Range"))
	}
	// Errors contain no secrets.
	s.Set(func() { s.Fault = faultsrv.Status(403, nil) })
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

func TestRedirectRefused(t *testing.T) {
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
			_, err := Open(context.Background(), s.URL+faultsrv.Path, nil)
			sourceFailed(t, err)
			require.NotContains(t, err.Error(), "s3cret")
			require.LessOrEqual(t, n, 10)
		})
	}
	s := httptest.NewServer(http.RedirectHandler("/other", http.StatusFound))
	defer s.Close()
	mine := errors.New("mine")
	_, err := Open(context.Background(), s.URL+faultsrv.Path, &Options{
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return mine }}})
	sourceFailed(t, err)
	require.ErrorIs(t, err, mine)
	_, err = Open(context.Background(), s.URL+faultsrv.Path, &Options{
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}})
	sourceFailed(t, err)
	require.ErrorContains(t, err, "302")
}

func TestOptions(t *testing.T) {
	for _, u := range []string{"", "x.nc", "/tmp/x.nc", "ftp://host/s3cret", "file:///s3cret", "http:", "http:///s3cret", "http:s3cret", "http://me:s3cret/x#y@host", "http://h/%zzs3cret"} {
		_, err := Open(context.Background(), u, nil)
		require.ErrorIs(t, err, ErrOptions, u)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := Open(context.Background(), "http://host/x", &Options{Parallel: -1})
	require.ErrorIs(t, err, ErrOptions)
	require.ErrorContains(t, err, "Parallel")

	// The caller's conditions and ranges are not sent. The other headers are.
	ar := random(40_000)
	s := faultsrv.Serve(t, ar)
	_, err = open(t, s, Options{Header: http.Header{
		"Range": {"bytes=5-6"}, "If-None-Match": {faultsrv.Tag}, "Accept-Encoding": {"gzip"}, "Authorization": {"Bearer x"}}})
	require.NoError(t, err)
	for _, h := range s.Seen {
		require.Equal(t, "Bearer x", h.Get("Authorization"))
	}
}

// TestTLS reads over HTTP/2 with the caller's client. An untrusted certificate is not
// retried.
func TestTLS(t *testing.T) {
	ar := random(40_000)
	s := faultsrv.New(ar)
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // hide refused handshakes
	s.StartTLS()
	defer s.Close()
	f, err := open(t, s, Options{Client: s.Client()})
	require.NoError(t, err)
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(ar, got))
	var w faultsrv.Pauses
	_, err = open(t, s, Options{Sleep: w.Sleep})
	sourceFailed(t, err)
	require.Empty(t, w.All())
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
