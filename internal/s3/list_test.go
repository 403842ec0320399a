package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/remote"
)

// put makes objects of the given lengths.
func put(t *testing.T, sizes map[string]int) {
	t.Helper()
	for key, n := range sizes {
		require.NoError(t, Upload(t.Context(), "s3://bucket/"+key, bytes.NewReader(random(n)), int64(n), &UploadOptions{Overwrite: true}), key)
	}
}

// listed returns the objects below a prefix, and the lengths of the pages.
func listed(ctx context.Context, name string) (all []Object, pages []int, err error) {
	err = List(ctx, name, func(page []Object) error {
		all, pages = append(all, page...), append(pages, len(page))
		return nil
	})
	return all, pages, err
}

func rels(objects []Object) []string {
	list := []string{}
	for _, o := range objects {
		list = append(list, o.Rel)
	}
	return list
}

// TestList lists a bucket and prefixes in it, with keys that need escapes.
func TestList(t *testing.T) {
	newStore(t)
	put(t, map[string]int{"list/a b+c%2F?#&é.bin": 3, "list/sub/x": 5, "list/x": 7, "list.x": 1})
	all, pages, err := listed(t.Context(), "s3://bucket/list/")
	require.NoError(t, err)
	require.Equal(t, []string{"a b+c%2F?#&é.bin", "sub/x", "x"}, rels(all))
	require.Equal(t, []int{3}, pages)
	require.EqualValues(t, 7, all[2].Size)
	require.WithinDuration(t, time.Now(), all[2].Modified, time.Hour)
	all, _, err = listed(t.Context(), "s3://bucket/")
	require.NoError(t, err)
	require.Subset(t, rels(all), []string{"list.x", "list/a b+c%2F?#&é.bin", "list/sub/x", "list/x"})
	all, pages, err = listed(t.Context(), "s3://bucket/list/none/")
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, pages)
	for _, name := range []string{"s3://", "s3:///", "s3:///x/", "s3://bucket", "s3://bucket/x", "s3://bucket/" + strings.Repeat("x", 1024) + "/"} {
		_, _, err := listed(t.Context(), name)
		require.ErrorIs(t, err, remote.ErrOptions, name)
	}
	_, _, err = listed(t.Context(), "s3://nobody/")
	require.EqualError(t, err, "s3: s3://nobody/: list: no such bucket (NoSuchBucket)")
	require.ErrorIs(t, err, fs.ErrNotExist)
	broken := errors.New("broken")
	require.Equal(t, broken, List(t.Context(), "s3://bucket/", func([]Object) error { return broken }))
}

