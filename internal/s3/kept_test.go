package s3

import (
	"bytes"
	"crypto/md5"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// keeper is a store that changes what it was sent, or how it describes it, and answers 200.
type keeper struct {
	http.Handler
	keeps func(b []byte) []byte
	head  func(h http.Header) (status int) // changes the headers of an answer to HEAD
}

// ServeHTTP implements http.Handler.
func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut && k.keeps != nil {
		b, _ := io.ReadAll(r.Body)
		b = k.keeps(b)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		r.Header.Set("Content-Length", strconv.Itoa(len(b)))
		r.Header.Del("Content-Md5")
	}
	if r.Method != http.MethodHead || k.head == nil {
		k.Handler.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	k.Handler.ServeHTTP(rec, r)
	if rec.Code == http.StatusOK {
		rec.Code = k.head(rec.Header())
	}
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
}

// TestKept uploads to stores that answer 200 and have something else then: half of an object, other bytes or
// nothing. ETags that are no MD5 of the object prove nothing either way.
func TestKept(t *testing.T) {
	t.Setenv("CDFZ_S3", "") // a real store keeps what it accepts
	s := newStore(t)
	other := func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b }
	half := func(b []byte) []byte { return b[:len(b)/2] }
	tag := func(etag string, more ...string) func(http.Header) int {
		return func(h http.Header) int {
			h.Set("ETag", etag)
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return http.StatusOK
		}
	}
	const any16 = `"abababababababababababababababab"`
	for name, c := range map[string]struct {
		keeper
		text string // of the error
	}{
		"good":          {keeper{}, ""},
		"half":          {keeper{keeps: half}, "bytes, but has an object of "},
		"other bytes":   {keeper{keeps: other}, "but has others: expected the ETag "},
		"nothing":       {keeper{head: func(http.Header) int { return http.StatusNotFound }}, "has accepted the object, but does not have it"},
		"write only":    {keeper{head: func(http.Header) int { return http.StatusForbidden }}, ""},
		"opaque":        {keeper{head: tag(`"version 7"`)}, ""},
		"no MD5":        {keeper{head: tag(any16)}, ""},
		"KMS":           {keeper{head: tag(any16, "X-Amz-Server-Side-Encryption", "aws:kms")}, ""},
		"KMS, half":     {keeper{keeps: half, head: tag(any16, "X-Amz-Server-Side-Encryption", "aws:kms")}, "bytes"},
		"key, no MD5":   {keeper{head: tag(any16, "X-Amz-Server-Side-Encryption-Customer-Algorithm", "AES256")}, ""},
		"other, AES256": {keeper{keeps: other, head: tag(any16, "X-Amz-Server-Side-Encryption", "AES256")}, "but has others"},
	} {
		for _, n := range []int{1000, minPart + 1000} {
			k := c.keeper
			next := s.next
			k.Handler = next
			s.next = &k
			err := Upload(t.Context(), "s3://bucket/kept", bytes.NewReader(random(n)), int64(n), &UploadOptions{Part: 1, Overwrite: true})
			s.next = next
			if c.text == "" {
				require.NoError(t, err, "%s %d", name, n)
			} else {
				require.ErrorContains(t, err, c.text, "%s %d", name, n)
			}
		}
	}

	// Amazon's ETag of an object in parts needs no further request.
	b := random(minPart + 1000)
	etag := tagOf([][md5.Size]byte{md5.Sum(b[:minPart]), md5.Sum(b[minPart:])})
	s.next = &keeper{Handler: s.next, head: tag(`"` + etag + `"`)}
	var c Requests
	require.NoError(t, Upload(Count(t.Context(), &c), "s3://bucket/parts", bytes.NewReader(b), int64(len(b)), &UploadOptions{Part: 1, Overwrite: true}))
	require.Equal(t, Counts{Head: 1, Post: 2, Put: 2}, c.Counts())
}
