//go:build !linux

package cpu

import "time"

// Time is unknown here: 0.
func Time() time.Duration { return 0 }

// Thread is unknown here: 0.
func Thread() time.Duration { return 0 }
