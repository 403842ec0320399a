package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/server"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

// placed is a working folder with data/a.nc, in a mount namespace.
type placed struct {
	t   *testing.T
	exe string
}

// newPlaced moves the test to a new folder.
func newPlaced(t *testing.T) *placed {
	t.Helper()
	dir := nstest.Folder(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o755))
	classicInto(t, filepath.Join(dir, "data"), "a.nc")
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("bin", 0o755))
	require.NoError(t, os.Symlink(exe, "bin/cdfz"))
	return &placed{t, exe}
}

// cdfz runs the program, which must exit with a code, and returns all that it prints.
func (p *placed) cdfz(code int, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(p.exe, args...)
	cmd.Args[0] = "cdfz"
	wd, err := os.Getwd()
	require.NoError(p.t, err)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(wd, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(p.t, err)
	}
	require.Equal(p.t, code, cmd.ProcessState.ExitCode(), "%v: %s", args, out)
	return strings.ReplaceAll(string(out), wd+"/", "")
}

// deletes archives data/ into a folder and deletes the sources.
func (p *placed) deletes(code int, into string, more ...string) string {
	p.t.Helper()
	return p.cdfz(code, append([]string{"archive", "--receipts", "r.jsonl", "--delete-source", "-o", into + "/", "data"}, more...)...)
}

// archiveThere makes out/a.nc.cdfz, and nothing else.
func (p *placed) archiveThere() {
	p.t.Helper()
	p.cdfz(0, "archive", "-q", "-o", "out/", "data")
	time.Sleep(20 * time.Millisecond) // copies have later times
}

func (p *placed) in(name string) string {
	name, err := filepath.Abs(name)
	require.NoError(p.t, err)
	return name
}

const keptSource = "data/a.nc: the source is archived but was not deleted: "

