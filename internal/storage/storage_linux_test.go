package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/internal/nstest"
)

// place looks at a new or existing file.
func place(t *testing.T, m *Mounts, name string) *Place {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDONLY, 0)
	if os.IsNotExist(err) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	}
	require.NoError(t, err)
	defer f.Close()
	p, err := m.Of(f)
	require.NoError(t, err)
	return p
}

// disk is a folder on a disk for tests that mount.
func disk(t *testing.T) string {
	t.Helper()
	dir := nstest.Folder(t)
	require.NoError(t, place(t, new(Mounts), filepath.Join(dir, "x")).Durable(), "the tests need TMPDIR on a disk")
	return dir
}

func weak(t *testing.T, m *Mounts, name, want string) *WeakError {
	t.Helper()
	var e *WeakError
	require.ErrorAs(t, place(t, m, name).Durable(), &e)
	require.ErrorContains(t, e, want)
	return e
}

// TestDurable looks at files on file systems that keep what is flushed, and on others.
func TestDurable(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	dir, m := disk(t), new(Mounts)
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }

	// In memory.
	for _, kind := range []string{"tmpfs", "ramfs"} {
		nstest.Mount(t, kind, "none", in(kind), "")
		e := weak(t, m, in(kind, "a"), "is on a file system that may lose what is flushed ("+kind+", mounted on "+in(kind)+"): it is in memory")
		require.True(t, e.Memory)
		nstest.Bind(t, in(kind), in(kind+"-bound"))
		weak(t, m, in(kind+"-bound", "a"), "it is in memory")
		require.ErrorContains(t, place(t, m, in(kind, "a")).Same(place(t, m, in(kind+"-bound", "a"))), "same file")
	}
	// An unnamed file in memory has no mount.
	fd, err := unix.MemfdCreate("x", 0)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "x")
	p, err := m.Of(f)
	require.NoError(t, err)
	require.ErrorContains(t, p.Durable(), "in memory")
	f.Close()

	// By a program.
	require.NoError(t, os.Mkdir(in("behind"), 0o755))
	nstest.FUSE(t, in("behind"), in("fuse"), "program")
	e := weak(t, m, in("fuse", "a"), "fuse.program")
	require.False(t, e.Memory)
	require.Equal(t, in("fuse"), e.At)

	// Overlays: as a container's, volatile, in memory, and in memory that is out of sight.
	nstest.Overlay(t, in("lower"), in("plain"), "")
	require.NoError(t, place(t, m, in("plain", "a")).Durable())
	nstest.Overlay(t, in("lower"), in("volatile"), ",volatile")
	weak(t, m, in("volatile", "a"), "volatile, which leaves out flushes")
	nstest.Bind(t, in("volatile"), in("volatile-bound"))
	weak(t, m, in("volatile-bound", "b"), "volatile, which leaves out flushes")
	nstest.Mount(t, "tmpfs", "none", in("memory"), "")
	nstest.Overlay(t, in("lower"), in("memory", "o"), "")
	weak(t, m, in("memory", "o", "a"), "it is stored in "+in("memory")+" (tmpfs), and it is in memory")
	require.NoError(t, os.Mkdir(in("hidden"), 0o755))
	require.NoError(t, unix.Mount("none", in("hidden"), "tmpfs", 0, ""))
	nstest.Overlay(t, in("lower"), in("hidden", "o"), "")
	nstest.Bind(t, in("hidden", "o"), in("seen"))
	require.NoError(t, unix.Unmount(in("hidden"), unix.MNT_DETACH))
	weak(t, m, in("seen", "a"), "its layers are in memory, or unknown")
	// Another folder where the upper one was.
	require.NoError(t, os.MkdirAll(in("hidden", "o.upper"), 0o755))
	weak(t, m, in("seen", "a"), "its layers are in memory, or unknown")
	// Plain ones out of sight are those of containers.
	require.NoError(t, os.MkdirAll(in("image"), 0o755))
	nstest.Bind(t, in("image"), in("bound"))
	nstest.Overlay(t, in("lower"), in("bound", "o"), "")
	nstest.Bind(t, in("bound", "o"), in("container"))
	require.NoError(t, unix.Unmount(in("bound"), unix.MNT_DETACH))
	p = place(t, m, in("container", "a"))
	require.NoError(t, p.Durable())
	require.ErrorContains(t, p.Apart(place(t, m, in("x"))), hiddenLayers)

	// What the user states.
	require.ErrorContains(t, m.Name(in("fuse", "a")), "expected a mount point")
	require.ErrorContains(t, m.Name(in("lower")), "expected a mount point, found a folder of the file system that is mounted on ")
	require.ErrorIs(t, m.Name(in("missing")), os.ErrNotExist)
	require.False(t, m.Named())
	require.NoError(t, m.Name(in("fuse")))
	require.True(t, m.Named())
	require.NoError(t, place(t, m, in("fuse", "a")).Durable())
	require.NoError(t, place(t, m, in("fuse", "a")).Apart(place(t, m, in("x"))))
	require.ErrorContains(t, place(t, m, in("fuse", "a")).Apart(place(t, m, in("behind", "a"))), "same number and times")
	nstest.Bind(t, in("fuse"), in("fuse-bound"))
	require.NoError(t, place(t, m, in("fuse-bound", "a")).Durable())
	weak(t, m, in("tmpfs", "a"), "it is in memory")
}

