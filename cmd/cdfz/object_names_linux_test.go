package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/stretchr/testify/require"
)

// oddNames are names of files that URLs, XML, JSON or shells treat in a way of their own.
var oddNames = []string{
	"plain", "100%", "a%2Fb", "%zz", "%25", "%", "tab\there", "line\nbreak", "return\r", "a b", " first", "last ", "a+b", "a?b=c&d", "a#b", "a;b:c@d", `back\slash`,
	"'\"`$(x)<&amp;>", "[a]{b}*", "~a^b|c,d!", "é", "é", "☃𝄞", "...", ".hidden", "..x", "-f", "=a", "\x01\x1f\x7f", "http:", "s3:", "a%0Ab",
}

// listEscaped answers listings with escaped keys, as stores do that know encoding-type. gofakes3 sends them in XML,
// which has no control characters.
func (s *bucket) listEscaped(w http.ResponseWriter, r *http.Request) bool {
	if !isListing(r) {
		return false
	}
	prefix := gofakes3.Prefix{HasPrefix: true, Prefix: r.URL.Query().Get("prefix")}
	list, err := s.back.ListBucket("bucket", &prefix, gofakes3.ListBucketPage{})
	require.NoError(s.t, err)
	fmt.Fprint(w, "<ListBucketResult><EncodingType>url</EncodingType>")
	for _, o := range list.Contents {
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", url.QueryEscape(o.Key), o.Size)
	}
	fmt.Fprint(w, "</ListBucketResult>")
	return true
}

// TestObjectNames archives files and folders with odd names to a store, and finds them there again with every
// verb: as copies that allow the sources to be deleted, as archives, by receipts, and as originals.
func TestObjectNames(t *testing.T) {
	image, _ := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	s.set(s.listEscaped)
	images := map[string][]byte{}
	for _, name := range oddNames {
		images[name+".nc"] = image
		images[filepath.Join(name, name+".nc")] = image
	}
	n := len(images)
	writeTree(t, images)
	want := sums(t, "data", "")
	require.Len(t, want, n)
	s.done("archive", "--receipts", "store.jsonl", "-o", "s3://bucket/p/", "data")
	for name := range images {
		_, err := s.back.HeadObject("bucket", "p/"+name+".cdfz")
		require.NoError(t, err, "%q", name)
	}
	require.Contains(t, s.done("archive", "-o", "s3://bucket/p/", "data"), fmt.Sprintf("%d archived before", n))
	require.Contains(t, s.done("verify", "--against", "data", "s3://bucket/p/"), fmt.Sprintf("%d files: %d ok", n, n))
	require.Contains(t, s.done("receipts", "store.jsonl"), fmt.Sprintf("%d receipts: %d ok", n, n))
	s.done("restore", "-o", "back/", "s3://bucket/p/")
	sameTree(t, "data", "back")
	for name := range images { // one by its URL
		s.done("restore", "-o", "one.nc", "s3://bucket/p/"+name+".cdfz")
		require.NoError(t, os.Remove("one.nc"))
	}

	// Names that were printed are names of a list.
	s.done("catalogue", "-o", "c.parquet", "s3://bucket/p/")
	list := s.done("find", "-0", "--catalogue", "c.parquet")
	require.Equal(t, n, strings.Count(list, "\x00"), list)
	require.NoError(t, os.WriteFile("list", []byte(list), 0o644))
	require.Contains(t, s.done("verify", "-0", "--files-from", "list", "s3://bucket/p/"), fmt.Sprintf("%d files: %d ok", n, n))

	// Copies of a tree of archives, in another place of the bucket.
	s.done("archive", "--receipts", "r.jsonl", "-o", "arch/", "data")
	s.done("copy", "arch", "s3://bucket/q/")
	require.Contains(t, s.done("receipts", "--root", "s3://bucket/q", "r.jsonl"), fmt.Sprintf("%d receipts: %d ok", n, n))
	s.done("restore", "-o", "s3://bucket/o/", "s3://bucket/p/")
	s.done("verify", "--against", "s3://bucket/o/", "arch")
	out := s.done("archive", "--receipts", "r.jsonl", "--delete-source", "--copies", "2", "--copy-at", "s3://bucket/q/", "-o", "arch/", "data")
	require.Contains(t, out, fmt.Sprintf("%d sources deleted", n))
	require.Empty(t, sums(t, "data", ""))
	s.done("restore", "-o", "again/", "s3://bucket/q/")
	require.Equal(t, want, sums(t, "again", ""))

	// The same below a URL of a web server.
	srv := httptest.NewServer(http.FileServer(http.Dir("arch")))
	defer srv.Close()
	out = s.done("receipts", "--root", srv.URL+"/", "r.jsonl")
	require.Contains(t, out, srv.URL+"/100%25/100%25.nc.cdfz: ok")
	require.Contains(t, out, " ok, 0 failed")

	// Keys are UTF-8. A prefix may have any number of slashes.
	require.NoError(t, os.WriteFile("data/\xff.nc", image, 0o644))
	code, _, msg := s.run("archive", "-o", "s3://bucket/p/", "data")
	require.Equal(t, 1, code)
	require.Contains(t, msg, `data/\xff.nc: `)
	require.Contains(t, msg, "UTF-8")
	code, _, msg = s.run("archive", "--receipts", "r.jsonl", "--delete-source", "--copies", "2", "--copy-at", "s3://bucket/q/", "-o", "arch/", "data")
	require.Equal(t, 1, code)
	require.Contains(t, msg, "UTF-8")
	require.FileExists(t, "data/\xff.nc")
	require.NoError(t, os.Remove("data/\xff.nc"))
	require.NoError(t, os.WriteFile("data/x.nc", image, 0o644))
	s.done("archive", "-o", "s3://bucket/p//%2F//", "data")
	_, err := s.back.HeadObject("bucket", "p//%2F//x.nc.cdfz")
	require.NoError(t, err)
	s.done("restore", "-o", "slashes/", "s3://bucket/p//%2F//")
	require.FileExists(t, "slashes/x.nc")
}
