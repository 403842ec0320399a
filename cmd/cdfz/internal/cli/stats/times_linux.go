package stats

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func lockThread()   { runtime.LockOSThread() }
func unlockThread() { runtime.UnlockOSThread() }

// threadTimes returns the processor time of the thread so far.
func threadTimes() (user, system time.Duration) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}
