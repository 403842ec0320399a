//go:build linux && !386 && !arm

package fusefs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/internal/storage"
)

// TestOthersLinks has links to archives in folders that not everybody may search. Under the
// name of the link, fewer users may read the image.
func TestOthersLinks(t *testing.T) {
	f := newFixture(t, "", Options{AllowOther: true})
	for _, name := range []string{"open/a", "half/a", "shut/deep/a"} {
		f.pack(name+".nc.cdfz", climate(t))
	}
	f.put("list/x", nil)
	f.pack("list/a.nc.cdfz", climate(t))
	setACL(t, filepath.Join(f.dir, "list"), 0o755)
	for name, mode := range map[string]os.FileMode{"open": 0o711, "half": 0o710, "shut": 0o700} {
		require.NoError(t, os.Chmod(filepath.Join(f.dir, name), mode))
	}
	links := map[string]struct {
		to   string
		mode uint32
	}{
		"open":    {"open/a.nc.cdfz", 0o644},
		"half":    {"half/a.nc.cdfz", 0o600},
		"shut":    {"shut/deep/a.nc.cdfz", 0o600},
		"twice":   {"half.nc.cdfz", 0o600},
		"through": {"open/../half/a.nc.cdfz", 0o600},
		"list":    {"list/a.nc.cdfz", 0o600},
	}
	for name, l := range links {
		require.NoError(t, os.Symlink(l.to, filepath.Join(f.dir, name+".nc.cdfz")))
	}
	for name, l := range links {
		e, status := f.lookup(1, name+".nc")
		require.Equal(t, fuse.OK, status, name)
		require.Equal(t, syscall.S_IFREG|l.mode, e.Mode, name)
		require.Len(t, f.all(name+".nc", len(climate(t))), len(climate(t)))
		if l.mode != 0o644 {
			_, status := f.GetXAttr(nil, &fuse.InHeader{NodeId: e.NodeId}, accessACL, nil)
			require.Equal(t, fuse.ENOATTR, status, name)
		}
	}
	// The image under its own name is another node, which the link leaves as it is.
	dir, status := f.lookup(1, "half")
	require.Equal(t, fuse.OK, status)
	e, status := f.lookup(dir.NodeId, "a.nc")
	require.Equal(t, fuse.OK, status)
	require.Equal(t, uint32(syscall.S_IFREG|0o644), e.Mode)
	link, _ := f.lookup(1, "half.nc")
	require.NotEqual(t, e.Ino, link.Ino)
	require.NotEqual(t, e.NodeId, link.NodeId)

	// An archive of another owner than its folder: nobody who might not get there.
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(f.dir, "half/a.nc.cdfz"), 12345, 12345))
		e, _ := f.lookup(1, "half.nc")
		require.Equal(t, uint32(syscall.S_IFREG), e.Mode)
	}

	// Without other users, modes are those of the archives.
	alone := newFixture(t, "", Options{})
	alone.pack("half/a.nc.cdfz", climate(t))
	require.NoError(t, os.Chmod(filepath.Join(alone.dir, "half"), 0o710))
	require.NoError(t, os.Symlink("half/a.nc.cdfz", filepath.Join(alone.dir, "half.nc.cdfz")))
	e, _ = alone.lookup(1, "half.nc")
	require.Equal(t, uint32(syscall.S_IFREG|0o644), e.Mode)
}

// TestViewMark asks for the attribute that tells images and other files from files on a disk.
func TestViewMark(t *testing.T) {
	for _, o := range []Options{{}, {AllowOther: true}} {
		f := newFixture(t, "", o)
		f.pack("a.nc.cdfz", climate(t))
		f.put("dir/plain", []byte("text"))
		a, status := f.lookup(1, "a.nc")
		require.Equal(t, fuse.OK, status)
		dir, status := f.lookup(1, "dir")
		require.Equal(t, fuse.OK, status)
		plain, status := f.lookup(dir.NodeId, "plain")
		require.Equal(t, fuse.OK, status)
		for _, node := range []uint64{1, a.NodeId, dir.NodeId, plain.NodeId} {
			head := &fuse.InHeader{NodeId: node}
			n, status := f.GetXAttr(nil, head, storage.ShownAttribute, nil)
			require.Equal(t, fuse.OK, status)
			require.EqualValues(t, 1, n)
			_, status = f.GetXAttr(nil, head, "user.other", nil)
			require.Equal(t, fuse.ENOATTR, status)
			n, _ = f.ListXAttr(nil, head, nil)
			require.Zero(t, n, "copies must not have it")
		}
	}
}

