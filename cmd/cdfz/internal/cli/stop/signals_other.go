//go:build !unix

package stop

import (
	"os"
)

var signals = []os.Signal{os.Interrupt}

// passed are more signals of Take.
var passed []os.Signal

func ignorePipe() {}
