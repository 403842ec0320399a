package server

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"time"
)

// observed counts what is written.
type observed struct {
	http.ResponseWriter
	status int
	bytes  int64
	user   string
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (o *observed) Write(p []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// observe counts and logs requests.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		o := &observed{ResponseWriter: w}
		service := serviceOf(r.URL.Path)
		s.metrics.inFlight.Inc()
		defer func() {
			reason := recover()
			if reason != nil && reason != http.ErrAbortHandler {
				s.source.Report(".", fmt.Errorf("internal error: %v\n%s", reason, debug.Stack()))
				reason = http.ErrAbortHandler
			}
			status := o.status
			switch {
			case reason != nil:
				status = statusAborted
			case status == 0:
				status = http.StatusOK
			}
			took := time.Since(start)
			s.metrics.end(service, status, o.bytes, took)
			s.log(r, o, status, start, took)
			if reason != nil {
				panic(reason) // closes the connection
			}
		}()
		next.ServeHTTP(o, r)
	})
}

// statusAborted stands for an answer that was cut off, as in nginx.
const statusAborted = 499

// userinfo finds the name and password of a URL, which the log leaves out.
var userinfo = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#]*@`)

// log writes a line in the Combined Log Format, with the seconds that the request took.
func (s *Server) log(r *http.Request, o *observed, status int, start time.Time, took time.Duration) {
	if s.opts.Log == nil {
		return
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	user := "-"
	if o.user != "" {
		user = o.user
	}
	bytes := "-"
	if o.bytes > 0 {
		bytes = strconv.FormatInt(o.bytes, 10)
	}
	text := func(s string) string {
		if s == "" {
			s = "-"
		}
		return strconv.QuoteToASCII(s)
	}
	line := fmt.Sprintf("%s - %s [%s] %s %d %s %s %s %.6f\n", host, user, start.Format("02/Jan/2006:15:04:05 -0700"),
		text(r.Method+" "+userinfo.ReplaceAllString(r.RequestURI, "$1")+" "+r.Proto), status, bytes, text(userinfo.ReplaceAllString(r.Referer(), "$1")), text(r.UserAgent()), took.Seconds())
	_, _ = s.opts.Log.Write([]byte(line)) // a full disk stops no request
}
