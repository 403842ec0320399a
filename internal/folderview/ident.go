package folderview

import "io/fs"

// Ident identifies the contents of a file: other contents have another Ident. The zero Ident
// stands for files of unknown identity, which are never taken for each other.
type Ident struct {
	Dev, Ino     uint64 // 0 if the file system has no such numbers
	Size         int64
	Mtime, Ctime int64  // ns; Ctime is 0 except on Linux
	name         string // instead of Ino
}

// IdentOf returns the identity of a file.
func IdentOf(name string, info fs.FileInfo) Ident {
	id := Ident{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if id.number(info); id.Ino == 0 {
		if info.ModTime().IsZero() {
			return Ident{}
		}
		id.name = name
	}
	return id
}
