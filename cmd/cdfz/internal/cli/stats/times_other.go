//go:build !linux

package stats

import (
	"time"
)

func lockThread()   {}
func unlockThread() {}

// threadTimes returns nothing: only Linux reports the time of a thread.
func threadTimes() (user, system time.Duration) { return 0, 0 }