// TestNotDurable keeps sources if what would be left is on a file system that may lose it.
func TestNotDurable(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	mounts := map[string]func(*testing.T, *placed){
		"tmpfs": func(t *testing.T, p *placed) { nstest.Mount(t, "tmpfs", "none", "out", "") },
		"ramfs": func(t *testing.T, p *placed) { nstest.Mount(t, "ramfs", "none", "out", "") },
		"bound": func(t *testing.T, p *placed) {
			nstest.Mount(t, "tmpfs", "none", "memory", "")
			nstest.Bind(t, "memory", "out")
		},
		"volatile": func(t *testing.T, p *placed) { nstest.Overlay(t, p.in("lower"), p.in("out"), ",volatile") },
		"overlay in memory": func(t *testing.T, p *placed) {
			nstest.Mount(t, "tmpfs", "none", "memory", "")
			nstest.Overlay(t, p.in("lower"), p.in("memory/o"), "")
			nstest.Bind(t, "memory/o", "out")
			require.NoError(t, unix.Unmount("memory", unix.MNT_DETACH))
		},
		"fuse.program": func(t *testing.T, p *placed) {
			require.NoError(t, os.Mkdir("behind", 0o755))
			nstest.FUSE(t, p.in("behind"), p.in("out"), "program")
		},
	}
	if nstest.Loops() {
		mounts["loop in memory"] = func(t *testing.T, p *placed) {
			nstest.Mount(t, "tmpfs", "none", "memory", "")
			nstest.Image(t, p.in("memory/image"), p.in("out"))
		}
	}
	for name, mount := range mounts {
		t.Run(name, func(t *testing.T) {
			p := newPlaced(t)
			mount(t, p)
			if name != "overlay in memory" { // which a file alone tells
				require.Contains(t, p.deletes(0, "out", "--dry-run"), "and keep 1: the archive is on a file system that may lose what is flushed (")
			}
			for range 2 { // the second finds the archive of the first
				require.Contains(t, p.deletes(1, "out"), keptSource+"the archive is on a file system that may lose what is flushed (")
				require.FileExists(t, "data/a.nc")
				require.FileExists(t, "out/a.nc.cdfz")
				require.Equal(t, 1, strings.Count(string(readFile(t, "r.jsonl")), `"source"`))
			}
			// The old archive is kept, too.
			b := readFile(t, "data/a.nc")
			b[len(b)-1]++
			require.NoError(t, os.WriteFile("data/a.nc", b, 0o644))
			require.NoError(t, os.Chtimes("data/a.nc", time.Time{}, time.Now().Add(time.Hour)))
			out := p.cdfz(1, "archive", "--replace-changed", "--remove-replaced", "--replace-other", "-o", "out/", "data")
			require.Contains(t, out, "the old archive was kept as out/a.nc.")
			require.Contains(t, out, "the new archive is on a file system that may lose what is flushed (")
			// The user knows better.
			p.deletes(0, "out", "--durable-mount", "out")
			require.NoFileExists(t, "data/a.nc")
		})
		t.Run("copies on "+name, func(t *testing.T) {
			p := newPlaced(t)
			mount(t, p)
			p.archiveThere()
			out := p.deletes(1, "first", "--copies", "2", "--copy-at", "out")
			require.Contains(t, out, keptSource+"expected 2 archives on different file systems or stores, found 1: out/a.nc.cdfz: it is on a file system that may lose what is flushed (")
			require.FileExists(t, "data/a.nc")
			p.deletes(0, "first", "--copies", "2", "--copy-at", "out", "--durable-mount", "out")
			require.NoFileExists(t, "data/a.nc")
		})
	}
	t.Run("receipts", func(t *testing.T) {
		p := newPlaced(t)
		mounts["tmpfs"](t, p)
		require.Contains(t, p.cdfz(1, "archive", "--receipts", "out/r.jsonl", "--delete-source", "-o", "first/", "data"), keptSource+"the file of receipts is on a file system that may lose what is flushed (")
		require.FileExists(t, "data/a.nc")
		require.FileExists(t, "first/a.nc.cdfz")
	})
	t.Run("container", func(t *testing.T) {
		p := newPlaced(t)
		nstest.Overlay(t, p.in("lower"), p.in("out"), "")
		p.deletes(0, "out")
		require.NoFileExists(t, "data/a.nc")
	})
	t.Run("hints", func(t *testing.T) {
		p := newPlaced(t)
		require.NoError(t, os.Mkdir("behind", 0o755))
		nstest.FUSE(t, p.in("behind"), p.in("out"), "program")
		require.Contains(t, p.deletes(1, "out"), "hint: if out keeps what is flushed, --durable-mount out states it")
		require.Contains(t, p.deletes(2, "out", "--durable-mount", "data"), "expected a mount point, found a folder of the file system that is mounted on ")
		require.Contains(t, p.deletes(2, "out", "--durable-mount", "missing"), "no such file or directory")
	})
	t.Run("source in memory", func(t *testing.T) {
		p := newPlaced(t)
		nstest.Mount(t, "tmpfs", "none", "memory", "")
		nstest.Copy(t, "data/a.nc", "memory/a.nc")
		p.cdfz(0, "archive", "-q", "--receipts", "r.jsonl", "-o", "out/", "memory/a.nc")
		p.cdfz(0, "receipts", "r.jsonl")
		b := readFile(t, "data/a.nc")
		b[len(b)-1]++
		require.NoError(t, os.WriteFile("y.nc", b, 0o644))
		replace := []string{"archive", "-f", "--replace-other", "--receipts", "r.jsonl", "-o", "out/a.nc.cdfz", "y.nc"}
		require.Contains(t, p.cdfz(1, replace...), "its source memory/a.nc is on a file system that may lose what is flushed (tmpfs")
		p.cdfz(0, append(replace, "--durable-mount", "memory")...)
	})
}

