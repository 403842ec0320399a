//go:build !unix

package serve

import "io/fs"

// inode returns 0: the file system has no numbers.
func inode(fs.FileInfo) uint64 { return 0 }