// answerList answers a request for a listing with objects and the token of the next page.
func answerList(w http.ResponseWriter, next string, keys ...string) {
	fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>`)
	for _, key := range keys {
		fmt.Fprintf(w, "<Contents><Key>%s</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;x&quot;</ETag><Size>%d</Size><Owner><ID>1</ID></Owner></Contents>", url.QueryEscape(key), len(key))
	}
	fmt.Fprintf(w, "<EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>", next != "")
	if next != "" {
		fmt.Fprintf(w, "<NextContinuationToken>")
		_ = xml.EscapeText(w, []byte(next))
		fmt.Fprintf(w, "</NextContinuationToken>")
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// TestListing looks at the first page of a listing and goes on with it, and lists the files of a folder.
func TestListing(t *testing.T) {
	newStore(t)
	put(t, map[string]int{"folder/a": 1, "folder/b.tar": 2, "folder/sub/c": 3})
	l := NewListing("s3://bucket/folder/")
	first, all, err := l.First(t.Context())
	require.NoError(t, err)
	require.True(t, all)
	require.Equal(t, []string{"a", "b.tar", "sub/c"}, rels(first))
	again, err := l.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, again)
	end, err := l.Next(t.Context())
	require.NoError(t, err)
	require.Empty(t, end)
	files, err := NewFolder("s3://bucket/folder/").Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b.tar"}, rels(files))
}

// TestListPages reads pages of a store that escapes keys, with errors, resets and cut answers before each
// page. Every object is there once, and only one page is in memory.
func TestListPages(t *testing.T) {
	s := newStore(t)
	const pages, each = 9, 500
	faults := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { refuse(w, 500, "InternalError") },
		func(w http.ResponseWriter) { refuse(w, 503, "SlowDown") },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) {
			answerList(w, "later", "p/lost")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		func(w http.ResponseWriter) { fmt.Fprint(w, "<ListBucketResult><Contents><Key>p/half</Key>") },
	}
	var mu sync.Mutex
	tries := map[string]int{}
	s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool {
		token := r.URL.Query().Get("continuation-token")
		mu.Lock()
		n := tries[token]
		tries[token]++
		mu.Unlock()
		if n < len(faults) {
			faults[n](w)
			return true
		}
		page := 0
		if token != "" {
			_, err := fmt.Sscanf(token, "page <&+/= %d", &page)
			require.NoError(t, err)
		}
		next := ""
		if page < pages-1 {
			next = fmt.Sprintf("page <&+/= %d", page+1)
		}
		keys := make([]string, each)
		for i := range keys {
			keys[i] = fmt.Sprintf("p/%d/\x00\x01\n %d", page, i)
		}
		answerList(w, next, keys...)
		return true
	})
	var c Requests
	all, sizes, err := listed(Count(t.Context(), &c), "s3://bucket/p/")
	require.NoError(t, err)
	require.Len(t, sizes, pages)
	require.Len(t, all, pages*each)
	seen := map[string]bool{}
	for _, o := range all {
		seen[o.Rel] = true
		require.EqualValues(t, len("p/"+o.Rel), o.Size)
		require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), o.Modified)
	}
	require.Len(t, seen, pages*each)
	require.True(t, seen["0/\x00\x01\n 0"])
	// Package net/http itself repeats a request whose connection was closed before an answer.
	require.GreaterOrEqual(t, c.Counts().List, int64(pages*len(faults)))
	require.LessOrEqual(t, c.Counts().List, int64(s.count()))
}

// TestListHostile reads listings that stores must not send. None hangs or is taken for a whole one.
func TestListHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	s := newStore(t)
	circle, page := 0, 0
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		text   string
	}{
		"no token": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
		}, "expected the token of the next page, found none"},
		"same token": {func(w http.ResponseWriter, _ *http.Request) { page++; answerList(w, "again", fmt.Sprint("p/", page)) }, "expected the token of another page after page 2"},
		"circle": {func(w http.ResponseWriter, r *http.Request) {
			circle++
			answerList(w, fmt.Sprint(circle%37), fmt.Sprint("p/", circle))
		}, "found that of an earlier one"},
		"empty pages": {func(w http.ResponseWriter, _ *http.Request) {
			page++
			answerList(w, fmt.Sprint("new ", page))
		}, "found more than 1000 pages without objects one after the other"},
		"same objects": {func(w http.ResponseWriter, _ *http.Request) {
			page++
			answerList(w, fmt.Sprint("new ", page), fmt.Sprint("p/", page%7), "p/x")
		}, "found those of an earlier page"},
		"outside":    {func(w http.ResponseWriter, _ *http.Request) { answerList(w, "", "q/x") }, `expected keys that begin with "p/", found q/x`},
		"escape":     {func(w http.ResponseWriter, _ *http.Request) { answerList(w, "", "p/../x") }, ""},
		"page":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><body>Log in</body></html>") }, "expected a ListBucketResult, found html"},
		"size":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.ReplaceAll(one, "7", "-7")) }, "expected the size of p/x in bytes, found -7"},
		"no size":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.ReplaceAll(one, "7", "")) }, "expected the size of p/x in bytes, found "},
		"time":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, one) }, ""},
		"bad escape": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.ReplaceAll(one, "p/x", "p/%zz")) }, "malformed key p/%zz"},
		"many": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<ListBucketResult>"+strings.Repeat("<Contents/>", maxKeys+1))
		}, "expected at most 10000 objects a page"},
		"long":        {func(w http.ResponseWriter, _ *http.Request) { endless(w, "<ListBucketResult><X>", "x") }, "expected a page of at most 16777216 bytes"},
		"deep":        {func(w http.ResponseWriter, _ *http.Request) { endless(w, "<ListBucketResult>", "<X>") }, "expected a page of at most 16777216 bytes"},
		"redirect":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "the store answered: 302 Found"},
		"denied":      {func(w http.ResponseWriter, _ *http.Request) { refuse(w, 403, "AccessDenied") }, "list: access denied (AccessDenied)"},
		"overloaded":  {func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "SlowDown") }, "the store answered: what the store says (SlowDown)"},
		"unsupported": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, 501, "NotImplemented") }, "(NotImplemented)"},
	} {
		s.set(func(_ int, w http.ResponseWriter, r *http.Request) bool { c.answer(w, r); return true })
		all, _, err := listed(t.Context(), "s3://bucket/p/")
		if c.text == "" {
			require.NoError(t, err, name)
			require.Len(t, all, 1, name)
			continue
		}
		require.ErrorContains(t, err, c.text, name)
		require.NotContains(t, err.Error(), "list-type", name)
	}
	// A store that does not answer ends with the context.
	ctx, cancel := context.WithCancel(t.Context())
	s.set(func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	})
	_, _, err := listed(ctx, "s3://bucket/p/")
	require.ErrorIs(t, err, context.Canceled)
}

// one is a listing with one object, whose time is malformed.
const one = "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>p/x</Key><Size>7</Size><LastModified>now</LastModified></Contents></ListBucketResult>"

// endless writes once, and then ever until the client closes the connection.
func endless(w http.ResponseWriter, once, ever string) {
	_, err := fmt.Fprint(w, once)
	for text := strings.Repeat(ever, 1<<14); err == nil; {
		_, err = fmt.Fprint(w, text)
	}
}

// TestListRegion lists a bucket of Amazon's store in another region than the configured one. The store
// answers as documented.
func TestListRegion(t *testing.T) {
	newStore(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	var hosts []string
	before := base
	defer func() { base = before }()
	base = func() http.RoundTripper {
		return answers(func(r *http.Request) *http.Response {
			hosts = append(hosts, r.URL.Host)
			w := httptest.NewRecorder()
			if r.URL.Host != "bucket.s3.eu-north-1.amazonaws.com" {
				w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
				refuse(w, http.StatusMovedPermanently, "PermanentRedirect")
			} else {
				require.Contains(t, r.Header.Get("Authorization"), "/eu-north-1/s3/aws4_request")
				require.Equal(t, "p/", r.URL.Query().Get("prefix"))
				answerList(w, "", "p/x")
			}
			return w.Result()
		})
	}
	all, _, err := listed(t.Context(), "s3://bucket/p/")
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, rels(all))
	require.Equal(t, []string{"bucket.s3.us-east-1.amazonaws.com", "bucket.s3.eu-north-1.amazonaws.com"}, hosts)
}

// TestRequests counts the requests of an upload, of reading and of a listing.
func TestRequests(t *testing.T) {
	newStore(t)
	var c Requests
	ctx := Count(t.Context(), &c)
	n := int64(minPart + 1)
	require.NoError(t, Upload(ctx, "s3://bucket/counted/x", bytes.NewReader(random(int(n))), n, &UploadOptions{Part: 1}))
	// The server of the test has other ETags of objects in parts than Amazon's, so the object is read once.
	require.Equal(t, Counts{Get: 1, Head: 2, Post: 2, Put: 2}, c.Counts())
	f, err := remote.Open(ctx, "s3://bucket/counted/x", quick())
	require.NoError(t, err)
	_, err = f.ReadAt(make([]byte, 10), 0) // without the context
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, _, err = listed(ctx, "s3://bucket/counted/")
	require.NoError(t, err)
	require.Equal(t, Counts{List: 1, Get: 3, Head: 2, Post: 2, Put: 2}, c.Counts())
}