// TestShownSource takes nothing that cdfz shows for a source: it is decoded from the archive that is to go.
func TestShownSource(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	other := func(t *testing.T) {
		b := readFile(t, "data/a.nc")
		b[len(b)-1]++
		require.NoError(t, os.WriteFile("y.nc", b, 0o644))
	}
	t.Run("run", func(t *testing.T) {
		p := newPlaced(t)
		other(t)
		p.cdfz(0, "archive", "-q", "--receipts", "r.jsonl", "--delete-source", "data")
		before := readFile(t, "data/a.nc.cdfz")
		out := p.cdfz(1, "run", "--folder", "data", "--with-archives", "--", "cdfz", "archive", "-f", "--replace-other", "--receipts", "r.jsonl", "-o", "data/a.nc.cdfz", "y.nc")
		require.Contains(t, out, "its source data/a.nc is gone: cdfz shows it, from an archive")
		require.Equal(t, before, readFile(t, "data/a.nc.cdfz"))
		require.Contains(t, p.cdfz(0, "run", "--folder", "data", "--with-archives", "--", "cdfz", "receipts", "r.jsonl"), "its source is gone, and cdfz shows it")
		require.Contains(t, p.cdfz(1, "run", "--folder", "data", "--with-archives", "--", "cdfz", "verify", "--against", "data/a.nc", "data/a.nc.cdfz"), "proves nothing: the original data/a.nc may be the archive itself: cdfz shows it")
	})
	t.Run("mount", func(t *testing.T) {
		p := newPlaced(t)
		other(t)
		p.cdfz(0, "archive", "-q", "--receipts", "r.jsonl", "--delete-source", "-o", "out/", "data")
		before := readFile(t, "out/a.nc.cdfz")
		cmd := exec.Command(p.exe, "mount", "out", "data")
		cmd.Args[0] = "cdfz"
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = unix.Unmount("data", unix.MNT_DETACH)
			_ = cmd.Wait()
		})
		require.Eventually(t, func() bool {
			_, err := os.Stat("data/a.nc")
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		nstest.Bind(t, "data", "bound")
		nstest.Overlay(t, p.in("data"), p.in("over"), "")
		nstest.FUSE(t, p.in("data"), p.in("again"), "program")
		for _, at := range []string{"data", "bound", "over", "again"} {
			out := p.cdfz(1, "verify", "--against", at, "out")
			require.Contains(t, out, "proves nothing: the original "+at+"/a.nc may be the archive itself: cdfz shows it, from an archive", at)
		}
		replace := func() string {
			return p.cdfz(1, "archive", "-f", "--replace-other", "--receipts", "r.jsonl", "-o", "out/a.nc.cdfz", "y.nc")
		}
		require.Contains(t, replace(), "its source data/a.nc is gone: cdfz shows it, from an archive")
		require.Contains(t, p.cdfz(0, "receipts", "r.jsonl"), "its source is gone, and cdfz shows it")
		nstest.Bind(t, "over", "data")
		require.Contains(t, replace(), "its source data/a.nc is gone: cdfz shows it, from an archive")
		require.Equal(t, before, readFile(t, "out/a.nc.cdfz"))
		// An archive of what is shown can be made, but nothing is deleted for it: here, the overlay would hide it.
		require.Contains(t, p.cdfz(1, "archive", "--receipts", "r2.jsonl", "--delete-source", "-o", "second/", "data"), keptSource+"cdfz shows it, from an archive")
		require.FileExists(t, "data/a.nc")
	})
}

