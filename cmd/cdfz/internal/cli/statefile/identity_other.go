//go:build !linux

package statefile

import "fmt"

// fileSystemAt returns a name for the file system of a path: the number of its device.
func fileSystemAt(_ string, device uint64) string { return fmt.Sprintf("%x", device) }

// bornAt returns 0: when a file was made is not asked for on this system.
func bornAt(string) int64 { return 0 }
