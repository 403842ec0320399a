//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// slack is the address space that the Go runtime, threads and libraries may take in
// addition to what a plugin may allocate.
const slack = 256 << 20

// limits bounds the memory of the process by its address space. malloc then fails, as if
// the machine had no more memory.
type limits struct {
	memory uint64 // that plugins may take, in addition to copies of the block
	start  uint64 // address space at the start
	now    uint64 // current limit
}

func newLimits(memory string) (*limits, error) {
	n, err := strconv.ParseUint(memory, 10, 62)
	if err != nil {
		return nil, err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return nil, err
	}
	// Go would print its stacks after these signals. The default action ends the process
	// instead, and cdfz reports the signal.
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGABRT} {
		call(libc.signal, uintptr(s), 0)
	}
	start, err := addressSpace()
	return &limits{memory: n, start: start}, err
}

// raise sets the limit for a request with blocks of the given lengths: the input, and
// copies of it and of the result, some of them in the plugin.
func (l *limits) raise(n, room uint64) error {
	want := l.start + slack + l.memory + 4*(n+room)
	if want <= l.now {
		return nil
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &r); err != nil {
		return err
	}
	r.Cur = min(want, r.Max)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &r); err != nil {
		return err
	}
	l.now = want
	return nil
}

// worn reports whether half of the memory is taken between calls.
func (l *limits) worn() bool {
	n, err := addressSpace()
	return err != nil || n > l.start+slack+l.memory/2
}

func addressSpace() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, _, _ := strings.Cut(string(b), " ")
	n, err := strconv.ParseUint(pages, 10, 50)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return n * uint64(os.Getpagesize()), nil
}
