//go:build !linux

package run

import (
	"os"
	"time"
)

// Times and sizes that are unknown here are 0.

// CPU returns the processor time of this process.
func CPU() time.Duration { return 0 }

// Thread returns the processor time of the current thread.
func Thread() time.Duration { return 0 }

func peakRSS(*os.ProcessState) int64 { return 0 }
