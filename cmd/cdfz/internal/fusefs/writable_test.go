//go:build linux && !386 && !arm

package fusefs

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newWritable is newFixture for the file system of Serve.
func newWritable(t *testing.T, o Options) *fixture {
	f := newFixture(t, "", o)
	f.tree.writable, f.tree.oneOwner = true, o.OneOwner
	f.RawFileSystem = fs.NewNodeFS(f.tree.top(), f.tree.serveOptions(f.dir, &o))
	return f
}

// changes has one request of each kind that changes the entry of a name in a folder.
func (f *fixture) changes(dir uint64, name string) map[string]fuse.Status {
	head := fuse.InHeader{NodeId: dir}
	rename := func(from, to string, flags uint32) fuse.Status {
		return f.Rename(nil, &fuse.RenameIn{InHeader: head, Newdir: dir, Flags: flags}, from, to)
	}
	plain, status := f.lookup(dir, "plain")
	require.Equal(f.t, fuse.OK, status)
	var entry fuse.EntryOut
	var created fuse.CreateOut
	out := map[string]fuse.Status{
		"unlink":   f.Unlink(nil, &head, name),
		"from":     rename(name, "moved", 0),
		"to":       rename("plain", name, 0),
		"exchange": rename("plain", name, unix.RENAME_EXCHANGE),
		"link":     f.Link(nil, &fuse.LinkIn{InHeader: head, Oldnodeid: plain.NodeId}, name, &entry),
		"symlink":  f.Symlink(nil, &head, "plain", name, &entry),
		"mkdir":    f.Mkdir(nil, &fuse.MkdirIn{InHeader: head, Mode: 0o755}, name, &entry),
		"mknod":    f.Mknod(nil, &fuse.MknodIn{InHeader: head, Mode: syscall.S_IFIFO | 0o644}, name, &entry),
		"create":   f.Create(nil, &fuse.CreateIn{InHeader: head, Flags: syscall.O_WRONLY, Mode: 0o644}, name, &created),
	}
	if e, status := f.lookup(dir, name); status == fuse.OK {
		node := fuse.InHeader{NodeId: e.NodeId}
		var attr fuse.AttrOut
		var opened fuse.OpenOut
		set := func(c fuse.SetAttrInCommon) fuse.Status {
			c.InHeader = node
			return f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: c}, &attr)
		}
		out["chmod"] = set(fuse.SetAttrInCommon{Valid: fuse.FATTR_MODE, Mode: 0o600})
		out["truncate"] = set(fuse.SetAttrInCommon{Valid: fuse.FATTR_SIZE})
		out["touch"] = set(fuse.SetAttrInCommon{Valid: fuse.FATTR_MTIME | fuse.FATTR_MTIME_NOW})
		out["write"] = f.Open(nil, &fuse.OpenIn{InHeader: node, Flags: syscall.O_RDWR}, &opened)
		out["access"] = f.Access(nil, &fuse.AccessIn{InHeader: node, Mask: unix.W_OK})
		out["source"] = f.Link(nil, &fuse.LinkIn{InHeader: head, Oldnodeid: e.NodeId}, "linked", &entry)
	}
	return out
}

// TestWritableOriginals sends every kind of change to originals and to names of archives, and the
// same to folders that the kernel knows under a name of another folder or link now. Nothing in
// the source changes.
func TestWritableOriginals(t *testing.T) {
	f := newWritable(t, Options{})
	ar := f.pack("a.nc.cdfz", climate(t))
	f.put("bad.nc.cdfz", ar[:len(ar)-1])
	f.put("both.nc", nil)
	f.put("both.nc.cdfz", ar)
	f.put("plain", []byte("plain"))
	f.put("mine/plain", []byte("mine"))
	f.put("private/plain", []byte("private"))
	mine, status := f.lookup(1, "mine")
	require.Equal(t, fuse.OK, status)
	state := func() map[string]string {
		files := map[string]string{}
		require.NoError(t, filepath.Walk(f.dir, func(name string, st os.FileInfo, err error) error {
			require.NoError(t, err)
			files[name] = st.Mode().String() + st.ModTime().String()
			if st.Mode().IsRegular() {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				files[name] += string(b)
			}
			return nil
		}))
		return files
	}
	before := state()
	for name, want := range map[string]fuse.Status{"a.nc": fuse.EROFS, "a.nc.cdfz": fuse.EROFS, "bad.nc.cdfz": fuse.EROFS, "bad.nc": fuse.EIO} {
		for what, got := range f.changes(1, name) {
			require.Equal(t, want, got, "%s %s", what, name)
		}
	}
	require.Equal(t, before, state())
	require.Len(t, f.changes(1, "a.nc"), 15)

	// The folder was replaced by a link to another one.
	require.NoError(t, os.Rename(filepath.Join(f.dir, "mine"), filepath.Join(f.dir, "mine2")))
	require.NoError(t, os.Symlink("private", filepath.Join(f.dir, "mine")))
	before = state()
	var entry fuse.EntryOut
	var created fuse.CreateOut
	head := fuse.InHeader{NodeId: mine.NodeId}
	for what, got := range map[string]fuse.Status{
		"unlink": f.Unlink(nil, &head, "plain"),
		"rename": f.Rename(nil, &fuse.RenameIn{InHeader: head, Newdir: 1}, "plain", "stolen"),
		"mkdir":  f.Mkdir(nil, &fuse.MkdirIn{InHeader: head, Mode: 0o755}, "new", &entry),
		"create": f.Create(nil, &fuse.CreateIn{InHeader: head, Flags: syscall.O_WRONLY, Mode: 0o644}, "new", &created),
		"fsync":  f.FsyncDir(nil, &fuse.FsyncIn{InHeader: head}),
	} {
		require.Equal(t, fuse.Status(syscall.ESTALE), got, what)
	}
	require.Equal(t, before, state())
}

