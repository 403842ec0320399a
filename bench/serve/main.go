// Serve measures how long cdfz serve takes to answer, with many requests in flight: ranges of
// 64 KiB at random places of an original that is an archive.
//
//	go run ./bench/serve -flight 200 -requests 10000 x.nc.cdfz
//
// The server is the command, with its line for each request. Server and clients share the
// processors. The length and the first byte of each answer are checked.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// length is the number of bytes of a request.
const length = 64 << 10

var (
	flight   = run.Count("flight", 200, "requests in flight")
	requests = run.Count("requests", 10000, "requests")
)

func main() {
	run.Out()
	run.Cdfz()
	run.Main("x.nc.cdfz", 1, 1, func(ctx context.Context, args []string) error {
		f, err := archive.Open(ctx, args[0], nil)
		if err != nil {
			return err
		}
		defer f.Close()
		cdfz, err := run.Build(ctx)
		if err != nil {
			return err
		}
		s, err := start(cdfz, args[0])
		if err != nil {
			return err
		}
		name := filepath.Base(args[0])
		times, err := measure(s.url+"files/"+strings.TrimSuffix(name, archive.Suffix), f.Image())
		if err := errors.Join(err, s.stop()); err != nil {
			return err
		}
		r := run.NewReport()
		r.Printf("%s: %d requests of %d KiB, %d in flight\n\n", name, *requests, length>>10, *flight)
		t := r.Table("median ms %.2f", "p90 %.2f", "p99 %.2f", "longest %.2f")
		at := func(share float64) float64 { return run.Quantile(times, share, time.Duration.Seconds) * 1e3 }
		t.Row(at(0.5), at(0.9), at(0.99), at(1))
		return r.Save()
	})
}

// server is a running cdfz serve.
type server struct {
	cmd *exec.Cmd
	url string // of its first page
}

// start serves an archive at a free port.
func start(cdfz, name string) (*server, error) {
	limit := strconv.Itoa(*flight + 1)
	s := &server{cmd: exec.Command(cdfz, "serve", "--listen", "127.0.0.1:0", "--max-requests", limit, "--max-conns", limit, name)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !ok {
		return nil, errors.Join(fmt.Errorf("expected the address of the server, found %q: %w", line, err), s.stop())
	}
	s.url = url
	go io.Copy(io.Discard, lines) // the lines of the requests
	return s, nil
}

// stop ends the server.
func (s *server) stop() error {
	return errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
}

// measure sends the requests and returns their times.
func measure(url string, im *archive.Image) (times []time.Duration, err error) {
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
			times = append(times, d)
			return nil
		})
	}
	err = g.Wait()
	return times, err
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