// TestLoop looks at file systems in files.
func TestLoop(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	if !nstest.Loops() {
		t.Skip("loop devices need root")
	}
	dir, m := disk(t), new(Mounts)
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	nstest.Image(t, in("image"), in("disk"))
	require.NoError(t, place(t, m, in("disk", "a")).Durable())
	require.ErrorContains(t, place(t, m, in("disk", "a")).Apart(place(t, m, in("x"))), "both file systems are on the device ")
	nstest.Mount(t, "tmpfs", "none", in("memory"), "")
	nstest.Image(t, in("memory", "image"), in("ram"))
	weak(t, m, in("ram", "a"), "it is stored in "+in("memory")+" (tmpfs), and it is in memory")
	require.NoError(t, os.Remove(in("image")))
	weak(t, m, in("disk", "a"), "the file behind its loop device is out of sight")
	require.ErrorContains(t, place(t, m, in("disk", "a")).Apart(place(t, m, in("x"))), "out of sight")
	// Without barriers.
	nstest.Image(t, in("image2"), in("fast"))
	require.NoError(t, unix.Mount("", in("fast"), "", unix.MS_REMOUNT, "nobarrier"))
	weak(t, m, in("fast", "a"), "it is mounted with nobarrier, which leaves out flushes")
}

// TestSame looks at one file in several ways.
func TestSame(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	dir, m := disk(t), new(Mounts)
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	same := func(a, b, want string) {
		t.Helper()
		for _, names := range [][2]string{{a, b}, {b, a}} {
			p, q := place(t, m, names[0]), place(t, m, names[1])
			require.ErrorContains(t, p.Same(q), want)
			require.ErrorContains(t, p.Apart(q), want)
		}
	}
	require.NoError(t, os.MkdirAll(in("lower"), 0o755))
	require.NoError(t, os.WriteFile(in("lower", "a"), []byte("text"), 0o644))
	time.Sleep(20 * time.Millisecond) // the times of a copy are later
	nstest.Copy(t, in("lower", "a"), in("copy"))
	require.NoError(t, os.Link(in("lower", "a"), in("link")))
	require.NoError(t, os.Symlink("lower/a", in("symlink")))
	same(in("lower", "a"), in("link"), "same file")
	same(in("lower", "a"), in("symlink"), "same file")
	nstest.Bind(t, in("lower"), in("bound"))
	same(in("lower", "a"), in("bound", "a"), "same file")
	require.NoError(t, place(t, m, in("lower", "a")).Same(place(t, m, in("copy"))))
	require.ErrorContains(t, place(t, m, in("lower", "a")).Apart(place(t, m, in("copy"))), "on the same file system")

	require.NoError(t, os.WriteFile(in("lower", "c"), []byte("text"), 0o644))
	upper := nstest.Overlay(t, in("lower"), in("plain"), "")
	same(in("lower", "a"), in("plain", "a"), "same number and times")
	require.NoError(t, place(t, m, in("copy")).Same(place(t, m, in("plain", "a"))))
	place(t, m, in("plain", "b"))
	same(filepath.Join(upper, "b"), in("plain", "b"), "same number and times")
	// What an overlay has copied up is another file.
	require.NoError(t, os.WriteFile(in("plain", "a"), []byte("text"), 0o644))
	require.NoError(t, place(t, m, in("lower", "a")).Same(place(t, m, in("plain", "a"))))
	// A lower file that was deleted is shown as long as the overlay remembers it.
	require.False(t, place(t, m, in("plain", "c")).Deleted())
	require.NoError(t, os.Remove(in("lower", "c")))
	require.True(t, place(t, m, in("plain", "c")).Deleted())
	require.ErrorContains(t, place(t, m, in("plain", "c")).Durable(), "it was deleted from a layer")
	// Unless it has only copied the status.
	if os.Geteuid() == 0 && nstest.Loops() {
		nstest.Overlay(t, in("lower"), in("meta"), ",metacopy=on")
		require.NoError(t, os.Chmod(in("meta", "a"), 0o600))
		same(in("lower", "a"), in("meta", "a"), "may show its bytes a second time")
	}
	// Nobody knows what a program shows.
	nstest.FUSE(t, in("lower"), in("fuse"), "program")
	same(in("lower", "a"), in("fuse", "a"), "same number and times")
	same(in("copy"), in("fuse", "a"), "may show it a second time")
	// All that cdfz mounts is a view, with its attribute also below an overlay.
	nstest.FUSE(t, in("lower"), in("view"), "cdfz")
	require.True(t, place(t, m, in("view", "a")).Shown())
	nstest.Bind(t, in("view"), in("view-bound"))
	require.True(t, place(t, m, in("view-bound", "a")).Shown())
	same(in("copy"), in("view", "a"), "cdfz shows it")
	nstest.Overlay(t, in("view"), in("over"), "")
	require.True(t, place(t, m, in("over", "a")).Shown())
	same(in("copy"), in("over", "a"), "cdfz shows it")
	require.NoError(t, os.WriteFile(in("over", "a"), []byte("text"), 0o644))
	require.False(t, place(t, m, in("over", "a")).Shown(), "it was copied")
	require.NoError(t, place(t, m, in("over", "a")).Durable())
	require.NoError(t, place(t, m, in("over", "a")).Same(place(t, m, in("copy"))))
	require.NoError(t, m.Name(in("view")))
	require.ErrorContains(t, place(t, m, in("view", "a")).Durable(), "cdfz shows its files")
	require.NoError(t, os.WriteFile(in("marked"), nil, 0o644))
	if unix.Setxattr(in("marked"), ShownAttribute, []byte("1"), 0) == nil {
		require.True(t, place(t, m, in("marked")).Shown())
	}
	// Objects.
	s := Object("s3://one")
	require.NoError(t, s.Durable())
	require.NoError(t, s.Apart(place(t, m, in("copy"))))
	require.Error(t, Web(false).Apart(place(t, m, in("copy"))))
	require.ErrorContains(t, Web(true).Same(place(t, m, in("copy"))), "cdfz shows it")
	require.NoError(t, s.Apart(Object("s3://two")))
	require.ErrorContains(t, s.Apart(Object("s3://one")), "in the same store")
}

