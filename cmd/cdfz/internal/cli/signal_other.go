//go:build !unix

package cli

import "os"

var stopSignals = []os.Signal{os.Interrupt}

func ignorePipe() {}

func isBrokenPipe(error) bool { return false }
