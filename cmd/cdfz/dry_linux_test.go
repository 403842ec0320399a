package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/internal/nstest"
)

// TestDryRun checks that --dry-run fails for what a run would fail for: file systems that are full, have no files
// left or are read-only, and paths that are too long. It writes nothing.
func TestDryRun(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	dir := t.TempDir()
	many(t, filepath.Join(dir, "data"), 60)
	deep := filepath.Join(dir, "data", strings.Repeat("z", 250), strings.Repeat("z", 250))
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "a.nc"), readFile(t, "../../testdata/classic/cdf1_bits.nc"), 0o644))
	t.Chdir(dir)
	nstest.Mount(t, "tmpfs", "none", "readonly", "")
	require.NoError(t, unix.Mount("", "readonly", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	nstest.Mount(t, "tmpfs", "none", "full", "size=64k")
	nstest.Mount(t, "tmpfs", "none", "inodes", "nr_inodes=4")
	require.NoError(t, os.Symlink("data", "link"))
	require.NoError(t, os.Mkdir("linked", 0o755))
	require.NoError(t, os.Symlink("../data/1", "linked/1"))
	long := strings.Repeat(strings.Repeat("y", 250)+"/", 15)
	for _, c := range []struct{ dest, text string }{
		{"readonly/a/", `cannot write in folder readonly/a/0: read-only file system`},
		{"full/", `cdfz: full/: expected room for \S+ kB of archives \(as in the sample\), found \S+ kB free`},
		{"inodes/a/", `cdfz: inodes/a/: expected room for 61 files, found \d free`},
		{"linked/", `cannot write in folder linked/1: is a symbolic link`},
	} {
		code, out, msg := cdfz(t, "archive", "--dry-run", "-o", c.dest, "data")
		require.NotZero(t, code, out)
		require.Regexp(t, c.text, msg)
		_, _, again := cdfz(t, "archive", "-o", c.dest, "data")
		require.NotEmpty(t, again, "%s: the run fails, too", c.dest)
	}
	code, out, msg := cdfz(t, "archive", "--whole", "-o", "kept/", "data")
	require.Zero(t, code, out+msg)
	code, _, msg = cdfz(t, "restore", "--dry-run", "-o", "full/", "kept")
	require.NotZero(t, code)
	require.Regexp(t, `cdfz: full/: expected room for \S+ kB of files, found \S+ k?B free`, msg)
	code, _, msg = cdfz(t, "restore", "--dry-run", "-o", "inodes/", "kept")
	require.NotZero(t, code)
	require.Regexp(t, `cdfz: inodes/: expected room for 61 files, found \d free`, msg)

	// Files that --whole keeps as they are take room, too.
	require.NoError(t, os.Mkdir("others", 0o755))
	require.NoError(t, os.WriteFile("others/big.bin", make([]byte, 200<<10), 0o644))
	code, out, msg = cdfz(t, "archive", "--whole", "--dry-run", "-o", "full/", "others")
	require.NotZero(t, code)
	require.Regexp(t, `(?m)^dry run: full/: \S+ k?B free for 0 B of archives, if they are as large as their sources, and 205 kB of other files; archives`, out)
	require.Regexp(t, `cdfz: full/: expected room for 0 B of archives \(.*\) and 205 kB of other files, found \S+ k?B free`, msg)
	code, out, msg = cdfz(t, "archive", "--whole", "--dry-run", "-o", "inodes/", "data")
	require.NotZero(t, code, out)
	require.Contains(t, msg, "expected room for 61 files")

	code, _, msg = cdfz(t, "archive", "--dry-run", "-o", long, "data")
	require.Zero(t, code, msg)
	require.Regexp(t, `^cdfz: warning: \S+/a.nc.cdfz: a path of \d+ bytes: most programs and receipts take up to 4095\n$`, msg)
	code, out, msg = cdfz(t, "archive", "--dry-run", "-o", "out/", "data")
	require.Zero(t, code, msg)
	require.Regexp(t, `(?m)^dry run: out/: \S+ .B free for \S+ kB of archives, if they are as in the sample; archives that are replaced are not counted$`, out)
	require.NoDirExists(t, "out")

	// A folder without permission.
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	require.NoError(t, os.Mkdir("closed", 0o755))
	var o, m bytes.Buffer
	asNobody(t, func() {
		code = run(t.Context(), []string{"archive", "-j", "1", "--dry-run", "-o", "closed/", "data/0"}, new(bytes.Buffer), &o, &m)
	})
	require.NotZero(t, code)
	require.Contains(t, m.String(), "cannot write in folder closed: permission denied")
}
