package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/page"
	"github.com/cdfz-format/cdfz/internal/kept"
)

// Server answers requests for the files of a source. It is safe for concurrent use.
type Server struct {
	opts    Options
	source  *source
	hosts   hosts
	metrics metrics
	page    *page.Handler
	slots   chan struct{} // of requests in flight
	slow    time.Duration // slowWrite, less in a test
	http    http.Server
}

const (
	// maxHeader bounds the request line and the headers, in bytes. The longest
	// constraint expressions of clients name each variable of a file.
	maxHeader = 64 << 10
	// headerTime is how long a client may take to send them.
	headerTime = 10 * time.Second
	// idleConn is how long a connection stays open without a request.
	idleConn = time.Minute
	// maxStreams is the number of requests at the same time on one HTTP/2 connection.
	maxStreams = 64
	// grace is the time that requests in flight have to end after Serve's context has.
	grace = 10 * time.Second
)

// New prepares to serve a folder or a single file. The error is a *fs.PathError, or
// that of an option.
func New(src string, opts *Options) (*Server, error) {
	s := &Server{slow: slowWrite}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	setDefault(&o.Cache, DefaultCache)
	setDefault(&o.Requests, DefaultRequests)
	setDefault(&o.Conns, DefaultConns)
	// Each request needs an archive, or several of joined files: they get the other half.
	o.Conns = int(min(int64(o.Conns), max(1, kept.MaxOpen()/2)))
	o.Requests = int(min(int64(o.Requests), max(1, kept.MaxOpen()/4)))
	setDefault(&o.Time, DefaultTime)
	setDefault(&o.Bytes, DefaultBytes)
	var err error
	if s.hosts, err = newHosts(o.Hosts); err != nil {
		return nil, err
	}
	if s.source, err = openSource(src, o.Cache, o.Workers, o.Warn); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(func() float64 {
		open, _ := s.source.Len()
		return float64(open)
	})
	s.page = page.New(o.Bytes)
	s.slots = make(chan struct{}, o.Requests)
	s.http = http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleConn,
		MaxHeaderBytes:    maxHeader,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          log.New(io.Discard, "", 0), // it only reports clients that misbehave
	}
	return s, nil
}

// setDefault replaces an option that is not positive.
func setDefault[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// handler returns the handler of all requests.
func (s *Server) handler() http.Handler {
	return s.observe(s.address(s.accept(s.authorize(s.limit(http.HandlerFunc(s.route))))))
}

// Serve answers requests on a listener, with TLS if config is not nil, until ctx ends. The
// server answers to the names of the config's certificates, too. When ctx has ended, Serve
// waits some seconds for the requests in flight and returns nil. It closes the listener and
// the server, which cannot be used again.
func (s *Server) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	defer s.close()
	l = netutil.LimitListener(l, s.opts.Conns)
	if config != nil {
		for _, pair := range config.Certificates {
			if c, err := x509.ParseCertificate(pair.Certificate[0]); err == nil { // else the handshake fails
				s.hosts.certs = append(s.hosts.certs, c)
			}
		}
	}
	ended := make(chan error, 1)
	go func() {
		if config == nil {
			ended <- s.http.Serve(l)
			return
		}
		s.http.TLSConfig = config
		ended <- s.http.ServeTLS(l, "", "")
	}()
	select {
	case err := <-ended:
		s.http.Close()
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := s.http.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-ended
	return err
}

// close closes the files of the source. Requests that were given up may still read, and
// fail.
func (s *Server) close() {
	s.source.Close()
	s.source.root.Close()
}
