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

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
)

// TestJudgePythonVectors runs the published vectors, good and bad, through the reader
// that was written from docs/FORMAT.md alone.
func TestJudgePythonVectors(t *testing.T) {
	dir := t.TempDir()
	all := map[string]archivetest.Vector{}
	args := []string{"../testdata/reader/cdfz_reader.py", "--sha256"}
	for _, folder := range []string{"good", "bad"} {
		for _, v := range archivetest.Vectors(t, folder) {
			name := filepath.Join(dir, v.Name)
			require.NoError(t, os.WriteFile(name, v.Archive, 0o644))
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
		require.Equal(t, all[name].SHA256, sum, name)
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
		require.Equal(t, v.Reader, found[name], "%s (%s)\n%s", v.Name, v.Comment, stderr.String())
	}
}
