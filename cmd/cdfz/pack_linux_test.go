package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/volume"
)

// packedTree makes a folder of archives, and returns the files that they hold.
func packedTree(t *testing.T, classic string) (files map[string][]byte) {
	files = map[string][]byte{}
	for i, name := range []string{"1987/tas.nc", "1987/deep/pr.nc", "1988/a b%c.nc"} {
		from := []string{"cdf2_climate.nc", "cdf1_bits.nc", "cdf5_bits.nc"}[i]
		b, err := os.ReadFile(filepath.Join(classic, from))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join("data", filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("data", name), b, 0o644))
		files[name] = b
	}
	mustRun(t, "archive", "-q", "-o", "arch/", "data/")
	return files
}

// mustRun runs the program, and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := runCode(args...)
	require.Zero(t, code, "%v: %s", args, errs)
	return out
}

func runCode(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

// sameFiles checks that a folder has the files.
func sameFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(files[rel], b), path)
		n++
		return nil
	}))
	require.Equal(t, len(files), n)
}

// TestPackStore packs into a store, and reads members and prefixes of volumes from there.
func TestPackStore(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	files := packedTree(t, classic)
	out := mustRun(t, "pack", "-o", "s3://bucket/vol/", "--time", "2026-01-01", "arch/")
	require.Contains(t, out, "s3://bucket/vol/0001.tar: 6 members, ")
	mustRun(t, "pack", "-q", "-o", "local/", "--time", "2026-01-01", "arch/")
	want, err := os.ReadFile("local/0001.tar")
	require.NoError(t, err)
	require.Equal(t, want, object(t, s, "vol/0001.tar"))

	require.Contains(t, mustRun(t, "verify", "s3://bucket/vol/"), "3 files: 3 ok, 0 damaged")
	require.Contains(t, mustRun(t, "verify", "s3://bucket/vol/0001.tar"), "3 files: 3 ok, 0 damaged")
	mustRun(t, "restore", "-q", "-o", "back/", "s3://bucket/vol/")
	sameFiles(t, "back", files)
	mustRun(t, "restore", "-q", "-o", "one.nc", "s3://bucket/vol/0001.tar/1988/a b%c.nc.cdfz")
	b, err := os.ReadFile("one.nc")
	require.NoError(t, err)
	require.Equal(t, files["1988/a b%c.nc"], b)
	require.Contains(t, mustRun(t, "pack", "-o", "s3://bucket/vol/", "arch/"), "packed 0 members in 0 volumes, 0 B; 6 packed before")

	// A member of a store costs few requests: the volume's end, and the member's.
	var n atomic.Int64
	s.set(func(_ http.ResponseWriter, r *http.Request) bool { n.Add(1); return false })
	mustRun(t, "info", "s3://bucket/vol/0001.tar/1987/deep/pr.nc.cdfz")
	require.LessOrEqual(t, n.Load(), int64(3))
	s.set(nil)

	_, errs, code := runCode("info", "s3://bucket/vol/0001.tar/none.nc.cdfz")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "none.nc.cdfz")
}

// object returns the bytes of an object.
func object(t *testing.T, s *bucket, key string) []byte {
	t.Helper()
	o, err := s.back.GetObject("bucket", key, nil)
	require.NoError(t, err)
	defer o.Contents.Close()
	b, err := io.ReadAll(o.Contents)
	require.NoError(t, err)
	return b
}

// TestPackFails checks that a volume whose upload fails does not appear, and that the same command then completes
// it.
func TestPackFails(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	files := packedTree(t, classic)
	big := make([]byte, 40<<20)
	for i := range big {
		big[i] = byte(i ^ i>>11)
	}
	require.NoError(t, os.WriteFile("arch/big.bin", big, 0o644))
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
			return true
		}
		return false
	})
	_, errs, code := runCode("pack", "-o", "s3://bucket/vol/", "--size", "1G", "arch/")
	require.NotZero(t, code)
	require.Contains(t, errs, "access denied")
	list, err := s.back.ListBucket("bucket", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	require.Empty(t, list.Contents)
	s.set(nil)
	mustRun(t, "pack", "-q", "-o", "s3://bucket/vol/", "--size", "1G", "--time", "2026-01-01", "arch/")
	mustRun(t, "pack", "-q", "-o", "all.tar", "--time", "2026-01-01", "arch/")
	want, err := os.ReadFile("all.tar")
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, object(t, s, "vol/0001.tar")))
	mustRun(t, "restore", "-q", "-o", "back/", "s3://bucket/vol/")
	sameFiles(t, "back", files)
}

