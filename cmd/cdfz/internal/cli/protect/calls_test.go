package protect

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCalls compares the calls of this package that decide about a file with the list in docs/damage.md.
func TestCalls(t *testing.T) {
	call := regexp.MustCompile(`\.(MayReplace|MayReplaceFile|MayBegin|CheckKind|Vouched|RemoveArchive)\(|protect\.(Delete|DeleteLink|HoldsFile|Look|LookAt)\(|protect\.(InPlace)\b`)
	var found []string
	require.NoError(t, filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || filepath.Base(filepath.Dir(name)) == "protect" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			rel, _ := filepath.Rel("../..", name)
			found = append(found, "`"+m[1]+m[2]+m[3]+"` in `"+filepath.ToSlash(rel)+"`")
		}
		return err
	}))
	slices.Sort(found)
	found = slices.Compact(found)
	text, err := os.ReadFile("../../../../../docs/damage.md")
	require.NoError(t, err)
	listed := regexp.MustCompile("`[A-Za-z]+` in `[a-z/_]+\\.go`").FindAllString(string(text), -1)
	slices.Sort(listed)
	require.Equal(t, strings.Join(found, "\n"), strings.Join(listed, "\n"))
}
