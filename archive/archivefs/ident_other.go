//go:build !unix

package archivefs

import "io/fs"

// number does nothing: the system numbers no files.
func (id *Ident) number(fs.FileInfo) {}