// TestPackReplaced checks that a volume which is replaced between two reads is an error, and no wrong bytes.
func TestPackReplaced(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	s := newBucket(t)
	packedTree(t, classic)
	mustRun(t, "pack", "-q", "-o", "s3://bucket/vol/", "arch/")
	one := object(t, s, "vol/0001.tar")
	var n atomic.Int64
	s.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if n.Add(1) == 2 {
			_, err := s.back.PutObject("bucket", "vol/0001.tar", map[string]string{}, bytes.NewReader(bytes.Repeat([]byte("x"), len(one))), int64(len(one)), nil)
			require.NoError(t, err)
		}
		return false
	})
	_, errs, code := runCode("restore", "-o", "x.nc", "s3://bucket/vol/0001.tar/1987/tas.nc.cdfz")
	require.Equal(t, 1, code, errs)
	require.Contains(t, errs, "changed")
	require.NoFileExists(t, "x.nc")
}

// TestPackKilled kills runs at random points, and repeats them: volumes are complete or not there, and the same command
// completes them.
func TestPackKilled(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("tmp", 0o700))
	files := packedTree(t, classic)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		b := make([]byte, r.IntN(5000))
		for k := range b {
			b[k] = byte(r.Uint32())
		}
		require.NoError(t, os.WriteFile(fmt.Sprintf("arch/1988/%03d.bin", i), b, 0o644))
	}
	kills := 0
	for kills = 0; !killed(t, r, "tmp", 60*time.Millisecond, "pack", "-q", "-o", "vol/", "--size", "40K", "arch/"); kills++ {
		require.Less(t, kills, 1000)
		volumes, err := filepath.Glob("vol/*.tar")
		require.NoError(t, err)
		for _, name := range volumes {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			_, err = volume.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
			require.NoError(t, err, name)
		}
	}
	require.Positive(t, kills)
	left, err := filepath.Glob("vol/.*")
	require.NoError(t, err)
	require.Empty(t, left)
	mustRun(t, "verify", "-q", "vol/")
	mustRun(t, "restore", "-q", "-o", "back/", "vol/")
	sameFiles(t, "back", files)
	require.NoError(t, os.Mkdir("x", 0o700))
	volumes, err := filepath.Glob("vol/*.tar")
	require.NoError(t, err)
	require.Greater(t, len(volumes), 5)
	for _, name := range volumes {
		out, err := exec.Command("tar", "-xf", name, "-C", "x").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.Remove("x/.cdfz-volume-index"))
	out, err := exec.Command("diff", "-r", "arch", "x").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestPackLinks checks that links stay links, that names are any bytes, and that FIFOs are listed.
func TestPackLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("arch/a", 0o750))
	require.NoError(t, os.WriteFile("arch/a/one", []byte("text"), 0o640))
	require.NoError(t, os.Link("arch/a/one", "arch/a/two"))
	require.NoError(t, os.Symlink("a/one", "arch/link"))
	require.NoError(t, unix.Mkfifo("arch/pipe", 0o600))
	require.NoError(t, os.WriteFile("arch/bad\xff\nname", nil, 0o600))
	out, errs, code := runCode("pack", "-o", "all.tar", "arch/")
	require.Equal(t, 4, code)
	require.Contains(t, errs, "arch/pipe: is not packed: it is a FIFO")
	require.Contains(t, out, "packed 5 members in 1 volume")
	b, err := os.ReadFile("all.tar")
	require.NoError(t, err)
	v, err := volume.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	e, err := v.Lookup(t.Context(), "a/two")
	require.NoError(t, err)
	require.Equal(t, volume.HardLink, e.Kind)
	require.Equal(t, "a/one", e.Target)
	_, err = v.Lookup(t.Context(), "bad\xff\nname")
	require.NoError(t, err)
}

// TestPackWhole checks that a whole tree comes back from volumes, on a disk and in a store.
func TestPackWhole(t *testing.T) {
	classic, err := filepath.Abs("../../testdata/classic")
	require.NoError(t, err)
	newBucket(t)
	require.NoError(t, os.Chmod("..", 0o755)) // nothing above the restored tree keeps others out
	packedTree(t, classic)
	require.NoError(t, os.RemoveAll("arch"))
	require.NoError(t, os.Mkdir("data/empty", 0o750))
	require.NoError(t, os.WriteFile("data/1987/note.csv", []byte("a,b"), 0o640))
	require.NoError(t, os.Symlink("../1988", "data/1987/link"))
	require.NoError(t, os.Link("data/1987/tas.nc", "data/1988/again.nc"))
	require.NoError(t, os.Link("data/1987/note.csv", "data/zero.csv"))
	mustRun(t, "archive", "-q", "--whole", "-o", "arch/", "data/")
	mustRun(t, "pack", "-q", "--size", "80K", "-o", "vol/", "arch/")
	mustRun(t, "pack", "-q", "--size", "80K", "-o", "s3://bucket/vol/", "arch/")
	mustRun(t, "pack", "-q", "-o", "one.tar", "arch/")
	mustRun(t, "pack", "-q", "-o", "s3://bucket/one.tar", "arch/")
	for i, from := range []string{"vol/", "one.tar", "s3://bucket/vol/", "s3://bucket/one.tar"} {
		back := fmt.Sprintf("back%d/", i)
		mustRun(t, "restore", "-q", "-o", back, from)
		out, err := exec.Command("rsync", "-naHi", "--delete", "--checksum", "data/", back).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, string(out), from)
	}
}
