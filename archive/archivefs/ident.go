package archivefs

import (
	"io/fs"
	"math/bits"
	"sync/atomic"
)

// Ident identifies the contents of a file: other contents have another Ident.
type Ident struct {
	dev, ino     uint64 // 0 if the file system has no such numbers
	Size         int64
	Mtime, Ctime int64  // ns since 1970, modulo 2⁶⁴; Ctime is 0 except on Linux
	name         string // instead of ino, and of a member of a volume
	unique       uint64 // not 0 if nothing tells whether the contents are the same
}

var unique atomic.Uint64

// IdentOf returns the identity of a file. A file with neither a number nor a time has another
// one each time.
func IdentOf(name string, info fs.FileInfo) Ident {
	id := Ident{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if m, ok := info.(memberInfo); ok { // it changes with its volume
		id.dev, id.ino, id.Ctime, id.unique = m.id.dev, m.id.ino, m.id.Ctime^int64(bits.RotateLeft64(uint64(m.id.Mtime), 32)), m.id.unique
		id.name = name
		return id
	}
	if id.number(info); id.ino == 0 {
		id.name = name
		if info.ModTime().IsZero() {
			id.unique = unique.Add(1)
		}
	}
	return id
}
