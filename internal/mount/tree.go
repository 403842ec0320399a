//go:build linux

package mount

import (
	"context"
	"errors"
	iofs "io/fs"
	"math/bits"
	"os"
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// tree is the file system. Its nodes are folders, images and other files.
type tree struct {
	source  *source
	images  *images
	streams *streams
	active  active
	device  uint64 // of the source's root
}

// folder is a folder of the source.
type folder struct {
	fs.Inode
	t *tree
}

// other is a file of the source that appears unchanged.
type other struct {
	fs.Inode
	t *tree
}

// imageNode is the image of an archive. It never changes: an archive with other contents
// has another node, since the generation is made of its times. So the kernel may keep
// pages between opens.
type imageNode struct {
	fs.Inode
	t    *tree
	name string // of the archive when it was found
	id   ident
	attr fuse.Attr
}

var (
	_ fs.NodeLookuper   = (*folder)(nil)
	_ fs.NodeReaddirer  = (*folder)(nil)
	_ fs.NodeGetattrer  = (*folder)(nil)
	_ fs.NodeStatfser   = (*folder)(nil)
	_ fs.NodeGetattrer  = (*other)(nil)
	_ fs.NodeOpener     = (*other)(nil)
	_ fs.NodeReadlinker = (*other)(nil)
	_ fs.NodeGetattrer  = (*imageNode)(nil)
	_ fs.NodeOpener     = (*imageNode)(nil)
)

// nameOf returns the name of a node in the mount, as last found.
func nameOf(n *fs.Inode) string {
	if name := n.Path(nil); name != "" {
		return name
	}
	return "."
}

// errno returns an error as the kernel understands it.
func errno(err error) syscall.Errno {
	var no syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &no):
		return no
	case errors.Is(err, iofs.ErrNotExist):
		return syscall.ENOENT
	}
	return syscall.EIO
}

// inode returns the number of a file, unique across the devices below the source.
func (t *tree) inode(st *syscall.Stat_t) uint64 {
	return st.Ino ^ bits.RotateLeft64(uint64(st.Dev)^t.device, 32)
}

// imageBit distinguishes the inode numbers of images from those of their archives, which
// may appear as well. Programs take files with one number for hard links.
const imageBit = 1 << 62

// Lookup implements fs.NodeLookuper.
func (d *folder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	t := d.t
	t.active.touch()
	name = path.Join(nameOf(&d.Inode), name)
	f, err := t.source.find(name)
	if err != nil {
		return nil, errno(err)
	}
	out.FromStat(f.st)
	id := fs.StableAttr{Mode: f.st.Mode & syscall.S_IFMT, Ino: t.inode(f.st)}
	var node fs.InodeEmbedder
	switch {
	case f.image:
		i := identOf(f.st)
		id.Ino ^= imageBit
		id.Gen = uint64(i.ctime) ^ bits.RotateLeft64(uint64(i.mtime), 32) ^ bits.RotateLeft64(uint64(i.size), 16)
		setImage(&out.Attr, id.Ino, f.size)
		node = &imageNode{t: t, name: f.name, id: i, attr: out.Attr}
	case id.Mode == syscall.S_IFDIR:
		node = &folder{t: t}
	default:
		node = &other{t: t}
	}
	return d.NewInode(ctx, node, id), 0
}

// setImage turns the attributes of an archive into those of its image.
func setImage(a *fuse.Attr, ino uint64, size int64) {
	a.Ino, a.Size = ino, uint64(size)
	a.Blocks = (a.Size + 511) / 512 // as a file without holes
}

// Readdir implements fs.NodeReaddirer.
func (d *folder) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	d.t.active.touch()
	list, err := d.t.source.list(nameOf(&d.Inode))
	if err != nil {
		return nil, errno(err)
	}
	out := make([]fuse.DirEntry, len(list))
	for i, e := range list {
		out[i] = fuse.DirEntry{Name: e.name, Mode: e.mode}
	}
	return fs.NewListDirStream(out), 0
}

// Getattr implements fs.NodeGetattrer.
func (d *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	d.t.active.touch()
	return d.t.attr(nameOf(&d.Inode), out)
}

// attr describes a file of the source.
func (t *tree) attr(name string, out *fuse.AttrOut) syscall.Errno {
	st, err := t.source.lstat(name)
	if err != nil {
		return errno(err)
	}
	out.FromStat(st)
	out.Ino = t.inode(st)
	return 0
}

// Statfs describes the file system of the source.
func (d *folder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	f, err := d.t.source.root.Open(".")
	if err != nil {
		return errno(err)
	}
	defer f.Close()
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return errno(err)
	}
	out.FromStatfsT(&st)
	return 0
}

// Getattr implements fs.NodeGetattrer.
func (o *other) Getattr(_ context.Context, h fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	o.t.active.touch()
	f, ok := h.(*copied)
	if !ok {
		return o.t.attr(nameOf(&o.Inode), out)
	}
	st, err := sys(f.file.Stat())
	if err != nil {
		return errno(err)
	}
	out.FromStat(st)
	out.Ino = o.t.inode(st)
	return 0
}

// Readlink implements fs.NodeReadlinker.
func (o *other) Readlink(context.Context) ([]byte, syscall.Errno) {
	o.t.active.touch()
	to, err := o.t.source.root.Readlink(nameOf(&o.Inode))
	return []byte(to), errno(err)
}

// Open implements fs.NodeOpener. ESTALE makes the kernel look the name up again.
func (o *other) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	o.t.active.touch()
	f, st, err := o.t.source.open(nameOf(&o.Inode))
	if err != nil {
		return nil, 0, errno(err)
	}
	if o.t.inode(st) != o.StableAttr().Ino {
		f.Close()
		return nil, 0, syscall.ESTALE
	}
	o.t.active.opened()
	return &copied{o.t, f}, 0, 0
}

// copied is an open file of the source that appears unchanged.
type copied struct {
	t    *tree
	file *os.File
}

// Read implements fs.FileReader.
func (c *copied) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	c.t.active.touch()
	return fuse.ReadResultFd(c.file.Fd(), off, len(dest)), 0
}

// Release implements fs.FileReleaser.
func (c *copied) Release(context.Context) syscall.Errno {
	c.file.Close()
	c.t.active.closed()
	return 0
}

// Getattr implements fs.NodeGetattrer.
func (n *imageNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.t.active.touch()
	out.Attr = n.attr
	return 0
}

// Open implements fs.NodeOpener. ESTALE makes the kernel look the name up again.
func (n *imageNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	t := n.t
	t.active.touch()
	name := n.name
	im, err := t.source.acquire(n.name, n.id)
	if err == syscall.ESTALE {
		// The archive may have moved.
		if f, again := t.source.find(nameOf(&n.Inode)); again == nil && f.image && f.name != n.name {
			name = f.name
			im, err = t.source.acquire(name, n.id)
		}
	}
	if err == syscall.ESTALE {
		return nil, 0, syscall.ESTALE
	}
	if err != nil {
		t.source.warnings.Add(n.name, err)
		return nil, 0, errno(err)
	}
	t.active.opened()
	return &reading{t: t, name: name, im: im}, fuse.FOPEN_KEEP_CACHE, 0
}
