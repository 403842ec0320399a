package main

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// store is an object store in this process that counts requests.
type store struct {
	back              gofakes3.Backend
	srv               *httptest.Server
	next              http.Handler
	puts, gets, lists atomic.Int64
	sent, received    atomic.Int64 // bytes of bodies
}

func newStore() (*store, error) {
	s := &store{back: s3mem.New()}
	if err := s.back.CreateBucket("bucket"); err != nil {
		return nil, err
	}
	s.next = gofakes3.New(s.back).Server()
	s.srv = httptest.NewServer(s)
	return s, nil
}

func (s *store) close() { s.srv.Close() }

func (s *store) reset() {
	for _, n := range []*atomic.Int64{&s.puts, &s.gets, &s.lists, &s.sent, &s.received} {
		n.Store(0)
	}
}

// env returns the environment of a program that uses the store.
func (s *store) env() []string {
	return []string{"AWS_ENDPOINT_URL_S3=" + s.srv.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=",
		"AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull}
}

// fill puts all files below a folder into the store, below in/.
func (s *store) fill(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		_, err = s.back.PutObject("bucket", "in/"+filepath.ToSlash(rel), map[string]string{}, f, st.Size(), nil)
		return err
	})
}

// ServeHTTP implements http.Handler. Amazon has a price for PUT, POST and LIST, a lower one for GET
// and HEAD, and none for DELETE.
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Has("list-type"):
		s.lists.Add(1)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.gets.Add(1)
	case r.Method != http.MethodDelete:
		s.puts.Add(1)
	}
	r.Body = &countedBody{r.Body, &s.received}
	s.next.ServeHTTP(&countedAnswer{w, &s.sent}, r)
}

type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

type countedAnswer struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (a *countedAnswer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.n.Add(int64(n))
	return n, err
}
