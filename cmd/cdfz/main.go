// Command cdfz turns classic netCDF files into compressed archives and back,
// bit for bit. `cdfz --help` lists its verbs.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	catchStop = sync.OnceFunc(func() { catch(cancel) })
	time.AfterFunc(catchDelay, catchStop)
	ignorePipe()
	tuneGC()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// catchStop makes signals cancel the context of the program; without it they end
// the program in the system's way. It takes a tenth of the time of reading a
// value: so it is called before there is something to clear up, or after a delay.
var catchStop = func() {}

const catchDelay = 10 * time.Millisecond

func catch(cancel func()) {
	// What was ignored from the start, as nohup does, stays so.
	stopSignals = slices.DeleteFunc(stopSignals, signal.Ignored)
	if len(stopSignals) == 0 { // none would mean all
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, stopSignals...)
	go func() {
		<-c
		cancel()
		signal.Stop(c) // a second signal ends the program in the system's way
	}()
}

// run is the whole program: it carries out args and returns the exit code.
// Cancelling the context stops it, with nothing left behind.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{in: stdin, out: &output{w: stdout}, err: stderr, targets: map[string]bool{}}
	cmd := a.root(args)
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(a.out)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		a.usage(err)
	}
	if a.out.err != nil && a.code == exitDone {
		a.fail("standard output", a.out.err)
	}
	return a.code
}

// gcPercent keeps the heap near what is in use: buffers of blocks are reused, so
// that collecting often costs little. Measured on files of 100 MB.
const gcPercent = 30

// tuneGC sets the garbage collector unless the environment does.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
