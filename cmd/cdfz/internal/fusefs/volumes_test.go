//go:build linux && !386 && !arm

package fusefs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/volume"
)

// volume packs a volume with an archive, a file and a link into the folder of the source.
func (f *fixture) volume(name string, image, text []byte) {
	f.t.Helper()
	ar := f.pack("tmp.nc.cdfz", image)
	require.NoError(f.t, os.Remove(filepath.Join(f.dir, "tmp.nc.cdfz")))
	var b bytes.Buffer
	w := volume.NewWriter(&b, time.Unix(1_750_000_000, 0))
	defer w.Abort()
	at := time.Unix(1_700_000_000, 5)
	for _, m := range []struct {
		volume.Entry
		data []byte
	}{
		{volume.Entry{Path: "1987", Kind: volume.Folder, Mode: 0o700, Modified: at}, nil},
		{volume.Entry{Path: "1987/a.nc.cdfz", Kind: volume.File, Mode: 0o600, UID: 12345, Modified: at}, ar},
		{volume.Entry{Path: "1987/link", Kind: volume.Symlink, Mode: 0o777, Target: "note.txt", Modified: at}, nil},
		{volume.Entry{Path: "1987/note.txt", Kind: volume.File, Mode: 0o700, UID: 12345, HasSum: true, Modified: at}, text},
		{volume.Entry{Path: "b.nc.cdfz", Kind: volume.HardLink, Target: "1987/a.nc.cdfz", Modified: at}, nil},
	} {
		m.Size = int64(len(m.data))
		require.NoError(f.t, w.Add(&m.Entry, bytes.NewReader(m.data)))
	}
	_, err := w.Finish()
	require.NoError(f.t, err)
	f.put(name, b.Bytes())
}

// at finds a path.
func (f *fixture) at(names ...string) (e fuse.EntryOut, status fuse.Status) {
	e.NodeId = 1
	for _, name := range names {
		if e, status = f.lookup(e.NodeId, name); status != fuse.OK {
			return e, status
		}
	}
	return e, status
}

// bytesOf reads a file.
func (f *fixture) bytesOf(node uint64, size int) []byte {
	f.t.Helper()
	in, _, status := f.openNode(node)
	require.Equal(f.t, fuse.OK, status)
	defer f.Release(nil, &fuse.ReleaseIn{InHeader: fuse.InHeader{NodeId: node}, Fh: in.Fh})
	buf := make([]byte, size+10)
	in.Size = uint32(len(buf))
	res, status := f.Read(nil, &in, buf)
	require.Equal(f.t, fuse.OK, status)
	defer res.Done()
	got, status := res.Bytes(buf)
	require.Equal(f.t, fuse.OK, status)
	return got
}

