package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
)

func TestLimits(t *testing.T) {
	files := classic(t, "cdf2_climate")
	s, err := New(folder(t, files), &Options{Bytes: 1000, Requests: 1})
	require.NoError(t, err)
	defer s.close()
	do := func(method, header string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost/files/cdf2_climate.nc", nil)
		r.Header.Set("Range", header)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	w := do(http.MethodGet, "")
	require.Equal(t, 403, w.Code)
	require.Equal(t, fmt.Sprintf("the answer has %d bytes, the limit is 1000: ask for a part\n", len(files["cdf2_climate.nc"])), w.Body.String())
	require.Empty(t, w.Header().Get("ETag"))
	require.Equal(t, 200, do(http.MethodHead, "").Code)
	require.Equal(t, 206, do(http.MethodGet, "bytes=0-999").Code)
	require.Equal(t, 403, do(http.MethodGet, "bytes=0-1000").Code)
	require.Equal(t, 405, do(http.MethodPost, "").Code)

	s.slots <- struct{}{}
	w = do(http.MethodGet, "bytes=0-9")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	<-s.slots
	require.Equal(t, 206, do(http.MethodGet, "bytes=0-9").Code)
	require.Empty(t, s.slots)
}

// TestListsCut reads lists that are longer than the limit, or take too long. Their lengths are not known before. So
// clients must see that the connection is closed.
func TestListsCut(t *testing.T) {
	dir := t.TempDir()
	for i := range 1000 {
		put(t, filepath.Join(dir, fmt.Sprintf("%04d.nc", i)), []byte("CDF\x01"))
	}
	lists := []string{"/files/", "/dap/", "/catalog/catalog.xml", "/catalog/catalog.json"}
	for name, o := range map[string]*Options{"bytes": {Bytes: 20_000}, "time": {Time: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			s, at := start(t, dir, o)
			for _, list := range lists {
				a, err := http.Get(at + list)
				if err == nil {
					_, err = io.Copy(io.Discard, a.Body)
					a.Body.Close()
				}
				require.Error(t, err, list)
			}
			require.Empty(t, s.slots)
		})
	}
	_, at := start(t, dir, nil)
	for _, list := range lists {
		require.Equal(t, 200, get(t, at+list).StatusCode, list)
	}
}

