package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
)

// stamp is the time of all files of the tests.
var stamp = time.Unix(1e9, 0)

// folder makes a folder with archives of files.
func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, image := range files {
		var b bytes.Buffer
		_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: filepath.Base(name), Block: 4096})
		require.NoError(t, err, name)
		put(t, filepath.Join(dir, name+archive.Suffix), b.Bytes())
	}
	return dir
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, data, 0o644))
	require.NoError(t, os.Chtimes(name, stamp, stamp))
}

// classic returns files of testdata/classic whose names contain a text.
func classic(t *testing.T, text string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../../../../testdata/classic/*" + text + "*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	files := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = b
	}
	return files
}

// start serves a folder and returns the address.
func start(t *testing.T, src string, o *Options) (*Server, string) {
	t.Helper()
	s, err := New(src, o)
	require.NoError(t, err)
	return s, run(t, s)
}

// run starts a server that was made, and returns its address.
func run(t *testing.T, s *Server) string {
	t.Helper()
	return "http://" + listen(t, s, nil)
}

// runTLS serves a folder over HTTPS, and returns its address.
func runTLS(t *testing.T, src string, o *Options, config *tls.Config) string {
	t.Helper()
	s, err := New(src, o)
	require.NoError(t, err)
	return "https://" + listen(t, s, config)
}

func listen(t *testing.T, s *Server, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l, config) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		require.NoError(t, <-ended)
	})
	return l.Addr().String()
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

func get(t *testing.T, url string, header ...string) answer {
	t.Helper()
	return request(t, http.MethodGet, url, header...)
}

// request sends a request with headers, which are names and values in turn.
func request(t *testing.T, method, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r) // redirects are not followed
	require.NoError(t, err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return answer{a, string(b)}
}

func TestFiles(t *testing.T) {
	files := classic(t, "climate")
	image := files["cdf2_climate.nc"]
	files["sub/x y%.nc"] = image
	dir := folder(t, files)
	put(t, filepath.Join(dir, "notes.html"), []byte("<script>"))
	put(t, filepath.Join(dir, ".hidden"), []byte("secret"))
	_, at := start(t, dir, nil)
	at += "/files/"

	sum := sha256.Sum256(image)
	etag := `"` + hex.EncodeToString(sum[:]) + `"`
	a := get(t, at+"cdf2_climate.nc")
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, string(image), a.body)
	require.Equal(t, etag, a.Header.Get("ETag"))
	require.Equal(t, stamp.UTC().Format(http.TimeFormat), a.Header.Get("Last-Modified"))
	require.Equal(t, "bytes", a.Header.Get("Accept-Ranges"))
	require.Equal(t, string(image), get(t, at+"sub/x%20y%25.nc").body)

	a = request(t, http.MethodHead, at+"cdf2_climate.nc")
	require.Equal(t, int64(len(image)), a.ContentLength)
	require.Empty(t, a.body)

	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=1000-1999")
	require.Equal(t, 206, a.StatusCode)
	require.Equal(t, string(image[1000:2000]), a.body)
	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=-10")
	require.Equal(t, string(image[len(image)-10:]), a.body)
	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=0-1,5-6")
	require.Equal(t, 206, a.StatusCode)
	require.Contains(t, a.Header.Get("Content-Type"), "multipart/byteranges")
	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=99999999999-")
	require.Equal(t, 416, a.StatusCode)
	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=0-9", "If-Range", etag)
	require.Equal(t, 206, a.StatusCode)
	a = get(t, at+"cdf2_climate.nc", "Range", "bytes=0-9", "If-Range", `"other"`)
	require.Equal(t, 200, a.StatusCode)
	a = get(t, at+"cdf2_climate.nc", "If-None-Match", etag)
	require.Equal(t, 304, a.StatusCode)

	a = get(t, at+"notes.html")
	require.Equal(t, "<script>", a.body)
	require.Equal(t, "application/octet-stream", a.Header.Get("Content-Type"))
	require.NotEmpty(t, a.Header.Get("ETag"))
	stored, err := os.ReadFile(filepath.Join(dir, "cdf2_climate.nc.cdfz"))
	require.NoError(t, err)
	require.Equal(t, string(stored), get(t, at+"cdf2_climate.nc.cdfz").body)

	a = get(t, at)
	for _, text := range []string{`href="./cdf2_climate.nc"`, `href="./sub/"`, `href="./notes.html"`, fmt.Sprintf(">%d<", len(image))} {
		require.Contains(t, a.body, text)
	}
	require.NotContains(t, a.body, "hidden")
	require.NotContains(t, a.body, "cdfz")
	require.Contains(t, get(t, at+"sub/").body, `href="./x%20y%25.nc"`)
	a = get(t, at+"sub")
	require.Equal(t, 301, a.StatusCode)
	require.Equal(t, "./sub/", a.Header.Get("Location"))
	for _, name := range []string{".hidden", "none", "none.nc", "cdf2_climate.nc/", "cdf2_climate.nc/x", "sub/none/"} {
		require.Equal(t, 404, get(t, at+name).StatusCode, name)
	}

	// A replaced archive is seen.
	changed := slices.Clone(image)
	changed[len(changed)-1]++
	other := folder(t, map[string][]byte{"a.nc": changed})
	require.NoError(t, os.Rename(filepath.Join(other, "a.nc.cdfz"), filepath.Join(dir, "cdf2_climate.nc.cdfz")))
	require.Equal(t, string(changed), get(t, at+"cdf2_climate.nc").body)
}

// TestSingleFile serves an archive without its neighbours.
func TestSingleFile(t *testing.T) {
	files := classic(t, "climate")
	dir := folder(t, files)
	_, at := start(t, filepath.Join(dir, "cdf2_climate.nc.cdfz"), nil)
	require.Equal(t, string(files["cdf2_climate.nc"]), get(t, at+"/files/cdf2_climate.nc").body)
	require.Equal(t, 404, get(t, at+"/files/cdf1_climate_small.nc").StatusCode)
	require.Equal(t, 1, strings.Count(get(t, at+"/files/").body, "href"))

	_, err := New(filepath.Join(dir, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	put(t, filepath.Join(dir, "bad.nc.cdfz"), damaged(t, filepath.Join(dir, "cdf2_climate.nc.cdfz"), 0))
	_, err = New(filepath.Join(dir, "bad.nc.cdfz"), nil)
	require.ErrorIs(t, err, archive.ErrCorrupt)
}

// damaged returns an archive with a flipped bit in its end line, or at the offset.
func damaged(t *testing.T, name string, off int) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	if off == 0 {
		off = len(b) - 100
	}
	b[off] ^= 1
	return b
}

// TestDamage reads an archive with a damaged block: answers that need it are cut off, and
// the warning comes once.
func TestDamage(t *testing.T) {
	files := classic(t, "cdf2_climate")
	dir := folder(t, files)
	name := filepath.Join(dir, "cdf2_climate.nc.cdfz")
	f, err := archive.Open(context.Background(), name, nil)
	require.NoError(t, err)
	var block archive.BlockInfo
	for b, err := range f.Blocks(context.Background()) {
		require.NoError(t, err)
		if b.Var >= 0 {
			block = b
		}
	}
	require.NoError(t, f.Close())
	require.NotZero(t, block.Off)
	put(t, name, damaged(t, name, int(block.Off)))
	put(t, filepath.Join(dir, "end.nc.cdfz"), damaged(t, name, 0))
	var mu sync.Mutex
	var warned []string
	_, at := start(t, dir, &Options{Warn: func(name string, err error) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, name)
	}})
	for range 2 {
		a, err := http.Get(at + "/files/cdf2_climate.nc")
		if err == nil {
			_, err = io.Copy(io.Discard, a.Body)
			a.Body.Close()
		}
		require.Error(t, err)
		require.Equal(t, 500, get(t, at+"/files/end.nc").StatusCode)
	}
	require.Equal(t, 206, get(t, at+"/files/cdf2_climate.nc", "Range", "bytes=0-3").StatusCode)
	require.Contains(t, get(t, at+"/files/").body, "damaged")
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(warned)
	require.Equal(t, []string{"cdf2_climate.nc.cdfz", "end.nc.cdfz"}, warned)
}

// TestConcurrent has 200 requests in flight, for random ranges of several files, with a
// cache of few blocks.
func TestConcurrent(t *testing.T) {
	files := classic(t, "climate")
	dir := folder(t, files)
	_, at := start(t, dir, &Options{Cache: 64 << 10})
	names := slices.Sorted(maps.Keys(files))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer client.CloseIdleConnections()
	var g errgroup.Group
	for i := range 200 {
		g.Go(func() error {
			for j := range 3 {
				name := names[(i+j)%len(names)]
				want := files[name]
				from := (i*7919 + j*104729) % len(want)
				to := min(len(want), from+1+(i*31)%70000)
				r, err := http.NewRequest(http.MethodGet, at+"/files/"+name, nil)
				if err != nil {
					return err
				}
				r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
				a, err := client.Do(r)
				if err != nil {
					return err
				}
				got, err := io.ReadAll(a.Body)
				a.Body.Close()
				if err != nil || !bytes.Equal(want[from:to], got) {
					return fmt.Errorf("%s %d-%d: %s, %d bytes, %v", name, from, to, a.Status, len(got), err)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	a := get(t, at+"/metrics")
	require.Contains(t, a.body, `cdfz_requests_total{service="files",status="206"} 600`)
	require.Contains(t, a.body, `cdfz_request_seconds_count{service="files"} 600`)
	require.Contains(t, a.body, `cdfz_request_seconds_bucket{service="files",le="+Inf"} 600`)
	for _, line := range []string{"# TYPE cdfz_requests_total counter", "# TYPE cdfz_request_seconds histogram", "cdfz_requests_in_flight 1", "cdfz_open_files "} {
		require.Contains(t, a.body, line)
	}
	for _, name := range []string{`cdfz_response_bytes_total{service="files"}`, "go_goroutines", "go_memstats_heap_inuse_bytes"} {
		require.Contains(t, a.body, "\n"+name+" ")
	}
}

// users has alice, whose password is right.
func users(t *testing.T) func() *Users {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	u, err := ReadUsers(strings.NewReader("# who\n\nalice:" + string(hash) + "\n"))
	require.NoError(t, err)
	return func() *Users { return u }
}

func TestAuth(t *testing.T) {
	var log bytes.Buffer
	s, err := New(folder(t, classic(t, "cdf2_climate")), &Options{Users: users(t), Log: &log})
	require.NoError(t, err)
	defer s.close()
	status := func(path, name, password string) int {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		if name != "" {
			r.SetBasicAuth(name, password)
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code
	}
	for range 2 {
		require.Equal(t, 401, status("/files/", "", ""))
		require.Equal(t, 401, status("/files/", "alice", "wrong"))
		require.Equal(t, 401, status("/metrics", "bob", "right"))
		require.Equal(t, 200, status("/files/", "alice", "right"))
	}
	require.Equal(t, 200, status("/healthz", "", ""))
	require.Contains(t, log.String(), " - alice [")

	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"":          "expected at least one user",
		"x":         "line 1: expected NAME:HASH",
		"\nx:{SHA}": "line 2: expected a hash of bcrypt",
		"a:" + string(hash) + "\na:" + string(hash): `line 2: expected each name once, found "a" again`,
	} {
		_, err := ReadUsers(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// TestLog checks that nothing in a request breaks out of its line.
func TestLog(t *testing.T) {
	var log bytes.Buffer
	s, err := New(t.TempDir(), &Options{Log: &log})
	require.NoError(t, err)
	defer s.close()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/files/", nil)
	r.RequestURI = "/files/\"\n\x1b"
	r.Header.Set("User-Agent", "\u009b\"x\n")
	s.http.Handler.ServeHTTP(httptest.NewRecorder(), r)
	require.Regexp(t, `^192.0.2.1 - - \[.*\] "GET /files/\\"\\n\\x1b HTTP/1.1" 200 \d+ "-" "\\u009b\\"x\\n" \d\.\d{6}\n$`, log.String())
}
