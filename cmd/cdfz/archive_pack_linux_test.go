package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

// packsTree checks that volumes restore a tree.
func packsTree(t *testing.T, r *wholeRun, want, vol, back string) {
	t.Helper()
	r.does("restore", "-q", "-o", back, vol)
	r.same(want, strings.TrimSuffix(back, "/"))
}

// TestArchivePackWhole archives trees with everything in them straight into volumes, which restore them and let them go.
func TestArchivePackWhole(t *testing.T) {
	wholeSystems(t, func(t *testing.T, r *wholeRun) {
		r.makeTree(60)
		require.NoError(t, os.Chmod(filepath.Join(r.dir, "data/readonly"), 0o700)) // whose files nobody else may delete
		tmpfs := strings.Contains(t.Name(), "tmpfs")
		out, code := r.command("cp", "-a", "data", "was")
		require.Zero(t, code, out)
		volumes := func(dir string) string {
			t.Helper()
			list, err := filepath.Glob(filepath.Join(r.dir, dir, "*.tar"))
			require.NoError(t, err)
			text := ""
			for _, name := range list {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				text += filepath.Base(name) + string(b)
			}
			return text
		}
		pack := []string{"archive", "--whole", "-q", "--pack", "64K", "--pack-time", "2026-01-01"}
		r.does(append(pack, "-o", "vol/", "data")...)
		packsTree(t, r, "data", "vol/", "back/")

		// The same bytes for any number of workers.
		r.does(append(pack, "-j", "1", "-o", "vol1/", "data")...)
		require.True(t, volumes("vol/") == volumes("vol1/"))

		// A copy of the volumes is a tree of archives and other files, and so is one of a single volume that has everything. What is
		// missing of the tree is no complete copy.
		r.does("copy", "-q", "vol/", "copied/")
		packsTree(t, r, "data", "copied/", "back4/")
		r.does("pack", "-q", "-o", "all.tar", "copied/")
		r.does("copy", "-q", "all.tar", "copied2/")
		packsTree(t, r, "data", "copied2/", "back5/")
		out, code = r.command("sh", "-c", "mkdir part && cp -p vol/0001.tar $(ls vol/*.tar | tail -n 1) part/")
		require.Zero(t, code, out)
		out, code = r.command("cdfz", "copy", "-q", "part/", "copied3/")
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "the tree file lists it, but ")

		// Again: nothing is done.
		before := volumes("vol/")
		out = r.does("archive", "--whole", "--pack", "64K", "-o", "vol/", "data")
		require.Contains(t, out, "0 files; ")
		require.Contains(t, out, "; 0 new volumes")
		require.True(t, volumes("vol/") == before)

		args := []string{"archive", "--whole", "-q", "--pack", "64K", "--receipts", "r.jsonl", "--delete-source", "-o", "vol/", "data"}
		if tmpfs { // which keeps nothing
			_, code := r.command("cdfz", args...)
			require.Equal(t, 1, code)
			r.same("was", "data")
			return
		}
		args = append(args, "--durable-mount", filepath.Dir(r.dir))
		r.does(args...)
		left, err := os.ReadDir(filepath.Join(r.dir, "data"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.Regexp(t, `(?m)^(\d+) receipts: \d+ ok, 0 failed$`, r.does("receipts", "r.jsonl"))
		packsTree(t, r, "was", "vol/", "back2/")
	})
}

// TestArchivePackStore archives a tree into volumes in a store, and restores it from there.
func TestArchivePackStore(t *testing.T) {
	s := newBucket(t)
	require.NoError(t, os.Chmod("..", 0o755)) // nothing above the restored tree keeps others out
	dir, err := os.Getwd()
	require.NoError(t, err)
	r := &wholeRun{t: t, dir: dir, uid: uint32(os.Getuid())}
	wholeTreeFrom(t, classicAt, dir, 30, os.Getuid() == 0)
	pack := []string{"archive", "--whole", "-q", "--pack", "64K", "--pack-time", "2026-01-01", "--receipts", "r.jsonl"}
	s.done(append(pack, "-o", "s3://bucket/vol/", "data")...)
	s.done(append(pack[:len(pack)-2], "-o", "vol/", "data")...)
	list, err := filepath.Glob("vol/*.tar")
	require.NoError(t, err)
	require.Greater(t, len(list), 3)
	for _, name := range list {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, object(t, s, name)), name)
	}
	require.Contains(t, s.done("receipts", "r.jsonl"), " 0 failed")
	require.Contains(t, s.done("archive", "--whole", "--pack", "64K", "-o", "s3://bucket/vol/", "data"), "; 0 new volumes")
	s.done("restore", "-q", "-o", "back/", "s3://bucket/vol/")
	r.same("data", "back")
}

