//go:build judge

package patterns

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRsync compares the files of a tree that random rules take with those that rsync lists.
func TestRsync(t *testing.T) {
	src := t.TempDir()
	folders := []string{"", "a", "b", "a/b", "a/b/a", "b/a.nc", "x[y]", "a*"}
	for _, dir := range folders {
		require.NoError(t, os.MkdirAll(filepath.Join(src, dir), 0o755))
	}
	for _, dir := range folders {
		for _, name := range []string{"a", "c", "ab", "a.nc", "b.nc", "a.txt", "*", `\`, "[", "x-1", "]"} {
			name = filepath.Join(src, dir, name)
			if _, err := os.Stat(name); err == nil {
				continue // a folder
			}
			require.NoError(t, os.WriteFile(name, nil, 0o644))
		}
	}
	parts := []string{"a", "b", "c", ".nc", "x", "/", "/", "*", "**", "***", "?", "[ab]", "[!a]", "[a-c]", "[]x]", `\*`, `\[`, `[[:alpha:]]`, "[+-9]", "-1"}
	r := rand.New(rand.NewPCG(1, 2))
	taken, rules := 0, 0
	for range 80 {
		var list Rules
		args := []string{"-rn", "--out-format=%n"}
		for range 1 + r.IntN(4) {
			text := ""
			if r.IntN(3) == 0 {
				text = []string{"*/", "*", "*.nc", "/a/", "a/***", "**.nc"}[r.IntN(6)]
			} else {
				for range 1 + r.IntN(5) {
					text += parts[r.IntN(len(parts))]
				}
			}
			include := r.IntN(2) == 0
			rule, err := Parse(text, include)
			if err != nil || strings.Contains(text, "//") {
				continue
			}
			list = append(list, rule)
			args = append(args, map[bool]string{true: "--include=", false: "--exclude="}[include]+text)
		}
		out, err := exec.Command("rsync", append(args, src+"/", t.TempDir()+"/")...).Output()
		require.NoError(t, err)
		var want, got []string
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSuffix(line, "\n"); !strings.HasSuffix(line, "/") {
				want = append(want, unescape(line))
			}
		}
		require.NoError(t, filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(src, name)
			switch {
			case rel == ".":
			case list.Judge(rel, d.IsDir()) != nil && d.IsDir():
				return fs.SkipDir
			case !d.IsDir():
				taken := list.Judge(rel, false) == nil
				require.Equal(t, taken, list.JudgeFile(rel) == nil, rel)
				if taken {
					got = append(got, rel)
				}
			}
			return nil
		}))
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "%q", args)
		taken += len(got)
		rules += len(list)
	}
	t.Logf("%d rules took %d files", rules, taken)
	require.Greater(t, taken, 1000)
}

// unescape undoes what rsync does to names in its output.
func unescape(name string) string { return strings.ReplaceAll(name, `\#134`, `\`) }