// TestOthersSwap puts a link in the place of a folder that the kernel knows, and another
// folder. Nothing of what is there now is shown under the old node.
func TestOthersSwap(t *testing.T) {
	for _, swap := range []string{"link", "folder", "missing"} {
		f := newFixture(t, "", Options{})
		f.pack("mine/a.nc.cdfz", climate(t))
		f.put("mine/notes.txt", []byte("mine"))
		f.pack("private/a.nc.cdfz", climate(t))
		f.pack("private/b.nc.cdfz", climate(t))
		f.put("private/notes.txt", []byte("secret"))
		dir, status := f.lookup(1, "mine")
		require.Equal(t, fuse.OK, status)
		image, status := f.lookup(dir.NodeId, "a.nc")
		require.Equal(t, fuse.OK, status)
		notes, status := f.lookup(dir.NodeId, "notes.txt")
		require.Equal(t, fuse.OK, status)
		mine := filepath.Join(f.dir, "mine")
		require.NoError(t, os.Rename(mine, mine+"2"))
		switch swap {
		case "link":
			require.NoError(t, os.Symlink("private", mine))
		case "folder":
			require.NoError(t, os.Rename(filepath.Join(f.dir, "private"), mine))
		}
		for _, name := range []string{"a.nc", "b.nc", "notes.txt", "none"} {
			_, status := f.lookup(dir.NodeId, name)
			require.Contains(t, []fuse.Status{fuse.Status(syscall.ESTALE), fuse.ENOENT}, status, "%s %s", swap, name)
			if swap != "missing" {
				require.Equal(t, fuse.Status(syscall.ESTALE), status, "%s %s", swap, name)
			}
		}
		var out fuse.AttrOut
		for _, id := range []uint64{dir.NodeId, notes.NodeId} {
			require.NotEqual(t, fuse.OK, f.GetAttr(nil, &fuse.GetAttrIn{InHeader: fuse.InHeader{NodeId: id}}, &out), swap)
			_, status := f.GetXAttr(nil, &fuse.InHeader{NodeId: id}, accessACL, nil)
			require.NotEqual(t, fuse.OK, status, swap)
		}
		for _, id := range []uint64{image.NodeId, notes.NodeId} {
			_, _, status := f.openNode(id)
			require.NotEqual(t, fuse.OK, status, swap)
		}
		var opened fuse.OpenOut
		status = f.OpenDir(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: dir.NodeId}}, &opened)
		if status == fuse.OK {
			list := fuse.NewDirEntryList(make([]byte, 4096), 0)
			status = f.ReadDir(nil, &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: dir.NodeId}, Fh: opened.Fh, Size: 4096}, list)
		}
		require.NotEqual(t, fuse.OK, status, swap)
	}
}

// TestOthersLists checks that the kernel gets the access control lists of files, folders
// and archives, and no other attribute.
func TestOthersLists(t *testing.T) {
	f := newFixture(t, "", Options{AllowOther: true})
	f.pack("a.nc.cdfz", climate(t))
	f.pack("plain.nc.cdfz", climate(t))
	f.put("notes.txt", []byte("x"))
	f.put("folder/x", []byte("x"))
	var want []byte
	for _, name := range []string{"a.nc.cdfz", "notes.txt", "folder"} {
		want = setACL(t, filepath.Join(f.dir, name), 0o754)
	}
	for _, name := range []string{"a.nc", "notes.txt", "folder"} {
		e, status := f.lookup(1, name)
		require.Equal(t, fuse.OK, status)
		header := &fuse.InHeader{NodeId: e.NodeId}
		n, status := f.GetXAttr(nil, header, accessACL, nil)
		require.Equal(t, fuse.OK, status, name)
		require.Equal(t, len(want), int(n))
		got := make([]byte, n)
		_, status = f.GetXAttr(nil, header, accessACL, got)
		require.Equal(t, fuse.OK, status)
		require.Equal(t, want, got, name)
		_, status = f.GetXAttr(nil, header, accessACL, got[:1])
		require.Equal(t, fuse.ERANGE, status)
		_, status = f.GetXAttr(nil, header, "security.capability", nil)
		require.Equal(t, fuse.ENOATTR, status)
	}
	e, _ := f.lookup(1, "plain.nc")
	_, status := f.GetXAttr(nil, &fuse.InHeader{NodeId: e.NodeId}, accessACL, nil)
	require.Equal(t, fuse.ENOATTR, status)
}

// setACL gives a file a list with an entry for the user 12345, who may do nothing. The bits
// of the mode are those of the owner, the group and others.
func setACL(t *testing.T, name string, mode uint16) []byte {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, mode >> 6 & 7, 1<<32 - 1}, {2, 0, 12345}, {4, mode >> 3 & 7, 1<<32 - 1}, {0x10, mode >> 3 & 7, 1<<32 - 1}, {0x20, mode & 7, 1<<32 - 1}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	require.NoError(t, unix.Setxattr(name, accessACL, b, 0))
	return b
}
