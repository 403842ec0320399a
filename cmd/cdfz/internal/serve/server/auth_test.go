package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// TestAuthEverywhere asks every service without and with a wrong password.
func TestAuthEverywhere(t *testing.T) {
	var log bytes.Buffer
	s, err := New(folder(t, classic(t, "cdf2_climate")), &Options{Users: users(t), Log: &log})
	require.NoError(t, err)
	defer s.close()
	status := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w
	}
	for _, path := range append(everyService, "/..", "//files/", "/healthz/", "/healthz/../files/", "/files/../healthz") {
		if path == healthPath {
			continue
		}
		for _, header := range [][]string{nil, {"Authorization", "Basic YWxpY2U6d3Jvbmc="}, {"Authorization", "Basic x"}, {"Authorization", "Bearer x"}, {"Authorization", "Basic YWxpY2U6"},
			{"X-Forwarded-User", "alice", "Remote-User", "alice"}} {
			w := status(path, header...)
			require.Equal(t, 401, w.Code, "%s %v", path, header)
			require.Equal(t, "name and password needed\n", w.Body.String(), path)
		}
	}
	require.NotContains(t, log.String(), "alice")
	w := status(filesPath, "Authorization", "Basic YWxpY2U6cmlnaHQ=")
	require.Equal(t, 200, w.Code)
	// The log has neither the password nor its encoding.
	require.NotContains(t, log.String(), "right")
	require.NotContains(t, log.String(), "YWxp")
	// URLs with a password reach a server as the request of a proxy.
	log.Reset()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+filesPath, nil)
	r.RequestURI = "http://alice:right@localhost" + filesPath + "?a=1"
	r.Header.Set("Referer", "http://alice:right@localhost/page/")
	s.http.Handler.ServeHTTP(httptest.NewRecorder(), r)
	require.NotContains(t, log.String(), "right")
	require.Contains(t, log.String(), "localhost"+filesPath+"?a=1")
	require.Contains(t, log.String(), "localhost/page/")
}

// TestAuthSlots has clients without a password that keep bcrypt busy. Users whose password
// was right before read on.
func TestAuthSlots(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), 12)
	require.NoError(t, err)
	u, err := ReadUsers(strings.NewReader("alice:" + string(hash) + "\n"))
	require.NoError(t, err)
	s, err := New(folder(t, classic(t, "cdf2_climate")), &Options{Users: func() *Users { return u }, Requests: 4})
	require.NoError(t, err)
	defer s.close()
	status := func(ctx context.Context, name, password string) int {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+filesPath, nil).WithContext(ctx)
		r.SetBasicAuth(name, password)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, status(t.Context(), "alice", "right"))
	ctx, cancel := context.WithCancel(t.Context())
	const guesses = maxChecks + 50
	codes := make(chan int, guesses)
	for i := range guesses {
		go func() { codes <- status(ctx, "bob", fmt.Sprint(i)) }()
	}
	for range 50 { // more than wait are refused at once
		require.Equal(t, 503, <-codes)
	}
	require.Equal(t, 200, status(t.Context(), "alice", "right"))
	cancel()
	for range maxChecks {
		require.Equal(t, 401, <-codes)
	}
}

// TestAuthTime has users with hashes of several costs. An unknown name costs as much as one
// of them, always the same, so that the time tells nobody which names there are.
func TestAuthTime(t *testing.T) {
	text := ""
	for i, cost := range []int{4, 5, 6, 4} {
		hash, err := bcrypt.GenerateFromPassword([]byte("right"), cost)
		require.NoError(t, err)
		text += fmt.Sprintf("user%d:%s\n", i, hash)
	}
	u, err := ReadUsers(strings.NewReader(text))
	require.NoError(t, err)
	costs := map[int]int{}
	for i := range 1000 {
		name := fmt.Sprint("other", i)
		hash, ok := u.hash(name)
		require.False(t, ok)
		again, _ := u.hash(name)
		require.Equal(t, hash, again)
		cost, err := bcrypt.Cost(hash)
		require.NoError(t, err)
		costs[cost]++
	}
	require.Greater(t, costs[4], costs[5])
	require.Greater(t, costs[5], 100)
	require.Greater(t, costs[6], 100)
	// The password of the user whose hash it is opens nothing.
	require.Equal(t, wrong, u.check("other1", "right", nil))
	require.Equal(t, right, u.check("user2", "right", nil))
	require.Equal(t, wrong, u.check("user2", "wrong", nil))
}

