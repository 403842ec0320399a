package archive

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionPlaces checks that all files that name the version name this one. make version VERSION=… writes it.
func TestVersionPlaces(t *testing.T) {
	numbers, _, _ := strings.Cut(Version, "-")
	n := strings.Split(numbers, ".")
	require.Len(t, n, 3)
	for _, p := range []struct{ file, line, want string }{
		{"python/cdfz/__init__.py", `__version__ = "(.*)"`, Version},
		{"c/lorenz.h", `#define LORENZ_VERSION "(.*?)".*`, Version},
		{"c/lorenz.h", `#define LORENZ_VERSION_MAJOR (\d+)`, n[0]},
		{"c/lorenz.h", `#define LORENZ_VERSION_MINOR (\d+)`, n[1]},
		{"c/lorenz.h", `#define LORENZ_VERSION_PATCH (\d+)`, n[2]},
		{"js/package.json", `  "version": "(.*)",`, Version},
		{"CITATION.cff", `version: (.*)`, Version},
	} {
		b, err := os.ReadFile(filepath.Join("..", p.file))
		require.NoError(t, err)
		m := regexp.MustCompile(`(?m)^` + p.line + `$`).FindSubmatch(b)
		require.NotNil(t, m, "%s: expected a line %s", p.file, p.line)
		require.Equal(t, p.want, string(m[1]), "%s: %s", p.file, p.line)
	}
}
