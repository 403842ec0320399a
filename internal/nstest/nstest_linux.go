// Package nstest mounts file systems for tests, in a mount namespace that ends with the test.
package nstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const inside = "CDFZ_TEST_NAMESPACE"

// Enter runs a test again in another process with a mount namespace, and returns whether this is that
// process. The caller returns otherwise. The process is root there, which other users need user
// namespaces for: without them the test is skipped.
func Enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return true
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v="+fmt.Sprint(testing.Verbose()), "-test.short="+fmt.Sprint(testing.Short()))
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && os.Geteuid() != 0 {
		t.Skipf("no user namespaces: %v", err)
	}
	require.NoError(t, err, string(out))
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// Mount mounts a file system on a new folder.
func Mount(t *testing.T, kind, source, at, options string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o755))
	require.NoError(t, unix.Mount(source, at, kind, 0, options), "%s on %s: %s", kind, at, options)
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// Bind mounts a folder a second time.
func Bind(t *testing.T, from, at string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o755))
	require.NoError(t, unix.Mount(from, at, "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// Overlay mounts an overlay of a folder, with new folders beside the mount point for what is written.
func Overlay(t *testing.T, lower, at, options string) (upper string) {
	t.Helper()
	upper = at + ".upper"
	for _, dir := range []string{lower, upper, at + ".work"} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	Mount(t, "overlay", "overlay", at, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s.work%s", lower, upper, at, options))
	return upper
}

// Image mounts a file system in a new file, with ext4, by a loop device. Only root of the system may.
func Image(t *testing.T, file, at string) {
	t.Helper()
	Loop(t, "ext4", file, at, 16<<20)
}

// Loop is Image for a kind of file system, such as xfs, of some bytes. XFS takes 300 MB.
func Loop(t *testing.T, kind, file, at string, size int64) {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, size))
	force := map[string]string{"ext4": "-F", "xfs": "-f"}[kind]
	for _, args := range [][]string{{"mkfs." + kind, "-q", force, file}, {"mount", "-o", "loop", file, at}} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-d", at).Run() })
}

// Folder returns a new folder without links in its path.
func Folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// FUSE mounts a folder a second time by a program, this one, whose flushes do nothing: it answers that it
// does not know them, which the kernel reports as success. A name is that of the kind of file system.
func FUSE(t *testing.T, from, at, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o755))
	root, err := fs.NewLoopbackRoot(from)
	require.NoError(t, err)
	second := time.Second
	raw := fs.NewNodeFS(root, &fs.Options{EntryTimeout: &second, AttrTimeout: &second})
	server, err := fuse.NewServer(unflushed{raw}, at, &fuse.MountOptions{FsName: from, Name: name, DirectMountStrict: true, AllowOther: true})
	require.NoError(t, err)
	go server.Serve()
	require.NoError(t, server.WaitMount())
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

type unflushed struct{ fuse.RawFileSystem }

func (unflushed) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.ENOSYS }
func (unflushed) Tmpfile(<-chan struct{}, *fuse.CreateIn, *fuse.CreateOut) fuse.Status {
	return fuse.ENOSYS // of the library, it has no links
}
func (unflushed) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status { return fuse.ENOSYS }

// Copy copies a file.
func Copy(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, b, 0o644))
}

// Loops reports whether the process may set up loop devices.
func Loops() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && os.Geteuid() == 0 && strings.Join(strings.Fields(string(b)), " ") == "0 0 4294967295"
}
