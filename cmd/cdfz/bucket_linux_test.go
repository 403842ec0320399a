package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
)

// bucket is a store in this process with the bucket "bucket", and faults. The test works in a folder of its
// own, and the environment is set for the store.
type bucket struct {
	t     *testing.T
	back  gofakes3.Backend
	clock gofakes3.TimeSourceAdvancer // of the times of objects
	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request) bool // answers a request
	next  http.Handler
}

func newBucket(t *testing.T) *bucket {
	s := &bucket{t: t, clock: gofakes3.FixedTimeSource(time.Now())}
	s.back = s3mem.New(s3mem.WithTimeSource(s.clock))
	require.NoError(t, s.back.CreateBucket("bucket"))
	s.next = gofakes3.New(s.back).Server()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	t.Chdir(dir)
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
	} {
		t.Setenv(k, v)
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil || !fault(w, r) {
		s.next.ServeHTTP(w, r)
	}
}

func (s *bucket) set(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *bucket) put(key string, b []byte) {
	s.t.Helper()
	_, err := s.back.PutObject("bucket", key, map[string]string{}, bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(s.t, err)
}

// run runs the command and returns its exit code and what it wrote.
func (s *bucket) run(args ...string) (code int, out, msg string) {
	var o, m bytes.Buffer
	code = run(s.t.Context(), args, new(bytes.Buffer), &o, &m)
	return code, o.String(), m.String()
}

// done is run for a command that must succeed.
func (s *bucket) done(args ...string) (out string) {
	s.t.Helper()
	code, out, msg := s.run(args...)
	require.Zero(s.t, code, "%v: %s%s", args, out, msg)
	return out
}

// isListing reports whether a request is for a page of a listing.
func isListing(r *http.Request) bool { return r.URL.Query().Has("list-type") }

// isTree answers a request for the tree file of a prefix: there is none.
func isTree(w http.ResponseWriter, r *http.Request) bool {
	if path.Base(r.URL.Path) != treefile.Name {
		return false
	}
	w.WriteHeader(http.StatusNotFound)
	return true
}