// TestSecureAuth asks over HTTP/2 and TLS, and checks that old protocols are refused.
func TestSecureAuth(t *testing.T) {
	at := runTLS(t, folder(t, classic(t, "cdf2_climate")), &Options{Users: users(t)}, &tls.Config{Certificates: []tls.Certificate{pair(t)}, MinVersion: tls.VersionTLS12})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for _, path := range everyService {
		for password, want := range map[string]int{"wrong": 401, "right": 200} {
			r, err := http.NewRequest(http.MethodGet, at+path, nil)
			require.NoError(t, err)
			r.SetBasicAuth("alice", password)
			a, err := client.Transport.RoundTrip(r)
			require.NoError(t, err)
			a.Body.Close()
			require.Equal(t, 2, a.ProtoMajor)
			switch {
			case path == healthPath:
				want = 200
			case want == 401:
			case path == "/":
				want = 302
			case path == "/none":
				want = 404
			case strings.HasPrefix(path, apiPath+"values"):
				want = 400
			}
			require.Equal(t, want, a.StatusCode, path)
		}
	}
	host := strings.TrimPrefix(at, "https://")
	_, err := tls.Dial("tcp", host, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	require.Error(t, err)
	// A request without TLS.
	c, err := net.Dial("tcp", host)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET /files/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	b, _ := io.ReadAll(c)
	require.Regexp(t, `^HTTP/1.0 400 `, string(b))
}

// TestUserFile changes the file of users while the server runs.
func TestUserFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "users")
	line := func(user, password string) string {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		require.NoError(t, err)
		return user + ":" + string(hash) + "\n"
	}
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	_, err := OpenUserFile(name, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	write(line("alice", "right"))
	var warned []string
	u, err := OpenUserFile(name, func(err error) { warned = append(warned, err.Error()) })
	require.NoError(t, err)
	s, err := New(t.TempDir(), &Options{Users: u.Users})
	require.NoError(t, err)
	defer s.close()
	check := func(user, password string, want int) {
		t.Helper()
		for range 2 {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+filesPath, nil)
			r.SetBasicAuth(user, password)
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, r)
			require.Equal(t, want, w.Code, "%s %s", user, password)
		}
	}
	check("alice", "right", 200)
	write(line("alice", "changed") + line("bob", "right"))
	check("alice", "right", 401)
	check("alice", "changed", 200)
	check("bob", "right", 200)
	// A user who was known is gone at once.
	write(line("bob", "right"))
	check("alice", "changed", 401)
	// Replaced by a file of the same size and time.
	st, err := os.Stat(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name+".new", []byte(line("eve", "right")), 0o600))
	require.NoError(t, os.Chtimes(name+".new", st.ModTime(), st.ModTime()))
	require.NoError(t, os.Rename(name+".new", name))
	check("bob", "right", 401)
	check("eve", "right", 200)
	// A malformed file changes nothing, and is reported once.
	require.Empty(t, warned)
	write("eve:plain\n")
	check("eve", "right", 200)
	require.Equal(t, []string{"the new file of users is not used, and the users stay as they are: line 1: expected a hash of bcrypt, as htpasswd -B makes"}, warned)
	write("")
	check("eve", "right", 200)
	require.Len(t, warned, 2)
	// Without the file nobody gets in.
	require.NoError(t, os.Remove(name))
	check("eve", "right", 401)
	require.Equal(t, "the file of users was removed: nobody may log in", warned[2])
	write("eve:plain\n")
	check("eve", "right", 401)
	write(line("eve", "right"))
	check("eve", "right", 200)
	require.Len(t, warned, 4)
}