// TestAgainstItself compares an archive with itself in all ways, and with copies.
func TestAgainstItself(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	p := newPlaced(t)
	p.archiveThere()
	nothing := func(original, archive string, more ...string) {
		t.Helper()
		require.Contains(t, p.cdfz(1, append([]string{"verify", "--against", original, archive}, more...)...), "proves nothing: the original ", "%s %s", original, archive)
	}
	same := func(original, archive string, more ...string) {
		t.Helper()
		p.cdfz(0, append([]string{"verify", "--against", original, archive}, more...)...)
	}
	const a = "out/a.nc.cdfz"
	require.NoError(t, os.Link(a, "hard.nc.cdfz"))
	require.NoError(t, os.Symlink(a, "soft.nc.cdfz"))
	require.NoError(t, os.Symlink("out", "folder"))
	nstest.Bind(t, "out", "bound")
	nstest.Overlay(t, p.in("out"), p.in("over"), "")
	nstest.Overlay(t, p.in("out"), p.in("volatile"), ",volatile")
	nstest.FUSE(t, p.in("out"), p.in("fuse"), "program")
	nstest.Copy(t, a, "copy/a.nc.cdfz")
	for _, other := range []string{a, "./out/../out/a.nc.cdfz", "hard.nc.cdfz", "soft.nc.cdfz", "folder/a.nc.cdfz", "bound/a.nc.cdfz", "over/a.nc.cdfz", "volatile/a.nc.cdfz", "fuse/a.nc.cdfz"} {
		nothing(other, a)
		nothing(a, other)
	}
	// A copy is another file, unless it is behind a program, as nobody knows then.
	same("copy/a.nc.cdfz", a)
	same("copy/a.nc.cdfz", "over/a.nc.cdfz")
	nothing("copy/a.nc.cdfz", "fuse/a.nc.cdfz")
	same("copy/a.nc.cdfz", "fuse/a.nc.cdfz", "--durable-mount", "fuse")
	nothing(a, "fuse/a.nc.cdfz", "--durable-mount", "fuse")
	same("data/a.nc", a)
	same("data/a.nc", "fuse/a.nc.cdfz")
	// Standard input.
	for _, script := range []string{"cdfz verify --against out/a.nc.cdfz - <out/a.nc.cdfz", "cat out/a.nc.cdfz | cdfz verify --against out/a.nc.cdfz -", "cdfz verify --against - out/a.nc.cdfz <out/a.nc.cdfz"} {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+p.in("bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.Error(t, err, script)
		require.Contains(t, string(out), "proves nothing: ", script)
	}

	// Servers: that of cdfz, and another one on this machine.
	s, err := server.New("out", nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l, nil) }()
	t.Cleanup(func() { stop(); <-ended })
	ours := "http://" + l.Addr().String() + "/files/"
	nothing(ours+"a.nc", a)
	nothing(ours+"a.nc.cdfz", a)
	nothing(a, ours+"a.nc.cdfz")
	nothing(ours+"a.nc.cdfz", ours+"a.nc.cdfz")
	nothing(ours+"a.nc", ours+"a.nc.cdfz")
	web := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer web.Close()
	nothing(web.URL+"/out/a.nc.cdfz", a)
	nothing(a, web.URL+"/out/a.nc.cdfz")
	nothing(web.URL+"/out/a.nc.cdfz", web.URL+"/out/a.nc.cdfz?again")
	nothing(web.URL+"/hard.nc.cdfz", web.URL+"/out/a.nc.cdfz")
	same("data/a.nc", web.URL+"/out/a.nc.cdfz")
	same(web.URL+"/data/a.nc", a)

	// An overlay shows a file that was deleted from its lower layer.
	nstest.Overlay(t, p.in("data"), p.in("over-data"), "")
	same("over-data/a.nc", a)
	require.NoError(t, os.Remove("data/a.nc"))
	nothing("over-data/a.nc", a)
}

// TestAgainstItselfKept compares a file that archive --whole kept as it is with itself, and with its original. Both are read
// at the rate of the run.
func TestAgainstItselfKept(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	p := newPlaced(t)
	require.NoError(t, os.WriteFile("data/notes.bin", make([]byte, 1<<20), 0o644))
	p.cdfz(0, "archive", "-q", "--whole", "-o", "out/", "data")
	verify := func(code int, original, archives string, more ...string) string {
		t.Helper()
		return p.cdfz(code, append([]string{"verify", "--against", original, "--include", "*.bin", "--exclude", "*.*", archives}, more...)...)
	}
	start := time.Now()
	require.Contains(t, verify(0, "data", "out", "--rate", "2M"), "ok, same as data/notes.bin")
	require.Greater(t, time.Since(start), 400*time.Millisecond) // the first MiB comes at once

	for _, dir := range []string{"linked", "hard"} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, os.Symlink("../out/notes.bin", "linked/notes.bin"))
	require.NoError(t, os.Link("out/notes.bin", "hard/notes.bin"))
	nstest.Bind(t, "out", "bound")
	nstest.Overlay(t, p.in("out"), p.in("over"), "")
	nstest.FUSE(t, p.in("out"), p.in("fuse"), "program")
	require.NoError(t, os.Mkdir("mounted", 0o755))
	cmd := exec.Command(p.exe, "mount", "out", "mounted")
	cmd.Args[0] = "cdfz"
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = unix.Unmount("mounted", unix.MNT_DETACH)
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		_, err := os.Stat("mounted/notes.bin")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	for _, original := range []string{"out", "linked", "hard", "bound", "over", "fuse", "mounted"} {
		require.Contains(t, verify(1, original, "out"), "proves nothing: the original "+original+"/notes.bin ", original)
	}
	nstest.Copy(t, "out/notes.bin", "copy/notes.bin")
	verify(0, "copy", "out")
	require.NoError(t, os.WriteFile("copy/notes.bin", []byte("other"), 0o644))
	require.Contains(t, verify(1, "copy", "out"), "differs from copy/notes.bin")
}

