//go:build unix

package cli

import (
	"errors"
	"math"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// ignorePipe turns a closed output pipe into a write error, so that temporary files are
// removed.
func ignorePipe() { signal.Ignore(syscall.SIGPIPE) }

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// maxOpen returns the number of files that the program may have open at the same time.
func maxOpen() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(limit.Cur), math.MaxInt64))
}
