// Command serve measures how long cdfz serve takes to answer, with many requests in flight:
// ranges of 64 KiB at random places of an original that is an archive.
//
//	go run ./bench/serve -flight 200 -n 10000 x.nc.cdfz
//
// Server and clients share the processors. Each answer is compared with the first byte and
// the length that it must have.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/serve"
)

// length is the number of bytes of a request.
const length = 64 << 10

func main() {
	flight := flag.Int("flight", 200, "requests in flight")
	n := flag.Int("n", 10000, "requests")
	flag.Parse()
	if flag.NArg() != 1 || *flight < 1 || *n < 1 || !strings.HasSuffix(flag.Arg(0), archive.Suffix) {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *flight, *n); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(name string, flight, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	f, err := archive.Open(ctx, name, nil)
	if err != nil {
		cancel()
		return err
	}
	defer f.Close()
	s, err := serve.New(name, &serve.Options{Requests: flight + 1, Conns: flight + 1})
	if err != nil {
		cancel()
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	url := "http://" + l.Addr().String() + "/files/" + strings.TrimSuffix(filepath.Base(name), archive.Suffix)
	times, most, err := measure(url, f.Image(), flight, n)
	cancel()
	if e := <-ended; err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	slices.Sort(times)
	at := func(p int) time.Duration { return times[len(times)*p/100].Round(10 * time.Microsecond) }
	fmt.Printf("%s: %d requests of %d KiB, %d in flight\nmedian %v, p90 %v, p99 %v, longest %v; at most %d goroutines of server and clients\n",
		filepath.Base(name), n, length>>10, flight, at(50), at(90), at(99), times[len(times)-1].Round(10*time.Microsecond), most)
	return nil
}

// measure sends the requests and returns their times, and the most goroutines meanwhile.
func measure(url string, im *archive.Image, flight, n int) (times []time.Duration, most int, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flight}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(flight)
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
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
