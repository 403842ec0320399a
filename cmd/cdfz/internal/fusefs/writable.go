//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// writableFolder is a folder whose entries can be changed, except originals.
type writableFolder struct{ folder }

// writableFile is a file, link, pipe, socket or device that can be changed.
type writableFile struct {
	other

	mu   sync.Mutex
	open []*passed
}

// fixedImage is an image in a tree where other files can be changed.
type fixedImage struct{ imageNode }

var (
	_ fs.NodeCreater   = (*writableFolder)(nil)
	_ fs.NodeMkdirer   = (*writableFolder)(nil)
	_ fs.NodeMknoder   = (*writableFolder)(nil)
	_ fs.NodeSymlinker = (*writableFolder)(nil)
	_ fs.NodeLinker    = (*writableFolder)(nil)
	_ fs.NodeUnlinker  = (*writableFolder)(nil)
	_ fs.NodeRmdirer   = (*writableFolder)(nil)
	_ fs.NodeRenamer   = (*writableFolder)(nil)
	_ fs.NodeSetattrer = (*writableFolder)(nil)
	_ fs.NodeAccesser  = (*writableFolder)(nil)
	_ fs.NodeFsyncer   = (*writableFolder)(nil)

	_ fs.NodeOpener    = (*writableFile)(nil)
	_ fs.NodeSetattrer = (*writableFile)(nil)
	_ fs.NodeGetattrer = (*writableFile)(nil)
	_ fs.NodeAccesser  = (*writableFile)(nil)

	_ fs.NodeOpener    = (*fixedImage)(nil)
	_ fs.NodeSetattrer = (*fixedImage)(nil)
	_ fs.NodeAccesser  = (*fixedImage)(nil)
)

// entries is an open folder whose entries are about to change.
type entries struct {
	place
	file *os.File
	fd   int
}

func (e *entries) close() {
	e.file.Close()
	e.leave()
}

// leave closes the folder of the place unless it is the root.
func (e *entries) leave() {
	if e.dir != e.root {
		e.dir.Close()
	}
}

// entries opens the folder of a node. The caller must close it.
func (t *tree) entries(n *fs.Inode) (*entries, syscall.Errno) {
	t.active.touch()
	p, leave, no := t.enter(n)
	if no != 0 {
		return nil, no
	}
	f, err := p.dir.Open(".")
	if err != nil {
		leave()
		return nil, errno(err)
	}
	return &entries{p, f, int(f.Fd())}, 0
}

// change opens the folder of a node to change the entry of a name. It fails with EROFS if
// the name belongs to an original, to an archive that is not shown, or to a volume.
func (t *tree) change(n *fs.Inode, name string) (*entries, syscall.Errno) {
	e, no := t.entries(n)
	if no != 0 {
		return nil, no
	}
	if no = t.changeable(e.place, name); no != 0 {
		e.close()
		return nil, no
	}
	return e, 0
}

func (t *tree) changeable(p place, name string) syscall.Errno {
	f, err := t.source.find(p, name)
	switch {
	case err == nil && !f.Image && f.volume == nil:
		return 0
	case err == nil:
		return syscall.EROFS
	case errors.Is(err, iofs.ErrNotExist):
		if _, err := p.dir.Lstat(name); err == nil {
			return syscall.EROFS // an archive
		}
		return 0
	}
	return errno(err)
}

// made returns the node of an entry that was just made.
func (t *tree) made(ctx context.Context, n *fs.Inode, e *entries, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	st, err := sys(e.dir.Lstat(name))
	if err != nil {
		return nil, errno(err)
	}
	return t.child(ctx, n, st, out), 0
}

// openFlags are the flags of open(2) that are passed on. The kernel handles the others: it
// itself sends aligned requests for O_DIRECT, for instance.
const openFlags = syscall.O_ACCMODE | syscall.O_APPEND | syscall.O_EXCL | syscall.O_TRUNC | syscall.O_SYNC | syscall.O_DSYNC

