//go:build judge && linux

package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With a judge, every tree is compared by rsync, too, which must find nothing to do.
func init() {
	judgeTrees = func(r *wholeRun, want, got string) {
		r.t.Helper()
		out, code := r.command("rsync", "-niaHAX", "--delete", "--checksum", want+"/", got+"/")
		require.Zero(r.t, code, out)
		require.Empty(r.t, out)
	}
}

// TestJudgeWhole archives and restores a tree with files of every kind, as root and as a user, on ext4, XFS and in memory.
// The tree of make soak has 3,000 files more.
func TestJudgeWhole(t *testing.T) {
	n := 300
	if os.Getenv("CDFZ_SOAK") != "" {
		n = 3000
	}
	testWholeTree(t, n)
}

// TestJudgeWholeShown compares what mount, run and serve show of a whole tree, in a folder and in a volume, with the tree.
func TestJudgeWholeShown(t *testing.T) {
	dir := t.TempDir()
	wholeTreeFrom(t, classicAt, dir, 12, os.Getuid() == 0)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{{"archive", "--whole", "-q", "-o", at("archives/"), at("data")}, {"pack", "-q", "-o", at("vol") + "/", at("archives")}} {
		out, err := self(t, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	// Of two files that want one name, one has another.
	other := map[string]bool{".cdfz-tree": true, "b.nc.cdfz": true, "e.nc.cdfz": true, "lonely.cdfz": true, "d.nc": true}
	type item struct {
		rel, to string
		data    []byte
		time    time.Time
	}
	var items []item
	require.NoError(t, filepath.WalkDir(at("data"), func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(at("data"), path)
		require.NoError(t, err)
		if d.IsDir() || other[rel] {
			return nil
		}
		st, err := d.Info()
		require.NoError(t, err)
		it := item{rel: rel, time: st.ModTime()}
		if st.Mode()&os.ModeSymlink != 0 {
			it.to, err = os.Readlink(path)
		} else {
			it.data, err = os.ReadFile(path)
		}
		require.NoError(t, err)
		items = append(items, it)
		return nil
	}))
	compare := func(root string) {
		t.Helper()
		for _, it := range items {
			path := filepath.Join(root, it.rel)
			st, err := os.Lstat(path)
			require.NoError(t, err)
			require.True(t, it.time.Equal(st.ModTime()), "%q: %v", path, st.ModTime())
			if it.to != "" {
				to, err := os.Readlink(path)
				require.NoError(t, err)
				require.Equal(t, it.to, to, path)
				require.EqualValues(t, len(it.to), st.Size(), path)
				continue
			}
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, it.data, got, path)
		}
	}
	compare(mountOn(t, at("archives")).at)
	compare(mountOn(t, at("vol/0001.tar")).at)
	compare(mountOn(t, at("vol")).at + "/0001.tar")
	for src, inner := range map[string]string{"archives": "", "vol": "0001.tar"} {
		copied := filepath.Join(t.TempDir(), "copy")
		cmd := self(t, "run", "--folder", at(src), "--", "cp", "-a", filepath.Join(at(src), inner), copied)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		compare(copied)
		s := serveOn(t, at(src))
		for _, it := range items {
			target, err := filepath.EvalSymlinks(filepath.Join(at("data"), it.rel))
			if it.to != "" && (err != nil || !strings.HasPrefix(target, at("data"))) || it.to == "1990" {
				continue
			}
			want, err := os.ReadFile(target)
			require.NoError(t, err)
			var words []string
			for _, part := range strings.Split(filepath.Join(inner, it.rel), "/") {
				words = append(words, url.PathEscape(part))
			}
			res, err := http.Get(s.at + "/files/" + strings.Join(words, "/"))
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusOK, res.StatusCode, "%s %q", src, it.rel)
			require.Equal(t, want, got, "%s %q", src, it.rel)
			if it.to == "" {
				require.Equal(t, it.time.UTC().Format(http.TimeFormat), res.Header.Get("Last-Modified"), "%s %q", src, it.rel)
			}
		}
	}
}
