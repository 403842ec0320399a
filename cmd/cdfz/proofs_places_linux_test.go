package main

import (
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

var (
	proofTrees = []string{"1990", "1991", "1992"}
	proofFiles = []string{"tas.nc", "pr.nc", "day/tas.nc"}
)

// proofMounts are what is mounted in the folder of a sequence.
type proofMounts struct {
	named bool   // the user states that the file system in memory is durable
	lower string // tree below the overlays
	view  string // where cdfz shows archives, or ""
	shown string // the tree whose archives it shows
}

// Places of a sequence, apart from trees:
//
//	mem    a file system in memory
//	over   an overlay of a tree, as containers have
//	vol    an overlay that is mounted volatile
//	bind   the folder of the sequence, mounted a second time
//	self   a link to it
//	to-T   a link to each tree T
func (s *sequence) makePlaces() {
	top := nstest.Folder(s.t)
	s.dir, s.eye, s.exe = filepath.Join(top, "base"), filepath.Join(top, "eye"), filepath.Join(top, "bin", "cdfz")
	exe, err := os.Executable()
	require.NoError(s.t, err)
	for _, dir := range []string{s.dir, s.eye, filepath.Dir(s.exe)} {
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(s.t, os.Symlink(exe, s.exe))
	s.mount(s.eye, s.dir, "", unix.MS_BIND, "")
	s.mount(filepath.Join(s.dir, "bind"), s.dir, "", unix.MS_BIND, "")
	for _, dir := range []string{"out", "second", "shards"} {
		require.NoError(s.t, os.Mkdir(filepath.Join(s.dir, dir), 0o755))
	}
	require.NoError(s.t, os.Symlink(".", filepath.Join(s.dir, "self")))
	for _, tree := range proofTrees {
		require.NoError(s.t, os.Symlink(tree, filepath.Join(s.dir, "to-"+tree)))
	}
	s.mounts.named = s.oneIn(3)
	s.mountMemory()
	s.mounts.lower = s.pick(proofTrees)
	require.NoError(s.t, os.Mkdir(filepath.Join(s.dir, s.mounts.lower), 0o755))
	s.mountOverlay("over", "")
	s.mountOverlay("vol", ",volatile")
}

// mount mounts a file system on a new folder until the end of the sequence.
func (s *sequence) mount(at, source, kind string, flags uintptr, options string) {
	require.NoError(s.t, os.MkdirAll(at, 0o755))
	require.NoError(s.t, unix.Mount(source, at, kind, flags, options), "%s %s", kind, options)
	s.t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

func (s *sequence) mountMemory() {
	s.mount(filepath.Join(s.dir, "mem"), "none", "tmpfs", 0, "size=16m")
}

func (s *sequence) mountOverlay(at, options string) {
	at = filepath.Join(s.dir, at)
	for _, dir := range []string{at + ".upper", at + ".work"} {
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
	}
	s.mount(at, "overlay", "overlay", 0, "lowerdir="+filepath.Join(s.dir, s.mounts.lower)+",upperdir="+at+".upper,workdir="+at+".work"+options)
}

// mountView lets cdfz show the archives of a tree, in some sequences: elsewhere, over the tree itself, or over
// another tree, whose sources may have been deleted for these archives.
func (s *sequence) mountView() {
	if !s.oneIn(5) {
		return
	}
	s.mounts.shown = s.pick(append([]string{"out"}, proofTrees...))
	s.mounts.view = s.pick([]string{"view", s.mounts.shown, s.pick(proofTrees)})
	args := []string{"mount", filepath.Join(s.dir, s.mounts.shown), filepath.Join(s.dir, s.mounts.view)}
	if s.oneIn(2) {
		args = append(args, "--with-archives")
	}
	for _, dir := range args[1:3] {
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
	}
	at := args[2]
	ready := make(chan struct{})
	cmd := exec.Command(s.exe, args...)
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(s.t, cmd.Start())
	go func() {
		b := make([]byte, 1)
		_, _ = out.Read(b)
		close(ready)
		_, _ = io.Copy(io.Discard, out)
	}()
	s.t.Cleanup(func() {
		_ = unix.Unmount(at, unix.MNT_DETACH)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-ready:
	case <-time.After(time.Minute):
		s.fail("nothing is mounted")
	}
	s.say("$ cdfz %s", s.show(args))
	s.counts.add(1, "views of cdfz")
}

// durable returns the roots of what is looked at, by their names in the folder of the sequence.
func (s *sequence) durable() map[string]string {
	out := map[string]string{"": s.eye}
	if s.mounts.named {
		out["mem"] = filepath.Join(s.dir, "mem")
	}
	return out
}

// lost reports whether a folder is one of an overlay whose files may get lost, or that are not yet there.
func (s *sequence) lost(name string) bool {
	return name == "vol.upper" || name == "vol.work" || name == "over.work"
}

// byHand returns the path of a file on a durable place, whatever is mounted over it.
func (s *sequence) byHand(name string) string {
	if s.mounts.named && below(name, "mem") {
		return filepath.Join(s.dir, name)
	}
	return filepath.Join(s.eye, name)
}

// anyPlace returns a folder in which something may be written.
func (s *sequence) anyPlace() string {
	switch s.r.IntN(6) {
	case 0:
		return s.pick([]string{"mem", "mem/out"})
	case 1:
		return s.pick([]string{"over", "vol"})
	case 2:
		return s.pick(proofTrees)
	}
	return s.pick([]string{"out", "out/1991", "second"})
}

// anyTree returns a folder from which something is read.
func (s *sequence) anyTree() string {
	switch s.r.IntN(10) {
	case 0:
		return s.pick([]string{"mem", "over", "vol"})
	case 1:
		if s.mounts.view != "" {
			return s.mounts.view
		}
	case 2:
		return s.pick([]string{"out", "second"})
	}
	return s.pick(proofTrees)
}

// archives returns a folder that has archives, if there is one.
func (s *sequence) archives() string {
	name := s.one(fileio.Suffix)
	if top, _, ok := strings.Cut(name, "/"); ok && !strings.Contains(top, ".") && !s.oneIn(4) {
		return top
	}
	return s.anyTree()
}

// spelled returns one of the names of a path.
func (s *sequence) spelled(name string) string {
	top, rest, _ := strings.Cut(name, "/")
	switch s.r.IntN(8) {
	case 0:
		return s.dir + "/self/" + name
	case 1:
		return s.dir + "/out/../" + name // if there is a folder out
	case 2:
		if strings.HasPrefix(top, "199") && len(top) == 4 {
			return path.Join(s.dir, "to-"+top, rest)
		}
	case 3, 4: // what cdfz shows hides what is there
		if top != "mem" && top != "over" && top != "vol" {
			return path.Join(s.dir, "bind", name)
		}
	}
	return path.Join(s.dir, name)
}

// written returns the names of the files and folders on durable places that change if something is written
// under a name, also as it is spelled: by a link, which may lead to another tree meanwhile.
func (s *sequence) written(name string) []string {
	top, rest, _ := strings.Cut(name, "/")
	if tree, err := os.Readlink(s.byHand("to-" + top)); err == nil && tree != top {
		return []string{name, path.Join(tree, rest)}
	}
	switch {
	case top == "over":
		return []string{path.Join("over.upper", rest)}
	case top == "vol", top == "mem" && !s.mounts.named:
		return nil
	}
	return []string{name}
}

// remount loses what is in memory, or what an overlay does not flush.
func (s *sequence) remount() string {
	if s.mounts.named || s.oneIn(2) {
		at := filepath.Join(s.dir, "vol")
		if err := unix.Unmount(at, 0); err != nil {
			return ""
		}
		for _, dir := range []string{at + ".upper", at + ".work"} {
			require.NoError(s.t, os.RemoveAll(dir))
		}
		if _, err := os.Stat(filepath.Join(s.dir, s.mounts.lower)); err != nil {
			s.mounts.lower = s.pick(proofTrees)
			_ = os.MkdirAll(s.byHand(s.mounts.lower), 0o755)
		}
		s.mountOverlay("vol", ",volatile")
		return "remount vol"
	}
	if err := unix.Unmount(filepath.Join(s.dir, "mem"), 0); err != nil {
		return ""
	}
	s.mountMemory()
	return "remount mem"
}
