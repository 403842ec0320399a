//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/trees"
)

// TestTwoRuns archives one tree in several runs at the same time, with and without -f, deletion and
// common receipts. All end with 0, all files are archived, and nothing is reported as an error that
// another run did.
func TestTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const runs = 3
	files := 30
	if os.Getenv("CDFZ_SOAK") != "" {
		files = 60
	}
	for _, args := range [][]string{
		{}, {"-f"}, {"-o", "out/"}, {"-o", "out/", "--receipts", "%d.jsonl", "--delete-source"},
		{"--receipts", "r.jsonl", "--delete-source"}, {"-j", "1", "--receipts", "%d.jsonl", "--delete-source", "--skip-existing=hash"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			dir := t.TempDir()
			_, err := trees.Write(filepath.Join(dir, "tree"), files)
			require.NoError(t, err)
			require.NoError(t, os.CopyFS(filepath.Join(dir, "kept"), os.DirFS(filepath.Join(dir, "tree"))))
			cdfz := func(args ...string) (string, error) {
				cmd := exec.Command(os.Args[0], args...)
				cmd.Args[0] = "cdfz"
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
				var msg bytes.Buffer
				cmd.Stderr = &msg
				err := cmd.Run()
				return msg.String(), err
			}
			var all sync.WaitGroup
			msgs, errs := make([]string, runs), make([]error, runs)
			for i := range runs {
				all.Go(func() {
					line := []string{"archive"}
					for _, a := range args {
						line = append(line, strings.ReplaceAll(a, "%d", fmt.Sprint(i)))
					}
					msgs[i], errs[i] = cdfz(append(line, "tree")...)
				})
			}
			all.Wait()
			for i := range runs {
				require.NoError(t, errs[i], msgs[i])
				require.LessOrEqual(t, strings.Count(msgs[i], "\n"), 2, msgs[i])
				for line := range strings.Lines(msgs[i]) {
					require.Regexp(t, `^cdfz: (another program is archiving the same files; waiting for it|\d+ files? archived by another program at the same time|r.jsonl: another program is adding to this file; waiting for it)\n$`, line)
				}
			}
			out := "tree"
			if len(args) > 0 && args[0] == "-o" {
				out = "out"
			}
			msg, err := cdfz("verify", "-q", "--against", "kept", out)
			require.NoError(t, err, msg)
			archives := 0
			for _, name := range under(t, filepath.Join(dir, out)) {
				switch {
				case strings.HasSuffix(name, ".cdfz"):
					archives++
				case out == "out" || len(args) > 1:
					t.Errorf("%s remains", name)
				}
			}
			require.Equal(t, files, archives)
			lists := []string{"receipts"}
			for _, list := range []string{"r.jsonl", "0.jsonl", "1.jsonl", "2.jsonl"} {
				if _, err := os.Stat(filepath.Join(dir, list)); err == nil {
					lists = append(lists, list)
				}
			}
			if len(lists) > 1 {
				msg, err := cdfz(lists...)
				require.NoError(t, err, msg)
			}
		})
	}
}

// under lists the files below a folder.
func under(t *testing.T, dir string) (list []string) {
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, name)
		}
		return err
	}))
	return list
}
