package remote

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzAnswer checks answers of any form. None may fill more than the requested bytes or
// change the size of a pinned file. An accepted answer is complete and not encoded.
func FuzzAnswer(f *testing.F) {
	s := seeds.Of(f)
	add := func(name string, code int, contentRange string, length, size, off int64) {
		s.Add(name, code, contentRange, "", faultsrv.Tag, faultsrv.Time, "", length, size, off)
	}
	add("part", 206, "bytes 10-109/1000", 100, 1000, 10)
	add("end", 206, "bytes 900-999/1000", 100, -1, fromEnd)
	add("short-file", 206, "bytes 0-9/10", 10, -1, fromEnd)
	add("no-file", 206, "bytes 0--1/0", 0, -1, fromEnd)
	add("other-part", 206, "bytes 11-110/1000", 100, 1000, 10)
	add("other-size", 206, "bytes 10-109/1001", 100, 1000, 10)
	add("whole", 200, "", 100, -1, fromEnd)
	add("larger-whole", 200, "", 1000, 1000, 0)
	add("unknown-length", 200, "", -1, -1, 0)
	add("outside", 416, "bytes */1000", 0, -1, fromEnd)
	add("empty", 416, "bytes */0", 0, -1, fromEnd)
	add("changed", 412, "", 0, 1000, 10)
	s.Add("gzip", 206, "bytes 10-109/1000", "gzip", faultsrv.Tag, faultsrv.Time, "", int64(100), int64(1000), int64(10))
	s.Add("new-tag", 206, "bytes 10-109/1000", "", `"v2"`, faultsrv.NewTime, "", int64(100), int64(1000), int64(10))
	s.Add("later", 503, "", "", "", "", "120", int64(0), int64(1000), int64(10))
	s.Add("later-date", 429, "", "", "", "", faultsrv.NewTime, int64(0), int64(1000), int64(10))
	f.Fuzz(func(t *testing.T, code int, contentRange, encoding, tag, modified, after string, length, size, off int64) {
		h := &File{size: -1}
		if size >= 0 {
			h.size, h.pinned, h.etag, h.modified = size, true, faultsrv.Tag, faultsrv.Time
		}
		asked := make([]byte, 100)
		switch {
		case off < 0 && h.pinned, off >= 0 && !h.pinned && off > 0:
			return // never requested
		case off < 0:
			off = fromEnd
		case h.pinned:
			asked = asked[:max(0, min(100, size-off))]
		}
		if len(asked) == 0 {
			return
		}
		res := &http.Response{StatusCode: code, ContentLength: max(-1, length), Header: http.Header{}}
		for k, v := range map[string]string{"Content-Range": contentRange, "Content-Encoding": encoding, "ETag": tag, "Last-Modified": modified, "Retry-After": after} {
			if v != "" {
				res.Header.Set(k, v)
			}
		}
		p, fail := h.check(res, asked, off)
		if size >= 0 {
			require.Equal(t, size, h.size)
		}
		if fail != nil {
			require.Error(t, fail.err)
			require.GreaterOrEqual(t, fail.after, 0*fail.after)
			return
		}
		require.True(t, h.pinned && h.size >= 0)
		require.LessOrEqual(t, len(p), len(asked))
		require.LessOrEqual(t, int64(len(p)), h.size)
		require.Empty(t, strings.TrimPrefix(strings.ToLower(encoding), "identity"))
		if off != fromEnd {
			require.Len(t, p, len(asked))
		}
	})
}

// FuzzURL checks that an accepted URL has a host and its displayed name no secrets.
func FuzzURL(f *testing.F) {
	s := seeds.Of(f)
	s.Add("plain", "http://example.org/a.nc.cdfz")
	s.Add("secrets", "https://me:secret@example.org:8443/a%20b?signature=secret#secret")
	s.Add("address", "http://[::1%25eth0]:80/x")
	s.Add("opaque", "http:example.org/x")
	s.Add("scheme", "file:///etc/hosts")
	s.Add("control", "http://example.org/\x00")
	s.Add("no-host", "http://:80/")
	f.Fuzz(func(t *testing.T, text string) {
		urls.Redact(text)
		h, err := newFile(context.Background(), text, nil)
		if err != nil {
			require.ErrorIs(t, err, ErrOptions)
			return
		}
		defer h.Close()
		require.NotEmpty(t, h.origin.Hostname())
		require.Nil(t, h.origin.User)
		require.NotContains(t, h.name, "?")
		require.NotContains(t, h.name, "#")
		if _, rest, ok := strings.Cut(text, "//"); ok {
			// The part before an @ of the host is a user and a password.
			host, _, _ := strings.Cut(rest, "/")
			if at := strings.LastIndexByte(host, '@'); at > 0 && !strings.ContainsAny(host, "?#") {
				require.False(t, strings.HasPrefix(h.name, strings.ToLower(h.origin.Scheme)+"://"+host[:at+1]), "%q", h.name)
			}
		}
		r := h.request(context.Background(), h.origin, 10, 0)
		require.Equal(t, "bytes=0-9", r.Header.Get("Range"))
		require.True(t, trusted(h.origin, r.URL))
	})
}
