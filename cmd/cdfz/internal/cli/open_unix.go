//go:build unix

package cli

import (
	"math"

	"golang.org/x/sys/unix"
)

// maxOpen returns the number of files that the program may have open at the same time.
func maxOpen() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(limit.Cur), math.MaxInt64))
}
