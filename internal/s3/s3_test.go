package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/remote"
)

// store is an S3 server in this process, with faults.
type store struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // method and path
	fault    func(n int, w http.ResponseWriter, r *http.Request) bool
	next     http.Handler
	real     bool // it checks signatures
}

// newStore starts a store with a bucket and sets the environment for it. If CDFZ_S3 is the
// URL of a real store with the key id, the secret "secret12" and an empty bucket "bucket",
// requests that get no fault go to that store.
func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{}
	if real := os.Getenv("CDFZ_S3"); real != "" {
		u, err := url.Parse(real)
		require.NoError(t, err)
		s.real = true
		s.next = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = u.Scheme, u.Host, r.In.Host // Host is signed
		}}
	} else {
		back := s3mem.New()
		require.NoError(t, back.CreateBucket("bucket"))
		s.next = gofakes3.New(back).Server()
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret12", "AWS_SESSION_TOKEN": "", "AWS_REGION": "",
		"AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"), "AWS_PROFILE": "",
	} {
		t.Setenv(k, v)
	}
	forget()
	t.Cleanup(forget)
	return s
}

func init() { policy.First = time.Millisecond }

// forget makes the next request look credentials up again.
func forget() {
	shared.Lock()
	defer shared.Unlock()
	shared.creds = nil
}

// ServeHTTP implements http.Handler.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(n, w, r) {
		return
	}
	if !s.real && r.Method == http.MethodPut && r.ContentLength > 0 {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if sum := sha256.Sum256(b); r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
			refuse(w, 400, "XAmzContentSHA256Mismatch")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	s.next.ServeHTTP(w, r)
}

func (s *store) set(fault func(n int, w http.ResponseWriter, r *http.Request) bool) (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
	return len(s.requests)
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// refuse answers with an error of S3.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>what the store says</Message></Error>`, code)
}

// random returns n random bytes.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.New(rand.NewSource(int64(n))).Read(b)
	return b
}

// read reads an object by ranges.
func read(t *testing.T, name string) []byte {
	t.Helper()
	f, err := remote.Open(t.Context(), name, quick())
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	require.NoError(t, err)
	return b
}

// quick are options without pauses.
func quick() *remote.Options {
	return &remote.Options{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Timeout: 2 * time.Second}
}

func TestUpload(t *testing.T) {
	s := newStore(t)
	sizes := []int{1, minPart, minPart + 1, 3*minPart + 5}
	if testing.Short() {
		sizes = []int{1, minPart + 1}
	}
	for _, n := range sizes {
		for _, key := range []string{"a.bin", "dir/b c+d%2F?#&é.bin"} {
			name := "s3://bucket/" + key
			want := random(n)
			var done []int64
			var mu sync.Mutex
			o := &UploadOptions{Overwrite: true, Part: 1, Progress: func(k int64) { mu.Lock(); done = append(done, k); mu.Unlock() }}
			require.NoError(t, Upload(t.Context(), name, bytes.NewReader(want), int64(n), o), "%s %d", key, n)
			require.Contains(t, done, int64(n))
			require.True(t, bytes.Equal(want, read(t, name)), "%s %d", key, n)
			o.Overwrite = false
			require.ErrorIs(t, Upload(t.Context(), name, bytes.NewReader(want), int64(n), o), fs.ErrExist)
		}
	}
	err := Upload(t.Context(), "s3://nobody/x", bytes.NewReader(nil), 0, nil)
	require.ErrorContains(t, err, "s3: s3://nobody/x: no such bucket (NoSuchBucket)")
	require.ErrorIs(t, Upload(t.Context(), "s3://bucket", bytes.NewReader(nil), 0, nil), remote.ErrOptions)
	broken := errors.New("broken")
	require.ErrorIs(t, Upload(t.Context(), "s3://bucket/y", &failing{broken}, minPart*3, &UploadOptions{Part: 1}), broken)
	require.NotZero(t, s.count())
	_, err = remote.Open(t.Context(), "s3://bucket/y", quick())
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// failing is a source that fails.
type failing struct{ err error }

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, f.err
	}
	return len(p), nil
}

