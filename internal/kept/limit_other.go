//go:build !unix

package kept

import "math"

// MaxOpen returns the number of files that the program may have open at the same time.
func MaxOpen() int64 { return math.MaxInt64 }
