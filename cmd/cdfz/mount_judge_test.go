//go:build judge && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cdf3"
)

// mounted is a running cdfz mount.
type mounted struct {
	t      *testing.T
	at     string
	cmd    *exec.Cmd
	stderr bytes.Buffer
	end    func() error // waits for the end, once
}

// self makes a command line that runs this test's cdfz.
func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"cdfz"}, args...)
	return cmd
}

// mountOn mounts a source on a new folder. These tests need /dev/fuse, and root or
// fusermount3.
func mountOn(t *testing.T, src string, flags ...string) *mounted {
	t.Helper()
	at := t.TempDir()
	return startMount(t, at, self(t, append(append([]string{"mount"}, flags...), src, at)...))
}

func startMount(t *testing.T, at string, cmd *exec.Cmd) *mounted {
	t.Helper()
	m := &mounted{t: t, at: at, cmd: cmd}
	cmd.Stderr = &m.stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	m.end = sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		m.end()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		m.end()
		t.Fatalf("%v: %s", err, &m.stderr)
	}
	require.Equal(t, "mounted\n", line)
	return m
}

// ends waits for a clean end.
func (m *mounted) ends(stderr string) {
	m.t.Helper()
	require.NoError(m.t, m.end())
	require.Equal(m.t, stderr, m.stderr.String())
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(m.t, err)
	require.NotContains(m.t, string(mounts), m.at)
}

// archived makes a folder of originals and a folder of their archives, which also has
// everything else of the first.
func archived(t *testing.T, files map[string][]byte) (originals, archives string) {
	t.Helper()
	originals, archives = filepath.Join(t.TempDir(), "originals"), filepath.Join(t.TempDir(), "archives")
	n := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(originals, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, files[name], 0o640))
		n += 1234567 * time.Millisecond
		require.NoError(t, os.Chtimes(to, time.Time{}, time.Unix(1e9, 123456789).Add(n)))
	}
	cmd := self(t, "archive", "-q", "-o", archives+"/", originals)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return originals, archives
}

