package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/remote"
)

// serve starts a server of one file. Any server that knows ranges will do.
func serve(content string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.txt" {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "a.txt", time.Unix(1e9, 0), strings.NewReader(content))
	}))
}

// Read a range of a file at a URL.
func ExampleOpen() {
	s := serve(strings.Repeat("0123456789", 1000))
	defer s.Close()
	ctx := context.Background()
	f, err := remote.Open(ctx, s.URL+"/a.txt", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 5)
	if _, err := f.ReadAt(p, 1003); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Size(), string(p), f.Stats().Requests, "requests")

	_, err = remote.Open(ctx, s.URL+"/b.txt", nil)
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// 10000 34567 2 requests
	// true
}

// Send a header with each request, and give up sooner.
func ExampleOptions() {
	s := serve("0123456789")
	defer s.Close()
	f, err := remote.Open(context.Background(), s.URL+"/a.txt", &remote.Options{
		Header:  http.Header{"Authorization": {"Bearer secret"}},
		Retries: 1,
		Timeout: 5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Size())
	// Output: 10
}

// Read the first bytes once: later reads of them need no request.
func ExampleFile_Preload() {
	s := serve(strings.Repeat("0123456789", 1000))
	defer s.Close()
	ctx := context.Background()
	f, err := remote.Open(ctx, s.URL+"/a.txt", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := f.Preload(ctx, 2000); err != nil {
		log.Fatal(err)
	}
	before := f.Stats().Requests
	p := make([]byte, 5)
	if _, err := f.ReadAt(p, 1003); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(p), f.Stats().Requests-before, "requests")
	// Output: 34567 0 requests
}

// Names and messages must not show passwords and signatures.
func ExampleIsURL() {
	fmt.Println(remote.IsURL("https://example.org/a.nc.cdfz"), remote.IsURL("a.nc.cdfz"))
	// Output:
	// true false
}
