//go:build !unix

package fleet

import "os/exec"

// tie does nothing: this system passes no pipes on.
func tie(*exec.Cmd) error { return nil }
