//go:build unix

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// ignorePipe turns a reader of our output that goes away into an error of a write, so
// that temporary files are cleared up.
func ignorePipe() { signal.Ignore(syscall.SIGPIPE) }

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
