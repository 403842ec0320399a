package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/nstest"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// wholeTree makes a tree in which there is a file of every kind, below dir/data, and returns the number of its items. With
// root, it has files of other owners, too. n is the number of further files.
func wholeTree(t *testing.T, dir string, n int, root bool) {
	t.Helper()
	wholeTreeFrom(t, "../../testdata/classic", dir, n, root)
}

// classicAt is testdata/classic as a path that stays the same when a test works elsewhere.
var classicAt = func() string {
	dir, err := filepath.Abs("../../testdata/classic")
	if err != nil {
		panic(err)
	}
	return dir
}()

func wholeTreeFrom(t *testing.T, classics, dir string, n int, root bool) {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, "data", name) }
	classic := func(from, name string) {
		t.Helper()
		nstest.Copy(t, filepath.Join(classics, from), in(name))
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(in(name)), 0o755))
		require.NoError(t, os.WriteFile(in(name), []byte(text), 0o644))
		require.NoError(t, unix.Chmod(in(name), uint32(mode)))
	}
	link := func(to, name string) { t.Helper(); require.NoError(t, os.Symlink(to, in(name))) }
	again := func(from, name string) { t.Helper(); require.NoError(t, os.Link(in(from), in(name))) }
	for i := range n {
		if i%3 == 0 {
			classic("cdf1_bits.nc", fmt.Sprintf("many/%02d/f%04d.nc", i%17, i))
		} else {
			write(fmt.Sprintf("many/%02d/f%04d.txt", i%17, i), fmt.Sprint("text ", i), 0o644)
		}
	}
	classic("cdf2_climate.nc", "1990/tas.nc")
	classic("cdf1_bits.nc", "1990/pr.nc")
	again("1990/pr.nc", "1991.nc")
	again("1990/tas.nc", "1990/again.nc")
	write("notes.txt", "notes", 0o640)
	again("notes.txt", "1990/same.txt")
	write("1990/hdf5.nc", "\x89HDF\r\n\x1a\n and more", 0o644)
	write("1990/sub/deep/x.csv", "1,2\n", 0o4755)
	write("void", "", 0o600)
	write("broken.nc", "CDF\x01 broken", 0o644)
	// Names that archives and the tree file want.
	classic("cdf1_bits.nc", "b.nc")
	write("b.nc.cdfz", "no archive", 0o644)
	write("lonely.cdfz", "nor this", 0o644)
	classic("cdf1_bits.nc", "d.nc")
	write("d.nc.cdfz/in.txt", "a folder", 0o644)
	write(".cdfz-tree", "of somebody else", 0o644)
	classic("cdf1_bits.nc", "e.nc")
	link("b.nc", "e.nc.cdfz")
	// Names of every kind.
	classic("cdf1_bits.nc", strings.Repeat("n", 252)+".nc"[:3])
	write(strings.Repeat("m", 255), "long", 0o644)
	write("new\nline", "1", 0o644)
	write("not\xffutf8", "2", 0o644)
	classic("cdf1_bits.nc", "not\xffutf8.nc")
	write(" -o\t'\"\\", "3", 0o644)
	write("<&\u2028>", "4", 0o644)
	link("not\xffutf8", "to\xff")
	link("b.nc", "link.nc")
	link("/nowhere/at/all", "dangling")
	link("../../outside", "1990/out")
	link("1990", "folder")
	for _, name := range []string{"empty", "1990/empty/er", "readonly"} {
		require.NoError(t, os.MkdirAll(in(name), 0o755))
	}
	write("readonly/x.txt", "x", 0o400)
	// A file with holes.
	f, err := os.Create(in("holes"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(3<<20))
	_, err = f.WriteAt([]byte("middle"), 1<<20)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	// Attributes.
	require.NoError(t, unix.Setxattr(in("notes.txt"), "user.note", []byte("a\x00b"), 0))
	require.NoError(t, unix.Setxattr(in("1990"), "user.folder", []byte("x"), 0))
	require.NoError(t, unix.Setxattr(in("b.nc"), "user.classic", []byte(strings.Repeat("y", 700)), 0))
	acl := aclOf([3]uint32{1, 7, 0xffffffff}, [3]uint32{2, 7, 4711}, [3]uint32{4, 4, 0xffffffff}, [3]uint32{0x10, 4, 0xffffffff}, [3]uint32{0x20, 0, 0xffffffff})
	for _, name := range []string{"1990/hdf5.nc", "1990/tas.nc", "1990/sub"} {
		require.NoError(t, unix.Setxattr(in(name), "system.posix_acl_access", acl, 0), name)
	}
	require.NoError(t, unix.Setxattr(in("1990/empty"), "system.posix_acl_default", acl, 0))
	if root {
		for name, id := range map[string]int{"void": 1234, "1990/sub": 2345, "1990/pr.nc": 3456} {
			require.NoError(t, os.Chown(in(name), id, id+1))
		}
		require.NoError(t, os.Lchown(in("dangling"), 77, 78))
		require.NoError(t, unix.Chmod(in("1990/pr.nc"), 0o2755))
		require.NoError(t, unix.Chmod(in("empty"), 0o3775))
		require.NoError(t, unix.Setxattr(in("1990/sub/deep/x.csv"), "trusted.of", []byte("root"), 0))
		require.NoError(t, unix.Lsetxattr(in("link.nc"), "trusted.link", []byte("a link"), 0))
	}
	require.NoError(t, unix.Chmod(in("readonly"), 0o500))
	// Times.
	at := time.Date(1999, 12, 31, 23, 59, 59, 123456789, time.UTC)
	for _, name := range []string{"notes.txt", "1990/tas.nc", "b.nc", "link.nc", "dangling", "1990/empty/er", "1990/empty", "1990", "empty", "readonly", "."} {
		at = at.Add(time.Hour + time.Nanosecond)
		ts, err := unix.TimeToTimespec(at)
		require.NoError(t, err)
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, in(name), []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// aclOf returns an ACL as Linux stores it. An entry has a tag, permissions and an id.
func aclOf(entries ...[3]uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// wholeRun runs commands for a test of whole trees, in a folder and as a user.
type wholeRun struct {
	t   *testing.T
	exe string // the program, where the user may run it
	dir string
	uid uint32
}

func (r *wholeRun) command(name string, args ...string) (string, int) {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	if name == "cdfz" {
		cmd = exec.Command(r.exe, args...)
		cmd.Args[0] = "cdfz"
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz", "TMPDIR="+r.dir)
	}
	cmd.Dir = r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: r.uid, Gid: r.uid}}
	out, err := cmd.CombinedOutput()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(r.t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// does runs cdfz, which must succeed.
func (r *wholeRun) does(args ...string) string {
	r.t.Helper()
	out, code := r.command("cdfz", args...)
	require.Zero(r.t, code, "cdfz %v: %s", args, out)
	return out
}

// judgeTrees compares two trees with another program, if a judge is there.
var judgeTrees = func(*wholeRun, string, string) {}

// same compares two trees: contents, links, modes, owners, times and extended attributes of all that is in them.
func (r *wholeRun) same(want, got string) {
	r.t.Helper()
	require.Equal(r.t, r.treeOf(want), r.treeOf(got))
	judgeTrees(r, want, got)
}

// treeOf returns what there is to know of each file, folder and link of a tree, by path.
func (r *wholeRun) treeOf(dir string) map[string]string {
	r.t.Helper()
	root := filepath.Join(r.dir, dir)
	tree := map[string]string{}
	names := map[uint64][]string{} // of files with several names, by inode
	require.NoError(r.t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		is := fmt.Sprintf("%o %d:%d %d.%09d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		var attributes map[string][]byte
		switch {
		case d.Type()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			folder, err := os.Open(filepath.Dir(path))
			if err != nil {
				return err
			}
			attributes, _ = xattr.OfLink(folder, filepath.Base(path))
			folder.Close()
			is += fmt.Sprintf(" -> %q", to)
		default:
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			attributes, _ = xattr.Of(f)
			if d.IsDir() {
				break
			}
			sum := sha256.New()
			if _, err := io.Copy(sum, f); err != nil {
				return err
			}
			is += fmt.Sprintf(" %d %x", st.Size, sum.Sum(nil))
			if st.Nlink > 1 {
				names[st.Ino] = append(names[st.Ino], rel)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			is += fmt.Sprintf(" %s=%q", name, attributes[name])
		}
		tree[rel] = is
		return nil
	}))
	for _, list := range names {
		for _, rel := range list[1:] {
			tree[rel] += fmt.Sprintf(" as %q", list[0])
		}
	}
	return tree
}

// wholeSystems calls test on each file system, or on one with -short, as root and as a user.
func wholeSystems(t *testing.T, test func(t *testing.T, r *wholeRun)) {
	if !nstest.Enter(t) {
		return
	}
	base := nstest.Folder(t)
	require.NoError(t, os.Chmod(base, 0o755))
	for dir := filepath.Dir(base); len(dir) > 1; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.Mode()&1 == 0 {
			require.NoError(t, os.Chmod(dir, st.Mode().Perm()|1)) // the user's way to it
		}
	}
	own, err := os.Executable()
	require.NoError(t, err)
	exe := filepath.Join(base, "cdfz")
	nstest.Copy(t, own, exe)
	require.NoError(t, os.Chmod(exe, 0o755))
	systems := map[string]string{}
	kinds := []string{"tmpfs", "ext4", "xfs"}
	if testing.Short() {
		kinds = kinds[:1]
	}
	for _, kind := range kinds {
		at := filepath.Join(base, kind)
		if kind == "tmpfs" {
			nstest.Mount(t, "tmpfs", "tmpfs", at, "")
			systems[kind] = at
		} else if nstest.Loops() {
			nstest.Loop(t, kind, at+".disk", at, 400<<20)
			systems[kind] = at
		}
	}
	for kind, at := range systems {
		for _, uid := range []uint32{0, 1234} {
			t.Run(fmt.Sprint(kind, uid), func(t *testing.T) {
				dir := filepath.Join(at, fmt.Sprint(uid))
				require.NoError(t, os.Mkdir(dir, 0o755))
				require.NoError(t, os.Chown(dir, int(uid), int(uid)))
				test(t, &wholeRun{t, exe, dir, uid})
			})
		}
	}
}

// makeTree makes a tree that belongs to the user of the run.
func (r *wholeRun) makeTree(n int) {
	r.t.Helper()
	wholeTree(r.t, r.dir, n, r.uid == 0)
	if r.uid != 0 {
		out, err := exec.Command("chown", "-hR", "--from=0:0", fmt.Sprintf("%d:%d", r.uid, r.uid), filepath.Join(r.dir, "data")).CombinedOutput()
		require.NoError(r.t, err, string(out))
	}
}

// TestWholeTree archives trees with everything in them, and restores them without a difference.
func TestWholeTree(t *testing.T) { testWholeTree(t, 30) }

func testWholeTree(t *testing.T, n int) {
	wholeSystems(t, func(t *testing.T, r *wholeRun) {
		r.makeTree(n)
		out := r.does("archive", "--whole", "-q", "-o", "archives/", "data")
		require.Empty(t, out)
		r.does("restore", "-q", "-o", "back/", "archives/")
		r.same("data", "back")

		// Files that are kept as they are, and folders, have what their file system can hold.
		data, archives := r.treeOf("data"), r.treeOf("archives")
		for _, rel := range []string{"notes.txt", "1990/same.txt", "void", "new\nline", "not\xffutf8", "empty", "1990/empty/er", "1990", "folder", "dangling", "to\xff"} {
			require.Equal(t, data[rel], archives[rel], rel)
		}

		// Again: nothing is done, and nothing changes.
		out = r.does("archive", "--whole", "-o", "archives/", "data")
		require.Contains(t, out, "0 files")
		require.NotContains(t, out, "kept as")
		out = r.does("restore", "-o", "back/", "archives/")
		require.Regexp(t, `(?m)^0 files; \d+ restored before`, out)
		r.same("data", "back")

		// A copy of the archives by a program that keeps nothing but names and bytes.
		_, code := r.command("cp", "-r", "--no-preserve=all", "archives", "copy")
		require.Zero(t, code)
		r.does("restore", "-q", "-o", "back2/", "copy/")
		r.same("data", "back2")

		out = r.does("verify", "archives/")
		require.Regexp(t, `(?m)^\d+ files: \d+ ok, 0 damaged`, out)
		require.Contains(t, out, "archives/1990/hdf5.nc: ok\n")
		r.does("verify", "-q", "--against", "data", "archives/")

		// A copy by cdfz, of all and of a part.
		r.does("copy", "-q", "archives", "copied/")
		r.same("archives/1990/sub", "copied/1990/sub")
		r.does("verify", "-q", "--against", "data", "copied/")
		r.does("restore", "-q", "-o", "back3/", "copied/")
		r.same("data", "back3")
		r.does("copy", "-q", "archives/1990", "copied1990/")
		r.does("restore", "-q", "-o", "back1990/", "copied1990/")
		r.same("data/1990", "back1990")

		// One year.
		r.does("restore", "-q", "-o", "year/", "archives/1990")
		r.same("data/1990", "year")
	})
}

// TestWholeShardsConflict lets a shard write the tree file in a store while another one does. Amazon's store may answer the
// other one that there is a conflict, which passes.
func TestWholeShardsConflict(t *testing.T) {
	image, _ := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	images := map[string][]byte{}
	for i := range 8 {
		images[fmt.Sprintf("%d.nc", i)] = image
	}
	writeTree(t, images)
	shard := func(i int) (int, string, string) {
		return s.run("archive", "-q", "--whole", "--shard", fmt.Sprintf("%d/2", i), "-o", "s3://bucket/arch/", "data")
	}
	met := false
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if met || r.Method != http.MethodPut || filepath.Base(r.URL.Path) != treefile.Name {
			return false
		}
		met = true
		s.set(nil)
		code, _, msg := shard(2)
		require.Zero(t, code, msg)
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte("<Error><Code>ConditionalRequestConflict</Code><Message>The conditional request cannot succeed.</Message></Error>"))
		return true
	})
	code, _, msg := shard(1)
	require.Zero(t, code, msg)
	require.True(t, met)
	s.done("restore", "-q", "-o", "back/", "s3://bucket/arch/")
	sameTree(t, "data", "back")
}