// TestFaults uploads and reads with errors of the server, resets and slow answers at every
// third request. A request fails at most four times, which is fewer than it is sent.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	s := newStore(t)
	want := random(4*minPart + 77)
	var slow atomic.Int64
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"500":  func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, 500, "InternalError"); return true },
		"503":  func(w http.ResponseWriter, _ *http.Request) bool { refuse(w, 503, "SlowDown"); return true },
		"drop": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"lost": func(_ http.ResponseWriter, r *http.Request) bool { // done, but the answer is lost
			s.next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"slow": func(http.ResponseWriter, *http.Request) bool {
			slow.Add(1)
			time.Sleep(50 * time.Millisecond)
			return false
		},
	} {
		var mu sync.Mutex
		failed := map[string]int{}
		s.set(func(n int, w http.ResponseWriter, r *http.Request) bool {
			key := r.Method + r.URL.String() + r.Header.Get("Range")
			mu.Lock()
			if n%3 == 0 {
				failed[key]++
			}
			fails := n%3 == 0 && failed[key] <= 4
			mu.Unlock()
			return fails && fault(w, r)
		})
		object := "s3://bucket/" + name
		require.NoError(t, Upload(t.Context(), object, bytes.NewReader(want), int64(len(want)), &UploadOptions{Part: 1}), name)
		require.True(t, bytes.Equal(want, read(t, object)), name)
		// The upload is complete, or there is nothing of it.
		small := want[:1000]
		require.NoError(t, Upload(t.Context(), object+"-small", bytes.NewReader(small), int64(len(small)), nil), name)
		require.True(t, bytes.Equal(small, read(t, object+"-small")), name)
	}
	require.Positive(t, slow.Load())
}

// forgetful is a store with one object. It drops the connection in place of the answer to
// the first request that makes the object appear, and refuses the next ones. Its ETags have
// the given texts, and if other is set, another writer's object is there.
type forgetful struct {
	tag, partTag string
	other, data  []byte
	parts        map[string][]byte
	lost         bool
	deleted      bool
}

// ServeHTTP implements http.Handler.
func (s *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	q := r.URL.Query()
	appear := func(data []byte, status int, code string) {
		if s.lost {
			refuse(w, status, code)
			return
		}
		s.data, s.lost = data, true
		if s.other != nil {
			s.data = s.other
		}
		panic(http.ErrAbortHandler)
	}
	switch {
	case r.Method == http.MethodDelete && q.Get("uploadId") == "":
		s.deleted = true
	case r.Method == http.MethodDelete:
		refuse(w, 404, "NoSuchUpload")
	case r.Method == http.MethodPost && q.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut && q.Has("partNumber"):
		s.parts[q.Get("partNumber")] = body
		w.Header().Set("ETag", s.partTag)
	case r.Method == http.MethodPost:
		appear(append(s.parts["1"], s.parts["2"]...), 404, "NoSuchUpload")
	case r.Method == http.MethodPut:
		appear(body, 412, "PreconditionFailed")
	case s.data == nil:
		refuse(w, 404, "NoSuchKey")
	default:
		if s.tag != "" {
			w.Header().Set("ETag", s.tag)
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(s.data))
	}
}

// TestLostAnswer uploads to stores with ETags of several kinds. The upload succeeds if the
// object has the right bytes, and not if it has other ones of the same length.
func TestLostAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	s := newStore(t)
	hex16 := `"` + strings.Repeat("ab", 16) + `"`
	for _, tags := range [][2]string{{"", ""}, {"", hex16}, {hex16, hex16}, {`"version 7"`, `"opaque"`}, {`"7-1"`, `"abab"`}} {
		for _, n := range []int{1000, minPart + 1000} {
			for _, other := range [][]byte{nil, bytes.Repeat([]byte{1}, n), {1}} {
				store := &forgetful{tag: tags[0], partTag: tags[1], other: other, parts: map[string][]byte{}}
				var mu sync.Mutex
				s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					store.ServeHTTP(w, r)
					return true
				})
				err := Upload(t.Context(), "s3://bucket/x", bytes.NewReader(random(n)), int64(n), &UploadOptions{Part: 1})
				if other == nil {
					require.NoError(t, err, "%q %d", tags, n)
					require.True(t, bytes.Equal(random(n), store.data))
					continue
				}
				require.Error(t, err, "%q %d", tags, n)
				require.False(t, store.deleted)
				require.True(t, bytes.Equal(other, store.data))
			}
		}
	}
}

