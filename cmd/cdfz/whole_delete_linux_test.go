package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/nstest"
)

// TestWholeDelete empties a tree, each file under its own receipt, and restores it.
func TestWholeDelete(t *testing.T) {
	wholeSystems(t, func(t *testing.T, r *wholeRun) {
		r.makeTree(30)
		require.NoError(t, os.Chmod(filepath.Join(r.dir, "data/readonly"), 0o700)) // whose files nobody else may delete
		tmpfs := strings.Contains(t.Name(), "tmpfs")
		out, code := r.command("cp", "-a", "data", "was")
		require.Zero(t, code, out)
		durable := []string{"archive", "--whole", "-q", "--receipts", "r.jsonl", "--delete-source", "-o", "archives/", "data"}
		if tmpfs { // which keeps nothing
			_, code := r.command("cdfz", durable...)
			require.Equal(t, 1, code)
			r.same("was", "data")
			return
		}
		// Loop devices in a file system that keeps what is flushed are named by the user.
		durable = append(durable, "--durable-mount", filepath.Dir(r.dir))
		r.does(durable...)
		left, err := os.ReadDir(filepath.Join(r.dir, "data"))
		require.NoError(t, err)
		require.Empty(t, left)
		out = r.does("receipts", "r.jsonl")
		require.Regexp(t, `(?m)^(\d+) receipts: \d+ ok, 0 failed$`, out)
		r.does("restore", "-q", "-o", "back/", "archives/")
		r.same("was", "back")

		// A byte of a plain file is lost.
		name := filepath.Join(r.dir, "archives", "1990", "hdf5.nc")
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		b[3] ^= 1
		require.NoError(t, os.Chmod(name, 0o644))
		require.NoError(t, os.WriteFile(name, b, 0o644))
		out, code = r.command("cdfz", "receipts", "r.jsonl")
		require.Equal(t, 1, code)
		require.Contains(t, out, "1 failed")
		out, code = r.command("cdfz", "restore", "-q", "-o", "back2/", "archives/")
		require.Equal(t, 3, code, out)
		require.NoFileExists(t, filepath.Join(r.dir, "back2/1990/hdf5.nc"))
	})
}

// TestWholeKept keeps sources that have changed since the tree was listed, or that something is missing of.
func TestWholeKept(t *testing.T) {
	p := newPlaced(t)
	require.NoError(t, os.WriteFile("data/notes.txt", []byte("x"), 0o644))
	require.NoError(t, os.Mkdir("data/d", 0o755))
	require.NoError(t, os.Symlink("a.nc", "data/l"))
	args := []string{"archive", "--whole", "--receipts", "r.jsonl", "--delete-source", "-o", "archives/"}
	p.cdfz(0, "archive", "--whole", "-q", "-o", "archives/", "data")
	require.NoError(t, os.Remove("archives/l"))
	require.NoError(t, os.WriteFile("archives/l", nil, 0o644)) // another program's
	out := p.cdfz(1, append(args, "data")...)
	require.Contains(t, out, "archives/l: target exists")
	require.Contains(t, out, "data/l: the source is archived but was not deleted: archives/l is not this link")
	require.NoFileExists(t, "data/notes.txt")
	require.NoDirExists(t, "data/d")
	_, err := os.Readlink("data/l")
	require.NoError(t, err)
}

// TestWholeRuns kills runs that delete sources, repeats them, adds files, and restores the tree in the end.
func TestWholeRuns(t *testing.T) {
	dir := nstest.Folder(t)
	images, err := filepath.Glob("../../testdata/classic/cdf?_bits.nc")
	require.NoError(t, err)
	for i := range images {
		images[i], err = filepath.Abs(images[i])
		require.NoError(t, err)
	}
	t.Chdir(dir)
	wholeFiles(t, "data", 60, images)
	r := &wholeRun{t: t, dir: dir}
	_, code := r.command("cp", "-a", "data", "was")
	require.Zero(t, code)
	random := rand.New(rand.NewPCG(1, 2))
	args := []string{"archive", "--whole", "-q", "--receipts", "r.jsonl", "--delete-source", "-o", "archives/", "data"}
	limit := 300 * time.Millisecond
	for range 20 {
		if killed(t, random, t.TempDir(), limit, args...) {
			break
		}
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("bin", 0o755))
	require.NoError(t, os.Symlink(exe, "bin/cdfz"))
	p := &placed{t, exe}
	p.cdfz(0, args...)
	left, err := os.ReadDir("data")
	require.NoError(t, err)
	require.Empty(t, left)
	p.cdfz(0, "receipts", "-q", "r.jsonl")
	b, err := os.ReadFile("archives/.cdfz-tree")
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, `"kind":"plain"`) || strings.Contains(line, `"kind":"archive"`) {
			require.Contains(t, line, `"sha256"`)
		}
	}
	p.cdfz(0, "restore", "-q", "-o", "back/", "archives/")
	r.same("was", "back")

	// Shards add to the tree, at the same time.
	wholeFiles(t, "data", 90, images)
	done := make(chan string)
	for _, shard := range []string{"1/3", "2/3", "3/3"} {
		go func() {
			done <- p.cdfz(0, "archive", "--whole", "-q", "--shard", shard, "-o", "sharded/", "data")
		}()
	}
	for range 3 {
		require.Empty(t, <-done)
	}
	p.cdfz(0, "restore", "-q", "-o", "back3/", "sharded/")
	r.same("data", "back3")
}

// wholeFiles writes n files of some kinds.
func wholeFiles(t *testing.T, dir string, n int, images []string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s/%d/f%03d", dir, i%7, i)
		switch i % 5 {
		case 0, 1:
			nstest.Copy(t, images[i%len(images)], name+".nc")
		case 2, 3:
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(name), 0o640))
		case 4:
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.Symlink("f000.nc", name))
			require.NoError(t, os.MkdirAll(name+".d", 0o750))
		}
	}
}
