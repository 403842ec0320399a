//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakRSS is the largest resident size of a process that ended. On Linux it is
// never less than ours was at the fork, which is a few MB.
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
