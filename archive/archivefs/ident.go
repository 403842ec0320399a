package archivefs

import (
	"io/fs"
	"sync/atomic"
)

// Ident identifies the contents of a file: other contents have another Ident.
type Ident struct {
	dev, ino     uint64 // 0 if the file system has no such numbers
	Size         int64
	Mtime, Ctime int64  // ns since 1970, modulo 2⁶⁴; Ctime is 0 except on Linux
	name         string // instead of Ino
	unique       uint64 // not 0 if nothing tells whether the contents are the same
}

var unique atomic.Uint64

// IdentOf returns the identity of a file. A file with neither a number nor a time has another
// one each time.
func IdentOf(name string, info fs.FileInfo) Ident {
	id := Ident{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if id.number(info); id.ino == 0 {
		id.name = name
		if info.ModTime().IsZero() {
			id.unique = unique.Add(1)
		}
	}
	return id
}
