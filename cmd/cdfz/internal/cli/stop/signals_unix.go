//go:build unix

package stop

import (
	"os"
	"os/signal"
	"syscall"
)

var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// passed are more signals of Take.
var passed = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// ignorePipe turns a closed output pipe into a write error, so that temporary files are
// removed.
func ignorePipe() { signal.Ignore(syscall.SIGPIPE) }
