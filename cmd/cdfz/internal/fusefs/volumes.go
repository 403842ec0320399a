//go:build linux && !386 && !arm

package fusefs

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	iofs "io/fs"
	"math/bits"
	"path"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/volume"
)

// volumeTop is a volume, which is shown as a folder. Who may read the volume may read everything in it: members have its
// owner and its rights, but their own times.
type volumeTop struct {
	node *fs.Inode // of the folder; nil until it is made
	only string    // name of the volume if it is the source
	id   archivefs.Ident
	attr fuse.Attr // of the folder
}

// name returns the present name of the volume in the source.
func (v *volumeTop) name() string {
	if v.only != "" {
		return v.only
	}
	return nameOf(v.node)
}

// volumeFolder is a volume, or a folder in one. Nothing in it can be changed.
type volumeFolder struct {
	fs.Inode
	t    *tree
	in   *volumeTop
	rel  string // in the volume
	attr fuse.Attr
}

// volumeFile is a member of a volume that appears unchanged: a file or a symbolic link.
type volumeFile struct {
	fs.Inode
	t    *tree
	in   *volumeTop
	rel  string // in the volume
	id   archivefs.Ident
	attr fuse.Attr
}

// lister is a folder that can be listed.
type lister interface {
	fs.NodeLookuper
	entries() ([]iofs.DirEntry, syscall.Errno)
}

var (
	_ lister                = (*volumeFolder)(nil)
	_ fs.NodeOpendirHandler = (*volumeFolder)(nil)
	_ fs.NodeGetattrer      = (*volumeFolder)(nil)
	_ fs.NodeGetxattrer     = (*volumeFolder)(nil)
	_ fs.NodeStatfser       = (*volumeFolder)(nil)
	_ fs.NodeAccesser       = (*volumeFolder)(nil)
	_ fs.NodeSetattrer      = (*volumeFolder)(nil)
	_ fs.NodeCreater        = (*volumeFolder)(nil)
	_ fs.NodeMkdirer        = (*volumeFolder)(nil)
	_ fs.NodeMknoder        = (*volumeFolder)(nil)
	_ fs.NodeSymlinker      = (*volumeFolder)(nil)
	_ fs.NodeLinker         = (*volumeFolder)(nil)
	_ fs.NodeUnlinker       = (*volumeFolder)(nil)
	_ fs.NodeRmdirer        = (*volumeFolder)(nil)
	_ fs.NodeRenamer        = (*volumeFolder)(nil)

	_ fs.NodeOpener     = (*volumeFile)(nil)
	_ fs.NodeReadlinker = (*volumeFile)(nil)
	_ fs.NodeGetattrer  = (*volumeFile)(nil)
	_ fs.NodeGetxattrer = (*volumeFile)(nil)
	_ fs.NodeAccesser   = (*volumeFile)(nil)
	_ fs.NodeSetattrer  = (*volumeFile)(nil)
)

// volumeAt returns the volume that a regular file of a folder is, or nil.
func (s *source) volumeAt(name string, info iofs.FileInfo) (*archivefs.Ident, error) {
	if !info.Mode().IsRegular() || !isVolumeName(name) {
		return nil, nil
	}
	as, err := iofs.Stat(s.volumes, name)
	if err != nil || !as.IsDir() {
		return nil, nil
	}
	id, _ := archivefs.VolumeOf(as)
	if id != archivefs.IdentOf(name, info) { // the path leads elsewhere now
		return nil, archivefs.ErrReplaced
	}
	return &id, nil
}

// onlyVolume describes the volume that is the source.
func (s *source) onlyVolume() (iofs.FileInfo, error) {
	info, err := iofs.Stat(s.volumes, s.only)
	if err == nil && !info.IsDir() {
		err = volume.ErrNotVolume
	}
	return info, err
}

// openVolume describes a volume as a folder. name is that in the source.
func (t *tree) openVolume(name string, id archivefs.Ident, st *syscall.Stat_t) *volumeTop {
	v := &volumeTop{id: id}
	t.describe(&v.attr, st)
	v.attr.Ino ^= imageBit
	v.attr.Mode = st.Mode & 0o444
	if t.lists && t.volumeHasACL(name) { // the group's bits are those of the list's mask
		v.attr.Mode &= owner
	}
	v.attr.Mode |= syscall.S_IFDIR | v.attr.Mode>>2
	v.attr.Nlink, v.attr.Size = 2, 0
	return v
}

