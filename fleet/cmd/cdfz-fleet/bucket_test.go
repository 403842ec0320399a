package main

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// flaky is a store that answers some requests with an error, or does what they ask and loses the answer.
type flaky struct {
	next          http.Handler
	mu            sync.Mutex
	random        *rand.Rand
	refuse        func(r *http.Request) bool // for good, if not nil
	faults, total atomic.Int64
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.total.Add(1)
	f.mu.Lock()
	n := f.random.IntN(20)
	f.mu.Unlock()
	switch {
	case f.refuse != nil && f.refuse(r):
		f.faults.Add(1)
		w.WriteHeader(http.StatusForbidden)
	case n == 0:
		f.faults.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	case n == 1:
		f.faults.Add(1)
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // the connection ends
	default:
		f.next.ServeHTTP(w, r)
	}
}

// TestStore archives a tree into a store that fails now and then with two pipelines at the same time,
// verifies and restores it, and archives objects of the store.
func TestStore(t *testing.T) {
	files := 12
	if soak() {
		files = 500
	}
	back := s3mem.New()
	require.NoError(t, back.CreateBucket("bucket"))
	f := &flaky{next: gofakes3.New(back).Server(), random: rand.New(rand.NewPCG(1, 2))}
	srv := httptest.NewServer(f)
	defer srv.Close()
	dir := t.TempDir()
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"),
	} {
		t.Setenv(k, v)
	}
	want := tree(t, dir, files)

	type result struct {
		files int64
		code  int
		msg   string
	}
	results := make(chan result, 2)
	for _, jobs := range []string{"jobs1", "jobs2"} {
		go func() {
			sum, code, msg := run1(t, dir, "archive", "-source", "data", "-o", "s3://bucket/arch/", "-dir", jobs, "-shards", "3", "-attempts", "50", "-catalogue")
			results <- result{sum.Files + sum.Unchanged, code, msg}
		}()
	}
	for range 2 {
		r := <-results
		require.Zero(t, r.code, r.msg)
		require.EqualValues(t, len(want), r.files, r.msg)
	}
	list, err := back.ListBucket("bucket", &gofakes3.Prefix{}, gofakes3.ListBucketPage{MaxKeys: 10 * int64(files)})
	require.NoError(t, err)
	require.Len(t, list.Contents, len(want))
	// Each run has read again, and proved, what is in the store.
	proofs, err := filepath.Glob(filepath.Join(dir, "jobs[12]", "*.receipts.jsonl"))
	require.NoError(t, err)
	require.Len(t, proofs, 6)
	command(t, dir, append([]string{"receipts", "-q"}, proofs...)...)

	sum, code, msg := run1(t, dir, "verify", "-source", "s3://bucket/arch/", "-dir", "jobs3", "-shards", "3", "-attempts", "50")
	require.Zero(t, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	sum, code, msg = run1(t, dir, "restore", "-source", "s3://bucket/arch/", "-o", "back", "-dir", "jobs3", "-shards", "3", "-attempts", "50")
	require.Zero(t, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	require.Equal(t, want, sums(t, filepath.Join(dir, "back")))

	// Originals in the store become local archives with receipts, and one of them cannot be read.
	poisoned := ""
	for n := range want {
		b, err := os.ReadFile(filepath.Join(dir, "data", n))
		require.NoError(t, err)
		_, err = back.PutObject("bucket", "in/"+filepath.ToSlash(n), map[string]string{}, bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		poisoned = n
	}
	// Keys that lead out of the target are refused.
	for _, key := range []string{"in/../../out.nc", "in/a//b.nc"} {
		_, err = back.PutObject("bucket", key, map[string]string{}, strings.NewReader("text"), 4, nil)
		require.NoError(t, err)
	}
	f.refuse = func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/in/"+filepath.ToSlash(poisoned)) }
	sum, code, msg = run1(t, dir, "archive", "-source", "s3://bucket/in/", "-o", "arch", "-dir", "jobs", "-shards", "3", "-attempts", "20", "-failures", "failed")
	require.Equal(t, exitLasting, code, msg)
	require.EqualValues(t, len(want)-1, sum.Files)
	require.Equal(t, map[string]int64{"failed": 3}, sum.Failures)
	var failed []any
	for _, l := range lines(t, filepath.Join(dir, "failed"))[1:] {
		failed = append(failed, l["source"])
	}
	require.ElementsMatch(t, []any{"s3://bucket/in/" + filepath.ToSlash(poisoned), "s3://bucket/in/../../out.nc", "s3://bucket/in/a//b.nc"}, failed)
	delete(want, poisoned)
	for n := range want {
		require.FileExists(t, filepath.Join(dir, "arch", n+".cdfz"))
	}
	command(t, dir, append([]string{"receipts", "-q"}, receiptsOf(t, dir)...)...)
	t.Logf("files %d, requests %d, failed or lost by the store %d", files, f.total.Load(), f.faults.Load())
}
