//go:build !unix

package stop

import (
	"errors"
	"os"
)

var signals = []os.Signal{os.Interrupt}

// passed are more signals of Take.
var passed []os.Signal

func ignorePipe() {}

func inherited(string) (*os.File, error) {
	return nil, errors.New("this system passes no descriptors on")
}
