//go:build !unix

package stop

import (
	"os"
)

var signals = []os.Signal{os.Interrupt}

func ignorePipe() {}
