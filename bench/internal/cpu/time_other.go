//go:build !linux

package cpu

import "time"

// Time returns 0, since the time is unknown here.
func Time() time.Duration { return 0 }

// Thread returns 0, since the time is unknown here.
func Thread() time.Duration { return 0 }
