// Package cpu says how much processor time this process has used.
package cpu

import "time"

// Since is the processor time since an earlier Time, and where that is not known
// the wall time since start.
func Since(earlier time.Duration, start time.Time) time.Duration {
	if now := Time(); now > 0 {
		return now - earlier
	}
	return time.Since(start)
}
