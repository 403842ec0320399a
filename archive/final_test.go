package archive

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFinal checks that all documents and comments say that format 1 is final, as docs/FORMAT.md does, and that none
// says anything else.
func TestFinal(t *testing.T) {
	for name, want := range map[string]string{
		"docs/FORMAT.md": "**Format 1, final** since 28 November 2026", "docs/LORENZ.md": "**Format 1, final** since 28 November 2026",
		"README.md": "Format 1 is final", "archive/archive.go": "Format 1 is final",
	} {
		b, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.Contains(t, string(b), want, name)
	}
	other := regexp.MustCompile(`(?i)\bformat\b[^.;:|]{0,40}\b(may|can|will|might|could) (still )?(change|be changed)\b|\bformat\b[^.;:|]{0,40}\b(is not|isn't|not yet|never was) (final|stable|frozen)\b`)
	blank := regexp.MustCompile(`\s+(//|\*|#)?\s*`)
	require.NoError(t, filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := e.Name(); e.IsDir() && (base == "bin" || len(base) > 2 && base[0] == '.') {
			return fs.SkipDir
		}
		switch filepath.Ext(name) {
		case ".go", ".md", ".py", ".c", ".h", ".js", ".html", ".txtar":
		default:
			return nil
		}
		if name == filepath.Join("..", "archive", "final_test.go") || e.Name() == "CHANGELOG.md" { // the log has what was true once
			return nil
		}
		b, err := os.ReadFile(name)
		if err == nil {
			require.Empty(t, other.FindAllString(blank.ReplaceAllString(string(b), " "), -1), name)
		}
		return err
	}))
}