// classicSet returns some of the files in testdata/classic, in two folders.
func classicSet(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	files := map[string][]byte{}
	for i, name := range names {
		if i%6 != 0 && !strings.Contains(name, "climate") || claimsMany(name) {
			continue
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		to := filepath.Base(name)
		if i%2 == 0 {
			to = "sub/deep/" + to
		}
		files[to] = b
	}
	return files
}

// claimsMany reports whether the header of a file claims millions of records, or is one of a
// stream, which libnetcdf takes for 4294967295 records. ncdump then needs minutes and
// gigabytes.
func claimsMany(name string) bool {
	return strings.Contains(name, "numrecs_more") || strings.Contains(name, "begin_past_eof") || strings.Contains(name, "streaming")
}

// output runs a program in a folder and returns what it printed and its exit code.
func output(dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return fmt.Sprintf("%s%v", out, err)
}

// sameOutput runs a program on each file in two folders, several at a time, and compares
// what it prints.
func sameOutput(t *testing.T, a, b string, files []string, args ...string) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(4)
	for _, name := range files {
		g.Go(func() error {
			line := append(slices.Clone(args), "./"+name)
			if want, got := output(a, line...), output(b, line...); got != want {
				return fmt.Errorf("%s:\n%s\nexpected:\n%s", line, got, want)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

// TestJudgeMount compares a mount with the originals: bytes, sizes, times, and what
// programs find.
func TestJudgeMount(t *testing.T) {
	files := classicSet(t)
	originals, archives := archived(t, files)
	for _, dir := range []string{originals, archives} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes\n"), 0o644))
		require.NoError(t, os.Chtimes(filepath.Join(dir, "notes.txt"), time.Time{}, time.Unix(1e9, 0)))
		require.NoError(t, os.Symlink("sub/deep", filepath.Join(dir, "link")))
		for _, sub := range []string{"sub/deep", "sub", "."} {
			require.NoError(t, os.Chtimes(filepath.Join(dir, sub), time.Time{}, time.Unix(1e9, 0)))
		}
	}
	m := mountOn(t, archives)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(m.at, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), name)
	}
	names := slices.Sorted(maps.Keys(files))
	sameOutput(t, originals, m.at, names, "ncdump")
	find := []string{"sh", "-c", `find . -type f -printf '%p %s %m %T@\n' -o -type l -printf '%p -> %l\n' | sort`}
	require.Equal(t, output(originals, find...), output(m.at, find...))
	require.Equal(t, "<nil>", output(originals, "rsync", "-rcltn", "--delete", "--out-format=%i %n", "./", m.at+"/"))
	copied := filepath.Join(t.TempDir(), "copied")
	require.Equal(t, "<nil>", output(m.at, "cp", "-a", ".", copied))
	require.Equal(t, "<nil>", output(originals, "diff", "-r", ".", copied))
	require.Equal(t, output(originals, find...), output(copied, find...))
	require.Contains(t, output(m.at, "sh", "-c", "touch x 2>&1"), "Read-only file system")

	// Links, and a new, a replaced and a deleted archive, are seen at once.
	put := func(from, to string) {
		b, err := os.ReadFile(filepath.Join(archives, from+".cdfz"))
		require.NoError(t, err)
		to = filepath.Join(archives, to)
		require.NoError(t, os.WriteFile(to+".new", b, 0o644))
		require.NoError(t, os.Rename(to+".new", to))
	}
	for _, from := range []string{names[0], names[1], names[0]} {
		put(from, "new.nc.cdfz")
		got, err := os.ReadFile(filepath.Join(m.at, "new.nc"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(files[from], got), from)
	}
	require.NoError(t, os.Remove(filepath.Join(archives, "new.nc.cdfz")))
	_, err := os.ReadFile(filepath.Join(m.at, "new.nc"))
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, exec.Command("umount", m.at).Run())
	m.ends("")
}

// TestJudgeMountPages checks that the kernel keeps the pages of an image between opens.
func TestJudgeMountPages(t *testing.T) {
	_, archives := archived(t, map[string][]byte{"a.nc": climateImage(t)})
	m := mountOn(t, archives)
	name := filepath.Join(m.at, "a.nc")
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, len(want), syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	defer syscall.Munmap(mapped)
	pages := make([]byte, (len(want)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, no := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
	require.Zero(t, no)
	for i, p := range pages {
		require.Equal(t, byte(1), p&1, "page %d", i)
	}
}

func climateImage(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	return b
}

// TestJudgeMountMany reads files from 64 processes at once, through a cache that holds
// few blocks.
func TestJudgeMountMany(t *testing.T) {
	files := map[string][]byte{}
	for i := range 4 {
		files[fmt.Sprintf("%d.nc", i)] = climateImage(t)
	}
	_, archives := archived(t, files)
	m := mountOn(t, archives, "--cache", "1M")
	want := fmt.Sprintf("%x", sha256.Sum256(files["0.nc"]))
	var g errgroup.Group
	for i := range 64 {
		g.Go(func() error {
			if got := output(m.at, "sha256sum", fmt.Sprintf("%d.nc", i%4)); !strings.HasPrefix(got, want) {
				return fmt.Errorf("process %d: %s", i, got)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

// longImage makes a file of 20 MB with two record variables, long enough for decoding ahead. Short
// records alternate so often that they are not sent without a copy.
func longImage(t *testing.T, record int64) []byte {
	t.Helper()
	n := 20_000_000 / (8 * record)
	h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: uint64(n), Dims: []cdf3.Dim{{Name: "t"}, {Name: "x", Len: record}}}
	for _, name := range []string{"a", "b"} {
		h.Vars = append(h.Vars, cdf3.Var{Name: name, Type: cdf3.Int, DimIDs: []int{0, 1}})
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	x := uint32(1)
	for range 2 * n * record {
		x = x*1664525 + 1013904223
		image = binary.BigEndian.AppendUint32(image, x>>20)
	}
	return image
}

// TestJudgeMountLong reads long files from 16 processes at once, in order and in long pieces at
// random, through caches with and without room for decoding ahead. The kernel keeps nothing of
// the files between two rounds.
func TestJudgeMountLong(t *testing.T) {
	files := map[string][]byte{"0.nc": longImage(t, 50_000), "1.nc": longImage(t, 300)}
	_, archives := archived(t, files)
	for _, cache := range []string{"1M", "256M"} {
		m := mountOn(t, archives, "--cache", cache)
		for round := range 2 {
			var g errgroup.Group
			for i := range 16 {
				name := fmt.Sprintf("%d.nc", i%2)
				want := files[name]
				g.Go(func() error {
					if i >= 4 {
						return randomReads(filepath.Join(m.at, name), want, int64(100*round+i))
					}
					if got := output(m.at, "cat", name); strings.TrimSuffix(got, "<nil>") != string(want) {
						return fmt.Errorf("cat %s with a cache of %s: wrong bytes", name, cache)
					}
					return nil
				})
			}
			require.NoError(t, g.Wait())
			for name := range files {
				f, err := os.Open(filepath.Join(m.at, name))
				require.NoError(t, err)
				require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
				f.Close()
			}
		}
		m.cmd.Process.Signal(syscall.SIGINT)
		m.ends("")
	}
}

// randomReads compares pieces of a file.
func randomReads(name string, want []byte, seed int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rng := rand.New(rand.NewSource(seed))
	p := make([]byte, 2<<20)
	for range 10 {
		off := rng.Intn(len(want))
		n, err := f.ReadAt(p[:1+rng.Intn(len(p))], int64(off))
		if err != nil && err != io.EOF {
			return err
		}
		if !bytes.Equal(p[:n], want[off:off+n]) {
			return fmt.Errorf("%s: wrong bytes at %d", name, off)
		}
	}
	return nil
}

// TestJudgeMountDamage checks that a damaged block is an error for the reads that need
// it, and one line on standard error.
func TestJudgeMountDamage(t *testing.T) {
	image := climateImage(t)
	_, archives := archived(t, map[string][]byte{"a.nc": image, "b.nc": image})
	name := filepath.Join(archives, "a.nc.cdfz")
	ar, err := os.ReadFile(name)
	require.NoError(t, err)
	ar[len(ar)/2] ^= 1
	require.NoError(t, os.WriteFile(name, ar, 0o644))
	m := mountOn(t, archives)
	f, err := os.Open(filepath.Join(m.at, "a.nc"))
	require.NoError(t, err)
	defer f.Close()
	good, bad := 0, 0
	buf := make([]byte, 4096)
	for off := int64(0); off < int64(len(image)); off += int64(len(buf)) {
		n, err := f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			require.ErrorIs(t, err, syscall.EIO)
			bad++
			continue
		}
		require.True(t, bytes.Equal(image[off:][:n], buf[:n]))
		good++
	}
	require.Positive(t, bad)
	require.Positive(t, good)
	require.Contains(t, output(m.at, "sh", "-c", "cat a.nc 2>&1 >/dev/null"), "Input/output error")
	require.Equal(t, image, []byte(strings.TrimSuffix(output(m.at, "cat", "b.nc"), "<nil>")))
	require.NoError(t, f.Close())
	m.cmd.Process.Signal(syscall.SIGINT)
	require.NoError(t, m.end())
	require.Regexp(t, `^cdfz: \S*a\.nc\.cdfz: variable .*block \d+ at byte \d+.*checksum.*\n$`, m.stderr.String())
}

// TestJudgeMountEnds checks all ways in which a mount ends.
func TestJudgeMountEnds(t *testing.T) {
	image := climateImage(t)
	_, archives := archived(t, map[string][]byte{"a.nc": image})
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		m := mountOn(t, archives)
		m.cmd.Process.Signal(signal)
		m.ends("")
	}
	m := mountOn(t, archives, "--idle", "200ms")
	f, err := os.Open(filepath.Join(m.at, "a.nc"))
	require.NoError(t, err)
	time.Sleep(400 * time.Millisecond)
	_, err = f.Stat()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	m.ends("")

	m = mountOn(t, archives)
	f, err = os.Open(filepath.Join(m.at, "a.nc"))
	require.NoError(t, err)
	m.cmd.Process.Signal(syscall.SIGTERM)
	m.ends("cdfz: " + m.at + ": programs still had files open\n")
	f.Close()

	m = mountOn(t, archives)
	require.NoError(t, m.cmd.Process.Kill())
	require.Error(t, m.end())
	_, err = os.ReadDir(m.at)
	require.ErrorIs(t, err, syscall.ENOTCONN)
	out, err := self(t, "mount", archives, m.at).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "an earlier mount has lost its server: unmount it with umount")
	require.NoError(t, exec.Command("umount", m.at).Run())
	_, err = os.ReadDir(m.at)
	require.NoError(t, err)

	// On the source itself, and of a single archive.
	m = startMount(t, archives, self(t, "mount", "--with-archives", archives, archives))
	require.Equal(t, "a.nc\na.nc.cdfz\n<nil>", output(m.at, "ls"))
	m.cmd.Process.Signal(syscall.SIGTERM)
	m.ends("")
	m = mountOn(t, filepath.Join(archives, "a.nc.cdfz"))
	require.Equal(t, "a.nc\n<nil>", output(m.at, "ls"))
}

// TestJudgeMountUser mounts as a user who is not root, by fusermount3. Root does so in a
// mount namespace where /dev/fuse is open to all, as it is on most systems.
func TestJudgeMountUser(t *testing.T) {
	image := climateImage(t)
	_, archives := archived(t, map[string][]byte{"a.nc": image})
	at, err := os.MkdirTemp("/tmp", "cdfz-mount-")
	require.NoError(t, err)
	t.Cleanup(func() { os.Remove(at) })
	script := `
set -e
trap 'kill $!' ERR
: >out # the job may begin after the first grep
"$@" >>out &
for i in $(seq 100); do ! grep -q mounted out || break; sleep 0.1; done
sha256sum "$at/a.nc" | cut -c 1-64
fusermount3 -u "$at"
wait $!
echo ended $?
: >out # the job may begin after the first grep
"$@" >>out &
for i in $(seq 100); do ! grep -q mounted out || break; sleep 0.1; done
exec 3<"$at/a.nc"
kill $!
wait $!
echo ended $?
ls "$at"
`
	exe, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Dir(at)
	work, err := os.MkdirTemp(dir, "cdfz-mount-user-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	for _, name := range []string{work, at} {
		require.NoError(t, os.Chmod(name, 0o777))
	}
	for _, c := range [][2]string{{exe, filepath.Join(work, "cdfz")}, {filepath.Join(archives, "a.nc.cdfz"), filepath.Join(work, "a.nc.cdfz")}} {
		b, err := os.ReadFile(c[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(c[1], b, 0o755))
	}
	args := []string{"bash", "-c", script, "bash", filepath.Join(work, "cdfz"), "mount", filepath.Join(work, "a.nc.cdfz"), at}
	if os.Getuid() == 0 {
		setup := `set -e; mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"`
		args = append([]string{"unshare", "-m", "bash", "-c", setup, "bash"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = work, append(os.Environ(), "at="+at)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, fmt.Sprintf("%x\nended 0\ncdfz: %s: programs still had files open\nended 0\n", sha256.Sum256(image), at), string(out))
}

// TestJudgeMountOthers lets other users read an archive and its image. Nobody can read an
// image whose archive he cannot read, and the reverse.
func TestJudgeMountOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can act for other users")
	}
	_, archives := archived(t, map[string][]byte{"a.nc": climateImage(t)})
	b, err := os.ReadFile(filepath.Join(archives, "a.nc.cdfz"))
	require.NoError(t, err)
	top, err := os.MkdirTemp("/tmp", "cdfz-others-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(top, 0o755))
	t.Cleanup(func() { os.RemoveAll(top) })
	src, at := filepath.Join(top, "src"), filepath.Join(top, "mnt")
	require.NoError(t, os.Mkdir(at, 0o755))
	const alice, bob, group = 54321, 54322, 54323
	for name, f := range map[string]struct {
		mode     os.FileMode
		uid, gid int
		list     []uint16
	}{
		"all":        {0o644, 0, 0, nil},
		"alice":      {0o600, alice, 0, nil},
		"group":      {0o640, 0, group, nil},
		"none":       {0o000, alice, group, nil},
		"shut/a":     {0o644, 0, 0, nil},
		"granted":    {0o640, 0, 0, []uint16{6, 4, 4, 4, 0}},
		"denied":     {0o644, 0, 0, []uint16{6, 0, 4, 4, 4}},
		"masked":     {0o640, 0, group, []uint16{6, 4, 0, 4, 0}},
		"listed/a":   {0o644, 0, 0, nil},
		"owned/a":    {0o644, 0, 0, nil},
		"owned/mine": {0o600, alice, 0, nil},
	} {
		name = filepath.Join(src, name+".nc.cdfz")
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, b, 0o600))
		require.NoError(t, os.Chown(name, f.uid, f.gid))
		require.NoError(t, os.Chmod(name, f.mode))
		if f.list != nil {
			setList(t, name, bob, f.list)
		}
	}
	require.NoError(t, os.Chmod(filepath.Join(src, "shut"), 0o700))
	require.NoError(t, os.Chown(filepath.Join(src, "owned"), alice, 0))
	require.NoError(t, os.Chmod(filepath.Join(src, "owned"), 0o700))
	setList(t, filepath.Join(src, "listed"), bob, []uint16{7, 0, 5, 5, 5})
	for name, to := range map[string]string{"l1": "all", "l2": "shut/a", "l3": "group", "l4": "denied", "l5": "listed/a", "l6": "owned/mine", "l7": "l2", "l8": "owned/a"} {
		require.NoError(t, os.Symlink(to+".nc.cdfz", filepath.Join(src, name+".nc.cdfz")))
	}
	startMount(t, at, self(t, "mount", "--allow-other", src, at))
	reads := func(uid, gid uint32, name string) bool {
		cmd := exec.Command("head", "-c", "3", name)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
		out, err := cmd.Output()
		return err == nil && len(out) == 3
	}
	seen := map[bool]int{}
	for _, user := range [][2]uint32{{alice, alice}, {bob, bob}, {alice, group}, {bob, group}, {54324, 54324}, {0, 0}} {
		for _, name := range []string{"all", "alice", "group", "none", "shut/a", "granted", "denied", "masked", "listed/a", "owned/a", "owned/mine", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8"} {
			want := reads(user[0], user[1], filepath.Join(src, name+".nc.cdfz"))
			got := reads(user[0], user[1], filepath.Join(at, name+".nc"))
			if want && (name == "l5" || name == "l8") {
				continue // a list of a folder, or its owner, lets in more than the bits of a file can say
			}
			require.Equal(t, want, got, "%s for %v", name, user)
			seen[want]++
		}
	}
	require.Greater(t, seen[false], 30)
	require.Greater(t, seen[true], 30)
}

// setList gives a file an access control list with the permissions of the owner, a user, the
// group, the mask and others.
func setList(t *testing.T, name string, user uint32, perms []uint16) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for i, tag := range []uint16{1, 2, 4, 0x10, 0x20} {
		id := uint32(1<<32 - 1)
		if tag == 2 {
			id = user
		}
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perms[i])
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	require.NoError(t, unix.Setxattr(name, "system.posix_acl_access", b, 0))
}

// TestJudgeMountReadAhead asks the kernel how far it reads ahead in a folder that root has
// mounted.
func TestJudgeMountReadAhead(t *testing.T) {
	m := mountOn(t, t.TempDir())
	var st syscall.Stat_t
	require.NoError(t, syscall.Stat(m.at, &st))
	name := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Logf("not allowed here, which mount accepts: %v", err)
		return
	}
	f.Close()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "1024\n", string(b))
}
