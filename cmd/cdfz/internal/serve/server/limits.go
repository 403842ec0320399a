package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// slowWrite is how long a client may take to receive what is written at once, at most
// copyPiece bytes and the buffers of the system.
const slowWrite = 30 * time.Second

// accept refuses what no service answers, and answers whether the server lives.
func (s *Server) accept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are supported")
			return
		}
		if r.ContentLength != 0 {
			// net/http reads the body before the connection is used again.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second))
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusBadRequest, "requests with a body are refused")
			return
		}
		if r.URL.Path == healthPath {
			fmt.Fprintln(w, "ok")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limit bounds the number of requests in flight, and the time and the bytes of each.
func (s *Server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
		default:
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "too many requests in flight")
			return
		}
		defer func() { <-s.slots }()
		ctx, cancel := context.WithTimeout(r.Context(), s.opts.Time)
		defer cancel()
		left := s.opts.Bytes
		if r.Method == http.MethodHead {
			left = math.MaxInt64
		}
		b := &bounded{ResponseWriter: w, control: http.NewResponseController(w), ctx: ctx, left: left, slow: s.slow}
		next.ServeHTTP(b, r.WithContext(ctx))
		if b.cut {
			panic(http.ErrAbortHandler) // net/http would end it as if it were complete
		}
	})
}

// bounded is an answer with limits on its bytes and its time. A longer one, if its length
// is known, becomes an error; else the connection is closed.
type bounded struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	left    int64
	slow    time.Duration // slowWrite
	refused bool
	begun   bool
	cut     bool // something was not written
}

// WriteHeader implements http.ResponseWriter.
func (b *bounded) WriteHeader(status int) {
	if b.begun {
		return
	}
	b.begun = true
	h := b.Header()
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && n > b.left {
		b.refused = true
		for _, name := range []string{"Content-Range", "Etag", "Last-Modified", "Accept-Ranges"} {
			h.Del(name)
		}
		refuse(b.ResponseWriter, http.StatusForbidden, fmt.Sprintf("the answer has %d bytes, the limit is %d: ask for a part", n, b.left))
		return
	}
	b.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	switch {
	case b.refused:
		return 0, errTooLong
	case b.ctx.Err() != nil:
		b.cut = true
		return 0, b.ctx.Err()
	case int64(len(p)) > b.left:
		b.cut = true
		return 0, errTooLong
	}
	b.left -= int64(len(p))
	// Tests have no connections, and no deadlines.
	_ = b.control.SetWriteDeadline(time.Now().Add(b.slow))
	return b.ResponseWriter.Write(p)
}

// errTooLong ends an answer.
var errTooLong = errors.New("the answer is too long")
