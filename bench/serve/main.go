// Serve measures how long cdfz serve takes to answer, with many requests in flight: ranges of
// 64 KiB at random places of an original that is an archive.
//
//	go run ./bench/serve -flight 200 -requests 10000 x.nc.cdfz
//
// Server and clients share the processors. The length and the first byte of each answer are
// checked.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/internal/serve"
)

// length is the number of bytes of a request.
const length = 64 << 10

var (
	flight   = run.Count("flight", 200, "requests in flight")
	requests = run.Count("requests", 10000, "requests")
)

func main() {
	run.Out()
	run.Main("x.nc.cdfz", 1, 1, func(ctx context.Context, args []string) error {
		f, err := archive.Open(ctx, args[0], nil)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := serve.New(args[0], &serve.Options{Requests: *flight + 1, Conns: *flight + 1})
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, l, nil) }()
		name := filepath.Base(args[0])
		times, most, err := measure("http://"+l.Addr().String()+"/files/"+strings.TrimSuffix(name, archive.Suffix), f.Image())
		stop()
		if e := <-ended; err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		r := run.NewReport()
		r.Printf("%s: %d requests of %d KiB, %d in flight; at most %d goroutines of server and clients\n\n", name, *requests, length>>10, *flight, most)
		t := r.Table("median ms %.2f", "p90 %.2f", "p99 %.2f", "longest %.2f")
		at := func(share float64) float64 { return run.Quantile(times, share, time.Duration.Seconds) * 1e3 }
		t.Row(at(0.5), at(0.9), at(0.99), at(1))
		return r.Save()
	})
}

// measure sends the requests and returns their times, and the most goroutines meanwhile.
func measure(url string, im *archive.Image) (times []time.Duration, most int, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *flight}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(*flight)
	r := rand.New(rand.NewPCG(1, 1))
	for range *requests {
		off := r.Int64N(max(1, im.Size()-length))
		g.Go(func() error {
			d, err := get(client, url, im, off)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			times, most = append(times, d), max(most, runtime.NumGoroutine())
			return nil
		})
	}
	err = g.Wait()
	return times, most, err
}

// get reads a range and checks it. It returns the time of the request.
func get(client *http.Client, url string, im *archive.Image, off int64) (time.Duration, error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	end := min(off+length, im.Size())
	q.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, end-1))
	start := time.Now()
	a, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err
	}
	d := time.Since(start)
	var want [1]byte
	if _, err := im.ReadAt(want[:], off); err != nil && err != io.EOF {
		return 0, err
	}
	if a.StatusCode != http.StatusPartialContent || int64(len(b)) != end-off || b[0] != want[0] {
		return 0, fmt.Errorf("expected 206 with %d bytes, found %s with %d", end-off, a.Status, len(b))
	}
	return d, nil
}
