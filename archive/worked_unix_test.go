//go:build unix

package archive_test

import (
	"syscall"
	"time"
)

// worked returns how long the processors have worked for this process: unlike the time
// of day, it does not depend on other processes.
func worked() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