// TestWritableFiles creates, changes and deletes files, also without a name.
func TestWritableFiles(t *testing.T) {
	f := newWritable(t, Options{OneOwner: true})
	root := fuse.InHeader{NodeId: 1}
	var created fuse.CreateOut
	require.Equal(t, fuse.OK, f.Create(nil, &fuse.CreateIn{InHeader: root, Flags: syscall.O_RDWR, Mode: 0o640}, "x", &created))
	node := fuse.InHeader{NodeId: created.NodeId}
	name := filepath.Join(f.dir, "x")
	n, status := f.Write(nil, &fuse.WriteIn{InHeader: node, Fh: created.Fh, Offset: 3}, []byte("abc"))
	require.Equal(t, fuse.OK, status)
	require.EqualValues(t, 3, n)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00abc", string(b))

	set := func(in fuse.SetAttrInCommon) (out fuse.AttrOut) {
		in.InHeader = node
		require.Equal(t, fuse.OK, f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: in}, &out))
		return out
	}
	for _, opened := range []uint32{0, fuse.FATTR_FH} {
		in := fuse.SetAttrInCommon{Fh: created.Fh, Size: 2, Mode: syscall.S_IFREG | 0o400, Mtime: 5, Mtimensec: 6,
			Valid: opened | fuse.FATTR_SIZE | fuse.FATTR_MODE | fuse.FATTR_MTIME}
		out := set(in)
		st, err := os.Stat(name)
		require.NoError(t, err)
		require.EqualValues(t, 2, st.Size())
		require.EqualValues(t, 2, out.Size)
		require.Equal(t, os.FileMode(0o400), st.Mode())
		require.True(t, st.ModTime().Equal(time.Unix(5, 6)))
		out = set(fuse.SetAttrInCommon{Valid: fuse.FATTR_ATIME | fuse.FATTR_ATIME_NOW})
		require.EqualValues(t, 5, out.Mtime)
		require.Greater(t, out.Atime, uint64(5))
		set(fuse.SetAttrInCommon{Valid: fuse.FATTR_MODE, Mode: 0o600})
	}

	// A file whose archive appears later, and one without a name.
	var link fuse.EntryOut
	require.Equal(t, fuse.OK, f.Link(nil, &fuse.LinkIn{InHeader: root, Oldnodeid: node.NodeId}, "y.nc", &link))
	require.Equal(t, node.NodeId, link.NodeId)
	require.EqualValues(t, 2, link.Nlink)
	f.pack("y.nc.cdfz", climate(t))
	for _, name := range []string{"x", "y.nc"} {
		require.Equal(t, fuse.OK, f.Unlink(nil, &root, name))
	}
	require.True(t, bytes.Equal(climate(t), f.all("y.nc", len(climate(t)))))
	var attr fuse.AttrOut
	require.Equal(t, fuse.OK, f.GetAttr(nil, &fuse.GetAttrIn{InHeader: node}, &attr))
	require.EqualValues(t, 2, attr.Size)
	require.Zero(t, attr.Nlink)
	set(fuse.SetAttrInCommon{Valid: fuse.FATTR_MODE, Mode: 0o640})
	again, _, status := f.openNode(node.NodeId)
	require.Equal(t, fuse.OK, status)
	b, status = f.read(again, 0, 10)
	require.Equal(t, fuse.OK, status)
	require.Equal(t, "\x00\x00", string(b))
	f.close(again)
	_, status = f.Write(nil, &fuse.WriteIn{InHeader: node, Fh: created.Fh}, []byte("more"))
	require.Equal(t, fuse.OK, status)
	f.Release(nil, &fuse.ReleaseIn{InHeader: node, Fh: created.Fh})
	_, _, status = f.openNode(node.NodeId)
	require.Equal(t, fuse.ENOENT, status)

	// The owner of a file is this user, whoever it is.
	f.put("others", nil)
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(f.dir, "others"), 12345, 12345))
	}
	e, status := f.lookup(1, "others")
	require.Equal(t, fuse.OK, status)
	require.EqualValues(t, os.Geteuid(), e.Uid)
	require.EqualValues(t, os.Getegid(), e.Gid)
}

// TestWritableLocks locks a file that others have locked, until they unlock it or the caller is
// interrupted.
func TestWritableLocks(t *testing.T) {
	f := newWritable(t, Options{})
	f.put("x", nil)
	f.pack("a.nc.cdfz", climate(t))
	other, err := os.Open(filepath.Join(f.dir, "x"))
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, unix.Flock(int(other.Fd()), unix.LOCK_EX))
	lock := func(name string, cancel chan struct{}, wait bool) fuse.Status {
		in, _, status := f.open(name)
		require.Equal(t, fuse.OK, status)
		defer f.close(in)
		lk := &fuse.LkIn{InHeader: in.InHeader, Fh: in.Fh, Lk: fuse.FileLock{Typ: syscall.F_RDLCK}, LkFlags: fuse.FUSE_LK_FLOCK}
		if wait {
			return f.SetLkw(cancel, lk)
		}
		return f.SetLk(cancel, lk)
	}
	require.Equal(t, fuse.EAGAIN, lock("x", nil, false))
	interrupted := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() { close(interrupted) })
	require.Equal(t, fuse.EINTR, lock("x", interrupted, true))
	unlocked := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() {
		_ = unix.Flock(int(other.Fd()), unix.LOCK_UN)
		close(unlocked)
	})
	require.Equal(t, fuse.OK, lock("x", nil, true))
	<-unlocked
	require.Equal(t, fuse.OK, lock("a.nc", nil, false))
	require.Equal(t, fuse.OK, lock("a.nc", nil, true))
}
