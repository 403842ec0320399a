//go:build unix

package stop

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

var signals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// passed are more signals of Take.
var passed = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// ignorePipe turns a closed output pipe into a write error, so that temporary files are
// removed.
func ignorePipe() { signal.Ignore(syscall.SIGPIPE) }

// inherited returns the pipe or socket with a number as text. It is not passed on.
func inherited(text string) (*os.File, error) {
	fd, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return nil, errors.New("expected the number of a descriptor")
	}
	f := os.NewFile(uintptr(fd), Lifeline)
	st, err := f.Stat()
	if err != nil || st.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return nil, errors.New("expected a descriptor of a pipe that cdfz has inherited")
	}
	syscall.CloseOnExec(int(fd))
	return f, nil
}