// TestArchivePackKilled kills runs that archive into volumes and delete sources, and repeats them: volumes are complete or not
// there, and all is restored.
func TestArchivePackKilled(t *testing.T) {
	images, err := filepath.Glob("../../testdata/classic/cdf?_bits.nc")
	require.NoError(t, err)
	for i := range images {
		images[i], err = filepath.Abs(images[i])
		require.NoError(t, err)
	}
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint("whole=", whole), func(t *testing.T) {
			dir := nstest.Folder(t)
			t.Chdir(dir)
			wholeFiles(t, "data", 60, images)
			out, err := exec.Command("cp", "-a", "data", "was").CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NoError(t, os.Mkdir("tmp", 0o700))
			args := []string{"archive", "-q", "--pack", "24K", "--receipts", "r.jsonl", "--delete-source", "--log", "l.jsonl", "-o", "vol/", "data"}
			if whole {
				args = append(args, "--whole")
			}
			random := rand.New(rand.NewPCG(3, 4))
			for range 25 {
				done := killed(t, random, "tmp", 300*time.Millisecond, args...)
				volumes, err := filepath.Glob("vol/*.tar")
				require.NoError(t, err)
				for _, name := range volumes {
					b, err := os.ReadFile(name)
					require.NoError(t, err)
					v, err := volume.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
					require.NoError(t, err, name)
					require.NoError(t, v.Check(t.Context()))
				}
				if done {
					break
				}
			}
			mustRun(t, args...)
			left, err := filepath.Glob("vol/.*")
			require.NoError(t, err)
			require.Empty(t, left)
			mustRun(t, "receipts", "-q", "r.jsonl")
			mustRun(t, "restore", "-q", "-o", "back/", "vol/")
			checkLog(t, "l.jsonl")
			r := &wholeRun{t: t, dir: dir, uid: uint32(os.Getuid())}
			if whole {
				r.same("was", "back")
				return
			}
			images, err := filepath.Glob("was/*/*.nc")
			require.NoError(t, err)
			for _, name := range images {
				require.NoFileExists(t, "data"+strings.TrimPrefix(name, "was"))
				want, err := os.ReadFile(name)
				require.NoError(t, err)
				got, err := os.ReadFile("back" + strings.TrimPrefix(name, "was"))
				require.NoError(t, err)
				require.Equal(t, want, got, name)
			}
		})
	}
}

// TestArchivePackNames archives files with names of every kind into volumes: any bytes, names as long as file systems take, and
// paths that no program can open at once.
func TestArchivePackNames(t *testing.T) {
	image, err := os.ReadFile("../../testdata/classic/cdf1_bits.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("data", 0o755))
	names := []string{"a\nb.nc", "bad\xff\xfe.nc", strings.Repeat("n", 252) + ".nc", "-rf.nc", "a b%c?.nc", "ö=日本.nc", `q"'\.nc`}
	for i, name := range names {
		b := append(slices.Clone(image), byte(i)) // each is another file
		require.NoError(t, os.WriteFile("data/"+name, b, 0o644))
	}
	deep := func(make bool) *os.Root { // a path of more than 4096 bytes
		dir := "data"
		if !make {
			dir = "back"
		}
		in, err := os.OpenRoot(dir)
		require.NoError(t, err)
		for range 20 {
			part := strings.Repeat("d", 240)
			if make {
				require.NoError(t, in.Mkdir(part, 0o755))
			}
			next, err := in.OpenRoot(part)
			require.NoError(t, err)
			in.Close()
			in = next
		}
		return in
	}
	in := deep(true)
	require.NoError(t, in.WriteFile("deep.nc", image, 0o644))
	in.Close()
	mustRun(t, "archive", "-q", "--pack", "1G", "-o", "vol/", "data")
	mustRun(t, "archive", "-q", "--whole", "--pack", "1G", "-o", "whole/", "data")
	mustRun(t, "verify", "-q", "vol/")
	require.Contains(t, mustRun(t, "archive", "--pack", "1G", "-o", "vol/", "data"), "; 0 new volumes")
	for _, vol := range []string{"vol/", "whole/"} {
		require.NoError(t, os.RemoveAll("back"))
		mustRun(t, "restore", "-q", "-o", "back/", vol)
		for i, name := range names {
			b, err := os.ReadFile("back/" + name)
			require.NoError(t, err)
			require.Equal(t, append(slices.Clone(image), byte(i)), b, "%q", name)
		}
		in := deep(false)
		b, err := in.ReadFile("deep.nc")
		in.Close()
		require.NoError(t, err)
		require.Equal(t, image, b)
	}
}

// TestArchivePackUploadKilled kills runs that archive into volumes in a store: each object is a complete volume, and the same
// command does the rest.
func TestArchivePackUploadKilled(t *testing.T) {
	images, err := filepath.Glob("../../testdata/classic/cdf?_bits.nc")
	require.NoError(t, err)
	for i := range images {
		images[i], err = filepath.Abs(images[i])
		require.NoError(t, err)
	}
	s := newBucket(t)
	require.NoError(t, os.Mkdir("tmp", 0o700))
	wholeFiles(t, "data", 40, images)
	args := []string{"archive", "-q", "--pack", "24K", "--receipts", "r.jsonl", "-o", "s3://bucket/vol/", "data"}
	random := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		done := killed(t, random, "tmp", 400*time.Millisecond, args...)
		list, err := s.back.ListBucket("bucket", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
		require.NoError(t, err)
		for _, o := range list.Contents {
			b := object(t, s, o.Key)
			v, err := volume.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
			require.NoError(t, err, o.Key)
			require.NoError(t, v.Check(t.Context()))
		}
		if done {
			break
		}
	}
	s.done(args...)
	require.Contains(t, s.done("receipts", "r.jsonl"), " 0 failed")
	s.done("restore", "-q", "-o", "back/", "s3://bucket/vol/")
	sources, err := filepath.Glob("data/*/*.nc")
	require.NoError(t, err)
	for _, name := range sources {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := os.ReadFile("back" + strings.TrimPrefix(name, "data"))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}
