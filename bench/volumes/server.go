package main

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// server serves a folder over HTTP, with ranges, and counts.
type server struct {
	srv             *httptest.Server
	requests, bytes atomic.Int64 // bytes of bodies
}

func serve(dir string) *server {
	s := new(server)
	files := http.FileServer(http.Dir(dir))
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		files.ServeHTTP(&counted{w, &s.bytes}, r)
	}))
	return s
}

func (s *server) url() string { return s.srv.URL }
func (s *server) reset()      { s.requests.Store(0); s.bytes.Store(0) }
func (s *server) close()      { s.srv.Close() }

type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}