// TestArchive counts the requests for an archive: as many as over HTTP.
func TestArchive(t *testing.T) {
	s := newStore(t)
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	require.NoError(t, Upload(t.Context(), "s3://bucket/x.nc.cdfz", bytes.NewReader(b.Bytes()), int64(b.Len()), nil))
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(b.Bytes()))
	}))
	defer plain.Close()
	cost := func(name string) (remote.Stats, string) {
		f, err := remote.Open(t.Context(), name, quick())
		require.NoError(t, err)
		defer f.Close()
		a, err := archive.New(t.Context(), f, f.Size(), &archive.OpenOptions{Workers: 1})
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, a.Image().Copy(t.Context(), &out, &archive.CopyOptions{Workers: 1}))
		require.True(t, bytes.Equal(image, out.Bytes()))
		return f.Stats(), f.Name()
	}
	before := s.count()
	got, name := cost("s3://bucket/x.nc.cdfz")
	require.Equal(t, "s3://bucket/x.nc.cdfz", name)
	want, _ := cost(plain.URL + "/x.nc.cdfz")
	require.Equal(t, want, got)
	require.Equal(t, int(got.Requests), s.count()-before)
	f, err := archive.Open(t.Context(), "s3://bucket/x.nc.cdfz", nil)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestErrors checks that what a store refuses is told once and clearly.
func TestErrors(t *testing.T) {
	s := newStore(t)
	require.NoError(t, Upload(t.Context(), "s3://bucket/x", bytes.NewReader(random(9)), 9, nil))
	for code, want := range map[string]struct {
		status, requests int
		text             string
		is               error
	}{
		"ExpiredToken":          {400, 2, "the credentials have expired, renew them (ExpiredToken)", fs.ErrPermission},
		"InvalidAccessKeyId":    {403, 1, "the store does not know the access key", fs.ErrPermission},
		"SignatureDoesNotMatch": {403, 1, "the secret key is wrong", fs.ErrPermission},
		"RequestTimeTooSkewed":  {403, 1, "the clock of this computer is wrong", fs.ErrPermission},
		"AccessDenied":          {403, 1, "access denied (AccessDenied)", fs.ErrPermission},
		"NoSuchKey":             {404, 1, "no such object", fs.ErrNotExist},
		"NoSuchBucket":          {404, 1, "no such bucket", fs.ErrNotExist},
		"Unheard":               {403, 1, "the store answered: what the store says (Unheard)", fs.ErrPermission},
	} {
		before := s.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { refuse(w, want.status, code); return true })
		_, err := remote.Open(t.Context(), "s3://bucket/x", quick())
		require.ErrorContains(t, err, want.text, code)
		require.ErrorContains(t, err, "remote: s3://bucket/x: ", code)
		require.ErrorIs(t, err, want.is, code)
		require.Equal(t, want.requests, s.count()-before, code)
	}
	s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead {
			return false
		}
		refuse(w, 403, "InvalidAccessKeyId")
		return true
	})
	err := Upload(t.Context(), "s3://bucket/z", bytes.NewReader(random(9)), 9, nil)
	require.ErrorContains(t, err, "s3: s3://bucket/z: the store does not know the access key")
	// A body that was damaged on the way is refused, and sent again.
	damaged := false
	s.set(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && !damaged {
			damaged = true
			r.Body = io.NopCloser(bytes.NewReader(make([]byte, r.ContentLength)))
		}
		return false
	})
	require.NoError(t, Upload(t.Context(), "s3://bucket/z", bytes.NewReader(random(9)), 9, nil))
	require.True(t, damaged)
	require.Equal(t, random(9), read(t, "s3://bucket/z"))
}

