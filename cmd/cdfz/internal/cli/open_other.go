//go:build !unix

package cli

import (
	"math"
)

func maxOpen() int64 { return math.MaxInt64 }
