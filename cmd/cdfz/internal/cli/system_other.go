//go:build !unix

package cli

import (
	"math"
	"os"
)

var stopSignals = []os.Signal{os.Interrupt}

func ignorePipe() {}

func isBrokenPipe(error) bool { return false }

func maxOpen() int64 { return math.MaxInt64 }