// TestConfig checks where the address, the region and the credentials come from.
func TestConfig(t *testing.T) {
	newStore(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	o, err := parse("s3://my-bucket/dir/a b")
	require.NoError(t, err)
	require.Equal(t, "https://my-bucket.s3.us-east-1.amazonaws.com/dir/a%20b", o.url().String())
	o, err = parse("s3://my.bucket/k")
	require.NoError(t, err)
	require.Equal(t, "https://s3.us-east-1.amazonaws.com/my.bucket/k", o.url().String())
	o, err = parse("gs://bucket/k")
	require.NoError(t, err)
	require.Equal(t, "https://storage.googleapis.com/bucket/k", o.url().String())
	require.False(t, o.ours("example.org"))

	dir := t.TempDir()
	config, secrets := filepath.Join(dir, "config"), filepath.Join(dir, "credentials")
	require.NoError(t, os.WriteFile(config, []byte("[default]\nregion = eu-west-1\n[profile work]\nregion = eu-north-1\nendpoint_url = http://127.0.0.1:9\n"), 0o600))
	require.NoError(t, os.WriteFile(secrets, []byte("[work]\naws_access_key_id = of-work\naws_secret_access_key = s\n"), 0o600))
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", secrets)
	o, err = parse("s3://bucket/k")
	require.NoError(t, err)
	require.Equal(t, "eu-west-1", o.region)
	t.Setenv("AWS_PROFILE", "work")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	forget()
	o, err = parse("s3://bucket/k")
	require.NoError(t, err)
	require.Equal(t, "eu-north-1", o.region)
	require.Equal(t, "http://127.0.0.1:9/bucket/k", o.url().String())
	value, err := sharedCredentials().GetWithContext(nil)
	require.NoError(t, err)
	require.Equal(t, "of-work", value.AccessKeyID)
	t.Setenv("AWS_REGION", "ap-south-1")
	o, err = parse("s3://bucket/k")
	require.NoError(t, err)
	require.Equal(t, "ap-south-1", o.region)

	for _, name := range []string{"s3://", "s3://bucket", "s3://bucket/", "s3:///key", "s3://a/k", "gs://BUCKET_/k"} {
		_, err := remote.Open(t.Context(), name, quick())
		require.ErrorIs(t, err, remote.ErrOptions, name)
	}
	t.Setenv("AWS_ENDPOINT_URL", "ftp://x")
	_, err = parse("s3://bucket/k")
	require.ErrorContains(t, err, `endpoint: expected http://HOST or https://HOST, found "ftp://x"`)
}

// answers is an http.RoundTripper.
type answers func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestRegion reads an object of Amazon's store in another region than the configured one.
// The store answers as documented.
func TestRegion(t *testing.T) {
	newStore(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	var hosts []string
	client := &http.Client{Transport: answers(func(r *http.Request) *http.Response {
		hosts = append(hosts, r.URL.Host)
		w := httptest.NewRecorder()
		if r.URL.Host != "bucket.s3.eu-north-1.amazonaws.com" {
			w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
			refuse(w, http.StatusMovedPermanently, "PermanentRedirect")
		} else {
			require.Contains(t, r.Header.Get("Authorization"), "/eu-north-1/s3/aws4_request")
			require.Contains(t, r.Header.Get("Authorization"), "range;")
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(random(9000)))
		}
		res := w.Result()
		res.Request = r
		return res
	})}
	o := quick()
	o.Client = client
	f, err := remote.Open(t.Context(), "s3://bucket/dir/x", o)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 9000)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, random(9000), b)
	require.Equal(t, []string{"bucket.s3.us-east-1.amazonaws.com", "bucket.s3.eu-north-1.amazonaws.com", "bucket.s3.eu-north-1.amazonaws.com"}, hosts)
}

