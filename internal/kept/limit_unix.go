//go:build unix

package kept

import (
	"math"

	"golang.org/x/sys/unix"
)

// MaxOpen returns the number of files that the program may have open at the same time.
func MaxOpen() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(limit.Cur), math.MaxInt64))
}
