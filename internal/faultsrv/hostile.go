package faultsrv

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Hostile is a server that clients cannot trust.
type Hostile struct {
	Name string
	// Handler makes a server of data.
	Handler func(data []byte) http.Handler
}

// Sizes are claims about the length of a file, in the form of headers.
var Sizes = []string{"0", "1", "-1", "*", "2147483648", "1152921504606846976", "9223372036854775807", "9223372036854775808"}

// Servers returns all hostile servers. Some never end an answer, so clients need
// a timeout.
func Servers() []Hostile {
	all := []Hostile{
		{"truncate", faulty(CutOffFault)},
		{"drop", faulty(func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) {
			panic(http.ErrAbortHandler)
		})},
		{"end early", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			Chunked(w, ok, ok.Body.Bytes()[:ok.Body.Len()/2])
		})},
		{"flip a bit", faulty(func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if b := ok.Body.Bytes(); len(b) > 0 {
				b[rand.New(rand.NewSource(int64(n))).Intn(len(b))] ^= 1
			}
			Send(w, ok)
		})},
		{"zeros", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			clear(ok.Body.Bytes())
			Send(w, ok)
		})},
		{"noise", faulty(func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			rand.New(rand.NewSource(int64(n))).Read(ok.Body.Bytes())
			Send(w, ok)
		})},
		{"stall", faulty(func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
			<-r.Context().Done()
		})},
		{"stall in the body", faulty(func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Set("Content-Length", strconv.Itoa(ok.Body.Len()))
			header(w, ok)
			w.Write(ok.Body.Bytes()[:ok.Body.Len()/2])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})},
		{"ignore ranges", faulty(func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Del("Content-Range")
			ok.Code = http.StatusOK
			Send(w, ok)
		})},
		{"always the start", func(data []byte) http.Handler {
			return wrap(data, func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				copy(ok.Body.Bytes(), data)
				Send(w, ok)
			})
		}},
		{"change ETag", faulty(func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
			Send(w, ok)
		})},
		{"change size", faulty(func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			if from, to, size, partial := ContentRange(ok); partial {
				ok.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size+int64(n)))
			}
			Send(w, ok)
		})},
		{"long ETag", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Set("ETag", `"`+strings.Repeat("x", 1<<20)+`"`)
			Send(w, ok)
		})},
		{"gzip bomb", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Set("Content-Encoding", "gzip")
			Chunked(w, ok, bomb())
		})},
		{"multipart", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
			Send(w, ok)
		})},
		{"endless body", faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Header().Del("Content-Length")
			header(w, ok)
			endless(w, zeros)
		})},
		{"endless whole body", handler(func(w http.ResponseWriter, _ *http.Request) { endless(w, zeros) })},
		{"redirect to itself", handler(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		})},
		{"redirect for ever", func([]byte) http.Handler {
			var n atomic.Int64
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, fmt.Sprintf("/%d%s", n.Add(1), Path), http.StatusFound)
			})
		}},
		{"redirect far", handler(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+strings.Repeat("x", 1<<20), http.StatusFound)
		})},
		{"redirect with an endless body", handler(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path)
			w.WriteHeader(http.StatusFound)
			endless(w, zeros)
		})},
		{"error with an endless body", handler(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			endless(w, zeros)
		})},
		{"endless headers", raw("HTTP/1.1 206 Partial Content\r\n", "X-Filler: "+strings.Repeat("x", 1000)+"\r\n")},
		{"endless header", raw("HTTP/1.1 206 Partial Content\r\nX-Filler: ", strings.Repeat("x", 1000))},
		{"endless status", raw("HTTP/1.1 206 ", strings.Repeat("x", 1000))},
		{"endless early hints", raw("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")},
		{"endless chunk extension", raw("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/1\r\nTransfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("x", 1000))},
		{"endless trailer", raw("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "X-Filler: "+strings.Repeat("x", 1000)+"\r\n")},
	}
	for _, size := range Sizes {
		all = append(all,
			Hostile{"size " + size, faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if from, to, _, partial := ContentRange(ok); partial {
					ok.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, to, size))
				}
				Send(w, ok)
			})},
			Hostile{"length " + size, faulty(func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				hijack(w, func(c io.Writer) {
					fmt.Fprintf(c, "HTTP/1.1 206 Partial Content\r\nContent-Range: %s\r\nContent-Length: %s\r\n\r\n", ok.Header().Get("Content-Range"), size)
					c.Write(ok.Body.Bytes())
				})
			})},
			Hostile{"whole of size " + size, handler(func(w http.ResponseWriter, _ *http.Request) {
				hijack(w, func(c io.Writer) {
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", size)
					endless(c, zeros)
				})
			})},
			Hostile{"416 of size " + size, faulty(func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") {
					w.Header().Set("Content-Range", "bytes */"+size)
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				Send(w, ok)
			})},
		)
		if n, err := strconv.ParseInt(size, 10, 64); err == nil && n > 1 {
			all = append(all, Hostile{"stretched to " + size, func(data []byte) http.Handler {
				return Ranges(Stretched(data, n), n)
			}})
		}
	}
	return all
}

var zeros = make([]byte, 64<<10)

// bomb is 64 MiB of zeros, compressed.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 1 << 10 {
		z.Write(zeros)
	}
	z.Close()
	return b.Bytes()
})

// CutOffFault is CutOff as a Fault.
func CutOffFault(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
	CutOff(w, ok)
}

func faulty(f Fault) func([]byte) http.Handler {
	return func(data []byte) http.Handler { return wrap(data, f) }
}

func wrap(data []byte, f Fault) http.Handler {
	s := New(data)
	s.Fault = f
	return s
}

func handler(f http.HandlerFunc) func([]byte) http.Handler {
	return func([]byte) http.Handler { return f }
}

// raw writes once to the connection, then ever repeatedly without end.
func raw(once, ever string) func([]byte) http.Handler {
	return handler(func(w http.ResponseWriter, _ *http.Request) {
		hijack(w, func(c io.Writer) {
			io.WriteString(c, once)
			endless(c, []byte(strings.Repeat(ever, 64<<10/len(ever))))
		})
	})
}

func hijack(w http.ResponseWriter, f func(io.Writer)) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	f(c)
}

// endless writes until the client closes the connection.
func endless(w io.Writer, b []byte) {
	for {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}
