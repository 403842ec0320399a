package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/urls"
)

var (
	// ErrChanged means that the file at the URL is no longer the one that was
	// opened. It does not mean that anything is damaged.
	ErrChanged = urls.ErrChanged
	// ErrNoRanges means that the server only sends whole files.
	ErrNoRanges = errors.New("server does not support range requests")
	// ErrOptions means a malformed URL or invalid options.
	ErrOptions = urls.ErrOptions
)

const (
	// defaultRetries takes about four seconds in all, long enough for a server behind a
	// load balancer to restart.
	defaultRetries = 4
	// defaultTimeout is the time limit of one attempt.
	defaultTimeout = 30 * time.Second
	// defaultParallel is about the number of requests that browsers make at once.
	defaultParallel = 8
	// defaultTail is the length of the first read, one page.
	defaultTail = 4096

	// maxResponseHeader bounds the header of a response, in bytes. Real ones take
	// 1 or 2 KB.
	maxResponseHeader = 64 << 10
)

// Options of Open. Nil and the zero value mean the defaults.
type Options struct {
	// Client sends the requests. Its CheckRedirect is obeyed, and its Timeout applies
	// to one attempt. Nil means a client that all files share and that accepts at most
	// 64 KiB of response header.
	Client *http.Client
	// Header is sent with every request to the host of the URL, but not to other hosts
	// that it redirects to. It may hold Authorization, for instance. The package sets
	// Range, the conditions and Accept-Encoding.
	Header http.Header
	// Retries is the number of consecutive attempts that may fail after the first one.
	// 0 means 4, a negative number none. An attempt that delivers 64 KiB
	// restarts the count.
	Retries int
	// Timeout is the time limit of one attempt, including the response body. 0 means
	// 30 seconds, a negative value none. Bytes that arrived earlier are kept.
	Timeout time.Duration
	// Parallel is the number of simultaneous requests. 0 means 8.
	Parallel int
	// Tail is the number of bytes at the end of the file that Open reads and keeps. 0
	// means 4096. A longer tail lets formats with a directory at the end open
	// faster.
	Tail int
	// Sleep waits before a retry until d has passed or ctx is done. Nil means a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// maxTail bounds Options.Tail.
const maxTail = 8 << 20

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Parallel < 0 {
		return c, fmt.Errorf("remote: Parallel is %d, expected at least 0: %w", c.Parallel, ErrOptions)
	}
	if c.Parallel == 0 {
		c.Parallel = defaultParallel
	}
	if c.Tail < 0 || c.Tail > maxTail {
		return c, fmt.Errorf("remote: Tail is %d, expected 0 to %d: %w", c.Tail, maxTail, ErrOptions)
	}
	if c.Tail == 0 {
		c.Tail = defaultTail
	}
	switch {
	case c.Retries == 0:
		c.Retries = defaultRetries
	case c.Retries < 0:
		c.Retries = 0
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Client == nil {
		c.Client = sharedClient()
	}
	return c, nil
}

// sharedClient returns a client for all files, so that they share connections.
var sharedClient = sync.OnceValue(func() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 2 * defaultParallel
	t.DisableCompression = true
	t.MaxResponseHeaderBytes = maxResponseHeader
	return &http.Client{Transport: t}
})
