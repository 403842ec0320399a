package main

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

// many makes n classic files below a folder, ten in each of its own.
func many(t *testing.T, dir string, n int) {
	t.Helper()
	image := readFile(t, "../../testdata/classic/cdf1_bits.nc")
	for i := range n {
		name := filepath.Join(dir, fmt.Sprint(i/10), fmt.Sprintf("%04d.nc", i))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, image, 0o644))
	}
}

// cdfz runs the command and returns its exit code and what it wrote.
func cdfz(t *testing.T, args ...string) (code int, out, msg string) {
	t.Helper()
	var o, m bytes.Buffer
	code = run(t.Context(), args, new(bytes.Buffer), &o, &m)
	return code, o.String(), m.String()
}

// TestBarrier runs verbs that write a tree where no file can be written: they end after the files that are at work,
// name the first error and count the rest. Files of other places are done.
func TestBarrier(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	const n = 1000
	dir := t.TempDir()
	many(t, filepath.Join(dir, "data"), n)
	t.Chdir(dir)
	code, out, msg := cdfz(t, "archive", "-q", "-o", "arch/", "data")
	require.Zero(t, code, out+msg)

	nstest.Mount(t, "tmpfs", "none", "readonly", "")
	require.NoError(t, os.Mkdir("readonly/out", 0o755))
	require.NoError(t, os.CopyFS("readonly/data", os.DirFS("data/0")))
	require.NoError(t, unix.Mount("", "readonly", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	nstest.Mount(t, "tmpfs", "none", "full", "size=64k")
	nstest.Mount(t, "tmpfs", "none", "inodes", "nr_inodes=4")

	for _, c := range []struct {
		verb []string
		dest string
		text string
	}{
		{[]string{"archive"}, "readonly/out/", "read-only file system"},
		{[]string{"archive"}, "readonly/new/", "read-only file system"},
		{[]string{"archive", "-j", "1"}, "readonly/new/", "read-only file system"},
		{[]string{"archive"}, "full/", "no space left on device"},
		{[]string{"archive"}, "inodes/a/", "no space left on device"},
		{[]string{"restore"}, "readonly/out/", "read-only file system"},
		{[]string{"restore"}, "full/", "no space left on device"},
		{[]string{"copy"}, "readonly/out/", "read-only file system"},
		{[]string{"copy"}, "full/", "no space left on device"},
	} {
		src := "arch"
		if c.verb[0] == "archive" {
			src = "data"
		}
		args := append(append([]string{}, c.verb...), "-o", c.dest, src)
		if c.verb[0] == "copy" {
			args = append(append([]string{}, c.verb...), src, c.dest)
		} else {
			args = append(args, "--log", "log.jsonl")
		}
		_ = os.Remove("log.jsonl")
		code, _, msg := cdfz(t, args...)
		require.NotZero(t, code, args)
		require.NotEqual(t, 2, code, args)
		require.Regexp(t, `(?m)^cdfz: `+c.dest+`: no target can be written here; the first was that of \S+: .*`+c.text+`; \d+ files were not tried$`, msg, args)
		require.Less(t, strings.Count(msg, "\n"), 300, "%v", args)
		if c.verb[0] != "copy" {
			log := string(readFile(t, "log.jsonl"))
			require.Contains(t, log, `files were not tried"`)
			require.Contains(t, log, `"source":"`+c.dest+`"`)
		}
	}
	// Files of a whole tree that were not tried are not missing, nor are their further names.
	require.NoError(t, os.Mkdir("tree", 0o755))
	require.NoError(t, os.CopyFS("tree", os.DirFS("data/0")))
	require.NoError(t, os.Link("tree/0000.nc", "tree/again.nc"))
	require.NoError(t, os.WriteFile("tree/notes.txt", nil, 0o644))
	code, out, msg = cdfz(t, "archive", "--whole", "-q", "-o", "whole/", "tree")
	require.Zero(t, code, out+msg)
	for _, args := range [][]string{
		{"restore", "-j", "1", "-o", "readonly/out/", "whole"},
		{"restore", "-j", "2", "-o", "readonly/new/", "whole"},
	} {
		code, _, msg := cdfz(t, args...)
		require.Equal(t, terminal.ExitFailed, code, args)
		require.Contains(t, msg, "not tried", args)
		require.NotContains(t, msg, "missing", args)
		require.NotContains(t, msg, "again.nc", args)
	}
	// The tree file of a copy is written first: there is room for that.
	nstest.Mount(t, "tmpfs", "none", "little", "size=12k")
	code, _, msg = cdfz(t, "copy", "whole", "little/")
	require.Equal(t, terminal.ExitFailed, code, msg)
	require.Contains(t, msg, "not tried")
	require.NotContains(t, msg, "missing")

	// Where temporary files are full, others are done that need none, or a shorter one.
	require.NoError(t, os.Mkdir("packed", 0o755))
	require.NoError(t, os.CopyFS("packed", os.DirFS("data/0")))
	long := append(readFile(t, "data/0/0000.nc"), make([]byte, 12<<20)...)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(long)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile("packed/0000-long.nc.gz", zipped.Bytes(), 0o644))
	t.Setenv("TMPDIR", filepath.Join(dir, "full"))
	code, out, msg = cdfz(t, "archive", "--decompress", "-j", "1", "-o", "unpacked/", "packed")
	require.Equal(t, terminal.ExitFailed, code, msg)
	require.Contains(t, out, "10 files: ")
	require.Contains(t, msg, "packed/0000-long.nc.gz: gzip: temporary file: "+filepath.Join(dir, "full")+": no space left on device\n")
	require.NotContains(t, msg, "tried")
	require.NoError(t, os.Setenv("TMPDIR", dir))

	// What there was room for is there, and the same command does the rest.
	require.NotEmpty(t, sums(t, "full", ""))
	require.NoError(t, unix.Mount("", "full", "", unix.MS_REMOUNT, "size=64m"))
	require.NoError(t, os.RemoveAll("full/0"))
	code, _, msg = cdfz(t, "archive", "-q", "-f", "-o", "full/", "data")
	require.Zero(t, code, msg)

	// Targets next to the sources: only those of the file system that cannot be written are not tried.
	require.NoError(t, os.Mkdir("more", 0o755))
	require.NoError(t, os.CopyFS("more/data", os.DirFS("data/2")))
	code, out, msg = cdfz(t, "archive", "-j", "1", "readonly/data", "more/data")
	require.NotZero(t, code)
	require.Contains(t, out, "10 files: ")
	require.Regexp(t, `(?m)^cdfz: readonly/data: no target can be written here; .*; 9 files were not tried$`, msg)

	// So it is with names of a list, which are read as the run goes on.
	require.NoError(t, unix.Mount("", "readonly", "", unix.MS_REMOUNT, ""))
	require.NoError(t, os.CopyFS("readonly/arch", os.DirFS("arch/0")))
	require.NoError(t, unix.Mount("", "readonly", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	var list []byte
	for _, in := range []string{"readonly/arch", "more/arch"} {
		for i := range 10 {
			list = fmt.Appendf(list, "%s/%04d.nc.cdfz\n", in, i)
		}
	}
	require.NoError(t, os.WriteFile("list", list, 0o644))
	for _, args := range [][]string{{"restore", "-j", "2"}, {"restore", "-j", "1"}} {
		require.NoError(t, os.RemoveAll("more/arch"))
		require.NoError(t, os.CopyFS("more/arch", os.DirFS("arch/0")))
		code, _, msg = cdfz(t, append(args, "--files-from", "list")...)
		require.Equal(t, terminal.ExitFailed, code, msg)
		for i := range 10 {
			require.FileExists(t, fmt.Sprintf("more/arch/%04d.nc", i), "%v: %s", args, msg)
		}
		require.Regexp(t, `(?m)^cdfz: readonly/arch: no target can be written here; .*; \d files? (was|were) not tried$`, msg)
	}

	// An error of one file stops nothing: a name that is too long, a folder in the way.
	require.NoError(t, os.WriteFile("data/0/"+strings.Repeat("x", 252), readFile(t, "data/0/0000.nc"), 0o644))
	require.NoError(t, os.MkdirAll("one/0/0001.nc.cdfz", 0o755))
	require.NoError(t, os.WriteFile("one/3", nil, 0o644))
	code, out, msg = cdfz(t, "archive", "-o", "one/", "data")
	require.NotZero(t, code)
	require.Contains(t, out, fmt.Sprintf("%d files: ", n-11))
	require.Contains(t, out, "; 12 failed")
	require.NotContains(t, msg, "tried")
}

// TestBarrierGone removes the folder of targets during the run.
func TestBarrierGone(t *testing.T) {
	dir := t.TempDir()
	many(t, filepath.Join(dir, "data"), 300)
	t.Chdir(dir)
	for _, dest := range []string{"out/", "out"} {
		require.NoError(t, os.Mkdir("out", 0o755))
		ctx := &stepContext{Context: t.Context(), do: func() { _ = os.RemoveAll("out"); _ = os.WriteFile("out", nil, 0o644) }}
		ctx.left.Store(1000)
		var o, m bytes.Buffer
		code := run(ctx, []string{"archive", "-j", "1", "-o", dest, "data"}, new(bytes.Buffer), &o, &m)
		require.NotZero(t, code)
		require.Regexp(t, `(?m)^cdfz: out/: no target can be written here; .*; \d+ files were not tried$`, m.String())
		require.NoError(t, os.Remove("out"))
	}
}

// TestBarrierClosed has no permission for the folder of targets. Folders in it that are open are used.
func TestBarrierClosed(t *testing.T) {
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	many(t, filepath.Join(dir, "data"), 50)
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("out", 0o755))
	require.NoError(t, os.Mkdir("out/3", 0o755))
	require.NoError(t, os.Chmod("out/3", 0o777))
	require.NoError(t, os.Chmod("out", 0o555))
	var code int
	var o, m bytes.Buffer
	asNobody(t, func() {
		code = run(t.Context(), []string{"archive", "-j", "1", "-o", "out/", "data"}, new(bytes.Buffer), &o, &m)
	})
	require.Equal(t, terminal.ExitLasting, code) // as for one file
	require.Contains(t, o.String(), "10 files: ")
	require.Regexp(t, `(?m)^cdfz: out/: no target can be written here; the first was that of data/0/0000.nc: .*permission denied; 39 files were not tried$`, m.String())
}

// TestBarrierStore archives to stores that refuse.
func TestBarrierStore(t *testing.T) {
	image := readFile(t, "../../testdata/classic/cdf1_bits.nc")
	s := newBucket(t)
	images := map[string][]byte{}
	for i := range 300 {
		images[fmt.Sprintf("%03d.nc", i)] = image
	}
	writeTree(t, images)
	s.done("archive", "-q", "-o", "arch/", "data")
	var asked atomic.Int64
	refuses := func(method string, status int, code string) {
		asked.Store(0)
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != method {
				return false
			}
			asked.Add(1)
			w.WriteHeader(status)
			_ = xml.NewEncoder(w).Encode(struct {
				XMLName xml.Name `xml:"Error"`
				Code    string
			}{Code: code})
			return true
		})
	}
	for _, c := range []struct {
		method string
		status int
		code   string
		args   []string
	}{
		{http.MethodPut, 403, "AccessDenied", []string{"archive", "-o", "s3://bucket/a/", "data"}},
		{http.MethodGet, 403, "AccessDenied", []string{"archive", "-o", "s3://bucket/a/", "data"}},
		{http.MethodPut, 507, "XMinioStorageFull", []string{"archive", "-o", "s3://bucket/a/", "data"}},
		{http.MethodPut, 403, "InvalidAccessKeyId", []string{"copy", "arch", "s3://bucket/a/"}},
		{http.MethodPut, 403, "AccessDenied", []string{"restore", "-o", "s3://bucket/a/", "arch"}},
		{"none", 0, "", []string{"archive", "-o", "s3://nobody/a/", "data"}},
	} {
		refuses(c.method, c.status, c.code)
		code, _, msg := s.run(c.args...)
		want := terminal.ExitLasting
		if c.status == http.StatusInsufficientStorage || c.status == 0 {
			want = terminal.ExitFailed
		}
		require.Equal(t, want, code, c.args)
		require.Regexp(t, `(?m)^cdfz: s3://(bucket|nobody)/a/: no target can be written here; .*; \d+ files were not tried$`, msg, c.args)
		require.Less(t, asked.Load(), int64(290))
	}
	// A source that the store refuses is one file that fails.
	s.set(nil)
	s.put("in/0.nc", image)
	s.put("in/1.nc", image)
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/in/0.nc") {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	code, out, msg := s.run("archive", "-o", "s3://bucket/b/", "s3://bucket/in/")
	require.NotZero(t, code)
	require.NotContains(t, msg, "tried")
	require.Contains(t, out, "1 file: ")
}