// TestVolumes shows a volume as a folder with the originals in it.
func TestVolumes(t *testing.T) {
	for _, writable := range []bool{false, true} {
		f := newFixture(t, "", Options{AllowOther: !writable})
		if writable {
			f = newWritable(t, Options{})
		}
		image, text := climate(t), []byte("text")
		f.volume("run/0001.tar", image, text)
		f.put("run/other.tar", []byte("no volume"))
		require.NoError(t, os.Chmod(filepath.Join(f.dir, "run/0001.tar"), 0o640))

		top, status := f.at("run", "0001.tar")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFDIR|0o550, top.Mode)
		folder, status := f.at("run", "0001.tar", "1987")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFDIR|0o550, folder.Mode)
		a, status := f.at("run", "0001.tar", "1987", "a.nc")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFREG|0o440, a.Mode)
		require.EqualValues(t, len(image), a.Size)
		require.EqualValues(t, 1_700_000_000, a.Mtime)
		require.EqualValues(t, os.Getuid(), a.Uid)
		require.Equal(t, image, f.bytesOf(a.NodeId, len(image)))
		b, status := f.at("run", "0001.tar", "b.nc")
		require.Equal(t, fuse.OK, status)
		require.Equal(t, image, f.bytesOf(b.NodeId, len(image)))
		note, status := f.at("run", "0001.tar", "1987", "note.txt")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFREG|0o540, note.Mode)
		require.Equal(t, text, f.bytesOf(note.NodeId, len(text)))
		link, status := f.at("run", "0001.tar", "1987", "link")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFLNK|0o777, link.Mode)
		to, status := f.Readlink(nil, &fuse.InHeader{NodeId: link.NodeId})
		require.Equal(t, fuse.OK, status)
		require.Equal(t, "note.txt", string(to))
		_, status = f.at("run", "0001.tar", "1987", "a.nc.cdfz")
		require.Equal(t, fuse.ENOENT, status)
		_, status = f.at("run", "0001.tar", "none")
		require.Equal(t, fuse.ENOENT, status)
		other, status := f.at("run", "other.tar")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFREG|0o644, other.Mode)

		// what folders list
		p, _, err := f.tree.source.enter("run")
		require.NoError(t, err)
		list, err := f.tree.source.list(p)
		require.NoError(t, err)
		require.Equal(t, []string{"d 0001.tar/", "- other.tar"}, []string{fs.FormatDirEntry(list[0]), fs.FormatDirEntry(list[1])})
		list, err = f.tree.source.ReadDir("run/0001.tar/1987")
		require.NoError(t, err)
		require.Len(t, list, 3)
		require.Equal(t, "a.nc", list[0].Name())

		// Another volume of this name has other nodes, and the old ones are stale.
		in, _, status := f.openNode(note.NodeId)
		require.Equal(t, fuse.OK, status)
		f.volume("run/0001.tar", image, []byte("TEXT"))
		_, status = f.lookup(top.NodeId, "1987")
		require.Equal(t, fuse.Status(syscall.ESTALE), status)
		_, _, status = f.openNode(note.NodeId)
		require.Equal(t, fuse.Status(syscall.ESTALE), status)
		again, status := f.at("run", "0001.tar", "1987", "note.txt")
		require.Equal(t, fuse.OK, status)
		require.NotEqual(t, note.NodeId, again.NodeId)
		require.Equal(t, "TEXT", string(f.bytesOf(again.NodeId, 4)))
		in.Size = 4
		res, status := f.Read(nil, &in, make([]byte, 4))
		require.Equal(t, fuse.OK, status)
		old, _ := res.Bytes(make([]byte, 4))
		require.Equal(t, "text", string(old)) // it is open

		// One whose end is lost stays a file.
		whole, err := os.ReadFile(filepath.Join(f.dir, "run/0001.tar"))
		require.NoError(t, err)
		f.put("run/lost.tar", whole[:len(whole)-4000])
		lost, status := f.at("run", "lost.tar")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFREG|0o644, lost.Mode)
		require.Empty(t, f.warn)
	}
}

// TestVolumeRights checks that members have the rights of their volume, and no more if that has an access control list.
func TestVolumeRights(t *testing.T) {
	f := newFixture(t, "", Options{AllowOther: true})
	f.volume("a.tar", climate(t), nil)
	setACL(t, filepath.Join(f.dir, "a.tar"), 0o644)
	for _, names := range [][]string{{"a.tar"}, {"a.tar", "1987"}} {
		e, status := f.at(names...)
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, syscall.S_IFDIR|0o500, e.Mode)
	}
	e, status := f.at("a.tar", "b.nc")
	require.Equal(t, fuse.OK, status)
	require.EqualValues(t, syscall.S_IFREG|0o400, e.Mode)
	_, status = f.GetXAttr(nil, &fuse.InHeader{NodeId: e.NodeId}, accessACL, nil)
	require.Equal(t, fuse.ENOATTR, status)
}

