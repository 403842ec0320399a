//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	iofs "io/fs"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/cdfz-format/cdfz/archive/archivefs"
)

// OpendirHandle implements fs.NodeOpendirHandler.
func (d *folder) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return &listed{t: d.t, d: d}, 0, 0
}

// entries implements lister.
func (d *folder) entries() ([]iofs.DirEntry, syscall.Errno) {
	p, leave, no := d.t.enter(&d.Inode)
	if no != 0 {
		return nil, no
	}
	defer leave()
	list, err := d.t.source.list(p)
	return list, errno(err)
}

// listed is an open folder. The library uses it from one goroutine at a time.
type listed struct {
	t      *tree
	d      lister
	list   []fuse.DirEntry
	closed map[string]bool // joined files that were not opened for the list
	read   bool            // list was read
	at     int             // the next entry
}

// Readdirent implements fs.FileReaddirenter.
func (l *listed) Readdirent(context.Context) (*fuse.DirEntry, syscall.Errno) {
	if !l.read {
		if no := l.load(); no != 0 {
			return nil, no
		}
		l.read = true
	}
	if l.at >= len(l.list) {
		return nil, 0
	}
	e := l.list[l.at]
	l.at++
	return &e, 0
}

func (l *listed) load() syscall.Errno {
	l.t.active.touch()
	list, no := l.d.entries()
	if no != 0 {
		return no
	}
	l.list, l.closed = make([]fuse.DirEntry, len(list)), map[string]bool{}
	for i, e := range list {
		l.list[i] = fuse.DirEntry{Name: e.Name(), Mode: typeBits(e.Type()), Off: uint64(i + 1)}
		if f := archivefs.FoundOf(e); f != nil && f.Size < 0 {
			l.closed[e.Name()] = true
		}
	}
	return 0
}

// Seekdir implements fs.FileSeekdirer. Offset 0 is the beginning of what the folder holds now.
func (l *listed) Seekdir(_ context.Context, off uint64) syscall.Errno {
	if off == 0 {
		l.read = false
	}
	if l.at = int(min(off, uint64(len(l.list)))); l.read || off == 0 {
		return 0
	}
	if no := l.load(); no != 0 {
		return no
	}
	l.read, l.at = true, int(min(off, uint64(len(l.list))))
	return 0
}

// Lookup implements fs.FileLookuper: the kernel may ask for the attributes of all entries of a list. For
// joined files, that would read their descriptions. An error means here that there are no attributes yet.
func (l *listed) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if l.closed[name] {
		return nil, syscall.ENODATA
	}
	return l.d.Lookup(ctx, name, out)
}
