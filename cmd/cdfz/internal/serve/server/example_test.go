package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/server"
)

// Serve a folder and fetch the first bytes of one of its files.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	s, err := server.New("../../../../../testdata/classic", nil)
	check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l, nil) }()

	req, err := http.NewRequest("GET", "http://"+l.Addr().String()+"/files/cdf2_climate.nc", nil)
	check(err)
	req.Header.Set("Range", "bytes=0-2")
	resp, err := http.DefaultClient.Do(req)
	check(err)
	b, err := io.ReadAll(resp.Body)
	check(err)
	resp.Body.Close()
	fmt.Println(resp.StatusCode, string(b))

	stop()
	check(<-done)
	// Output: 206 CDF
}