// TestReplace replaces one version of an object, and no other, also in a store that ignores
// conditions.
func TestReplace(t *testing.T) {
	s := newStore(t)
	const name = "s3://bucket/x"
	_, err := Stat(t.Context(), name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	put := func(text string, o *UploadOptions) error {
		return Upload(t.Context(), name, strings.NewReader(text), int64(len(text)), o)
	}
	for _, obeys := range []bool{true, false} {
		s.set(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			if !obeys {
				r.Header.Del("If-Match")
			}
			return false
		})
		require.NoError(t, put("old", &UploadOptions{Overwrite: true}))
		old, err := Stat(t.Context(), name)
		require.NoError(t, err)
		require.EqualValues(t, 3, old.Size)
		require.NoError(t, put("other", &UploadOptions{Overwrite: true}))
		require.ErrorIs(t, put("new", &UploadOptions{Replace: old}), fs.ErrExist)
		require.Equal(t, "other", string(read(t, name)))
		now, err := Stat(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, put("new", &UploadOptions{Replace: now}))
		require.Equal(t, "new", string(read(t, name)))
	}
	none := &Version{ETag: "none", Size: 3}
	require.ErrorIs(t, Upload(t.Context(), "s3://bucket/none", strings.NewReader("new"), 3, &UploadOptions{Replace: none}), fs.ErrNotExist)
}

// TestConditionOfParts uploads in parts to a store that refuses conditions where Amazon's store has none: only the request
// that makes the object appear may have one, and it must.
func TestConditionOfParts(t *testing.T) {
	s := newStore(t)
	want := random(minPart + 9)
	conditions := 0
	s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		has := r.Header.Get("If-Match") != "" || r.Header.Get("If-None-Match") != ""
		if has && r.URL.Query().Get("uploadId") != "" && r.Method == http.MethodPost {
			conditions++
		} else if has {
			refuse(w, 501, "NotImplemented")
			return true
		}
		return false
	})
	const name = "s3://bucket/x"
	require.NoError(t, Upload(t.Context(), name, bytes.NewReader(want), int64(len(want)), &UploadOptions{Part: 1}))
	require.Equal(t, 1, conditions)
	now, err := Stat(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, Upload(t.Context(), name, bytes.NewReader(want), int64(len(want)), &UploadOptions{Part: 1, Replace: now}))
	require.Equal(t, 2, conditions)
	w, err := NewWriter(t.Context(), name+"2", DefaultPart+9)
	require.NoError(t, err)
	_, err = w.Write(random(DefaultPart + 9))
	require.NoError(t, err)
	require.NoError(t, w.Commit(t.Context()))
	require.Equal(t, 3, conditions)
}