// openAt opens a regular file of a folder. It neither follows a link nor waits for the other
// end of a pipe.
func (e *entries) openAt(name string, flags uint32, mode uint32) (*os.File, *syscall.Stat_t, error) {
	fd, err := unix.Openat(e.fd, name, int(flags)|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	st, err := sys(f.Stat())
	if err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		err = syscall.ESTALE
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// Create implements fs.NodeCreater.
func (d *writableFolder) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return nil, nil, 0, no
	}
	defer e.close()
	f, st, err := e.openAt(name, flags&openFlags|syscall.O_CREAT, mode)
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	node := d.t.child(ctx, &d.Inode, st, out)
	return node, node.Operations().(*writableFile).pass(f), 0, 0
}

// Mkdir implements fs.NodeMkdirer.
func (d *writableFolder) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	if err := unix.Mkdirat(e.fd, name, mode); err != nil {
		return nil, errno(err)
	}
	return d.t.made(ctx, &d.Inode, e, name, out)
}

// Mknod implements fs.NodeMknoder.
func (d *writableFolder) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	if err := unix.Mknodat(e.fd, name, mode, int(dev)); err != nil {
		return nil, errno(err)
	}
	return d.t.made(ctx, &d.Inode, e, name, out)
}

// Symlink implements fs.NodeSymlinker.
func (d *writableFolder) Symlink(ctx context.Context, to, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	if err := unix.Symlinkat(to, e.fd, name); err != nil {
		return nil, errno(err)
	}
	return d.t.made(ctx, &d.Inode, e, name, out)
}

// Link implements fs.NodeLinker.
func (d *writableFolder) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	file, ok := target.(*writableFile)
	if !ok {
		return nil, syscall.EROFS
	}
	from, base, no := d.t.above(&file.Inode)
	if no != 0 {
		return nil, no
	}
	defer from.close()
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	if err := unix.Linkat(from.fd, base, e.fd, name, 0); err != nil {
		return nil, errno(err)
	}
	return d.t.made(ctx, &d.Inode, e, name, out)
}

// Unlink implements fs.NodeUnlinker.
func (d *writableFolder) Unlink(_ context.Context, name string) syscall.Errno {
	return d.remove(name, 0)
}

// Rmdir implements fs.NodeRmdirer.
func (d *writableFolder) Rmdir(_ context.Context, name string) syscall.Errno {
	return d.remove(name, unix.AT_REMOVEDIR)
}

func (d *writableFolder) remove(name string, flags int) syscall.Errno {
	e, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return no
	}
	defer e.close()
	return errno(unix.Unlinkat(e.fd, name, flags))
}

// Rename implements fs.NodeRenamer.
func (d *writableFolder) Rename(_ context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := newParent.(*writableFolder)
	if !ok { // a folder of a volume
		return syscall.EROFS
	}
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return syscall.EINVAL
	}
	from, no := d.t.change(&d.Inode, name)
	if no != 0 {
		return no
	}
	defer from.close()
	e, no := d.t.change(&to.Inode, newName)
	if no != 0 {
		return no
	}
	defer e.close()
	if flags == 0 {
		return errno(unix.Renameat(from.fd, name, e.fd, newName)) // some file systems know only this
	}
	return errno(unix.Renameat2(from.fd, name, e.fd, newName, uint(flags)))
}

// Fsync implements fs.NodeFsyncer, for the folder.
func (d *writableFolder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	e, no := d.t.entries(&d.Inode)
	if no != 0 {
		return no
	}
	defer e.close()
	return errno(e.file.Sync())
}

// above opens the folder that a node lies in. base is its name there.
func (t *tree) above(n *fs.Inode) (e *entries, base string, no syscall.Errno) {
	base, dir := n.Parent()
	if dir == nil {
		return nil, "", syscall.ENOENT
	}
	e, no = t.entries(dir)
	return e, base, no
}

// handle opens the file of a node, of any kind, without the right to read or write. It fails with
// ESTALE if the name belongs to another file now, unless the file is open. The caller must close it.
func (t *tree) handle(n *fs.Inode) (*os.File, syscall.Errno) {
	if n.IsRoot() {
		f, err := t.source.root.Open(".")
		return f, errno(err)
	}
	f, no := t.handleByName(n)
	if file, ok := n.Operations().(*writableFile); ok && (no == syscall.ENOENT || no == syscall.ESTALE) {
		if f, err := file.again(unix.O_PATH); err == nil {
			return f, 0
		}
	}
	return f, no
}

