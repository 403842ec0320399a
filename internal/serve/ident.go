package serve

import "io/fs"

// ident identifies the contents of a file of the source. A file with other contents has
// another time, size or inode.
type ident struct {
	name  string
	size  int64
	mtime int64 // ns
	inode uint64
}

func identOf(name string, st fs.FileInfo) ident {
	return ident{name, st.Size(), st.ModTime().UnixNano(), inode(st)}
}