// TestOnlyVolume shows what is in a volume that is the source.
func TestOnlyVolume(t *testing.T) {
	f := &fixture{t: t, dir: t.TempDir()}
	f.volume("0001.tar", climate(t), []byte("text"))
	tree, err := newTree(filepath.Join(f.dir, "0001.tar"), &Options{Cache: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { tree.source.root.Close() })
	f.tree = tree
	f.RawFileSystem = gofs.NewNodeFS(tree.top(), tree.options(f.dir, &Options{}, true))
	e, status := f.at("1987", "a.nc")
	require.Equal(t, fuse.OK, status)
	require.Equal(t, climate(t), f.bytesOf(e.NodeId, len(climate(t))))
	var st fuse.StatfsOut
	require.Equal(t, fuse.OK, f.StatFs(nil, &fuse.InHeader{NodeId: 1}, &st))
	require.NotZero(t, st.Blocks)
	_, err = newTree(filepath.Join(f.dir, "none.tar"), &Options{Cache: 1 << 20})
	require.ErrorIs(t, err, os.ErrNotExist)
	f.put("other.tar", []byte("no volume"))
	_, err = newTree(filepath.Join(f.dir, "other.tar"), &Options{Cache: 1 << 20})
	require.ErrorIs(t, err, volume.ErrNotVolume)
}

// TestWritableVolumes sends every kind of change to a volume and to what is in it.
func TestWritableVolumes(t *testing.T) {
	f := newWritable(t, Options{})
	f.volume("a.tar", climate(t), []byte("text"))
	f.put("plain", []byte("plain"))
	before, err := os.ReadFile(filepath.Join(f.dir, "a.tar"))
	require.NoError(t, err)
	for what, status := range f.changes(1, "a.tar") {
		if what != "write" && what != "source" { // of folders, the kernel refuses them
			require.Equal(t, fuse.EROFS, status, what)
		}
	}
	folder, status := f.at("a.tar", "1987")
	require.Equal(t, fuse.OK, status)
	head := fuse.InHeader{NodeId: folder.NodeId}
	var entry fuse.EntryOut
	var created fuse.CreateOut
	var attr fuse.AttrOut
	require.Equal(t, fuse.EROFS, f.Create(nil, &fuse.CreateIn{InHeader: head, Flags: syscall.O_WRONLY}, "new", &created))
	require.Equal(t, fuse.EROFS, f.Mkdir(nil, &fuse.MkdirIn{InHeader: head}, "new", &entry))
	require.Equal(t, fuse.EROFS, f.Mknod(nil, &fuse.MknodIn{InHeader: head, Mode: syscall.S_IFIFO}, "new", &entry))
	require.Equal(t, fuse.EROFS, f.Symlink(nil, &head, "x", "new", &entry))
	require.Equal(t, fuse.EROFS, f.Unlink(nil, &head, "a.nc"))
	require.Equal(t, fuse.EROFS, f.Rmdir(nil, &head, "a.nc"))
	require.Equal(t, fuse.EROFS, f.Rename(nil, &fuse.RenameIn{InHeader: head, Newdir: 1}, "a.nc", "b.nc"))
	require.Equal(t, fuse.EROFS, f.Rename(nil, &fuse.RenameIn{InHeader: fuse.InHeader{NodeId: 1}, Newdir: folder.NodeId}, "plain", "b.nc"))
	plain, _ := f.at("plain")
	require.Equal(t, fuse.EROFS, f.Link(nil, &fuse.LinkIn{InHeader: head, Oldnodeid: plain.NodeId}, "new", &entry))
	for _, name := range []string{"a.nc", "note.txt"} {
		e, status := f.at("a.tar", "1987", name)
		require.Equal(t, fuse.OK, status)
		node := fuse.InHeader{NodeId: e.NodeId}
		require.Equal(t, fuse.EROFS, f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: node, Valid: fuse.FATTR_SIZE}}, &attr))
		require.Equal(t, fuse.EROFS, f.Access(nil, &fuse.AccessIn{InHeader: node, Mask: unix.W_OK}))
		require.Equal(t, fuse.OK, f.Access(nil, &fuse.AccessIn{InHeader: node, Mask: unix.R_OK}))
		require.Equal(t, fuse.EROFS, f.Link(nil, &fuse.LinkIn{InHeader: fuse.InHeader{NodeId: 1}, Oldnodeid: e.NodeId}, "new", &entry))
		var opened fuse.OpenOut
		require.Equal(t, fuse.EROFS, f.Open(nil, &fuse.OpenIn{InHeader: node, Flags: syscall.O_RDWR}, &opened))
	}
	after, err := os.ReadFile(filepath.Join(f.dir, "a.tar"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))
}