func (t *tree) handleByName(n *fs.Inode) (*os.File, syscall.Errno) {
	e, base, no := t.above(n)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	fd, err := unix.Openat(e.fd, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errno(err)
	}
	f := os.NewFile(uintptr(fd), base)
	st, err := sys(f.Stat())
	if err != nil || t.inode(st) != n.StableAttr().Ino {
		f.Close()
		return nil, syscall.ESTALE
	}
	return f, 0
}

// Getattr implements fs.NodeGetattrer.
func (o *writableFile) Getattr(_ context.Context, h fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	o.t.active.touch()
	if f, ok := h.(*passed); ok {
		return o.t.openAttr(f.file, out)
	}
	return o.t.attr(&o.Inode, out)
}

// Open implements fs.NodeOpener. ESTALE makes the kernel look the name up again.
func (o *writableFile) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	flags &= openFlags &^ syscall.O_EXCL
	f, err := o.openByName(flags &^ syscall.O_TRUNC)
	if err == syscall.ENOENT || err == syscall.ESTALE {
		// Programs open a file without a name as /dev/fd/5, for instance.
		if again, e := o.again(int(flags &^ syscall.O_TRUNC)); e == nil {
			f, err = again, nil
		}
	}
	if err != nil {
		return nil, 0, errno(err)
	}
	if flags&syscall.O_TRUNC != 0 {
		if err := f.Truncate(0); err != nil {
			f.Close()
			return nil, 0, errno(err)
		}
	}
	return o.pass(f), 0, 0
}

// openByName opens the file. It fails with ESTALE if the name belongs to another one now.
func (o *writableFile) openByName(flags uint32) (*os.File, error) {
	e, base, no := o.t.above(&o.Inode)
	if no != 0 {
		return nil, no
	}
	defer e.close()
	f, st, err := e.openAt(base, flags, 0)
	if err == syscall.ENOENT || err == syscall.ELOOP {
		err = syscall.ESTALE
	}
	if err != nil {
		return nil, err
	}
	if o.t.inode(st) != o.StableAttr().Ino {
		f.Close()
		return nil, syscall.ESTALE
	}
	return f, nil
}

// pass returns a handle with an open file, which it takes.
func (o *writableFile) pass(f *os.File) *passed {
	p := &passed{fs.NewLoopbackFileFromOS(f), o, f}
	o.t.active.opened()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, p)
	return p
}

// closed ends the use of a handle.
func (o *writableFile) closed(p *passed) {
	o.t.active.closed()
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.open, p); i >= 0 {
		o.open = slices.Delete(o.open, i, i+1)
	}
}

// again opens the file once more if it is open, whether it has a name or not.
func (o *writableFile) again(flags int) (*os.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.open) == 0 {
		return nil, syscall.ESTALE
	}
	fd, err := unix.Open(way(o.open[0].file), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), o.open[0].file.Name()), nil
}

// Open implements fs.NodeOpener.
func (n *fixedImage) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY || flags&syscall.O_TRUNC != 0 {
		return nil, 0, syscall.EROFS
	}
	return n.imageNode.Open(ctx, flags)
}

// Setattr implements fs.NodeSetattrer.
func (n *fixedImage) Setattr(context.Context, fs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EROFS
}

// Access implements fs.NodeAccesser.
func (n *fixedImage) Access(_ context.Context, mask uint32) syscall.Errno {
	n.t.active.touch()
	if mask&unix.W_OK != 0 {
		return syscall.EROFS
	}
	if n.member {
		return n.t.accessMember(&n.attr, mask)
	}
	f, _, err := n.t.source.open(n.name)
	if err != nil {
		return errno(err)
	}
	defer f.Close()
	return errno(unix.Faccessat(unix.AT_FDCWD, way(f), mask, 0))
}
