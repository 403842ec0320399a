//go:build judge

package archive_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgePythonVectors runs the published vectors, good and bad, through the reader
// that was written from docs/FORMAT.md alone.
func TestJudgePythonVectors(t *testing.T) {
	dir := t.TempDir()
	all := map[string]vector{}
	args := []string{"../testdata/reader/cdfz_reader.py", "--sha256"}
	for _, folder := range []string{"good", "bad"} {
		for _, v := range vectors(t, folder) {
			name := filepath.Join(dir, v.name)
			require.NoError(t, os.WriteFile(name, v.archive, 0o644))
			all[name] = v
			args = append(args, name)
		}
	}
	cmd := exec.Command("/usr/bin/python3", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the bad ones fail
	found := map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		require.Equal(t, all[name].sha256, sum, name)
		found[name] = "image"
	}
	for line := range strings.Lines(stderr.String()) {
		name, what, _ := strings.Cut(line, ": ")
		found[name] = "refuse"
		if strings.HasPrefix(what, "damaged") {
			found[name] = "damage"
		}
	}
	for name, v := range all {
		require.Equal(t, v.reader, found[name], "%s (%s)\n%s", v.name, v.comment, stderr.String())
	}
}
