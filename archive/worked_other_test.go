//go:build !unix

package archive_test

import "time"

var begun = time.Now()

// worked returns the time since the start, where no other is known.
func worked() time.Duration { return time.Since(begun) }
