package archive

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPromises checks that the tests that docs/versions.md names for its promises are there, one at least for each.
func TestPromises(t *testing.T) {
	page, err := os.ReadFile("../docs/versions.md")
	require.NoError(t, err)
	var tests strings.Builder
	require.NoError(t, filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == ".." {
			return err
		}
		if e.IsDir() && (e.Name()[0] == '.' || e.Name() == "bin" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, "_test.go") {
			b, err := os.ReadFile(name)
			tests.Write(b)
			return err
		}
		return nil
	}))
	named := regexp.MustCompile(`\bTest\w+`)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || strings.HasPrefix(line, "| what") {
			continue
		}
		rows++
		all := named.FindAllString(cells[3], -1)
		require.NotEmpty(t, all, line)
		for _, name := range all {
			require.Contains(t, tests.String(), "func "+name+"(", line)
		}
	}
	require.GreaterOrEqual(t, rows, 9)
}
