package run

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time of this process.
func CPU() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// Thread returns the processor time of the current thread.
func Thread() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// peakRSS returns the largest resident size of a finished process. It is at least the size of
// this process at the fork, a few MB.
func peakRSS(ps *os.ProcessState) int64 {
	u, ok := ps.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(u.Maxrss) << 10 // KiB
}
