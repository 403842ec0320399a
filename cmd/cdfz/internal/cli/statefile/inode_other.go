//go:build !unix

package statefile

import (
	"io/fs"
	"time"
)

// inodeOf returns zeros: the system numbers no files, and does not tell when one was last changed.
func inodeOf(fs.FileInfo) (inode uint64, changed time.Time) { return 0, time.Time{} }

// deviceOf returns nothing: the system does not number devices.
func deviceOf(fs.FileInfo) (device uint64, ok bool) { return 0, false }