// TestCopiesApart counts a file once that appears on several file systems.
func TestCopiesApart(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	p := newPlaced(t)
	p.archiveThere()
	nstest.Overlay(t, p.in("out"), p.in("over"), "")
	nstest.Bind(t, "out", "bound")
	nstest.Copy(t, "out/a.nc.cdfz", "copy/a.nc.cdfz")
	nstest.Overlay(t, p.in("copy"), p.in("over-copy"), "")
	kept := func(at, want string, more ...string) {
		t.Helper()
		out := p.deletes(1, "out", append([]string{"--copies", "2", "--copy-at", at}, more...)...)
		require.Contains(t, out, keptSource+"expected 2 archives on different file systems or stores, found 1: ")
		require.Contains(t, out, want)
		require.FileExists(t, "data/a.nc")
	}
	kept("over", "it has the same number and times on two file systems (overlay and ")
	kept("over", "it has the same number and times on two file systems (overlay and ", "--durable-mount", "over")
	kept("bound", "it is the same file")
	kept("copy", "on the same file system")
	kept("over-copy", "both file systems are on ")
	if nstest.Loops() {
		nstest.Image(t, p.in("image"), p.in("disk"))
		nstest.Copy(t, "out/a.nc.cdfz", "disk/a.nc.cdfz")
		kept("disk", "both file systems are on ")
		p.deletes(0, "out", "--copies", "2", "--copy-at", "over", "--copy-at", "disk", "--durable-mount", "disk")
		require.NoFileExists(t, "data/a.nc")
	}
}

// TestProvedElsewhere gives up an archive that a receipt vouches for if the run has proved another archive of the
// image, but not for one in memory, nor for the same file on an overlay.
func TestProvedElsewhere(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	force := []string{"-f", "--replace-other"}
	tree := func(t *testing.T) (p *placed, replace func(code int, other string, flags ...string) string) {
		p = newPlaced(t)
		p.cdfz(0, "archive", "-q", "--receipts", "r.jsonl", "-o", "out/", "data")
		require.NoError(t, os.MkdirAll("disk", 0o755))
		return p, func(code int, other string, flags ...string) string {
			nstest.Copy(t, "data/a.nc", other)
			b := readFile(t, "data/a.nc")
			require.NoError(t, os.Remove("data/a.nc"))
			b[len(b)-1]++
			require.NoError(t, os.WriteFile("out/a.nc", b, 0o644))
			require.NoError(t, os.Chtimes("out/a.nc", time.Time{}, time.Now().Add(time.Hour)))
			args := append([]string{"archive", "-j", "1", "--receipts", "new.jsonl", "--receipts-also", "r.jsonl", "--delete-source"}, flags...)
			return p.cdfz(code, append(args, other, "out/a.nc")...)
		}
	}
	t.Run("disk", func(t *testing.T) {
		_, replace := tree(t)
		replace(0, "disk/a.nc", force...)
	})
	t.Run("memory", func(t *testing.T) {
		_, replace := tree(t)
		nstest.Mount(t, "tmpfs", "none", "memory", "")
		require.Contains(t, replace(1, "memory/a.nc", force...), "the existing archive is kept: ")
	})
	t.Run("overlay", func(t *testing.T) {
		p, replace := tree(t)
		nstest.Overlay(t, p.in("out"), p.in("over"), "")
		require.Contains(t, replace(1, "over/a.nc", "--replace-changed", "--remove-replaced"), "the old archive was kept as out/a.nc.")
	})
}
