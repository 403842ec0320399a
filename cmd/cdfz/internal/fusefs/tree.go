//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"errors"
	iofs "io/fs"
	"math/bits"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
)

// tree is the file system. Its nodes are folders, images and other files.
type tree struct {
	source  *source
	streams *streams
	active  active
	device  uint64     // of the source's root
	only    *volumeTop // that is the source, or nil
	lists   bool       // access control lists are shown

	writable bool // see Serve
	oneOwner bool // see Options
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

// imageNode is the image of an archive, or joined files. That of an archive never changes: one with
// other contents has another node, since the generation depends on its times and size. So the kernel
// may keep pages between opens. The members of joined files can change.
type imageNode struct {
	fs.Inode
	t    *tree
	name string // of the archive when it was found
	id   archivefs.Ident
	attr fuse.Attr

	who    uint32 // may read it, at most
	member bool   // of a volume: no file of the source is the archive
}

var (
	_ fs.NodeLookuper       = (*folder)(nil)
	_ fs.NodeOpendirHandler = (*folder)(nil)
	_ lister                = (*folder)(nil)
	_ fs.FileReaddirenter   = (*listed)(nil)
	_ fs.FileSeekdirer      = (*listed)(nil)
	_ fs.FileLookuper       = (*listed)(nil)
	_ fs.NodeGetattrer      = (*folder)(nil)
	_ fs.NodeStatfser       = (*folder)(nil)
	_ fs.NodeGetattrer      = (*other)(nil)
	_ fs.NodeOpener         = (*other)(nil)
	_ fs.NodeReadlinker     = (*other)(nil)
	_ fs.NodeGetattrer      = (*imageNode)(nil)
	_ fs.NodeOpener         = (*imageNode)(nil)

	_ fs.NodeGetxattrer = (*folder)(nil)
	_ fs.NodeGetxattrer = (*other)(nil)
	_ fs.NodeGetxattrer = (*imageNode)(nil)
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
	case errors.Is(err, archivefs.ErrReplaced):
		return syscall.ESTALE // the kernel looks the name up again
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
// may appear as well. Programs take files with one number for hard links. ownerBit and
// nobodyBit distinguish images that fewer users may read under one of their names.
const (
	imageBit  = 1 << 62
	ownerBit  = 1 << 61
	nobodyBit = 1 << 60
)

// enter opens the folder of a node. ESTALE makes the kernel look the name up again. The
// caller must call leave.
func (t *tree) enter(n *fs.Inode) (p place, leave func(), no syscall.Errno) {
	if n.IsRoot() {
		return t.source.top(), func() {}, 0
	}
	p, st, err := t.source.enter(nameOf(n))
	if err != nil {
		return p, nil, errno(err)
	}
	if t.inode(st.Sys().(*syscall.Stat_t)) != n.StableAttr().Ino {
		p.dir.Close()
		return p, nil, syscall.ESTALE
	}
	return p, func() { p.dir.Close() }, 0
}

// Lookup implements fs.NodeLookuper.
func (d *folder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	t := d.t
	t.active.touch()
	p, leave, no := t.enter(&d.Inode)
	if no != 0 {
		return nil, no
	}
	defer leave()
	f, err := t.source.find(p, name)
	if err != nil {
		return nil, errno(err)
	}
	if f.volume != nil {
		return t.newVolume(ctx, &d.Inode, t.openVolume(f.Name, *f.volume, f.st), out), 0
	}
	if !f.Image {
		return t.child(ctx, &d.Inode, f.st, out), 0
	}
	t.describe(&out.Attr, f.st)
	id := fs.StableAttr{Mode: f.st.Mode & syscall.S_IFMT, Ino: t.inode(f.st)}
	i := f.ID
	id.Ino ^= imageBit
	id.Gen = gen(i)
	switch f.who {
	case owner:
		id.Ino ^= ownerBit
	case nobody:
		id.Ino ^= nobodyBit
	}
	out.Mode &= f.who | syscall.S_IFMT
	setImage(&out.Attr, id.Ino, f.Size)
	image := &imageNode{}
	var node fs.InodeEmbedder = image
	if t.writable {
		fixed := &fixedImage{}
		image, node = &fixed.imageNode, fixed
	}
	image.t, image.name, image.id, image.attr, image.who = t, f.Name, i, out.Attr, f.who
	return d.NewInode(ctx, node, id), 0
}

// child returns the node of a folder or of a file that appears unchanged.
func (t *tree) child(ctx context.Context, parent *fs.Inode, st *syscall.Stat_t, out *fuse.EntryOut) *fs.Inode {
	t.describe(&out.Attr, st)
	id := fs.StableAttr{Mode: st.Mode & syscall.S_IFMT, Ino: out.Ino}
	return parent.NewInode(ctx, t.node(id.Mode == syscall.S_IFDIR), id)
}

// node makes the node of a folder or of a file that appears unchanged.
func (t *tree) node(dir bool) fs.InodeEmbedder {
	switch {
	case dir && t.writable:
		return &writableFolder{folder{t: t}}
	case dir:
		return &folder{t: t}
	case t.writable:
		return &writableFile{other: other{t: t}}
	}
	return &other{t: t}
}

// describe sets the attributes of a file of the source.
func (t *tree) describe(a *fuse.Attr, st *syscall.Stat_t) {
	a.FromStat(st)
	a.Ino = t.inode(st)
	if t.oneOwner {
		a.Uid, a.Gid = uint32(os.Geteuid()), uint32(os.Getegid())
	}
}

// setImage turns the attributes of an archive into those of its image.
func setImage(a *fuse.Attr, ino uint64, size int64) {
	a.Ino, a.Size = ino, uint64(size)
	a.Blocks = (a.Size + 511) / 512 // as a file without holes
}

// Getattr implements fs.NodeGetattrer.
func (d *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	d.t.active.touch()
	return d.t.attr(&d.Inode, out)
}

// attr describes the file of a node.
func (t *tree) attr(n *fs.Inode, out *fuse.AttrOut) syscall.Errno {
	st, err := sys(t.source.root.Lstat(nameOf(n)))
	if err != nil {
		return errno(err)
	}
	if !n.IsRoot() && t.inode(st) != n.StableAttr().Ino {
		return syscall.ESTALE
	}
	t.describe(&out.Attr, st)
	return 0
}

// Statfs describes the file system of the source.
func (d *folder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno { return d.t.statfs(out) }

func (t *tree) statfs(out *fuse.StatfsOut) syscall.Errno {
	f, err := t.source.root.Open(".")
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
	if f, ok := h.(*copied); ok {
		return o.t.openAttr(f.file, out)
	}
	return o.t.attr(&o.Inode, out)
}

// openAttr returns the attributes of an open file of the source.
func (t *tree) openAttr(f *os.File, out *fuse.AttrOut) syscall.Errno {
	st, err := sys(f.Stat())
	if err != nil {
		return errno(err)
	}
	t.describe(&out.Attr, st)
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
	if o.t.inode(st.Sys().(*syscall.Stat_t)) != o.StableAttr().Ino {
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
	im, err := t.source.AcquireAs(n.name, n.id)
	if errors.Is(err, archivefs.ErrReplaced) {
		// The archive may have moved.
		if f, again := t.moved(n); again == nil && f.Image && f.Name != n.name && f.who == n.who {
			name = f.Name
			im, err = t.source.AcquireAs(name, n.id)
		}
	}
	if errors.Is(err, archivefs.ErrReplaced) {
		return nil, 0, syscall.ESTALE
	}
	if err != nil {
		t.source.Report(n.name, err)
		return nil, 0, errno(err)
	}
	defer t.source.Release(im)
	t.active.opened()
	flags := uint32(fuse.FOPEN_KEEP_CACHE)
	if joinedfiles.Is(name) {
		flags = 0
	}
	return &reading{t: t, name: name, from: t.source.Hold(name, im), size: im.NetCDF.Image().Size()}, flags, 0
}

// moved finds an image under its present name.
func (t *tree) moved(n *imageNode) (found, error) {
	base, dir := n.Inode.Parent()
	if dir == nil {
		return found{}, archivefs.ErrReplaced
	}
	p, leave, no := t.enter(dir)
	if no != 0 {
		return found{}, no
	}
	defer leave()
	return t.source.find(p, base)
}
