package archivefs

import (
	"io/fs"
	"syscall"
)

// number adds what the system knows of a file.
func (id *Ident) number(info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino, id.Ctime = uint64(st.Dev), st.Ino, st.Ctim.Nano()
	}
}