// TestMountinfo has lines of other machines.
func TestMountinfo(t *testing.T) {
	list, err := parseMounts(strings.NewReader(`36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
40 35 0:40 / /o rw - overlay overlay rw,lowerdir=/a\134:b:/c\054d::/e,upperdir=/u,workdir=/w,fsync=volatile
41 35 0:41 / /nfs rw - nfs4 nas:/vol/a rw,vers=4.2,addr=192.0.2.7
42 35 0:42 / /nfs2 rw - nfs NAS-ib:/vol/b rw,addr=192.0.2.7
43 35 0:43 / /home rw - nfs4 localhost:/home rw
44 35 0:44 / /lus rw - lustre 10.0.0.1@tcp:10.0.0.2@tcp:/fast/sub rw
45 35 0:45 / /smb rw - cifs //Server/share rw
46 35 0:46 / /six rw - nfs4 [2001:db8::1]:/a rw
47 35 0:47 / /empty rw - tmpfs  rw
48 35 0:48 / /tank rw - zfs tank/home/me rw
49 35 0:49 / /c rw - ceph 10.0.0.1:6789:/ rw
50 35 0:50 / /p9 rw - 9p hostshare rw,trans=virtio
broken
`))
	require.NoError(t, err)
	require.Len(t, list, 12)
	require.Equal(t, "/mnt 2", list[0].at)
	require.Equal(t, []string{"/a:b", "/c,d", "/e"}, splitLayers(list[1].option("lowerdir")[0]))
	require.Contains(t, list[1].options, "fsync=volatile")
	require.Equal(t, "tmpfs", list[8].kind)
	for i, want := range map[int]string{2: "192.0.2.7", 3: "192.0.2.7", 4: "localhost", 6: "server", 7: "2001:db8::1", 5: "", 0: ""} {
		require.Equal(t, want, list[i].server(), i)
	}
	require.True(t, IsLocal("127.0.0.1"))
	require.True(t, IsLocal("::1"))
	require.False(t, IsLocal("192.0.2.7"))
	on := func(i int) *Place {
		p := &Place{system: list[i].dev, at: list[i].at, kind: list[i].kind}
		new(Mounts).stored(p, &list[i], 0)
		return p
	}
	require.Equal(t, on(2).volumes, on(3).volumes, "one server by two names")
	require.NotEmpty(t, on(4).unknown)
	require.Equal(t, []string{"lustre fast"}, on(5).volumes)
	require.Equal(t, []string{"the pool tank"}, on(9).volumes)
	require.NoError(t, on(2).Apart(on(5)))
	require.ErrorContains(t, on(2).Apart(on(3)), "both file systems are on the server 192.0.2.7")
	require.ErrorContains(t, on(2).Apart(on(11)), "/p9 has no device (9p)")
	for _, i := range []int{2, 3, 5, 6, 9, 10} {
		require.Empty(t, on(i).weak)
		require.Empty(t, on(i).unknown)
	}
}
