//go:build judge && unix

package volume

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeTar extracts volumes with GNU tar, bsdtar and Python, which must not complain, and compares files, links,
// modes and times.
func TestJudgeTar(t *testing.T) {
	members := []member{folder1("a"), file1("a/b", 0), file1("a/c", 511), {Entry: Entry{Path: "a/d", Kind: HardLink, Target: "a/c", Mode: 0o640, UID: 7, GID: 8, Modified: file1("", 511).Modified}},
		file1("a.x", 512), file1("new\nline é", 513), {Entry: Entry{Path: "s", Kind: Symlink, Target: strings.Repeat("../", 60) + "x", Mode: 0o777, Modified: packed}}}
	deep := ""
	for i := range 14 { // a path of more than 3000 bytes
		if i > 0 {
			deep += "/"
		}
		deep += "z" + strings.Repeat(fmt.Sprint(i%10), 254)
		members = append(members, folder1(deep))
	}
	members = append(members, file1(deep[:strings.LastIndexByte(deep, '/')]+"/zz"+strings.Repeat("e", 253), 1024))
	for i := range members {
		if members[i].Kind == Folder {
			members[i].Mode = 0o755 // so that others than root can fill it
			members[i].Modified = packed
		}
	}
	b := write(t, members...)
	name := filepath.Join(t.TempDir(), "v.tar")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	for _, command := range [][]string{
		{"tar", "-xpf", name}, {"bsdtar", "-xpf", name}, {"/usr/bin/python3", "-W", "error", "-c", "import sys, tarfile\nwith tarfile.open(sys.argv[1]) as t: t.extractall()", name},
	} {
		dir := t.TempDir()
		c := exec.Command(command[0], command[1:]...)
		c.Dir, c.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%v: %s", command, out)
		require.Empty(t, string(out), "%v", command)
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		for _, m := range members {
			st, err := root.Lstat(m.Path)
			require.NoError(t, err, "%v", command)
			switch m.Kind {
			case Symlink:
				target, err := root.Readlink(m.Path)
				require.NoError(t, err)
				require.Equal(t, m.Target, target)
				continue
			case HardLink:
				first, err := root.Lstat(m.Target)
				require.NoError(t, err)
				require.True(t, os.SameFile(first, st), "%v", command)
			case File:
				got, err := root.ReadFile(m.Path)
				require.NoError(t, err)
				require.True(t, bytes.Equal(m.data, got), "%v: %s", command, m.Path)
				require.Equal(t, m.Modified.Unix(), st.ModTime().Unix(), "%v", command)
			}
			require.Equal(t, m.FileMode(), st.Mode(), "%v: %s", command, m.Path)
		}
		root.Close()
	}
	out, err := exec.Command("tar", "-tf", name).CombinedOutput()
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(string(out)), "\n"), len(members)+1, "%s", out) // with the index
}
