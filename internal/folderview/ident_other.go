//go:build !unix

package folderview

import "io/fs"

// number does nothing: the system numbers no files.
func (id *Ident) number(fs.FileInfo) {}
