//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident size of a finished process. On Linux it is at
// least the size of this process at the fork, a few MB.
func peakRSS(ps *os.ProcessState) int64 {
	u, ok := ps.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	n := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		n <<= 10 // KiB
	}
	return n
}