// volumeHasACL reports whether a volume has an access control list, or hides whether it has.
func (t *tree) volumeHasACL(name string) bool {
	f, _, err := t.source.open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	_, err = unix.Fgetxattr(int(f.Fd()), accessACL, nil)
	return err != syscall.ENODATA && err != syscall.EOPNOTSUPP
}

// gen distinguishes what has the same number at other times.
func gen(i archivefs.Ident) uint64 {
	return uint64(i.Ctime) ^ bits.RotateLeft64(uint64(i.Mtime), 32) ^ bits.RotateLeft64(uint64(i.Size), 16)
}

// newVolume makes the node of a volume.
func (t *tree) newVolume(ctx context.Context, parent *fs.Inode, v *volumeTop, out *fuse.EntryOut) *fs.Inode {
	out.Attr = v.attr
	v.node = parent.NewInode(ctx, &volumeFolder{t: t, in: v, attr: v.attr}, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: v.attr.Ino, Gen: gen(v.id)})
	return v.node
}

// full returns the present name of a member in the source.
func (v *volumeTop) full(rel string) string { return path.Join(v.name(), rel) }

// describe sets the attributes of a member of a volume.
func (d *volumeFolder) describe(a *fuse.Attr, rel string, info iofs.FileInfo) {
	*a = d.in.attr
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], a.Ino)
	binary.LittleEndian.PutUint64(b[8:], gen(d.in.id))
	h.Write(b[:])
	io.WriteString(h, rel)
	a.Ino = h.Sum64()
	m, read := info.Mode(), d.in.attr.Mode&0o444
	switch {
	case m.IsDir():
		a.Mode = syscall.S_IFDIR | read | read>>2
	case m&iofs.ModeSymlink != 0:
		a.Mode = syscall.S_IFLNK | 0o777
	default:
		a.Mode = syscall.S_IFREG | read | read>>2&uint32(m.Perm())
	}
	if !m.IsDir() {
		a.Nlink = 1
		size := info.Size()
		if e, ok := info.Sys().(*volume.Entry); ok && m&iofs.ModeSymlink != 0 {
			size = int64(len(e.Target)) // as on a disk
		}
		setImage(a, a.Ino, size)
	}
	t := info.ModTime()
	a.Mtime, a.Mtimensec = uint64(t.Unix()), uint32(t.Nanosecond())
	a.Atime, a.Atimensec = a.Mtime, a.Mtimensec
}

// Lookup implements fs.NodeLookuper.
func (d *volumeFolder) Lookup(ctx context.Context, base string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	t := d.t
	t.active.touch()
	rel := path.Join(d.rel, base)
	f, err := t.source.Find(d.in.full(rel))
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return nil, d.failed(rel, err)
	}
	if id, ok := archivefs.VolumeOf(f.Info); !ok || id != d.in.id {
		return nil, syscall.ESTALE
	}
	d.describe(&out.Attr, rel, f.Info)
	id := fs.StableAttr{Mode: out.Mode & syscall.S_IFMT, Ino: out.Ino}
	switch {
	case f.Image:
		out.Ino ^= imageBit
		id.Ino, id.Gen = out.Ino, gen(f.ID)
		setImage(&out.Attr, id.Ino, f.Size)
		image := &imageNode{}
		var node fs.InodeEmbedder = image
		if t.writable {
			fixed := &fixedImage{}
			image, node = &fixed.imageNode, fixed
		}
		image.t, image.name, image.id, image.attr, image.who, image.member = t, f.Name, f.ID, out.Attr, everybody, true
		return d.NewInode(ctx, node, id), 0
	case f.Info.IsDir():
		return d.NewInode(ctx, &volumeFolder{t: t, in: d.in, rel: rel, attr: out.Attr}, id), 0
	}
	return d.NewInode(ctx, &volumeFile{t: t, in: d.in, rel: rel, id: archivefs.IdentOf(f.Name, f.Info), attr: out.Attr}, id), 0
}

// failed reports the error of a member.
func (d *volumeFolder) failed(rel string, err error) syscall.Errno {
	no := errno(err)
	if no == syscall.EIO {
		d.t.source.Report(d.in.full(rel), err)
	}
	return no
}

// entries implements lister.
func (d *volumeFolder) entries() ([]iofs.DirEntry, syscall.Errno) {
	name := d.in.full(d.rel)
	list, err := d.t.source.ReadDir(name)
	if err != nil {
		return nil, d.failed(d.rel, err)
	}
	info, err := iofs.Stat(d.t.source.volumes, name)
	if id, ok := archivefs.VolumeOf(info); err != nil || !ok || id != d.in.id {
		return nil, syscall.ESTALE
	}
	return list, 0
}

