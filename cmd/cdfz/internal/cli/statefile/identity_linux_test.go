package statefile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileSystem mounts file systems again. Their names stay, and those of others differ.
func TestFileSystem(t *testing.T) {
	name := func(path string) string {
		t.Helper()
		st, err := os.Stat(path)
		require.NoError(t, err)
		device, ok := deviceOf(st)
		require.True(t, ok)
		return fileSystemAt(path, device)
	}
	base := t.TempDir()
	require.NotEmpty(t, name(base))
	require.Equal(t, name(base), name(filepath.Dir(base)))
	require.NotEmpty(t, name("/proc"))
	require.NotEqual(t, name(base), name("/proc"))
	names := map[string]string{name(base): "tmp"}
	for _, kind := range []string{"ext4", "xfs"} {
		for _, disk := range []string{kind + "1", kind + "2"} {
			disk := filepath.Join(base, disk)
			require.NoError(t, os.WriteFile(disk, nil, 0o600))
			require.NoError(t, os.Truncate(disk, 400<<20))
			if out, err := exec.Command("mkfs."+kind, "-q", disk).CombinedOutput(); err != nil {
				t.Logf("%s: not tested: %v: %s", kind, err, out)
				continue
			}
			dir := disk + ".a"
			if out, err := exec.Command("sh", "-c", `mkdir "$1" && mount -o loop "$2" "$1"`, "sh", dir, disk).CombinedOutput(); err != nil {
				t.Logf("%s: not tested: %v: %s", kind, err, out)
				continue
			}
			first := name(dir)
			require.NoError(t, exec.Command("umount", dir).Run())
			require.NoError(t, exec.Command("mount", "-o", "loop", disk, dir).Run())
			again := name(dir)
			require.NoError(t, exec.Command("umount", dir).Run())
			require.Equal(t, first, again, kind)
			require.NotContains(t, names, first)
			names[first] = disk
		}
	}
	t.Log(names)
}
