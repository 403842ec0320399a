// Package cpu measures the processor time of this process.
package cpu

import "time"

// Since returns the processor time since an earlier Time, or the wall time since start
// if it is unknown.
func Since(earlier time.Duration, start time.Time) time.Duration {
	if now := Time(); now > 0 {
		return now - earlier
	}
	return time.Since(start)
}