// OpendirHandle implements fs.NodeOpendirHandler.
func (d *volumeFolder) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return &listed{t: d.t, d: d}, 0, 0
}

// Getattr implements fs.NodeGetattrer.
func (d *volumeFolder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	d.t.active.touch()
	out.Attr = d.attr
	return 0
}

// Getxattr implements fs.NodeGetxattrer.
func (d *volumeFolder) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	return viewMark(attr, dest)
}

// Statfs implements fs.NodeStatfser.
func (d *volumeFolder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return d.t.statfs(out)
}

// Access implements fs.NodeAccesser.
func (d *volumeFolder) Access(_ context.Context, mask uint32) syscall.Errno {
	return d.t.accessMember(&d.attr, mask)
}

// accessMember reports whether this process may use a member of a volume as access(2) asks. It has opened the volume.
func (t *tree) accessMember(a *fuse.Attr, mask uint32) syscall.Errno {
	t.active.touch()
	switch {
	case mask&unix.W_OK != 0:
		return syscall.EROFS
	case mask&unix.X_OK != 0 && a.Mode&0o111 == 0:
		return syscall.EACCES
	}
	return 0
}

// Setattr implements fs.NodeSetattrer.
func (d *volumeFolder) Setattr(context.Context, fs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EROFS
}

// Create implements fs.NodeCreater.
func (d *volumeFolder) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EROFS
}

// Mkdir implements fs.NodeMkdirer.
func (d *volumeFolder) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

// Mknod implements fs.NodeMknoder.
func (d *volumeFolder) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

// Symlink implements fs.NodeSymlinker.
func (d *volumeFolder) Symlink(context.Context, string, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

// Link implements fs.NodeLinker.
func (d *volumeFolder) Link(context.Context, fs.InodeEmbedder, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EROFS
}

// Unlink implements fs.NodeUnlinker.
func (d *volumeFolder) Unlink(context.Context, string) syscall.Errno { return syscall.EROFS }

// Rmdir implements fs.NodeRmdirer.
func (d *volumeFolder) Rmdir(context.Context, string) syscall.Errno { return syscall.EROFS }

// Rename implements fs.NodeRenamer.
func (d *volumeFolder) Rename(context.Context, string, fs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EROFS
}

// Getattr implements fs.NodeGetattrer.
func (o *volumeFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	o.t.active.touch()
	out.Attr = o.attr
	return 0
}

// Getxattr implements fs.NodeGetxattrer.
func (o *volumeFile) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	return viewMark(attr, dest)
}

// Access implements fs.NodeAccesser.
func (o *volumeFile) Access(_ context.Context, mask uint32) syscall.Errno {
	return o.t.accessMember(&o.attr, mask)
}

// Setattr implements fs.NodeSetattrer.
func (o *volumeFile) Setattr(context.Context, fs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EROFS
}

// Readlink implements fs.NodeReadlinker.
func (o *volumeFile) Readlink(context.Context) ([]byte, syscall.Errno) {
	o.t.active.touch()
	to, err := iofs.ReadLink(o.t.source.volumes, o.in.full(o.rel))
	return []byte(to), errno(err)
}

// Open implements fs.NodeOpener. ESTALE makes the kernel look the name up again.
func (o *volumeFile) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	o.t.active.touch()
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY || flags&syscall.O_TRUNC != 0 {
		return nil, 0, syscall.EROFS
	}
	name := o.in.full(o.rel)
	f, info, err := o.t.source.OpenStored(name)
	if err != nil {
		return nil, 0, errno(err)
	}
	if archivefs.IdentOf(name, info) != o.id {
		f.Close()
		return nil, 0, syscall.ESTALE
	}
	o.t.active.opened()
	return &readingMember{o.t, name, f}, fuse.FOPEN_KEEP_CACHE, 0
}

// readingMember is an open member of a volume that appears unchanged.
type readingMember struct {
	t    *tree
	name string // in the source
	file archivefs.Stored
}

// Read implements fs.FileReader.
func (r *readingMember) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	r.t.active.touch()
	n, err := r.file.ReadAt(dest, off)
	if err != nil && !errors.Is(err, io.EOF) {
		r.t.source.Report(r.name, err)
		return nil, syscall.EIO
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// Release implements fs.FileReleaser.
func (r *readingMember) Release(context.Context) syscall.Errno {
	r.file.Close()
	r.t.active.closed()
	return 0
}

// isVolumeName reports whether a name is one of volumes.
func isVolumeName(name string) bool { return strings.HasSuffix(name, volume.Suffix) }
