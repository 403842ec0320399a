package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrigins(t *testing.T) {
	for text, ok := range map[string]bool{
		"*": true, "https://viewer.example": true, "http://localhost:8000": true, "http://127.0.0.1": true,
		"": false, "null": false, "viewer.example": false, "https://viewer.example/": false, "https://viewer.example/page": false,
		"ftp://viewer.example": false, "https://*.example": false, "https://a@viewer.example": false, "https://viewer.example?x": false,
	} {
		require.Equal(t, ok, ParseOrigin(text) == nil, text)
	}
	dir := folder(t, map[string][]byte{"x.nc": []byte("CDF\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")})
	const viewer, other = "https://viewer.example", "https://other.example"
	for _, c := range []struct {
		origins         []string
		from, allowed   string
		method          string
		status          int
		exposed, varies string
	}{
		{nil, viewer, "", "GET", 206, "", ""},
		{[]string{viewer}, viewer, viewer, "GET", 206, "Content-Range, ETag", "Origin"},
		{[]string{other, viewer}, viewer, viewer, "HEAD", 206, "Content-Range, ETag", "Origin"},
		{[]string{viewer}, other, "", "GET", 206, "", "Origin"},
		{[]string{viewer}, "", "", "GET", 206, "", "Origin"},
		{[]string{"*"}, other, "*", "GET", 206, "Content-Range, ETag", ""},
		{[]string{"*"}, other, "*", "OPTIONS", 405, "Content-Range, ETag", ""},
	} {
		_, at := start(t, dir, &Options{Origins: c.origins})
		r, err := http.NewRequest(c.method, at+"/files/x.nc.cdfz", nil)
		require.NoError(t, err)
		r.Header.Set("Range", "bytes=0-9")
		if c.from != "" {
			r.Header.Set("Origin", c.from)
		}
		a, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		require.Equal(t, c.status, a.StatusCode, c)
		require.Equal(t, c.allowed, a.Header.Get("Access-Control-Allow-Origin"), c)
		require.Equal(t, c.exposed, a.Header.Get("Access-Control-Expose-Headers"), c)
		require.Equal(t, c.varies, a.Header.Get("Vary"), c)
		require.Empty(t, a.Header.Get("Access-Control-Allow-Credentials"))
	}
}