// TestWholeStore archives a tree to a store, and restores it from there with all that the store does not hold.
func TestWholeStore(t *testing.T) {
	s := newBucket(t)
	require.NoError(t, os.Chmod("..", 0o755)) // nothing above the restored tree keeps others out
	dir, err := os.Getwd()
	require.NoError(t, err)
	r := &wholeRun{t: t, dir: dir, uid: uint32(os.Getuid())}
	wholeTreeFrom(t, classicAt, dir, 30, os.Getuid() == 0)
	s.done("archive", "--whole", "-q", "-o", "s3://bucket/run7/", "data")
	out := s.done("archive", "--whole", "-o", "s3://bucket/run7/", "data")
	require.Contains(t, out, "0 files")
	s.done("restore", "-q", "-o", "back/", "s3://bucket/run7/")
	r.same("data", "back")
	out = s.done("verify", "s3://bucket/run7/")
	require.Regexp(t, `(?m)^\d+ files: \d+ ok, 0 damaged`, out)
	s.done("verify", "-q", "--against", "data", "s3://bucket/run7/")

	// So does a prefix inside of it.
	s.done("restore", "-q", "-o", "year/", "s3://bucket/run7/1990/")
	s.done("archive", "--whole", "-q", "-o", "local/", "data")
	s.done("restore", "-q", "-o", "local-year/", "local/1990/")
	r.same("local-year", "year")
	require.FileExists(t, "year/hdf5.nc")
	s.done("verify", "-q", "--against", "data/1990", "s3://bucket/run7/1990/")
	s.done("copy", "-q", "s3://bucket/run7/1990/", "copied-year/")
	s.done("restore", "-q", "-o", "year2/", "copied-year/")
	r.same("year", "year2")
	require.Contains(t, s.done("info", "s3://bucket/run7/1990/"), "s3://bucket/run7/1990/hdf5.nc ")
	code, _, msg := s.run("restore", "-q", "-o", "years/", "s3://bucket/run7/1990/", "s3://bucket/run7/d.nc.cdfz/")
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, msg, "a whole tree is restored as the only FILE, found 2")
	// One that is closed above the prefix is unknown.
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/bucket/run7/.cdfz-tree" {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	s.done("restore", "-q", "-o", "archives-of-year/", "s3://bucket/run7/1990/")
	require.NoFileExists(t, "archives-of-year/hdf5.nc")
	s.set(nil)

	// Copies to a store, and from there to a disk, hold the tree.
	s.done("copy", "-q", "s3://bucket/run7/", "s3://bucket/copy/")
	s.done("verify", "-q", "--against", "data", "s3://bucket/copy/")
	s.done("copy", "-q", "s3://bucket/copy/", "copied/")
	s.done("verify", "-q", "--against", "data", "copied/")
	s.done("restore", "-q", "-o", "back2/", "copied/")
	r.same("data", "back2")

	// So do copies of volumes, in a store and on a disk.
	s.done("pack", "-q", "--size", "64K", "-o", "s3://bucket/vol/", "copied/")
	s.done("copy", "-q", "s3://bucket/vol/", "unpacked/")
	s.done("verify", "-q", "--against", "data", "unpacked/")
	s.done("restore", "-q", "-o", "back3/", "unpacked/")
	r.same("data", "back3")
	s.done("copy", "-q", "s3://bucket/vol/", "s3://bucket/unpacked/")
	s.done("restore", "-q", "-o", "back4/", "s3://bucket/unpacked/")
	r.same("data", "back4")

	// The catalogue has files of every kind.
	s.done("catalogue", "-q", "-o", "cat.parquet", "s3://bucket/run7/")
	found := func(catalogue string, args ...string) []string {
		t.Helper()
		out := s.done(append([]string{"find", "-0", "--catalogue", catalogue}, args...)...)
		return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	}
	require.Equal(t, []string{"s3://bucket/run7/1990/hdf5.nc"}, found("cat.parquet", "--kind", "netCDF-4", "--path", "*1990*"))
	require.Equal(t, []string{"s3://bucket/run7/void"}, found("cat.parquet", "--kind", "empty"))
	require.Contains(t, found("cat.parquet", "--kind", "classic netCDF"), "s3://bucket/run7/broken.nc")
	require.Len(t, found("cat.parquet", "--kind", "link"), 6)
	require.Equal(t, []string{"s3://bucket/run7/1990/tas.nc", "s3://bucket/run7/1991.nc", "s3://bucket/run7/notes.txt"}, found("cat.parquet", "--kind", "hard link"))
	s.done("archive", "--whole", "-q", "-o", "archives/", "data")
	for n, flags := range [][]string{nil, {"--balance"}} { // in shards
		for i := range 3 {
			shard := append([]string{"-q", "--shard", fmt.Sprintf("%d/3", i+1)}, flags...)
			s.done(append([]string{"restore", "-o", fmt.Sprintf("shards%d/", n), "archives/"}, shard...)...)
			s.done(append([]string{"copy", "archives/", fmt.Sprintf("copies%d/", n)}, shard...)...)
		}
		r.same("data", fmt.Sprintf("shards%d", n))
		s.done("restore", "-q", "-o", fmt.Sprintf("again%d/", n), fmt.Sprintf("copies%d/", n))
		r.same("data", fmt.Sprintf("again%d", n))
	}
	s.done("catalogue", "-q", "-o", "year.parquet", "archives/1990/")
	require.Equal(t, []string{"archives/1990/hdf5.nc"}, found("year.parquet", "--kind", "netCDF-4"))
	require.Equal(t, []string{"archives/1990/out"}, found("year.parquet", "--kind", "link"))
}
