// Command cdfz turns classic netCDF files into compressed archives and back, bit for
// bit. `cdfz --help` lists its verbs. Each verb has a file here and uses package
// internal/cli.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"runtime/debug"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs answers that it cannot use
	ctx := cli.Context()
	tuneGC()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it executes args and returns the exit code. Cancelling
// the context stops it without leaving partial files.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := cli.New(stdin, stdout, stderr)
	cmd := root(a, args)
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(a.Out)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		a.Usage(err)
	}
	return a.Exit(ctx)
}

// gcPercent keeps the heap close to the live data. Buffers of blocks are reused, so
// frequent collections cost little. Measured on files of 100 MB.
const gcPercent = 30

// tuneGC sets the garbage collector unless the environment does.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
