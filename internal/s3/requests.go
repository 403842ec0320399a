package s3

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Requests counts requests to stores, also those that are repeated. It is safe for concurrent use.
// The zero value is ready.
type Requests struct {
	list, get, head, put, post, delete atomic.Int64
}

// Counts are numbers of requests.
type Counts struct {
	List   int64 `json:"list"` // pages of listings
	Get    int64 `json:"get"`
	Head   int64 `json:"head"`
	Put    int64 `json:"put"`
	Post   int64 `json:"post"` // begin or complete uploads in parts
	Delete int64 `json:"delete"`
}

// Counts returns the numbers so far.
func (c *Requests) Counts() Counts {
	return Counts{c.list.Load(), c.get.Load(), c.head.Load(), c.put.Load(), c.post.Load(), c.delete.Load()}
}

type requestsKey struct{}

// Count returns a context for List, Upload, Stat and remote.Open whose requests c counts, with
// those of a File that was opened with it.
func Count(ctx context.Context, c *Requests) context.Context {
	return context.WithValue(ctx, requestsKey{}, c)
}

// requestsOf returns what counts the requests of a context.
func requestsOf(ctx context.Context) *Requests {
	if c, ok := ctx.Value(requestsKey{}).(*Requests); ok {
		return c
	}
	return new(Requests)
}

func (c *Requests) add(r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		if r.URL.Query().Has("list-type") {
			c.list.Add(1)
		} else {
			c.get.Add(1)
		}
	case http.MethodHead:
		c.head.Add(1)
	case http.MethodPut:
		c.put.Add(1)
	case http.MethodPost:
		c.post.Add(1)
	case http.MethodDelete:
		c.delete.Add(1)
	}
}

// counter is an http.RoundTripper that counts.
type counter struct {
	http.RoundTripper
	c *Requests
}

// RoundTrip implements http.RoundTripper.
func (t *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	t.c.add(r)
	return t.RoundTripper.RoundTrip(r)
}
