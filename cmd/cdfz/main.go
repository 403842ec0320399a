// Command cdfz turns classic netCDF files into compressed archives and back, bit for
// bit. `cdfz --help` lists its verbs.
//
// Each verb is a package of its name: the code of `cdfz VERB` begins in Command of internal/VERB,
// except version, help and man, which are files here. What verbs share is below internal/cli.
package main

import (
	"context"
	"io"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	_ "github.com/cdfz-format/cdfz/filters/all"
	_ "github.com/cdfz-format/cdfz/internal/s3"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs answers that it cannot use
	ctx := stop.Context()
	cli.TuneGC()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: it executes args and returns the exit code. Cancelling
// the context stops it without leaving partial files.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	r := cli.New(stdin, stdout, stderr)
	r.Term.HideAll(args)
	cmd := root(r, args)
	checkShell(cmd)
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(r.Term.Out)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(r.Counting(ctx)); err != nil {
		r.Term.Usage(err)
	}
	return r.EndLog(r.Term.Exit(ctx))
}