// TestTime cuts off a request that takes too long.
func TestTime(t *testing.T) {
	files := classic(t, "cdf2_climate")
	_, at := start(t, folder(t, files), &Options{Time: time.Nanosecond})
	a, err := http.Get(at + "/files/cdf2_climate.nc")
	if err == nil {
		_, err = io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
	require.Error(t, err)
}

// TestConns has more connections than are allowed. All are served in the end.
func TestConns(t *testing.T) {
	_, at := start(t, t.TempDir(), &Options{Conns: 2})
	var g errgroup.Group
	for range 20 {
		g.Go(func() error {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			a, err := client.Get(at + healthPath)
			if err != nil {
				return err
			}
			return a.Body.Close()
		})
	}
	require.NoError(t, g.Wait())
}

// TestOutside tries to leave the source, by paths and by links.
func TestOutside(t *testing.T) {
	top := t.TempDir()
	put(t, filepath.Join(top, "secret.txt"), []byte("secret"))
	dir := filepath.Join(top, "src")
	put(t, filepath.Join(dir, "sub", "a.txt"), []byte("inside"))
	images := folder(t, classic(t, "cdf2_climate"))
	put(t, filepath.Join(top, "out.nc"+archive.Suffix), damaged(t, filepath.Join(images, "cdf2_climate.nc.cdfz"), 1))
	require.NoError(t, os.Symlink("../secret.txt", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	require.NoError(t, os.Symlink(filepath.Join(top, "secret.txt"), filepath.Join(dir, "absolute")))
	require.NoError(t, os.Symlink("../out.nc.cdfz", filepath.Join(dir, "out.nc.cdfz")))
	require.NoError(t, os.Symlink("sub/a.txt", filepath.Join(dir, "inner")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	_, at := start(t, dir, nil)
	require.Equal(t, "inside", get(t, at+"/files/inner").body)
	for _, p := range []string{
		"link", "absolute", "up/", "up/secret.txt", "out.nc", "out.nc.cdfz", "loop", "../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt",
		"sub/../../secret.txt", "sub/%2e%2e/%2e%2e/secret.txt", "..%5csecret.txt", "/etc/passwd", "%2fetc%2fpasswd", "./link", "sub//a.txt", "sub/./a.txt",
		"%00", "a%00b", "sub/a.txt%00.nc", strings.Repeat("a", 5000), strings.Repeat("a/", 5000), "%ff%fe", "CON", "sub/a.txt/",
	} {
		host := strings.TrimPrefix(at, "http://")
		c, err := net.Dial("tcp", host)
		require.NoError(t, err)
		fmt.Fprintf(c, "GET /files/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", p)
		b, err := io.ReadAll(c)
		require.NoError(t, err)
		c.Close()
		require.Regexp(t, `^HTTP/1.1 404 `, string(b), p)
		require.NotContains(t, string(b), "secret\n", p)
	}
	require.NotContains(t, get(t, at+"/files/").body, "link")
}

// TestHostile sends what clients should not, with some connections that stay open. The
// server goes on, and its goroutines and memory stay bounded.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	files := classic(t, "cdf2_climate")
	s, at := start(t, folder(t, files), &Options{Conns: 64})
	host := strings.TrimPrefix(at, "http://")
	const path = "/files/cdf2_climate.nc"
	lines := []string{
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=" + strings.Repeat("0-0,", 5000) + "0-0\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-18446744073709551616\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=-99999999999999999999\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nRange: bytes=9-1,x,-,,\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n",
		"GET /" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: localhost\r\n",
		"GET " + path + " HTTP/1.1\r\n",
		"GET " + path + "\r\n",
		"POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n",
		"GET " + path + " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n",
		"GET " + path + " HTTP/9.9\r\nHost: localhost\r\n",
		"GET %zz HTTP/1.1\r\nHost: localhost\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n",
		"CONNECT example.org:80 HTTP/1.1\r\nHost: localhost\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
		strings.Repeat("A", 1000),
	}
	n := 200
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 5000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	var g errgroup.Group
	g.SetLimit(32)
	var mu sync.Mutex
	most := 0
	for i := range n {
		g.Go(func() error {
			c, err := net.Dial("tcp", host)
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			line := lines[i%len(lines)]
			if _, err := io.WriteString(c, line+"Connection: close\r\n\r\n"); err != nil {
				return nil // refused before it was complete
			}
			if i%3 == 0 {
				return nil // leaves without an answer
			}
			if strings.HasPrefix(line, "A") || i%5 == 0 {
				_ = c.(*net.TCPConn).CloseWrite()
			}
			_, _ = io.Copy(io.Discard, bufio.NewReader(c))
			mu.Lock()
			most = max(most, runtime.NumGoroutine())
			mu.Unlock()
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Less(t, most, goroutines+400)
	require.Equal(t, string(files["cdf2_climate.nc"]), get(t, at+path).body)
	require.Eventually(t, func() bool { return len(s.slots) == 0 }, time.Minute, time.Millisecond)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapInuse)-int64(before.HeapInuse), int64(64<<20))
}

// TestSlow has a client that does not read: it occupies one place and no more memory than
// the buffers of its connection.
func TestSlow(t *testing.T) {
	s, at := start(t, folder(t, classic(t, "cdf2_climate")), &Options{})
	c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	require.NoError(t, err)
	for range 100 { // pipelined
		_, err = io.WriteString(c, "GET /files/cdf2_climate.nc HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
	}
	require.Equal(t, 200, get(t, at+"/files/").StatusCode)
	require.LessOrEqual(t, len(s.slots), 1)
	require.NoError(t, c.Close())
}

// TestSlowReaders has clients that stop reading. They are cut off, and leave no goroutines.
func TestSlowReaders(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "large.bin"), make([]byte, 16<<20))
	s, err := New(dir, nil)
	require.NoError(t, err)
	s.slow = 100 * time.Millisecond
	at := run(t, s)
	before := runtime.NumGoroutine()
	const clients = 20
	for range clients {
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(c, "GET /files/large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1000))
		require.NoError(t, err)
	}
	require.Less(t, runtime.NumGoroutine(), before+4*clients)
	require.Eventually(t, func() bool { return len(s.slots) == 0 && runtime.NumGoroutine() <= before+2 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 200, get(t, at+"/files/").StatusCode)
}