// TestConflict uploads to a store that answers, as Amazon's does while another writer of the object is not done, that there is a
// conflict. The object is sent again, with all its parts, and its condition is judged again.
func TestConflict(t *testing.T) {
	s := newStore(t)
	appears := func(r *http.Request) bool {
		q := r.URL.Query()
		return r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploadId")
	}
	// conflicts lets the next n uploads to an object fail, each time after what the other writer does.
	conflicts := func(n int, other func()) (parts *atomic.Int64) {
		parts = new(atomic.Int64)
		var left atomic.Int64
		left.Store(int64(n))
		s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Has("partNumber") {
				parts.Add(1)
			}
			if !appears(r) || left.Add(-1) < 0 {
				return false
			}
			if r.Method == http.MethodPost { // the parts are gone
				del := httptest.NewRequest(http.MethodDelete, r.URL.String(), nil)
				s.next.ServeHTTP(httptest.NewRecorder(), del)
			}
			if other != nil {
				other()
			}
			refuse(w, 409, "ConditionalRequestConflict")
			return true
		})
		return parts
	}
	put := func(name, text string) func() {
		return func() {
			r := httptest.NewRequest(http.MethodPut, s.URL+strings.TrimPrefix(name, "s3:/"), strings.NewReader(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			w := httptest.NewRecorder()
			s.next.ServeHTTP(w, r)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
		}
	}
	if s.real {
		t.Skip("the other writer has no signatures")
	}
	for _, n := range []int{1000, minPart + 1000} {
		name, want := fmt.Sprintf("s3://bucket/%d", n), random(n)
		up := func(o UploadOptions) error {
			o.Part = 1
			return Upload(t.Context(), name, bytes.NewReader(want), int64(n), &o)
		}
		// The other writer fails.
		parts := conflicts(2, nil)
		require.NoError(t, up(UploadOptions{}))
		require.True(t, bytes.Equal(want, read(t, name)))
		require.EqualValues(t, n/minPart*2*3, parts.Load())
		old, err := Stat(t.Context(), name)
		require.NoError(t, err)
		conflicts(2, nil)
		require.NoError(t, up(UploadOptions{Replace: old}))
		// The other writer succeeds.
		if old, err = Stat(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		conflicts(1, put(name, "other"))
		require.ErrorIs(t, up(UploadOptions{Replace: old}), fs.ErrExist)
		require.Equal(t, "other", string(read(t, name)))
		name += "-new"
		conflicts(1, put(name, "other"))
		require.ErrorIs(t, up(UploadOptions{}), fs.ErrExist)
		require.Equal(t, "other", string(read(t, name)))
		// The conflict does not pass.
		name += "-never"
		conflicts(1e6, nil)
		require.ErrorContains(t, up(UploadOptions{}), "other programs write the object at the same time (ConditionalRequestConflict)")
	}
	// The parts of a stream cannot be sent again.
	for n, want := range map[int]error{1000: nil, DefaultPart + 1000: fs.ErrExist} {
		conflicts(1, nil)
		w, err := NewWriter(t.Context(), fmt.Sprintf("s3://bucket/stream-%d", n), int64(n))
		require.NoError(t, err)
		_, err = w.Write(random(n))
		require.NoError(t, err)
		require.ErrorIs(t, w.Commit(t.Context()), want)
	}
}

// TestUnseen uploads to a store without conditional writes that does not tell whether there is an object. What is there stays,
// unless the store refuses to tell: then the upload is conditional, and the store has to obey.
func TestUnseen(t *testing.T) {
	s := newStore(t)
	const name = "s3://bucket/x"
	require.NoError(t, Upload(t.Context(), name, strings.NewReader("old"), 3, nil))
	for _, status := range []int{405, 429, 500, 501, 503} {
		s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("If-None-Match")
			if r.Method == http.MethodHead {
				w.WriteHeader(status)
			}
			return r.Method == http.MethodHead
		})
		err := Upload(t.Context(), name, strings.NewReader("new"), 3, nil)
		require.ErrorContains(t, err, "s3: s3://bucket/x: ", status)
		require.ErrorContains(t, err, strconv.Itoa(status))
		_, err = NewWriter(t.Context(), name, 0)
		require.Error(t, err, status)
		s.set(nil)
		require.Equal(t, "old", string(read(t, name)), status)
	}
	// What a refusal means, only the upload tells.
	for _, status := range []int{301, 400, 401, 403} {
		s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodHead {
				require.Equal(t, "*", r.Header.Get("If-None-Match"))
				refuse(w, 403, "AccessDenied")
			} else {
				w.WriteHeader(status)
			}
			return true
		})
		err := Upload(t.Context(), name, strings.NewReader("new"), 3, nil)
		require.ErrorContains(t, err, "s3: s3://bucket/x: access denied", status)
	}
}

// TestConnections counts the connections that many uploads and listings take.
func TestConnections(t *testing.T) {
	s := newStore(t)
	var conns sync.Map
	s.set(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		conns.Store(r.RemoteAddr, nil)
		return false
	})
	const together = 8
	for round := range 5 {
		var g errgroup.Group
		for i := range together {
			g.Go(func() error {
				name := fmt.Sprintf("s3://bucket/%d/%d", round, i)
				if _, err := Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				if err := Upload(t.Context(), name, bytes.NewReader(random(99)), 99, nil); err != nil {
					return err
				}
				return List(t.Context(), "s3://bucket/", func([]Object) error { return nil })
			})
		}
		require.NoError(t, g.Wait())
	}
	n := 0
	conns.Range(func(_, _ any) bool { n++; return true })
	require.LessOrEqual(t, n, 3*together) // a request may begin a connection, and then use another one that is free earlier
}
