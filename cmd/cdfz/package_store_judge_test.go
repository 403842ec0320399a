//go:build judge && linux

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// presigned is a store with an archive under several keys, which pages of any origin may read by addresses with a signature.
// The first word of a key names its fault.
type presigned struct {
	*httptest.Server
	bytes      []byte
	preflights atomic.Int64
	busy       atomic.Int64 // answers of 503 so far
	put        func(key string, b []byte)
	next       http.Handler
}

func newPresigned(t *testing.T, archive []byte) *presigned {
	back := s3mem.New()
	require.NoError(t, back.CreateBucket("bucket"))
	s := &presigned{bytes: archive, next: gofakes3.New(back).Server()}
	s.put = func(key string, b []byte) {
		_, err := back.PutObject("bucket", key, map[string]string{}, bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
	}
	for _, key := range []string{"good", "hidden", "busy", "changing", "later"} {
		s.put(key+"/x.nc.cdfz", archive)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *presigned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>what the store says</Message></Error>`, code)
	}
	key := strings.Split(strings.TrimPrefix(r.URL.Path, "/bucket/"), "/")[0]
	switch {
	case r.Method == http.MethodOptions:
		s.preflights.Add(1)
		w.WriteHeader(http.StatusForbidden)
		return
	case r.URL.Path == "/change": // another archive of the same length, under the key of this one
		other := bytes.Clone(s.bytes)
		other[len(other)/2] ^= 1
		s.put("changing/x.nc.cdfz", other)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		return
	case key == "closed": // to pages of other origins
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.bytes))
		return
	}
	if key != "hidden" {
		w.Header().Set("Access-Control-Expose-Headers", "Content-Range, ETag, Retry-After")
	}
	switch {
	case r.URL.Query().Get("X-Amz-Signature") != "5ecret":
		refuse(http.StatusForbidden, "AccessDenied")
	case key == "busy" && s.busy.Add(1)%2 == 1: // every second time
		w.Header().Set("Retry-After", "0")
		refuse(http.StatusServiceUnavailable, "SlowDown")
	case key == "later":
		w.Header().Set("Retry-After", "3600")
		refuse(http.StatusServiceUnavailable, "SlowDown")
	default:
		s.next.ServeHTTP(w, r)
	}
}
